//! A store that lets in only whom it knows: TLS, a client's certificate, a user and its password.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tidegate_e2e::{Gateway, Nginx, until};
use tidegate_test_servers::{Certificates, Kind, Options, Server, Tls};

use crate::get;

const PASSWORD: &str = "ebb-and-flood-of-7-seas";

const POLICIES: &str = "policies:
  - { name: open, match: { path: /open }, key: [client.ip], limit: { quota: 1, window: 1h }, on_store_failure: allow }
  - { name: closed, match: { path: /closed }, key: [client.ip], limit: { quota: 1, window: 1h, burst: 20 }, on_store_failure: deny }
";

/// What the store asks of those who come.
struct Bed {
    redis: Server,
    nginx: Nginx,
    folder: TempDir,
}

impl Bed {
    fn start() -> Self {
        let options = Options {
            user: Some(("limits", PASSWORD)),
            tls: Tls::Mutual,
            ..Options::default()
        };
        Self {
            redis: Server::start(Kind::Redis70, options),
            nginx: Nginx::start(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// A gateway that trusts `authority`, and has this `password` in its environment.
    fn gateway(&self, authority: &Path, password: &str) -> Gateway {
        let Certificates {
            client, client_key, ..
        } = self.redis.certificates();
        let text = format!(
            "admin: 127.0.0.1:0
store:
  redis: rediss://limits@{address}
  password_env: STORE_PASSWORD
  timeout: 1s
  tls: {{ ca: '{ca}', certificate: '{certificate}', key: '{key}' }}
{POLICIES}",
            address = self.redis.address(),
            ca = authority.display(),
            certificate = client.display(),
            key = client_key.display(),
        );
        let file = self.folder.path().join("tidegate.yaml");
        fs::write(&file, text).unwrap();
        let mut command = Gateway::command(&["serve", "--listen", "127.0.0.1:0", "--config"]);
        command
            .arg(file)
            .args(["--upstream", &self.nginx.url()])
            .env("STORE_PASSWORD", password)
            .env("TIDEGATE_LOG", "debug");
        Gateway::run(command)
    }

    fn authority(&self) -> &Path {
        &self.redis.certificates().authority
    }
}

/// What each policy says while the store is not there.
fn goes_its_own_way(gateway: &Gateway) {
    for (path, status) in [("/open", 200), ("/open", 200), ("/closed", 503)] {
        let reply = get(gateway, path);
        let has_mark = reply.field("x-tidegate-failure").is_some();
        assert_eq!((reply.status, has_mark), (status, true), "{path}");
    }
}

fn stop(mut gateway: Gateway, secrets: &[&str]) -> String {
    let log = gateway.process().log();
    assert_eq!(gateway.stop(), Some(0));
    for secret in secrets {
        assert!(!log.contains(secret), "{secret} is in the log: {log}");
    }
    log
}

#[test]
fn two_gateways_with_user_password_and_certificate_hold_one_limit() {
    let bed = Bed::start();
    let gateways = [0, 1].map(|_| bed.gateway(bed.authority(), PASSWORD));
    let asked = gateways.iter().cycle().take(50);
    let passed = asked.filter(|gateway| get(gateway, "/closed").status == 200);
    assert_eq!(passed.count(), 20);
    for gateway in gateways {
        assert_eq!(
            gateway.metric(r#"tidegate_store_faults_total{fault="refused"}"#),
            0.0
        );
        let log = stop(gateway, &[PASSWORD]);
        assert!(log.contains("connected to the store"), "{log}");
    }
}

#[test]
fn a_wrong_password_is_told_without_it_and_each_policy_goes_its_own_way() {
    let bed = Bed::start();
    let wrong = "low-tide-at-dawn";
    let gateway = bed.gateway(bed.authority(), wrong);
    goes_its_own_way(&gateway);
    assert!(gateway.metric(r#"tidegate_store_faults_total{fault="refused"}"#) > 0.0);
    let log = stop(gateway, &[PASSWORD, wrong]);
    assert!(
        log.contains("cannot connect to the store: the server does not accept the user or its password"),
        "{log}"
    );

    // Set right at the store, without a word to the gateway.
    let gateway = bed.gateway(bed.authority(), wrong);
    let _: () = bed.redis.ask(&["ACL", "SETUSER", "limits", &format!(">{wrong}")]);
    until("the gateway is let in", || {
        let reply = get(&gateway, "/closed");
        (reply.status == 200).then_some(())
    });
}

#[test]
fn a_store_of_another_authority_is_not_spoken_to() {
    let bed = Bed::start();
    let other = Certificates::in_folder(bed.folder.path());
    let gateway = bed.gateway(&other.authority, PASSWORD);
    goes_its_own_way(&gateway);
    assert!(gateway.metric(r#"tidegate_store_faults_total{fault="lost"}"#) > 0.0);
    let log = stop(gateway, &[PASSWORD]);
    assert!(
        log.contains("cannot connect to the store: invalid peer certificate: "),
        "{log}"
    );
}
