//! A stop takes no new work, finishes what is under way, and does not wait for ever.

use std::net::TcpStream;
use std::time::Duration;

use tidegate_policy::Door;

use crate::bed::{Bed, field};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[test]
fn a_request_in_flight_is_finished_and_its_connection_closed() {
    let mut bed = Bed::new();
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    bed.ask_to_stop();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    origin.send("hello");
    assert_eq!(client.rest(), "hello");
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn a_response_that_begins_after_the_stop_says_that_the_connection_closes() {
    let mut bed = Bed::new();
    let mut idle = bed.client();
    let mut client = bed.client();
    for client in [&mut idle, &mut client] {
        client.send(GET);
        let mut origin = bed.origin.accept();
        origin.head();
        origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        client.head();
    }
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    bed.ask_to_stop();
    // An idle connection ends at once, which shows that the stop has arrived.
    assert_eq!(idle.rest(), "");
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(field(&client.head(), "connection"), Some("close"));
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn nobody_is_let_in_any_more() {
    let bed = Bed::new();
    let address = bed.address;
    bed.stopped();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn what_takes_longer_than_the_drain_is_cut() {
    let mut bed = Bed::with(|settings| settings.timeouts.drain = Duration::from_millis(80));
    let mut client = bed.client();
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    bed.ask_to_stop();
    origin.gone();
    client.gone();
    assert_eq!(bed.stopped().cut, 1);
}

#[test]
fn tunnels_end_when_the_drain_is_over() {
    let mut bed = Bed::with(|settings| settings.timeouts.drain = Duration::from_millis(80));
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.head();
    bed.ask_to_stop();
    client.gone();
    origin.gone();
    assert_eq!(bed.stopped().cut, 1);
}

/// Longer than any test.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn who_is_bid_farewell_kindly_may_ask_once_more_and_is_told_that_it_was_the_last_time() {
    let mut bed = Bed::new();
    let mut idle = bed.client();
    let mut fresh = bed.client();
    idle.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    idle.head();

    bed.ask_to_leave(LONG);
    for client in [&mut idle, &mut fresh] {
        client.send(GET);
        origin.head();
        origin.send(OK);
        let head = client.head();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert_eq!(field(&head, "connection"), Some("close"));
        client.gone();
    }
    // It waits no longer than for the last connection.
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn who_waits_in_the_queue_when_a_farewell_begins_is_let_in() {
    let (bed, mut client) = Bed::leaving(LONG);
    client.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(field(&head, "connection"), Some("close"));
    client.gone();
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn a_kind_farewell_ends_too() {
    let mut bed = Bed::new();
    let mut silent = bed.client();
    let mut idle = bed.client();
    idle.send(GET);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    idle.head();
    bed.ask_to_leave(Duration::from_millis(50));
    silent.gone();
    idle.gone();
    assert_eq!(bed.stopped().cut, 0);
}

#[test]
fn a_kind_farewell_lasts_no_longer_than_the_drain() {
    let mut bed = Bed::with(|settings| settings.timeouts.drain = Duration::from_millis(80));
    let mut silent = bed.client();
    silent.send("GET / HTTP/1.1\r\n");
    bed.ask_to_leave(LONG);
    silent.gone();
    assert_eq!(bed.stopped().cut, 1);
}

#[test]
fn a_door_whose_place_the_next_process_takes_is_well_to_the_end() {
    let mut bed = Bed::with(|settings| settings.listen[0].door = Door::Check);
    let mut balancer = bed.client();
    bed.ask_to_leave(LONG);
    balancer.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    let told = balancer.rest();
    assert!(told.starts_with("HTTP/1.1 200 OK\r\n"), "{told}");
    assert_eq!(bed.stopped().cut, 0);
}
