//! Who may ask at a door, over what, and how a door ends.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use tidegate_e2e::{Authority, Gateway, Port, Raw, Reply, curl, try_curl};

const ASKED: [&str; 6] = [
    "-H",
    "x-original-method: GET",
    "-H",
    "x-original-uri: /",
    "-H",
    "x-forwarded-for: 192.0.2.1",
];

/// A door of that kind with these settings beside its address, and nothing that is limited.
fn door(folder: &Path, kind: &str, settings: &str) -> Gateway {
    let file = folder.join("tidegate.yaml");
    let text =
        format!("admin: 'off'\ndoors: {{ {kind}: {{ listen: 127.0.0.1:0, {settings} }} }}\npolicies: []\n");
    fs::write(&file, text).unwrap();
    Gateway::run(Gateway::command(&["serve", "--config", file.to_str().unwrap()]))
}

#[test]
fn who_is_not_among_the_callers_is_turned_away_told_of_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let admin = Port::claim();
    let file = folder.path().join("tidegate.yaml");
    let text = format!(
        "admin: 127.0.0.1:{}\ndoors: {{ check: {{ listen: 127.0.0.1:0, callers: 127.0.0.2 }} }}\npolicies: []\n",
        admin.number()
    );
    fs::write(&file, text).unwrap();
    let mut door = Gateway::run(Gateway::command(&["serve", "--config", file.to_str().unwrap()]));
    let url = door.url("/auth-request");
    let from = |address: &str| {
        try_curl(&[&[url.as_str(), "--interface", address], &ASKED[..]].concat()).map(|reply| reply.status)
    };
    assert_eq!(from("127.0.0.2"), Ok(200));
    let turned_away = from("127.0.0.1").unwrap_err();
    let closed = ["Empty reply", "reset by peer"];
    assert!(
        closed.iter().any(|how| turned_away.contains(how)),
        "{turned_away}"
    );
    let told = door
        .process()
        .logged(|line| line.contains("turned away").then(|| line.to_owned()));
    assert!(told.unwrap().contains(r#""peer":"127.0.0.1""#));
    assert_eq!(from("127.0.0.2"), Ok(200));
    let metrics = format!("http://127.0.0.1:{}/metrics", admin.number());
    let page = curl(&[&metrics]).body;
    assert!(
        page.contains("\ntidegate_connections_turned_away_total 1\n"),
        "{page}"
    );
}

/// A door that demands client certificates, and how somebody asks at it.
struct Guarded {
    folder: TempDir,
    door: Gateway,
}

impl Guarded {
    fn start(kind: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (authority, strange) = (Authority::new(), Authority::new());
        let (server, client, other) = (authority.issue(), authority.issue(), strange.issue());
        for (name, text) in [
            ("ca.pem", &authority.root),
            ("server.pem", &server.certificate),
            ("server.key", &server.key),
            ("client.pem", &client.certificate),
            ("client.key", &client.key),
            ("other.pem", &other.certificate),
            ("other.key", &other.key),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let tls = "tls: { certificates: [{ certificate: server.pem, key: server.key }], client_ca: ca.pem, client_auth: require }";
        let door = door(folder.path(), kind, tls);
        Self { folder, door }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// What is answered at `path` to whoever has the certificate `name`, or none.
    fn ask(&self, path: &str, name: Option<&str>, arguments: &[&str]) -> Result<Reply, String> {
        let port = self.door.address().port();
        let (url, ca) = (format!("https://localhost:{port}{path}"), self.file("ca.pem"));
        let resolve = format!("localhost:{port}:127.0.0.1");
        let shown = name.map(|name| {
            [
                self.file(&format!("{name}.pem")),
                self.file(&format!("{name}.key")),
            ]
        });
        let mut all = vec![url.as_str(), "--cacert", &ca, "--resolve", &resolve];
        if let Some([certificate, key]) = &shown {
            all.extend(["--cert", certificate, "--key", key]);
        }
        all.extend(arguments);
        try_curl(&all)
    }
}

#[test]
fn a_door_with_client_certificates_answers_whoever_has_one_and_nobody_else() {
    let guarded = Guarded::start("check");
    let ask = |name| guarded.ask("/auth-request", name, &ASKED);
    assert_eq!(ask(Some("client")).unwrap().status, 200);
    assert!(ask(None).is_err());
    assert!(ask(Some("other")).is_err());
    let clear = format!("http://127.0.0.1:{}/auth-request", guarded.door.address().port());
    let in_clear = try_curl(&[&[clear.as_str()], &ASKED[..]].concat());
    assert!(!in_clear.is_ok_and(|reply| reply.status != 400));
}

#[test]
fn a_door_for_envoy_with_client_certificates_does_so_too() {
    let guarded = Guarded::start("envoy");
    // An empty message behind its prefix: how are all services?
    let message = guarded.file("message");
    fs::write(&message, [0; 5]).unwrap();
    let (data, grpc) = (format!("@{message}"), "content-type: application/grpc");
    let arguments = ["--http2", "-H", grpc, "--data-binary", &data];
    let ask = |name| guarded.ask("/grpc.health.v1.Health/Check", name, &arguments);
    let answer = ask(Some("client")).unwrap();
    assert_eq!(answer.start, "HTTP/2 200");
    // A message of two bytes: its first field is 1, they serve.
    assert!(
        answer.body.as_bytes().starts_with(&[0, 0, 0, 0, 2, 8, 1]),
        "{answer:?}"
    );
    assert!(ask(None).is_err());
    assert!(ask(Some("other")).is_err());
}

#[test]
fn a_stop_closes_connections_that_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut door = door(folder.path(), "check", "callers: 127.0.0.0/8");
    let mut proxy = Raw::connect(door.address());
    proxy.send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(proxy.read_until("ok\n").contains("200 OK"));
    door.process().signal(rustix::process::Signal::TERM);
    // At once, and not after the time that answers under way are given.
    assert_eq!(proxy.rest(), "");
    assert_eq!(door.process().ended().code(), Some(0));
}
