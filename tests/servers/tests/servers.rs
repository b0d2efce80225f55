//! Single servers: they start, die, stand still and come again, and ask of clients what they should.

use std::path::Path;
use std::process::{Command, Stdio};

use redis::{Client, Connection, RedisResult};
use tidegate_test_servers::{Keep, Kind, Options, Process, Server, Tls, Watch, until};

fn connect(url: &str) -> RedisResult<Connection> {
    let mut connection = Client::open(url)?.get_connection()?;
    redis::cmd("PING").exec(&mut connection)?;
    Ok(connection)
}

#[test]
fn every_kind_starts_answers_dies_and_comes_again() {
    let versions = [
        "redis_version:6.2.",
        "redis_version:7.0.",
        "valkey_version:8.",
        "valkey_version:9.",
    ];
    for (kind, version) in Kind::ALL.into_iter().zip(versions) {
        let watch = Watch::start();
        let mut server = Server::start(kind, Options::default());
        eprintln!("{kind:?} is ready after {:?}", watch.elapsed());
        let (name, number) = version.split_once(':').unwrap();
        let told = server.info(name).unwrap();
        assert!(told.starts_with(number), "{kind:?} is {told}");
        connect(&server.url()).unwrap();
        server.kill();
        assert!(connect(&server.url()).is_err(), "{kind:?} was killed");
        let port = server.port();
        server.restart();
        assert_eq!(server.port(), port);
        connect(&server.url()).unwrap();
    }
}

#[test]
fn what_was_written_outlives_a_crash_only_where_it_is_asked_for() {
    for (keep, left) in [(Keep::Nothing, None), (Keep::Everything, Some("v".to_owned()))] {
        let options = Options {
            keep,
            ..Options::default()
        };
        let mut server = Server::start(Kind::Redis70, options);
        let _: () = server.ask(&["SET", "k", "v"]);
        server.restart();
        assert_eq!(server.ask::<Option<String>>(&["GET", "k"]), left, "{keep:?}");
    }
}

#[test]
fn a_server_that_stands_still_takes_connections_and_says_nothing() {
    let server = Server::redis();
    let client = Client::open(server.url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    connection
        .set_read_timeout(Some(std::time::Duration::from_millis(100)))
        .unwrap();
    server.stop();
    let error = redis::cmd("PING").exec(&mut connection).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    let error = server.try_ask::<String>(&["PING"]).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    server.cont();
    until("the server answers again", || connect(&server.url()).ok());
}

#[test]
fn a_password_or_a_user_is_asked_for() {
    let password = Server::start(
        Kind::Redis70,
        Options {
            password: Some("secret"),
            ..Options::default()
        },
    );
    assert!(connect(&password.url()).is_err());
    connect(&password.url().replace("//", "//:secret@")).unwrap();
    let user = Server::start(
        Kind::Redis62,
        Options {
            user: Some(("tidegate", "secret")),
            ..Options::default()
        },
    );
    assert!(connect(&user.url()).is_err());
    assert!(connect(&user.url().replace("//", "//:secret@")).is_err());
    connect(&user.url().replace("//", "//tidegate:secret@")).unwrap();
}

#[test]
fn the_unix_socket_takes_connections() {
    let server = Server::valkey();
    connect(&format!("redis+unix://{}", server.socket().display())).unwrap();
}

/// `openssl s_client` with the server's authority and these arguments, asking for PING. Whether the answer came.
fn answers_over_tls(server: &Server, arguments: &[&str]) -> bool {
    use std::io::Write as _;

    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_return_error", "-connect"])
        .arg(server.address().to_string())
        .arg("-CAfile")
        .arg(&server.certificates().authority)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Open until the server closes: s_client would not wait for an answer. It may be turned away before all is written.
    let mut stdin = client.stdin.take().unwrap();
    let _ = stdin.write_all(b"PING\r\nQUIT\r\n");
    let said = client.wait_with_output().unwrap().stdout;
    String::from_utf8_lossy(&said).contains("+PONG")
}

#[test]
fn tls_is_spoken_and_a_clients_certificate_is_asked_for() {
    let start = |tls| {
        let options = Options {
            tls,
            ..Options::default()
        };
        Server::start(Kind::Redis70, options)
    };
    let (server, mutual) = (start(Tls::Server), start(Tls::Mutual));
    assert!(server.url().starts_with("rediss://"));
    assert!(answers_over_tls(&server, &[]));
    assert!(!answers_over_tls(&mutual, &[]));
    let files = mutual.certificates();
    let (certificate, key) = (files.client.to_str().unwrap(), files.client_key.to_str().unwrap());
    assert!(answers_over_tls(&mutual, &["-cert", certificate, "-key", key]));
}

#[test]
fn a_server_ends_with_the_process_that_started_it_and_not_with_the_thread() {
    let mut process = Process::start(Command::new(env!("CARGO_BIN_EXE_start-and-stay")));
    let line = process.logged(|line| Some(line.to_owned())).unwrap();
    let (port, folder) = line.split_once(' ').unwrap();
    let url = format!("redis://127.0.0.1:{port}");
    connect(&url).unwrap();
    // Its server is in a process group of its own: it is not killed by this.
    process.kill();
    until("the server has ended", || connect(&url).err());
    assert!(Path::new(folder).exists());
    let _next = Server::redis();
    until("its folder is gone", || {
        (!Path::new(folder).exists()).then_some(())
    });
}

#[test]
fn a_shared_server_is_one_for_all() {
    assert_eq!(Server::shared().port(), Server::shared().port());
    let _: () = Server::shared().ask(&["PING"]);
}
