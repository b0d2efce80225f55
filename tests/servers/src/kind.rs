//! Which program, and where it is.

use std::path::{Path, PathBuf};

/// A server and its version.
///
/// Redis 7.0 is `redis-server` on the path, as Debian 12 has it. The others are `target/tools/servers/NAME` in this repository.
/// `cargo xtask tools` puts them there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The oldest that Tidegate supports.
    Redis62,
    /// Debian 12's, and the only one of these with TLS.
    #[default]
    Redis70,
    /// The last Valkey but one.
    Valkey8,
    /// The newest Valkey.
    Valkey9,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Redis62, Self::Redis70, Self::Valkey8, Self::Valkey9];

    /// The program.
    pub(crate) fn program(self) -> PathBuf {
        let name = match self {
            Self::Redis70 => return "redis-server".into(),
            Self::Redis62 => "redis-6.2",
            Self::Valkey8 => "valkey-8",
            Self::Valkey9 => "valkey-9",
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let path = root.join("target/tools/servers").join(name);
        assert!(
            path.is_file(),
            "{} is not there; `cargo xtask tools` installs it",
            path.display()
        );
        path
    }
}
