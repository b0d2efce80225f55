//! A door that speaks TLS.

use std::fs;

use http::Request;
use tempfile::TempDir;
use tidegate_e2e::{Authority, Gateway, PATIENCE};
use tidegate_tower::client::{Check, Client, Error, Tls};

/// A door for `localhost`, `more` of whose TLS is said, and who signs for it.
struct Door {
    authority: Authority,
    gateway: Gateway,
    _folder: TempDir,
}

impl Door {
    fn new(more: &str) -> Self {
        let authority = Authority::new();
        let own = authority.issue();
        let folder = tempfile::tempdir().unwrap();
        let policies = format!(
            "admin: 'off'
doors:
  check:
    listen: 127.0.0.1:0
    tls: {{ certificates: [{{ certificate: cert.pem, key: key.pem }}]{more} }}
policies:
  - {{ name: one, key: [client.ip], limit: {{ quota: 1, window: 1h }} }}
"
        );
        for (file, text) in [
            ("cert.pem", &own.certificate),
            ("key.pem", &own.key),
            ("ca.pem", &authority.root),
            ("tidegate.yaml", &policies),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let mut command = Gateway::command(&["serve", "--config", "tidegate.yaml"]);
        command.current_dir(folder.path());
        Self {
            authority,
            gateway: Gateway::run(command),
            _folder: folder,
        }
    }

    /// What it says to a client at `host` that speaks TLS so.
    async fn ask(&self, host: &str, tls: &Tls) -> Result<bool, Error> {
        let port = self.gateway.address().port();
        let client = Client::with_tls(&format!("https://{host}:{port}"), tls)?.with_timeout(PATIENCE);
        let request = Request::get("/").body(()).unwrap();
        let check = Check::of(&request, "192.0.2.1".parse().unwrap());
        Ok(client.check(&check).await?.allowed)
    }

    /// Why it is not asked.
    async fn why_not(&self, host: &str, tls: &Tls) -> String {
        match self.ask(host, tls).await {
            Err(error @ Error::Unreachable(_)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_door_is_asked_if_it_has_the_name_and_is_signed_by_whom_we_believe() {
    let door = Door::new("");
    let believer = Tls::new().roots(door.authority.root.as_str());
    assert!(door.ask("localhost", &believer).await.unwrap());
    assert!(!door.ask("localhost", &believer).await.unwrap());
    let named = believer.clone().server_name("localhost");
    assert!(!door.ask("127.0.0.1", &named).await.unwrap());

    let number = door.why_not("127.0.0.1", &believer).await;
    assert!(number.contains("not valid for name"), "{number}");
    let other_name = door
        .why_not("localhost", &believer.server_name("other.test"))
        .await;
    assert!(other_name.contains("not valid for name"), "{other_name}");
    let other_roots = Tls::new().roots(Authority::new().root);
    let stranger = door.why_not("localhost", &other_roots).await;
    assert!(stranger.contains("invalid peer certificate"), "{stranger}");
    let of_system = door.why_not("localhost", &Tls::new()).await;
    assert!(of_system.contains("UnknownIssuer"), "{of_system}");
}

#[tokio::test]
async fn a_door_that_demands_a_certificate_answers_who_shows_one() {
    let door = Door::new(", client_ca: ca.pem, client_auth: require");
    let nobody = Tls::new().roots(door.authority.root.as_str());
    let own = door.authority.issue();
    let known = nobody.clone().identity(own.certificate, own.key);
    assert!(door.ask("localhost", &known).await.unwrap());
    let told = door.why_not("localhost", &nobody).await;
    assert!(told.contains("CertificateRequired"), "{told}");
    let strange = Authority::new().issue();
    door.why_not("localhost", &nobody.identity(strange.certificate, strange.key))
        .await;
}

#[tokio::test]
async fn a_door_in_clear_is_not_asked_over_tls_nor_the_other_way_round() {
    let plain = Gateway::doors("doors: { check: 0 }\npolicies: []");
    let secret = Door::new("");
    let request = Request::get("/").body(()).unwrap();
    let check = Check::of(&request, "192.0.2.1".parse().unwrap());
    let roots = Tls::new().roots(secret.authority.root.as_str());
    let client = Client::with_tls(&format!("https://{}", plain.address()), &roots).unwrap();
    let answer = client.with_timeout(PATIENCE).check(&check).await;
    assert!(matches!(answer, Err(Error::Unreachable(_))), "{answer:?}");
    let client = Client::new(&format!("http://{}", secret.gateway.address())).unwrap();
    let answer = client.with_timeout(PATIENCE).check(&check).await;
    assert!(answer.is_err(), "{answer:?}");
}
