//! A leaky bucket holds requests back, one after the other.

use std::time::Duration;

use http::Request;
use tidegate_core::Timestamp;
use tidegate_server::clock::{Clock, ManualClock};
use tokio::time::Instant;

use crate::bed::{Bed, field};
use crate::http2::Client;

/// One every 10 ms.
const EVEN: &str = "
policies:
  - name: even
    key: [client.ip]
    limit: { algorithm: leaky_bucket, quota: 100, window: 1s, burst: 1, max_delay: 10s }
";

/// How many ask at once, and which of them leaves before its turn.
const ASKING: usize = 50;
const LEAVING: usize = 30;

#[test]
fn fifty_that_ask_at_once_go_on_in_their_order_at_an_even_rate_and_one_that_leaves_is_not_sent() {
    // They ask at one moment by the clock of the limits, however long the machine takes over it.
    let moment = ManualClock::starting_at(Timestamp::from_nanos(1_700_000_000_000_000_000));
    let bed = Bed::limited(EVEN, "", Clock::manual(moment), |_| {});
    let mut client = Client::new(&bed);
    let mut answers = Vec::new();
    // Before the first of them, so that a test thread that is put off sees them late and never early.
    let began = Instant::now();
    for number in 0..ASKING {
        let request = Request::post(format!("http://a.test/{number}")).body(()).unwrap();
        let (answer, mut upload) = client.send(request, false);
        if number == LEAVING {
            upload.send_reset(h2::Reason::CANCEL);
        } else {
            upload.send_data(bytes::Bytes::new(), true).unwrap();
            answers.push(answer);
        }
    }

    let mut seen = Vec::new();
    for number in (0..ASKING).filter(|number| *number != LEAVING) {
        let mut origin = bed.origin.accept();
        let head = origin.head();
        let since = began.elapsed();
        // Each waits for its own turn, so nobody is early, whatever the first one's delay was.
        let turn = Duration::from_millis(10) * u32::try_from(number).unwrap();
        seen.push((
            number,
            head.starts_with(&format!("POST /{number} ")),
            since >= turn,
        ));
        let verdict = if number == 0 { "pass" } else { "delay" };
        assert_eq!(field(&head, "x-tidegate-verdict"), Some(verdict), "{head}");
        origin.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    for (number, in_order, in_time) in seen {
        assert!(in_order, "number {number} had its turn taken");
        assert!(in_time, "number {number} went on before its turn");
    }
    for answer in answers {
        assert_eq!(client.head(answer).status(), 200);
    }
    assert!(!bed.origin.was_asked(), "the one that left was sent");
}

#[test]
fn a_turn_that_its_client_left_passes_unused_and_nobody_waits_longer() {
    let bed = Bed::limited(
        "
policies:
  - name: even
    key: [client.ip]
    limit: { algorithm: leaky_bucket, quota: 1, window: 1h, burst: 1, max_delay: 90m }
",
        "",
        Clock::system(),
        |_| {},
    );
    let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    bed.pass(get, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let mut leaving = bed.client();
    leaving.send(get);
    leaving.finish();
    leaving.gone();
    // What it took stays taken: the next turn is in two hours, which nobody waits for.
    let refused = bed.answer(get);
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    let wait: u64 = field(&refused, "retry-after").unwrap().parse().unwrap();
    assert!((1..=1800).contains(&wait), "{wait}");
}
