//! The protocol of Redis, with `CL.THROTTLE`: for those who asked redis-cell, and now ask here.
//!
//! Commands that came together are decided together, as of one moment, and answered by one write. What is decided in the shared store is
//! asked for all at once, in their order.

mod command;
pub(crate) mod decoder;
mod reply;
mod throttle;

use bytes::{Buf, BytesMut};
use futures_util::future::join_all;
use tidegate_core::{Charge, HoldId, Key, Mode, Timestamp};
use tidegate_policy::{Consistency, OnStoreFailure, RedisDoor, StoreFailure};
use tidegate_store::Store;

use crate::gateway::{InFlight, Listener, Raw};
use crate::live::Seen;
use command::{Talk, Then};
use decoder::{Decoded, Misspoken, decode};
use reply::Replies;
use throttle::Throttle;

/// What is answered at most before it is sent.
const MOST_REPLY_BYTES: usize = 64 * 1024;

/// The most decisions of one client that the shared store is asked for at a time.
const MOST_ASKED: usize = 128;

/// Serves one client of `listener`. `inbox` is what was read of it already.
pub(crate) async fn serve<S: Store>(mut raw: Raw<S>, mut inbox: BytesMut, listener: &Listener) {
    let Some(door) = &listener.redis else {
        return;
    };
    let number = raw.worker.books.random() >> 1;
    let mut client = Client {
        door,
        talk: Talk::new(door.password_digest, i64::try_from(number).unwrap_or_default()),
        replies: Replies::default(),
        asked: Vec::new(),
    };
    loop {
        // Begun with the first command that is whole: what drips owes its rest since its first byte.
        let mut busy = None;
        let then = client.answer(&raw, &mut inbox, &mut busy).await;
        let is_full = client.replies.bytes().len() >= MOST_REPLY_BYTES;
        let is_sent = raw.send(client.replies.bytes()).await;
        client.replies.clear();
        drop(busy);
        if !is_sent {
            return;
        }
        if then == Then::Over || raw.should_end() {
            return raw.close().await;
        }
        if !is_full && !raw.read(&mut inbox).await {
            return;
        }
    }
}

/// One client, and what it is to be answered.
struct Client<'d> {
    door: &'d RedisDoor,
    talk: Talk,
    replies: Replies,
    /// What the shared store is to be asked next.
    asked: Vec<(Key, Throttle)>,
}

/// What becomes of a command, as metrics call it.
const PASS: &str = "pass";
const REJECT: &str = "reject";
const ERROR: &str = "error";
const OTHER_COMMAND: &str = "none";

/// All of them.
pub(crate) const OUTCOMES: &[&str] = &[PASS, REJECT, ERROR, OTHER_COMMAND];

impl Client<'_> {
    /// Answers the commands in `inbox`, as long as there are any and the answers are not too long.
    async fn answer<S: Store>(
        &mut self,
        raw: &Raw<S>,
        inbox: &mut BytesMut,
        busy: &mut Option<InFlight>,
    ) -> Then {
        let worker = &raw.worker;
        let live = worker.live();
        let now = worker.pipeline.clock().now();
        let mut then = Then::On;
        let mut taken = 0;
        while then == Then::On && self.replies.bytes().len() < MOST_REPLY_BYTES {
            let rest = inbox.get(taken..).unwrap_or_default();
            let (arguments, length) = match decode(rest) {
                Decoded::Command(arguments, length) => (arguments, length),
                Decoded::Unfinished => break,
                Decoded::Wrong(misspoken) => {
                    self.settle(raw, now).await;
                    misspoken.tell(&mut self.replies);
                    worker.books.counts().redis_commands.one(ERROR);
                    then = Then::Over;
                    break;
                }
            };
            busy.get_or_insert_with(|| raw.begin());
            taken += length;
            let Some((name, arguments)) = arguments.split_first() else {
                continue;
            };
            if name.eq_ignore_ascii_case(b"cl.throttle") {
                self.throttle(raw, &live, arguments, now).await;
            } else {
                self.settle(raw, now).await;
                then = self.talk.answer(name, arguments, &mut self.replies);
                worker.books.counts().redis_commands.one(OTHER_COMMAND);
            }
        }
        self.settle(raw, now).await;
        inbox.advance(taken);
        then
    }

    /// Decides in memory, or keeps for the shared store.
    #[inline]
    async fn throttle<S: Store>(&mut self, raw: &Raw<S>, live: &Seen, arguments: &[&[u8]], now: Timestamp) {
        let consistency = self.door.consistency;
        let counts = raw.worker.books.counts();
        let read = match arguments.split_first() {
            Some((name, numbers)) => Throttle::asked(numbers, consistency).map(|throttle| (*name, throttle)),
            None => Err(throttle::Misused::Usage),
        };
        let (name, throttle) = match read {
            Ok(asked) if self.talk.is_open() => asked,
            Ok(_) => {
                self.settle(raw, now).await;
                self.talk.is_known(&mut self.replies);
                return counts.redis_commands.one(ERROR);
            }
            Err(misused) => {
                self.settle(raw, now).await;
                if self.talk.is_known(&mut self.replies) {
                    misused.tell(&mut self.replies);
                }
                return counts.redis_commands.one(ERROR);
            }
        };
        let key = live.config.policies.named_counters().key(consistency, name);
        match consistency {
            Consistency::Local => {
                let decision = raw
                    .worker
                    .pipeline
                    .counters()
                    .decide_locally(&charge(key, &throttle), now);
                let passes = throttle.answer(&decision, &mut self.replies);
                counts.redis_commands.one(if passes { PASS } else { REJECT });
            }
            Consistency::Strict => {
                self.asked.push((key, throttle));
                if self.asked.len() == MOST_ASKED {
                    self.settle(raw, now).await;
                }
            }
        }
    }

    /// Asks the shared store what is to be asked.
    async fn settle<S: Store>(&mut self, raw: &Raw<S>, now: Timestamp) {
        if self.asked.is_empty() {
            return;
        }
        let (counters, clock) = (raw.worker.pipeline.counters(), raw.worker.pipeline.clock());
        let charges: Vec<Charge<'_>> = self
            .asked
            .iter()
            .map(|(key, throttle)| charge(*key, throttle))
            .collect();
        let deciding = charges
            .iter()
            .map(|charge| counters.decide_shared(charge, now, clock));
        // Boxed, so that the future of a client whose limits are counted in memory stays small.
        let decided = Box::pin(join_all(deciding)).await;
        for ((decided, charge), (_, throttle)) in decided.into_iter().zip(&charges).zip(&self.asked) {
            let counts = raw.worker.books.counts();
            let decided = decided.or_else(|failure| {
                counts.store_failures.one(failure.name());
                match self.door.on_store_failure {
                    OnStoreFailure::Local => Ok(counters.decide_in_its_place(charge, clock.now())),
                    OnStoreFailure::Allow | OnStoreFailure::Deny => Err(failure),
                }
            });
            let outcome = match (decided, self.door.on_store_failure) {
                (Ok(decision), _) if throttle.answer(&decision, &mut self.replies) => PASS,
                (Ok(_), _) => REJECT,
                (Err(_), OnStoreFailure::Allow) => {
                    throttle.wave_through(&mut self.replies);
                    PASS
                }
                (Err(failure), _) => {
                    undecided(failure, &mut self.replies);
                    ERROR
                }
            };
            counts.redis_commands.one(outcome);
        }
        self.asked.clear();
    }
}

fn charge(key: Key, throttle: &Throttle) -> Charge<'_> {
    Charge {
        key,
        limit: throttle.limit(),
        cost: throttle.cost(),
        mode: Mode::Enforce,
        hold: HoldId::default(),
    }
}

fn undecided(failure: StoreFailure, replies: &mut Replies) {
    let line = format!("ERR the shared store does not decide: {}", failure.name());
    replies.error(line.as_bytes());
}

impl Misspoken {
    /// Says so in Redis's words.
    fn tell(self, replies: &mut Replies) {
        match self {
            Self::Count => replies.error(b"ERR Protocol error: invalid multibulk length"),
            Self::Length => replies.error(b"ERR Protocol error: invalid bulk length"),
            Self::Type(byte) => {
                let found = byte.escape_ascii();
                replies.error(format!("ERR Protocol error: expected '$', got '{found}'").as_bytes());
            }
            Self::Command => replies.error(b"ERR Protocol error: too big a command"),
            // Nothing is said to a browser that its user did not send here.
            Self::Http => {}
        }
    }
}
