//! TLS between real clients and the gateway, by the commands of docs/tls.md.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx, until};

const MANUAL: &str = include_str!("../../../docs/tls.md");

/// A folder with what the manual's commands make, a gateway that uses it, and an origin.
struct Bench {
    folder: TempDir,
    gateway: Gateway,
    nginx: Nginx,
}

impl Bench {
    /// `more` are lines of the listener's `tls`, `policies` the rest of the file.
    fn new(more: &str, policies: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for command in commands().iter().filter(|command| !talks(command)) {
            sh(folder.path(), command);
        }
        let nginx = Nginx::start();
        let file = format!(
            "gateway:\n  listen:\n    - address: 127.0.0.1:0\n      tls:\n        \
             certificates: [{{ certificate: cert.pem, key: key.pem }}]\n{more}{policies}"
        );
        let gateway = Gateway::in_folder(folder.path(), &nginx.url(), &file);
        Self {
            folder,
            gateway,
            nginx,
        }
    }

    /// Runs a command of the manual, or one like it, against this gateway.
    fn run(&self, command: &str) -> String {
        let port = self.gateway.address().port();
        sh(
            self.folder.path(),
            &command.replace("localhost:8443", &format!("localhost:{port}")),
        )
    }
}

/// The commands in the manual's blocks, one each, continued lines joined.
fn commands() -> Vec<String> {
    let blocks = MANUAL.split("```sh\n").skip(1);
    let texts = blocks.map(|block| block.split("```").next().unwrap().replace("\\\n", " "));
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Whether a command starts a gateway or talks to one.
fn talks(command: &str) -> bool {
    command.starts_with("curl ") || command.starts_with("tidegate ")
}

/// Runs `command` in `folder`; what it says on its standard output.
fn sh(folder: &Path, command: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const REQUIRED: &str = "        client_ca: clients.pem\n        client_auth: require\n";
const UNLIMITED: &str = "policies: []\n";
/// One request over TLS 1.3, any number over 1.2.
const BY_VERSION: &str = "
policies:
  - name: modern
    when: 'tls.version == \"1.3\"'
    key: [client.ip]
    limit: { quota: 1, window: 1h, burst: 1 }
";

#[test]
fn the_manual_s_first_certificate_serves_curl_over_http_1_and_2() {
    let bench = Bench::new("", UNLIMITED);
    let curl = commands()
        .into_iter()
        .find(|command| command.starts_with("curl "))
        .unwrap();
    assert_eq!(bench.run(&curl), "nginx says GET /\n");
    for (version, start) in [("--http1.1", "HTTP/1.1 200 OK"), ("--http2", "HTTP/2 200")] {
        let told = bench.run(&format!("{curl} --silent --include {version}"));
        assert!(told.starts_with(start), "{told}");
    }
    assert!(bench.nginx.log().iter().all(|line| line.contains(" 200 ")));
    let plain = bench.run("curl --silent http://localhost:8443/");
    assert!(plain.contains("This port speaks TLS"), "{plain}");
}

#[test]
fn openssl_sees_the_versions_the_protocol_and_the_name() {
    let bench = Bench::new("", UNLIMITED);
    let command = MANUAL
        .split('`')
        .find(|text| text.starts_with("openssl s_client"))
        .unwrap();
    let command = &format!("{command} 2>&1");
    let told = bench.run(command);
    assert!(
        told.contains("CN = localhost") && told.contains("ALPN protocol: h2"),
        "{told}"
    );
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let told = bench.run(&command.replace("-alpn", &format!("{version} -alpn")));
        assert!(told.contains(&format!("New, {name}, Cipher is ")), "{told}");
    }
    let old = bench.run(&command.replace("-alpn", "-tls1_1 -cipher DEFAULT@SECLEVEL=0 -alpn"));
    assert!(
        old.contains("alert handshake failure") && !old.contains("New, TLSv1"),
        "{old}"
    );
    let odd = bench.run(&command.replace("-alpn h2", "-alpn spdy/3"));
    assert!(odd.contains("alert no application protocol"), "{odd}");
}

#[test]
fn a_client_older_than_the_least_version_gets_an_alert() {
    let bench = Bench::new("        min_version: \"1.3\"\n", UNLIMITED);
    let told = bench.run("openssl s_client -connect localhost:8443 -tls1_2 </dev/null 2>&1");
    assert!(told.contains("alert protocol version"), "{told}");
}

#[test]
fn only_who_has_the_manual_s_client_certificate_is_let_in_where_it_is_required() {
    let bench = Bench::new(REQUIRED, UNLIMITED);
    let curl = commands()
        .into_iter()
        .rfind(|command| command.starts_with("curl "))
        .unwrap();
    assert_eq!(bench.run(&curl), "nginx says GET /\n");
    let without = bench.run("curl --silent --show-error --cacert cert.pem https://localhost:8443/ 2>&1");
    assert!(without.contains("certificate required"), "{without}");
    // Signed by itself, not by the authority.
    let strange = curl
        .replace("client.pem", "cert.pem")
        .replace("client.key", "key.pem");
    let strange = bench.run(&format!("{strange} --silent --show-error 2>&1"));
    assert!(strange.contains("alert"), "{strange}");
    assert_eq!(bench.nginx.log().len(), 1);
}

#[test]
fn a_policy_sees_the_version_of_tls() {
    let bench = Bench::new("", BY_VERSION);
    let status = |version: &str| {
        bench.run(&format!(
            "curl --silent --output /dev/null --write-out %{{http_code}} --cacert cert.pem {version} https://localhost:8443/"
        ))
    };
    let (new, old) = ("--tlsv1.3", "--tlsv1.2 --tls-max 1.2");
    assert_eq!([new, new, old, old].map(status), ["200", "429", "200", "200"]);
}

#[test]
fn a_new_certificate_is_shown_to_those_who_come_and_a_bad_one_to_nobody() {
    let mut bench = Bench::new("", UNLIMITED);
    let shown = |bench: &Bench| {
        bench.run("openssl s_client -connect localhost:8443 </dev/null | openssl x509 -noout -serial")
    };
    let first = shown(&bench);
    assert!(first.starts_with("serial="), "{first}");

    fs::write(bench.folder.path().join("cert.pem"), "no certificate").unwrap();
    bench.gateway.process().signal(Signal::HUP);
    bench
        .gateway
        .process()
        .logged(|line| {
            line.contains("not reloaded: the files cannot be used")
                .then_some(())
        })
        .expect("the gateway says that it keeps the old certificate");
    assert_eq!(shown(&bench), first);

    sh(bench.folder.path(), &commands()[0]);
    bench.gateway.process().signal(Signal::HUP);
    let second = until("the new certificate is shown", || {
        Some(shown(&bench)).filter(|shown| *shown != first)
    });
    assert!(second.starts_with("serial="), "{second}");
    assert_eq!(
        bench.run("curl --silent --cacert cert.pem https://localhost:8443/"),
        "nginx says GET /\n"
    );
}
