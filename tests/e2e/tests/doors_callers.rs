//! Who may ask at a door, over what, and how a door ends.

use std::fs;
use std::path::Path;

use tidegate_e2e::{Authority, Gateway, Port, Raw, curl, try_curl};

const ASKED: [&str; 6] = [
    "-H",
    "x-original-method: GET",
    "-H",
    "x-original-uri: /",
    "-H",
    "x-forwarded-for: 192.0.2.1",
];

/// A door with these settings beside its address, and nothing that is limited.
fn door(folder: &Path, settings: &str) -> Gateway {
    let file = folder.join("tidegate.yaml");
    let text =
        format!("admin: 'off'\ndoors: {{ check: {{ listen: 127.0.0.1:0, {settings} }} }}\npolicies: []\n");
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

#[test]
fn a_door_with_client_certificates_answers_whoever_has_one_and_nobody_else() {
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
    let door = door(folder.path(), tls);
    let port = door.address().port();
    let url = format!("https://localhost:{port}/auth-request");
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ca, resolve) = (file("ca.pem"), format!("localhost:{port}:127.0.0.1"));
    let base = [url.as_str(), "--cacert", &ca, "--resolve", &resolve];
    let shown = |name: &str| {
        [
            "--cert".to_owned(),
            file(&format!("{name}.pem")),
            "--key".to_owned(),
            file(&format!("{name}.key")),
        ]
    };
    let ask = |arguments: &[String]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        try_curl(&[&base[..], &ASKED, &arguments].concat())
    };
    assert_eq!(ask(&shown("client")).unwrap().status, 200);
    assert!(ask(&[]).is_err());
    assert!(ask(&shown("other")).is_err());
    let clear = format!("http://127.0.0.1:{port}/auth-request");
    let in_clear = try_curl(&[&[clear.as_str()], &ASKED[..]].concat());
    assert!(!in_clear.is_ok_and(|reply| reply.status != 400));
}

#[test]
fn a_stop_closes_connections_that_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut door = door(folder.path(), "callers: 127.0.0.0/8");
    let mut proxy = Raw::connect(door.address());
    proxy.send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(proxy.read_until("ok\n").contains("200 OK"));
    door.process().signal(rustix::process::Signal::TERM);
    // At once, and not after the time that answers under way are given.
    assert_eq!(proxy.rest(), "");
    assert_eq!(door.process().ended().code(), Some(0));
}
