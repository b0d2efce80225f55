//! What a TLS test needs: the files that the manual's commands make, a gateway that uses them, and an origin.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx};

pub(crate) const MANUAL: &str = include_str!("../../../../docs/tls.md");
pub(crate) const UNLIMITED: &str = "policies: []\n";

/// A folder with what the manual's commands make, a gateway that uses it, and an origin.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) gateway: Gateway,
    pub(crate) nginx: Nginx,
}

impl Bench {
    /// `more` are lines of the listener's `tls`, `policies` the rest of the file.
    pub(crate) fn new(more: &str, policies: &str) -> Self {
        Self::with_certificates("{ certificate: cert.pem, key: key.pem }", more, policies, |_| {})
    }

    /// The same with `certificates`, of which `make` makes those that the manual has not.
    pub(crate) fn with_certificates(
        certificates: &str,
        more: &str,
        policies: &str,
        make: impl FnOnce(&Path),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for command in commands().iter().filter(|command| !talks(command)) {
            sh(folder.path(), command);
        }
        make(folder.path());
        let nginx = Nginx::start();
        let file = format!(
            "gateway:\n  listen:\n    - address: 127.0.0.1:0\n      tls:\n        \
             certificates: [{certificates}]\n{more}{policies}"
        );
        let gateway = Gateway::in_folder(folder.path(), &nginx.url(), &file);
        Self {
            folder,
            gateway,
            nginx,
        }
    }

    /// Runs a command of the manual, or one like it, against this gateway.
    pub(crate) fn run(&self, command: &str) -> String {
        let port = self.gateway.address().port();
        sh(
            self.folder.path(),
            &command.replace("localhost:8443", &format!("localhost:{port}")),
        )
    }
}

/// The commands in the manual's blocks, one each, continued lines joined.
pub(crate) fn commands() -> Vec<String> {
    let blocks = MANUAL.split("```sh\n").skip(1);
    let texts = blocks.map(|block| block.split("```").next().unwrap().replace("\\\n", " "));
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// The manual's request with a client's certificate.
pub(crate) fn curl_with_certificate() -> String {
    let mut commands = commands().into_iter();
    let last = commands.rfind(|command| command.starts_with("curl "));
    last.unwrap()
}

/// Whether a command starts a gateway or talks to one.
fn talks(command: &str) -> bool {
    command.starts_with("curl ") || command.starts_with("tidegate ")
}

/// Runs `command` in `folder`; what it says on its standard output.
pub(crate) fn sh(folder: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
