//! From what was typed to what it means.

use tidegate_core::KeyHasher;

use crate::{Config, Problems};

/// A policy file to compile.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFile<'a> {
    /// What errors call it, a path mostly.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// A policy file that can be used.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it means.
    pub config: Config,
    /// What its writer should look at.
    pub warnings: Problems,
}

/// What `file` means, with counters named under the secret of `hasher`.
///
/// # Errors
/// Everything that is wrong with the file, all at once, warnings included.
pub fn compile(file: PolicyFile<'_>, hasher: &KeyHasher) -> Result<Compiled, Problems> {
    let _ = (file, hasher);
    Err(Problems::default())
}
