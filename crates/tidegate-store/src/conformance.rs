//! What every store must do, as tests that any backend runs unchanged.
//!
//! A backend writes down how its store is had and how its time is set ([`Subject`]), and calls [`crate::conformance_tests!`] in a
//! test file. Each test gets a subject of its own.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a failed check is a failed test"
)]

mod checks;
mod vectors;

use core::fmt::Debug;
use core::time::Duration;
use std::future::Future;
use std::sync::Arc;

use tidegate_core::{
    Charge, Cost, Decision, Decisions, HoldId, Key, KeyHasher, Limit, Mode, Rate, Timestamp,
};
pub use tidegate_fixtures::Resolution;

pub use checks::*;
pub use vectors::shared_vectors_are_answered_to_the_nanosecond;

use crate::Store;

/// A store under test.
pub trait Subject: Debug + Send + Sync + 'static {
    /// The store.
    type Store: Store;

    /// The store. Nothing is kept in it under [`Subject::keys`].
    fn store(&self) -> Arc<Self::Store>;

    /// Makes it `now` for a store with a clock of its own. One that goes by the `now` it is given has nothing to do.
    fn set_time(&self, now: Timestamp) -> impl Future<Output = ()> + Send;

    /// Names keys that no other test uses: give it a secret of its own where state outlives a test.
    fn keys(&self) -> KeyHasher;

    /// What the store counts time in.
    fn resolution(&self) -> Resolution;
}

/// Writes a `#[tokio::test]` for each check. The argument is an expression that makes a new [`Subject`].
#[macro_export]
macro_rules! conformance_tests {
    ($subject:expr) => {
        $crate::conformance_tests! { $subject;
            shared_vectors_are_answered_to_the_nanosecond
            one_refusal_spends_nothing_anywhere
            a_refused_shadow_charge_is_not_spent_and_stops_nobody
            the_second_charge_on_a_key_sees_the_first
            what_can_never_pass_is_told_apart_from_what_passes_later
            different_keys_never_share_a_counter
            releasing_twice_is_releasing_once
            as_much_is_given_back_as_counters_hold_and_no_more
            tasks_that_give_back_at_one_time_admit_what_they_gave_back
            tasks_on_one_key_admit_exactly_the_limit
            batches_in_opposite_order_pass_whole_or_not_at_all
            state_is_kept_until_it_equals_fresh
        }
    };
    ($subject:expr; $($check:ident)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $check() {
                $crate::conformance::$check(&$subject).await;
            }
        )+
    };
}

/// The moment at which checks begin: the beginning of a minute, an hour and a day.
const START: Timestamp = Timestamp::from_nanos(1_700_006_400_000_000_000);

/// One of each algorithm that admits `capacity` at once, and then nothing for at least a second.
fn limits(capacity: u64) -> [Limit; 6] {
    let window = Duration::from_secs(60);
    let rate = Rate::new(capacity, window).expect("a legal rate");
    [
        Limit::token_bucket(rate, capacity).expect("a legal limit"),
        Limit::leaky_bucket(rate, capacity, Duration::ZERO).expect("a legal limit"),
        Limit::fixed_window(rate),
        Limit::sliding_window(rate),
        Limit::sliding_window_log(rate).expect("a legal limit"),
        Limit::concurrency(capacity, window).expect("a legal limit"),
    ]
}

/// One unit of `limit` under `key`.
fn charge(key: Key, limit: &Limit) -> Charge<'_> {
    Charge {
        key,
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(1),
    }
}

fn costing(units: u64, charge: Charge<'_>) -> Charge<'_> {
    Charge {
        cost: Cost::new(units),
        ..charge
    }
}

/// Asks at `now`, which becomes the store's time.
async fn ask(subject: &impl Subject, charges: &[Charge<'_>], now: Timestamp) -> Decisions {
    subject.set_time(now).await;
    subject
        .store()
        .charge(charges, now)
        .await
        .expect("the store decides")
}

async fn ask_one(subject: &impl Subject, charge: Charge<'_>, now: Timestamp) -> Decision {
    ask(subject, &[charge], now).await.each[0]
}

/// Gives back at `now`, which becomes the store's time.
async fn refund(subject: &impl Subject, charges: &[Charge<'_>], now: Timestamp) {
    subject.set_time(now).await;
    let given_back = subject.store().refund(charges, now).await;
    given_back.expect("the store gives back");
}

/// What can still be spent.
async fn left(subject: &impl Subject, key: Key, limit: &Limit, now: Timestamp) -> u64 {
    ask_one(subject, costing(0, charge(key, limit)), now)
        .await
        .remaining
}
