//! A slot is given back on every way a request can end.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use h2::Reason;
use http::Request;
use tidegate_core::{Algorithm, Charge, Decisions, HoldId, Key, Timestamp};
use tidegate_server::clock::{Clock, ManualClock};
use tidegate_server::gateway::Settings;
use tidegate_store::{Memory, NotRefunded, Store, StoreError};

use crate::bed::{Bed, PATIENCE, store};
use crate::http2::Client;

const POLICIES: &str = "
policies:
  - name: slots
    key: [client.ip]
    limit: { algorithm: concurrency, slots: 5, ttl: 1h }
  - name: turns
    match: { path: /turns }
    key: [client.ip]
    limit: { algorithm: leaky_bucket, quota: 1, window: 1h, max_delay: 10h }
  - name: none
    match: { path: /refused }
    key: [client.ip]
    limit: { quota: 1, window: 1h }
";

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// What became of a slot.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Taken,
    GivenBack,
}

/// A store that tells of slots.
struct Watched {
    memory: Memory,
    taken: Mutex<HashSet<HoldId>>,
    events: Sender<Event>,
}

impl Store for Watched {
    async fn charge(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decisions, StoreError> {
        let decisions = self.memory.charge(charges, now).await?;
        for charge in charges.iter().filter(|_| decisions.charged) {
            if charge.limit.algorithm() == Algorithm::Concurrency {
                self.lock().insert(charge.hold);
                let _ = self.events.send(Event::Taken);
            }
        }
        Ok(decisions)
    }

    async fn release(&self, key: Key, hold: HoldId, now: Timestamp) -> Result<(), StoreError> {
        self.memory.release(key, hold, now).await?;
        if self.lock().remove(&hold) {
            let _ = self.events.send(Event::GivenBack);
        }
        Ok(())
    }

    async fn refund(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<(), NotRefunded> {
        self.memory.refund(charges, now).await
    }
}

impl Watched {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<HoldId>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One way a request can end.
struct Ending {
    name: &'static str,
    change: fn(&mut Settings),
    play: fn(&mut Bed),
}

fn ending(name: &'static str, play: fn(&mut Bed)) -> Ending {
    Ending {
        name,
        change: |_| {},
        play,
    }
}

#[test]
fn a_slot_comes_back_on_every_way_a_request_can_end() {
    for ending in endings() {
        let (events, seen) = channel();
        let watched = Watched {
            memory: store(),
            taken: Mutex::default(),
            events,
        };
        let clock = Clock::manual(ManualClock::starting_at(Timestamp::from_nanos(1)));
        let mut bed = Bed::over(watched, POLICIES, clock, ending.change);
        (ending.play)(&mut bed);
        assert_given_back(&seen, ending.name);
    }
}

/// Every slot that was taken has come back, and at least one was.
fn assert_given_back(seen: &Receiver<Event>, name: &str) {
    let mut out = 0;
    let mut taken = 0;
    loop {
        let event = match seen.try_recv() {
            Ok(event) => event,
            Err(TryRecvError::Disconnected | TryRecvError::Empty) if taken > 0 && out == 0 => return,
            Err(_) => seen
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{name}: {out} of {taken} slots did not come back")),
        };
        match event {
            Event::Taken => (taken, out) = (taken + 1, out + 1),
            Event::GivenBack => out -= 1,
        }
    }
}

fn endings() -> Vec<Ending> {
    let mut endings = vec![
        ending("answered", |bed| {
            bed.pass(GET, OK);
        }),
        ending("client gone before the response", |bed| {
            let mut client = bed.client();
            client.send(GET);
            let mut origin = bed.origin.accept();
            origin.head();
            drop(client);
            origin.gone();
        }),
        ending("client gone during the response", |bed| {
            let mut client = bed.client();
            client.send(GET);
            let mut origin = bed.origin.accept();
            origin.head();
            origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
            client.until(b"he");
            client.reset();
            origin.gone();
        }),
        ending("client gone during its upload", |bed| {
            let mut client = bed.client();
            client.send(format!("{POST}3\r\non"));
            let mut origin = bed.origin.accept();
            origin.head();
            client.reset();
            origin.gone();
        }),
        ending("client gone while it waits for its turn", |bed| {
            let turn = "GET /turns HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            bed.pass(turn, OK);
            let mut client = bed.client();
            client.send(turn);
            client.finish();
            client.gone();
        }),
        ending("upload malformed", |bed| {
            let mut client = bed.client();
            client.send(format!("{POST}x\r\n"));
            client.ended();
        }),
        ending("upstream closed without a response", |bed| {
            let mut client = bed.client();
            client.send(GET);
            bed.origin.accept().head();
            assert!(client.head().starts_with("HTTP/1.1 502 "));
        }),
        ending("upstream's response malformed", |bed| {
            let mut client = bed.client();
            client.send(GET);
            let mut origin = bed.origin.accept();
            origin.head();
            origin.send("HTTP/1.1 OK\r\n\r\n");
            assert!(client.head().starts_with("HTTP/1.1 502 "));
        }),
        ending("upstream broken off during its response", |bed| {
            let mut client = bed.client();
            client.send(GET);
            let mut origin = bed.origin.accept();
            origin.head();
            origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
            client.until(b"he");
            origin.reset();
            client.gone();
        }),
        ending("tunnel closed", |bed| {
            let mut client = bed.client();
            client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
            let mut origin = bed.origin.accept();
            origin.head();
            origin.send(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
            );
            client.head();
            client.finish();
            origin.rest();
            origin.finish();
            client.rest();
        }),
        ending("refused by another limit, after one that passed", |bed| {
            let asked = "GET /refused HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            bed.pass(asked, OK);
            assert!(bed.answer(asked).starts_with("HTTP/1.1 429 "));
        }),
        ending("stream reset by an HTTP/2 client", |bed| {
            let mut client = Client::new(bed);
            let (_, mut upload) = client.send(Request::post("http://a.test/").body(()).unwrap(), false);
            let mut origin = bed.origin.accept();
            origin.head();
            upload.send_reset(Reason::CANCEL);
            origin.gone();
        }),
    ];
    endings.extend(endings_under_other_settings());
    endings
}

fn endings_under_other_settings() -> [Ending; 5] {
    [
        Ending {
            name: "upstream refuses connections",
            change: |_| {},
            play: |bed| {
                bed.origin.refuse();
                assert!(bed.answer(GET).starts_with("HTTP/1.1 502 "));
            },
        },
        Ending {
            name: "upstream does not respond",
            change: |settings| settings.timeouts.response = SHORT,
            play: |bed| {
                let mut client = bed.client();
                client.send(GET);
                let mut origin = bed.origin.accept();
                origin.head();
                assert!(client.head().starts_with("HTTP/1.1 504 "));
            },
        },
        Ending {
            name: "upstream stops in its response",
            change: |settings| settings.timeouts.body = SHORT,
            play: |bed| {
                let mut client = bed.client();
                client.send(GET);
                let mut origin = bed.origin.accept();
                origin.head();
                origin.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
                client.gone();
            },
        },
        Ending {
            name: "upload too long",
            change: |settings| settings.bounds.body_bytes = 4,
            play: |bed| {
                let mut client = bed.client();
                client.send(format!("{POST}5\r\nhello\r\n0\r\n\r\n"));
                assert!(client.head().starts_with("HTTP/1.1 413 "));
            },
        },
        Ending {
            name: "cut when draining took too long",
            change: |settings| settings.timeouts.drain = SHORT,
            play: |bed| {
                let mut client = bed.client();
                client.send(GET);
                let mut origin = bed.origin.accept();
                origin.head();
                bed.ask_to_stop();
                client.gone();
            },
        },
    ]
}

/// How long those wait that are to wait too long.
const SHORT: Duration = Duration::from_millis(80);
