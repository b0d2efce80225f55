//! A server in a network of its own: nothing is answered while its wire is cut, and all goes on when it is mended.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{Client, Connection};
use tidegate_test_servers::{Kind, Options, Server, until};

/// How long clients wait.
const SOON: Duration = Duration::from_millis(300);

fn apart(wires: usize) -> Server {
    Server::apart(Kind::Redis70, Options::default(), wires)
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&to, SOON)
}

fn connected(to: SocketAddr) -> Connection {
    let connection = Client::open(format!("redis://{to}"))
        .unwrap()
        .get_connection()
        .unwrap();
    connection.set_read_timeout(Some(SOON)).unwrap();
    connection
}

fn count(connection: &mut Connection) -> redis::RedisResult<u32> {
    redis::cmd("INCR").arg("k").query(connection)
}

fn counted(server: &Server) -> Option<u32> {
    server.ask(&["GET", "k"])
}

fn device(server: &Server) -> PathBuf {
    Path::new("/sys/class/net").join(server.wire(0).link())
}

#[test]
fn a_cut_wire_answers_nobody_and_tells_nobody() {
    let server = apart(1);
    let mut connection = connected(server.address());
    assert_eq!(count(&mut connection).unwrap(), 1);

    server.wire(0).cut();
    let error = connect(server.address()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    let error = count(&mut connection).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(counted(&server), Some(1));

    server.wire(0).mend();
    connect(server.address()).unwrap();
    until("what was lost is sent again", || {
        (counted(&server) == Some(2)).then_some(())
    });
}

#[test]
fn a_wire_whose_answers_are_cut_lets_the_server_hear() {
    let server = apart(1);
    let mut connection = connected(server.address());
    server.wire(0).cut_answers();
    let error = count(&mut connection).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(counted(&server), Some(1));
    let error = connect(server.address()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
}

#[test]
fn of_two_wires_one_is_cut_and_the_other_carries_on() {
    let server = apart(2);
    server.wire(0).cut();
    assert!(connect(server.address_over(0)).is_err());
    assert_eq!(count(&mut connected(server.address_over(1))).unwrap(), 1);
}

#[test]
fn networks_do_not_meet_and_are_gone_with_their_servers() {
    let (first, second) = (apart(1), apart(1));
    first.wire(0).cut();
    connect(second.address()).unwrap();
    let (first_device, second_device) = (device(&first), device(&second));
    assert!(first_device.exists());
    drop(first);
    until("its wire is gone", || (!first_device.exists()).then_some(()));
    assert!(second_device.exists());
}

#[test]
fn a_server_that_is_started_again_is_where_it_was() {
    let mut server = apart(1);
    let address = server.address();
    server.restart();
    connect(address).unwrap();
}
