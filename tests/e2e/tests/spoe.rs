//! The door for HAProxy, before clients that speak its protocol by hand, well or badly.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tidegate_e2e::spop::{HAPROXY_DISCONNECT, HAPROXY_HELLO, NOTIFY, frame, hello, notify, string};
use tidegate_e2e::{Gateway, until};

const DOOR: &str = "
doors: { spoe: 0 }
policies: [{ name: two, key: [client.ip], limit: { quota: 1, window: 1h, burst: 2 } }]
";

const AGENT_HELLO: u8 = 101;
const AGENT_DISCONNECT: u8 = 102;
const ACK: u8 = 103;

/// All frames that come back for `bytes`, to the end of the connection: kind, name, and the rest as text.
fn told(door: &Gateway, bytes: &[u8]) -> Vec<(u8, [u8; 2], String)> {
    let mut stream = TcpStream::connect(door.address()).unwrap();
    stream.write_all(bytes).unwrap();
    let mut told = Vec::new();
    stream.read_to_end(&mut told).unwrap();
    let (mut frames, mut rest) = (Vec::new(), &told[..]);
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap();
        let (frame, behind) = behind.split_at(length);
        let text = String::from_utf8_lossy(&frame[7..]).into_owned();
        frames.push((frame[0], [frame[5], frame[6]], text));
        rest = behind;
    }
    frames
}

#[test]
fn messages_that_come_together_are_all_answered_by_their_names() {
    let door = Gateway::doors(DOOR);
    let asked: Vec<u8> = (1..=200).flat_map(|number| notify(number, number % 50)).collect();
    let farewell = frame(HAPROXY_DISCONNECT, [0, 0], &[]);
    let mut frames = told(&door, &[hello(&[]), asked, farewell].concat());
    assert_eq!(frames.remove(0).0, AGENT_HELLO);
    assert_eq!(frames.pop().unwrap().0, AGENT_DISCONNECT);
    frames.sort();
    let names: Vec<u8> = frames.iter().map(|(_, name, _)| name[0]).collect();
    assert_eq!(names, (1..=200).collect::<Vec<u8>>());
    assert!(frames.iter().all(|(kind, name, _)| (*kind, name[1]) == (ACK, 1)));
    // Four of each of fifty clients, two of which pass, unless the machine has too much to do.
    let count = |word: &str| frames.iter().filter(|(.., text)| text.contains(word)).count();
    let [pass, reject, late] = ["\u{4}pass", "\u{6}reject", "overloaded"].map(count);
    assert!(pass <= 100 && reject <= 100, "{pass} {reject}");
    assert_eq!(pass + reject + late, 200);
}

#[test]
fn a_health_check_gets_a_greeting_and_the_end() {
    let door = Gateway::doors(DOOR);
    let frames = told(&door, &hello(&[string("healthcheck"), vec![0x11]].concat()));
    let kinds: Vec<u8> = frames.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [AGENT_HELLO]);
}

#[test]
fn who_speaks_another_protocol_is_told_so_and_the_connection_ends() {
    let door = Gateway::doors(DOOR);
    for (bytes, kinds, message) in [
        (
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            &[AGENT_DISCONNECT][..],
            "frame is too big",
        ),
        (notify(1, 1), &[AGENT_DISCONNECT], "invalid frame received"),
        (
            frame(HAPROXY_HELLO, [0, 0], &[]),
            &[AGENT_DISCONNECT],
            "version value not found",
        ),
        (
            [hello(&[]), hello(&[])].concat(),
            &[AGENT_HELLO, AGENT_DISCONNECT],
            "invalid frame received",
        ),
        (
            [hello(&[]), frame(NOTIFY, [1, 1], &[9])].concat(),
            &[AGENT_HELLO, AGENT_DISCONNECT],
            "invalid frame received",
        ),
        (
            [hello(&[]), vec![0x7f; 8]].concat(),
            &[AGENT_HELLO, AGENT_DISCONNECT],
            "frame is too big",
        ),
    ] {
        let frames = told(&door, &bytes);
        let found: Vec<u8> = frames.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(found, kinds, "{bytes:?}");
        assert!(frames.last().unwrap().2.contains(message), "{frames:?}");
    }
}

#[test]
fn a_message_that_is_being_decided_when_a_stop_comes_is_answered() {
    let door = Gateway::doors_and_admin(
        "
doors: { spoe: 0 }
policies: [{ name: slow, key: [client.ip], limit: { algorithm: leaky_bucket, quota: 1, window: 2s, max_delay: 10s } }]
",
    );
    let mut stream = TcpStream::connect(door.address()).unwrap();
    stream
        .write_all(&[hello(&[]), notify(1, 1), notify(2, 1)].concat())
        .unwrap();
    until("the second message waits", || {
        (door.metric("tidegate_requests_waiting") > 0.0).then_some(())
    });
    door.ask_to_stop();
    let mut told = Vec::new();
    stream.read_to_end(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told);
    assert!(
        told.contains("\u{4}pass") && told.contains("\u{5}delay"),
        "{told}"
    );
    assert!(told.ends_with("normal"), "{told}");
    assert_eq!(door.ended(), Some(0));
}

#[test]
fn a_stop_says_farewell_to_an_haproxy_that_rests() {
    let door = Gateway::doors(DOOR);
    let mut stream = TcpStream::connect(door.address()).unwrap();
    stream.write_all(&[hello(&[]), notify(1, 1)].concat()).unwrap();
    // Up to the answer, which ends with the field that is told last.
    let mut first = [0; 4];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(door.stop(), Some(0));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    let rest = String::from_utf8_lossy(&rest).into_owned();
    assert!(rest.contains("\u{4}pass"), "{rest}");
    assert!(rest.ends_with("normal"), "{rest}");
}
