//! The proxies, each with a server for every case, and the origin behind them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::case::Case;
use super::process::{Process, free_ports};

/// Which proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Tidegate,
    Nginx,
    Haproxy,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tidegate, Self::Nginx, Self::Haproxy];

    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
        }
    }
}

/// The names of the ports in the configurations, and with them the names of Tidegate's files.
const PORT_NAMES: [&str; 4] = ["plain", "address", "keys", "denied"];

const TIDEGATE_FILES: [&str; 4] = [
    include_str!("../../conf/tidegate/plain.yaml"),
    include_str!("../../conf/tidegate/address.yaml"),
    include_str!("../../conf/tidegate/keys.yaml"),
    include_str!("../../conf/tidegate/denied.yaml"),
];

/// A running proxy.
pub(crate) struct Candidate {
    pub(crate) kind: Kind,
    targets: [Target; 4],
    // Dropped, and so stopped, with the candidate.
    _processes: Vec<Process>,
}

/// Where one case is served, and by which process.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) pid: u32,
    pub(crate) port: u16,
}

impl Candidate {
    /// Starts the proxy on core 0 and waits until it listens.
    pub(crate) fn start(kind: Kind, origin: &Origin, tidegate: &Path, folder: &Path) -> anyhow::Result<Self> {
        let ports: [u16; 4] = free_ports()?;
        let write = |file: &str, template: &str| {
            let path = folder.join(file);
            fs::write(&path, filled(template, origin.port, &ports)).map(|()| path)
        };
        let mut processes = match kind {
            Kind::Nginx => {
                let file = write("nginx.conf", include_str!("../../conf/nginx.conf"))?;
                vec![nginx(0, &file, folder)?]
            }
            Kind::Haproxy => {
                let file = write("haproxy.cfg", include_str!("../../conf/haproxy.cfg"))?;
                let file = file.display().to_string();
                vec![Process::start(
                    0,
                    Path::new("haproxy"),
                    ["-db", "-q", "-f", &file],
                    folder,
                )?]
            }
            Kind::Tidegate => {
                ensure!(
                    tidegate.exists(),
                    "no {}: `cargo build --release` makes it",
                    tidegate.display()
                );
                let named = PORT_NAMES.iter().zip(TIDEGATE_FILES);
                let files = named.map(|(name, template)| write(&format!("{name}.yaml"), template));
                files
                    .map(|file| serve(tidegate, &file?, folder))
                    .collect::<anyhow::Result<Vec<_>>>()?
            }
        };
        let mut targets = ports.map(|port| Target { pid: 0, port });
        let last = processes.len() - 1;
        for (index, target) in targets.iter_mut().enumerate() {
            let process = &mut processes[index.min(last)];
            process.listens_on(target.port)?;
            target.pid = process.id();
        }
        Ok(Self {
            kind,
            targets,
            _processes: processes,
        })
    }

    /// Who serves `case`.
    pub(crate) fn target(&self, case: Case) -> anyhow::Result<Target> {
        let index = PORT_NAMES.iter().position(|&name| name == case.port_name());
        Ok(self.targets[index.context("a case without a port")?])
    }
}

/// The origin: an nginx on core 1 that answers at once.
pub(crate) struct Origin {
    port: u16,
    _process: Process,
}

impl Origin {
    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        let [port] = free_ports()?;
        let file = folder.join("upstream.conf");
        fs::write(
            &file,
            filled(include_str!("../../conf/upstream.conf"), port, &[0; 4]),
        )?;
        let mut process = nginx(1, &file, folder)?;
        process.listens_on(port)?;
        Ok(Self {
            port,
            _process: process,
        })
    }
}

fn nginx(core: u8, file: &Path, folder: &Path) -> anyhow::Result<Process> {
    let [prefix, file] = [folder, file].map(|path| path.as_os_str());
    // `-e` keeps it from the log of the system's own nginx.
    let arguments = [
        "-e".as_ref(),
        "stderr".as_ref(),
        "-p".as_ref(),
        prefix,
        "-c".as_ref(),
        file,
    ];
    Process::start(core, Path::new("nginx"), arguments, folder)
}

fn serve(tidegate: &Path, file: &Path, folder: &Path) -> anyhow::Result<Process> {
    let tidegate = tidegate.canonicalize()?;
    Process::start(
        0,
        &tidegate,
        [
            "serve".as_ref(),
            "--log-level".as_ref(),
            "error".as_ref(),
            "--config".as_ref(),
            file.as_os_str(),
        ],
        folder,
    )
}

fn filled(template: &str, upstream: u16, ports: &[u16; 4]) -> String {
    let ports = PORT_NAMES.iter().zip(ports);
    ports.fold(
        template.replace("@upstream@", &upstream.to_string()),
        |text, (name, port)| text.replace(&format!("@{name}@"), &port.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hole_of_a_configuration_stays_open() {
        let templates = [
            include_str!("../../conf/nginx.conf"),
            include_str!("../../conf/haproxy.cfg"),
        ];
        for template in templates.into_iter().chain(TIDEGATE_FILES) {
            let text = filled(template, 1, &[2, 3, 4, 5]);
            assert!(!text.contains('@') && text.contains("127.0.0.1:1"), "{text}");
        }
    }
}
