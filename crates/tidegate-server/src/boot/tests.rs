use std::net::{SocketAddr, TcpListener};

use super::*;
use crate::load::LoadError;

const FILE: &str = "\
gateway:
  listen: 127.0.0.2:0
  upstream: http://127.0.0.1:9
policies:
  - name: api
    match: { path: /** }
    key: [client.ip]
    limit: { quota: 1, window: 1s }
";

fn options(text: &str) -> BootOptions {
    BootOptions {
        policies: PolicySource::read_from("tidegate.yaml", text.as_bytes()).unwrap(),
        origin: Origin::Configured,
        listen: None,
        admin: Some(Admin::Off),
        drain: Duration::from_secs(1),
        handover: None,
    }
}

fn origin(server: &Server) -> String {
    server.forwarding().default_upstream().unwrap().to_string()
}

#[test]
fn what_the_file_says_holds_when_nothing_else_is_said() {
    let server = boot(options(FILE)).unwrap();
    assert_eq!(server.listening().len(), 1);
    assert_eq!(server.listening()[0].ip().to_string(), "127.0.0.2");
    assert_ne!(
        server.listening()[0].port(),
        0,
        "the port that the system chose is known"
    );
    assert_eq!(origin(&server), "http://127.0.0.1:9");
    assert!(!server.has_demo());
    assert_eq!(&*server.per_instance()[0].name, "api");
}

#[test]
fn the_address_and_the_upstream_asked_for_win_over_the_file() {
    let server = boot(BootOptions {
        origin: Origin::At("http://127.0.0.1:10".parse().unwrap()),
        listen: Some(([127, 0, 0, 3], 0).into()),
        ..options(FILE)
    })
    .unwrap();
    assert_eq!(server.listening().len(), 1);
    assert_eq!(server.listening()[0].ip().to_string(), "127.0.0.3");
    assert_eq!(origin(&server), "http://127.0.0.1:10");
}

#[test]
fn the_demo_stands_in_for_the_upstream_of_the_file() {
    let server = boot(BootOptions {
        origin: Origin::Demo,
        ..options(FILE)
    })
    .unwrap();
    assert!(server.has_demo());
    assert_ne!(origin(&server), "http://127.0.0.1:9");
}

#[test]
fn nothing_to_protect_is_an_error_that_says_where_to_write_it() {
    let error = boot(options(&FILE.replace("  upstream: http://127.0.0.1:9\n", ""))).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("tidegate.yaml does not say what to protect"),
        "{said}"
    );
    assert!(
        said.contains("`gateway.upstream`") && said.contains("`--upstream "),
        "{said}"
    );
}

#[test]
fn an_invalid_file_is_an_error_with_all_its_problems() {
    let error = boot(options("polices: []\nstoer: memory\n")).unwrap_err();
    let BootError::Load(LoadError::Invalid(problems)) = &error else {
        panic!("{error:?}")
    };
    assert!(problems.len() >= 2, "{error}");
}

#[test]
fn an_address_in_use_is_an_error_with_another_to_take() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = boot(BootOptions {
        listen: Some(address),
        ..options(FILE)
    })
    .unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with(&format!("{address} is taken")), "{said}");
    let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8080));
    assert!(said.contains(&format!("--listen {other}")), "{said}");
}

#[test]
fn every_way_of_not_listening_names_the_address_and_a_cure() {
    for kind in [
        io::ErrorKind::AddrInUse,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::AddrNotAvailable,
    ] {
        let address = ([192, 0, 2, 1], u16::MAX).into();
        let said = BootError::Bind {
            address,
            error: kind.into(),
        }
        .to_string();
        assert!(
            said.contains("192.0.2.1:65535") && said.contains("--listen"),
            "{said}"
        );
    }
}

#[test]
fn as_many_files_may_be_open_as_the_system_allows() {
    let mut files = getrlimit(Resource::Nofile);
    let most = files.maximum;
    files.current = most.map(|most| most - 1);
    setrlimit(Resource::Nofile, files).unwrap();
    let _server = boot(options(FILE)).unwrap();
    assert_eq!(getrlimit(Resource::Nofile).current, most);
}
