//! Bodies that policies look at: read ahead, and forwarded as if they had not been.

use std::time::Duration;

use tidegate_core::Timestamp;
use tidegate_server::clock::{Clock, ManualClock};
use tidegate_server::gateway::Settings;

use crate::bed::{Bed, Wire, field};

/// One login per account.
const LOGIN: &str = "
policies:
  - name: login
    match: { method: POST, path: /login }
    key: [body.json.username]
    limit: { quota: 1, window: 1h }
";

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

fn bed(policies: &str) -> Bed {
    with(policies, |_| {})
}

fn with(policies: &str, change: impl FnOnce(&mut Settings)) -> Bed {
    Bed::limited(policies, "", Clock::system(), change)
}

fn user(name: &str) -> String {
    format!(r#"{{"username":"{name}"}}"#)
}

fn head(length: &str) -> String {
    format!("POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{length}\r\n\r\n")
}

fn sized(body: &str) -> String {
    format!("{}{body}", head(&format!("Content-Length: {}", body.len())))
}

fn chunked() -> String {
    head("Transfer-Encoding: chunked")
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

#[test]
fn a_body_arrives_as_it_was_sent_and_its_account_is_limited() {
    let bed = bed(LOGIN);
    let mut client = bed.client();
    let body = user("ann");
    client.send(sized(&body));
    let mut origin = bed.origin.accept();
    let seen = origin.head();
    assert_eq!(
        field(&seen, "content-length"),
        Some(body.len().to_string().as_str())
    );
    assert_eq!(field(&seen, "transfer-encoding"), None);
    assert_eq!(origin.take(body.len()), body);
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");

    // The connections go on.
    client.send(sized(&body));
    let refused = client.head();
    assert_eq!(status(&refused), "429");
    let length = field(&refused, "content-length").unwrap().parse().unwrap();
    client.take(length);
    client.send(sized(&user("bob")));
    origin.head();
    assert_eq!(origin.take(user("bob").len()), user("bob"));
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");
}

#[test]
fn a_body_in_chunks_stays_one_and_keeps_its_trailers() {
    let bed = bed(LOGIN);
    let mut client = bed.client();
    let announced = head("TE: trailers\r\nConnection: te\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked");
    client.send(announced);
    client.send("6\r\n{\"user\r\n10\r\nname\":\"ann\"}    \r\n0\r\nx-sum: 1\r\n\r\n");
    let mut origin = bed.origin.accept();
    let seen = origin.head();
    assert_eq!(field(&seen, "transfer-encoding"), Some("chunked"));
    assert_eq!(field(&seen, "content-length"), None);
    assert_eq!(
        origin.until(b"x-sum: 1\r\n\r\n"),
        "16\r\n{\"username\":\"ann\"}    \r\n0\r\nx-sum: 1\r\n\r\n"
    );
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");
}

#[test]
fn an_empty_body_in_chunks_stays_one() {
    let bed = bed(&format!("{LOGIN}    on_missing: fallback\n"));
    let mut client = bed.client();
    client.send(chunked());
    client.send("0\r\n\r\n");
    let mut origin = bed.origin.accept();
    assert_eq!(field(&origin.head(), "transfer-encoding"), Some("chunked"));
    assert_eq!(origin.until(b"0\r\n\r\n"), "0\r\n\r\n");
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");
}

#[test]
fn what_was_read_of_a_long_body_goes_before_the_rest() {
    const CHUNK: usize = 10_000;
    let bed = bed(&format!(
        "{LOGIN}    on_missing: fallback\n    body: {{ max_bytes: 25000, on_too_large: missing }}\n"
    ));
    let mut client = bed.client();
    client.send(chunked());
    let chunk = |letter: char| letter.to_string().repeat(CHUNK);
    for letter in ['a', 'b', 'c'] {
        client.send(format!("{CHUNK:x}\r\n{}\r\n", chunk(letter)));
    }
    // Beyond the bound nothing is waited for.
    let mut origin = bed.origin.accept();
    origin.head();
    let mut seen = unchunked(&mut origin, 3 * CHUNK);
    for letter in ['d', 'e'] {
        client.send(format!("{CHUNK:x}\r\n{}\r\n", chunk(letter)));
    }
    client.send("0\r\n\r\n");
    seen += &unchunked(&mut origin, 2 * CHUNK);
    let sent: String = ['a', 'b', 'c', 'd', 'e'].map(chunk).concat();
    assert!(seen == sent, "the body changed on its way");
    origin.until(b"0\r\n\r\n");
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");
}

/// The content of chunks with `bytes` in all.
fn unchunked(origin: &mut Wire, bytes: usize) -> String {
    let mut content = String::new();
    while content.len() < bytes {
        let length = origin.until(b"\r\n");
        let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
        content += &origin.take(length);
        origin.take(2);
    }
    content
}

#[test]
fn a_body_longer_than_is_looked_at_is_413_and_not_read() {
    let bed = bed(&format!("{LOGIN}    body: {{ max_bytes: 100 }}\n"));
    let answer = bed.answer(&head("Content-Length: 101\r\nExpect: 100-continue"));
    assert_eq!(status(&answer), "413");
    let answer = bed.answer(&format!("{}65\r\n{}\r\n", chunked(), "x".repeat(101)));
    assert_eq!(status(&answer), "413");
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_client_that_waits_to_go_on_is_told_before_the_origin_is_asked() {
    let bed = bed(LOGIN);
    let mut client = bed.client();
    let body = user("ann");
    client.send(head(&format!(
        "Content-Length: {}\r\nExpect: 100-continue",
        body.len()
    )));
    assert_eq!(client.head(), "HTTP/1.1 100 Continue\r\n\r\n");
    assert!(!bed.origin.was_asked());
    client.send(&body);
    let mut origin = bed.origin.accept();
    assert_eq!(field(&origin.head(), "expect"), None);
    assert_eq!(origin.take(body.len()), body);
    origin.send(OK);
    assert_eq!(status(&client.head()), "200");
}

#[test]
fn a_client_that_sends_its_body_slowly_has_so_much_time_in_all() {
    let policies = format!("{LOGIN}    body: {{ max_bytes: 4MiB }}\n");
    let bed = with(&policies, |settings| {
        settings.timeouts.policy_body = Duration::from_millis(300);
    });
    let silent = bed.answer(&head("Content-Length: 1000"));
    assert_eq!(status(&silent), "408");

    let mut client = bed.client();
    client.send(chunked());
    let mut sender = client.twin();
    let sending = std::thread::spawn(move || sender.send_until_closed("1\r\n \r\n"));
    assert_eq!(status(&client.head()), "408");
    drop(client);
    sending.join().unwrap();
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_body_that_breaks_off_is_no_request() {
    let bed = bed(LOGIN);
    let mut client = bed.client();
    client.send(format!("{}5\r\nhello\r\nzz\r\n", chunked()));
    assert_eq!(status(&client.head()), "400");
    assert!(!bed.origin.was_asked());
}

#[test]
fn a_body_that_no_policy_looks_at_streams_before_it_is_whole() {
    let bed = bed(LOGIN);
    for request in [
        "PUT /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n",
        "POST /other HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n",
    ] {
        let mut client = bed.client();
        client.send(request);
        let mut origin = bed.origin.accept();
        origin.head();
        client.send("1");
        assert_eq!(origin.take(1), "1");
    }
}

#[test]
fn an_upgrade_passes_a_policy_that_looks_at_bodies() {
    let bed = bed(&LOGIN.replace("method: POST, ", "").replace(
        "key: [body.json.username]",
        "key: [body.json.username]\n    on_missing: fallback",
    ));
    let mut client = bed.client();
    client.send("GET /login HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    assert_eq!(status(&client.head()), "101");
    client.send("ping");
    assert_eq!(origin.take(4), "ping");
}

#[test]
fn slow_bodies_hold_so_much_memory_in_all_and_no_more() {
    const SLOW: usize = 10;
    let bed = with(LOGIN, |settings| settings.bounds.body_memory = SLOW * 1024);
    // One more than there is room for, each with the least that a buffer takes.
    let begin = || {
        let mut client = bed.client();
        client.send(format!("{}1\r\n{{\r\n", chunked()));
        client
    };
    let mut slow: Vec<Wire> = (0..=SLOW).map(|_| begin()).collect();
    let mut refused = Wire::first_answered(&mut slow);
    let answer = refused.head();
    assert_eq!(status(&answer), "503");
    assert_eq!(field(&answer, "connection"), Some("close"));
    assert!(refused.rest().contains("too_many_bodies"));

    // Whoever brings no body is not concerned.
    let mut other = bed.client();
    other.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut origin = bed.origin.accept();
    origin.head();
    origin.send(OK);
    assert_eq!(status(&other.head()), "200");

    // And what one gives back is there for the next.
    let mut finish = |mut client: Wire, name: &str| {
        client.send(format!("11\r\n\"username\":\"{name}\"}}\r\n0\r\n\r\n"));
        let body = user(name);
        origin.head();
        assert_eq!(unchunked(&mut origin, body.len()), body);
        origin.until(b"0\r\n\r\n");
        origin.send(OK);
        assert_eq!(status(&client.head()), "200");
    };
    finish(slow.swap_remove(0), "ann");
    finish(begin(), "bob");
}

#[test]
fn a_request_counts_from_when_its_body_is_there() {
    let hand = ManualClock::starting_at(Timestamp::from_nanos(1_700_000_000_000_000_000));
    let policies = LOGIN.replace("limit: {", "limit: { algorithm: sliding_window_log,");
    let bed = Bed::limited(&policies, "", Clock::manual(hand.clone()), |_| {});
    let body = user("ann");
    let mut client = bed.client();
    client.send(head(&format!(
        "Content-Length: {}\r\nExpect: 100-continue",
        body.len()
    )));
    client.head();
    hand.advance(Duration::from_secs(1800));
    client.send(&body);
    let mut origin = bed.origin.accept();
    origin.head();
    origin.take(body.len());
    origin.send(OK);
    client.head();
    // More than the window after the head, and less than that after the body.
    hand.advance(Duration::from_secs(2000));
    assert_eq!(status(&bed.answer(&sized(&body))), "429");
}
