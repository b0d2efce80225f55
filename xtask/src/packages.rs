//! Programs that come from Debian's packages.

use std::env;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::command::{program, run};

/// A program and the Debian package that brings it.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    /// Its name on the path.
    pub program: &'static str,
    /// What `apt-get install` calls it.
    pub package: &'static str,
}

/// The real origin of the public test sets.
pub(crate) const FOR_CONFORMANCE: &[Tool] = &[Tool {
    program: "nginx",
    package: "nginx-light",
}];

/// What throttlecrab-server is built with.
pub(crate) const FOR_PEERS: &[Tool] = &[Tool {
    program: "protoc",
    package: "protobuf-compiler",
}];

/// The real clients, the real balancer and the real origin of the end-to-end tests, the real store, what brings others, and what makes
/// networks to cut.
pub(crate) const FOR_TESTS: &[Tool] = &[
    Tool {
        program: "nginx",
        package: "nginx-light",
    },
    Tool {
        program: "haproxy",
        package: "haproxy",
    },
    Tool {
        program: "caddy",
        package: "caddy",
    },
    Tool {
        program: "curl",
        package: "curl",
    },
    Tool {
        program: "jq",
        package: "jq",
    },
    Tool {
        program: "openssl",
        package: "openssl",
    },
    Tool {
        program: "wrk",
        package: "wrk",
    },
    Tool {
        program: "h2load",
        package: "nghttp2-client",
    },
    Tool {
        program: "chromium",
        package: "chromium",
    },
    Tool {
        program: "chromedriver",
        package: "chromium-driver",
    },
    Tool {
        program: "redis-server",
        package: "redis-server",
    },
    Tool {
        program: "pip3",
        package: "python3-pip",
    },
    Tool {
        program: "tc",
        package: "iproute2",
    },
];

/// Makes sure that every tool is there: installs what is missing as root, else says what to install.
pub(crate) fn ensure(tools: &[Tool]) -> anyhow::Result<String> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok("all there".into());
    }
    let packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
    if !is_root() || find("apt-get").is_none() {
        let programs: Vec<_> = missing.iter().map(|tool| tool.program).collect();
        bail!(
            "missing: {}. On Debian: `apt-get install --no-install-recommends {}` as root",
            programs.join(", "),
            packages.join(" ")
        );
    }
    install(&packages)?;
    let still: Vec<_> = self::missing(tools).iter().map(|tool| tool.program).collect();
    if !still.is_empty() {
        bail!(
            "installed {} but still miss {}",
            packages.join(", "),
            still.join(", ")
        );
    }
    Ok(format!("installed {}", packages.join(", ")))
}

/// Installs Debian packages; needs root. Waits for another apt that is at work.
pub(crate) fn install(packages: &[&str]) -> anyhow::Result<()> {
    let wait = "DPkg::Lock::Timeout=600";
    run(program("apt-get").args(["-qq", "-o", wait, "update"]))?;
    run(program("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args([
            "-qq",
            "-y",
            "--no-install-recommends",
            "-o",
            wait,
            "-o",
            "Dpkg::Use-Pty=0",
            "install",
        ])
        .args(packages))
}

/// Where `program` is, on the path or among the system's own programs.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Whether we may install.
pub(crate) fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|own| own.uid() == 0)
}

fn missing(tools: &[Tool]) -> Vec<Tool> {
    tools
        .iter()
        .copied()
        .filter(|tool| find(tool.program).is_none())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Tool, find, missing};

    #[test]
    fn a_program_that_is_nowhere_is_missing() {
        let nowhere = Tool {
            program: "tidegate-no-such-program",
            package: "none",
        };
        let shell = Tool {
            program: "sh",
            package: "dash",
        };
        let names: Vec<_> = missing(&[nowhere, shell])
            .iter()
            .map(|tool| tool.program)
            .collect();
        assert_eq!(names, ["tidegate-no-such-program"]);
        assert!(find("sh").is_some());
    }
}
