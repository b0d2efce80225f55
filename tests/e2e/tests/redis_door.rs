//! The door for Redis, with redis-cli, a client library, and clients that mean no good.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use redis::{Connection, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion, RedisConnectionInfo};
use tidegate_e2e::{Gateway, blocks, search_path, shown, until};
use tidegate_test_servers::Server;

const PAGE: &str = include_str!("../../../docs/redis-cell.md");
const DOOR: &str = "doors: { redis: 0 }";

type Answer = (i64, i64, i64, i64, i64);

fn connection(door: &Gateway, version: ProtocolVersion) -> Connection {
    let info: ConnectionInfo = format!("redis://{}", door.address())
        .into_connection_info()
        .unwrap();
    let info = info.set_redis_settings(RedisConnectionInfo::default().set_protocol(version));
    redis::Client::open(info).unwrap().get_connection().unwrap()
}

fn throttle(connection: &mut Connection, key: &str, numbers: &[i64]) -> redis::RedisResult<Answer> {
    redis::cmd("CL.THROTTLE").arg(key).arg(numbers).query(connection)
}

/// All that comes back for `bytes`, to the end of the connection.
fn told(door: &Gateway, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(door.address()).unwrap();
    // Who misspeaks may find the door closed before all is sent.
    let _ = stream.write_all(bytes);
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    String::from_utf8(told).unwrap()
}

#[test]
fn the_page_is_right() {
    let door = Gateway::doors(blocks(PAGE, "yaml").next().unwrap().replace("6380", "0").as_str());
    let port = door.address().port().to_string();
    let commands = shown(PAGE);
    let (start, played) = commands.split_first().unwrap();
    assert!(start.command.starts_with("tidegate serve"));
    assert_eq!(played.len(), 2);
    for shown in played {
        let output = Command::new("sh")
            .args(["-c", &shown.command.replace("6380", &port)])
            .env("PATH", search_path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim_end(),
            shown.prints,
            "{}",
            shown.command
        );
    }
}

#[test]
fn a_library_connects_in_both_versions_of_the_protocol() {
    let door = Gateway::doors(DOOR);
    for (key, version) in [("two", ProtocolVersion::RESP2), ("three", ProtocolVersion::RESP3)] {
        let mut connection = connection(&door, version);
        assert_eq!(
            throttle(&mut connection, key, &[2, 30, 60]).unwrap(),
            (0, 3, 2, -1, 2)
        );
        let wrong = throttle(&mut connection, key, &[2, 30]).unwrap_err();
        assert!(wrong.to_string().contains("Usage: cl.throttle <key>"), "{wrong}");
        assert_eq!(throttle(&mut connection, key, &[2, 30, 60, 3]).unwrap().0, 1);
    }
}

#[test]
fn many_commands_at_once_are_answered_in_their_order() {
    const MANY: i64 = 20_000;
    let door = Gateway::doors(DOOR);
    let mut connection = connection(&door, ProtocolVersion::RESP2);
    let mut pipe = redis::pipe();
    for _ in 0..MANY {
        pipe.cmd("CL.THROTTLE").arg("a").arg(&[MANY - 2, 1, 86_400]);
    }
    let answers: Vec<Answer> = pipe.query(&mut connection).unwrap();
    let left: Vec<i64> = answers.iter().map(|answer| answer.2).collect();
    let expected: Vec<i64> = (0..MANY - 1).rev().chain([0]).collect();
    assert!(left == expected);
    assert_eq!(answers.last().unwrap().0, 1);
}

#[test]
fn two_instances_hold_one_limit_by_their_store_and_each_its_own_without_it() {
    let store = Server::redis();
    let policies = format!("store: {}\n{DOOR}", store.url());
    let doors = [Gateway::doors(&policies), Gateway::doors(&policies)];
    let mut connections = doors
        .each_ref()
        .map(|door| connection(door, ProtocolVersion::RESP2));
    let mut left = Vec::new();
    for _ in 0..2 {
        for connection in &mut connections {
            left.push(throttle(connection, "shared", &[4, 1, 3_600]).unwrap().2);
        }
    }
    assert_eq!(left, [4, 3, 2, 1]);
    // Many at once are asked for at once.
    let mut pipe = redis::pipe();
    for _ in 0..300 {
        pipe.cmd("CL.THROTTLE").arg("many").arg(&[199, 1, 3_600]);
    }
    let answers: Vec<Answer> = pipe.query(&mut connections[0]).unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.0 == 0).count(), 200);
    drop(store);
    for connection in &mut connections {
        assert_eq!(throttle(connection, "shared", &[4, 1, 3_600]).unwrap().2, 4);
    }
}

#[test]
fn a_door_that_rather_refuses_says_so_while_its_store_is_away() {
    let store = Server::redis();
    let policies = format!(
        "store: {}\ndoors: {{ redis: {{ listen: 0, on_store_failure: deny }} }}",
        store.url()
    );
    let door = Gateway::doors(&policies);
    let mut connection = connection(&door, ProtocolVersion::RESP2);
    assert_eq!(throttle(&mut connection, "a", &[4, 1, 3_600]).unwrap().0, 0);
    drop(store);
    let refused = throttle(&mut connection, "a", &[4, 1, 3_600]).unwrap_err();
    assert!(
        refused.to_string().contains("the shared store does not decide"),
        "{refused}"
    );
}

#[test]
fn nobody_is_answered_who_does_not_say_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "hunter2\n").unwrap();
    let door = Gateway::doors(&format!(
        "doors: {{ redis: {{ listen: 0, password_file: {} }} }}",
        password.display()
    ));
    let throttle = "cl.throttle a 9 1 60\r\n";
    for (first, answer) in [
        ("", "-NOAUTH"),
        ("auth wrong\r\n", "-WRONGPASS"),
        ("auth hunter2\r\n", "+OK\r\n*5"),
        ("auth default hunter2\r\n", "+OK\r\n*5"),
        ("hello 3 auth default hunter2\r\n", "%7"),
    ] {
        let told = told(&door, format!("{first}{throttle}quit\r\n").as_bytes());
        assert!(told.starts_with(answer), "{first}: {told}");
        assert_eq!(
            told.contains("*5\r\n:0\r\n"),
            !answer.starts_with('-'),
            "{first}: {told}"
        );
    }
}

#[test]
fn who_misspeaks_is_told_and_the_connection_ends() {
    let door = Gateway::doors(DOOR);
    for (bytes, answer) in [
        (
            &b"*1\r\n:1\r\n"[..],
            "-ERR Protocol error: expected '$', got ':'\r\n",
        ),
        (
            b"*1\r\n$999999999\r\n",
            "-ERR Protocol error: invalid bulk length\r\n",
        ),
        (
            b"*999999999\r\n",
            "-ERR Protocol error: invalid multibulk length\r\n",
        ),
        (
            b"ping\r\n*x\r\n",
            "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n",
        ),
        (&[b'a'; 70_000], "-ERR Protocol error: too big a command\r\n"),
        (b"POST / HTTP/1.1\r\nHost: a\r\n\r\nping\r\n", ""),
    ] {
        assert_eq!(told(&door, bytes), answer);
    }
}

#[test]
fn a_stop_does_not_wait_for_clients_that_rest() {
    let door = Gateway::doors(DOOR);
    let mut resting = connection(&door, ProtocolVersion::RESP2);
    throttle(&mut resting, "a", &[1, 1, 1]).unwrap();
    assert_eq!(door.stop(), Some(0));
    assert!(throttle(&mut resting, "a", &[1, 1, 1]).is_err());
}

#[test]
fn a_command_that_the_store_is_asked_for_when_a_stop_comes_is_answered() {
    let redis = Server::redis();
    let policies = format!(
        "store: {{ redis: {}, timeout: 1s }}\ndoors: {{ redis: {{ listen: 0, consistency: strict }} }}",
        redis.url()
    );
    let door = Gateway::doors_and_admin(&policies);
    let mut idle = TcpStream::connect(door.address()).unwrap();
    let mut asks = TcpStream::connect(door.address()).unwrap();
    redis.stop();
    let ask = "*5\r\n$11\r\nCL.THROTTLE\r\n$3\r\nann\r\n$1\r\n9\r\n$1\r\n9\r\n$2\r\n60\r\n";
    asks.write_all(ask.as_bytes()).unwrap();
    until("the store is asked", || {
        (door.metric("tidegate_store_calls_total") > 0.0).then_some(())
    });
    door.ask_to_stop();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "who rests is let go at once");
    redis.cont();
    let mut told = String::new();
    asks.read_to_string(&mut told).unwrap();
    assert!(told.starts_with("*5\r\n:0\r\n:10\r\n"), "{told}");
    assert_eq!(door.ended(), Some(0));
}
