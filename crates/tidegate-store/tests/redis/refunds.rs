//! Giving back what was spent some time ago, while servers do not do what they should.

use tidegate_store::NotRefunded;
use tidegate_store::redis::Servers;

use super::*;

impl Store {
    fn refund(&self, charges: &[Charge<'_>]) -> Result<(), NotRefunded> {
        self.runtime.block_on(self.redis.refund(charges, NOW))
    }
}

fn costing(units: u64, charge: Charge<'_>) -> Charge<'_> {
    Charge {
        cost: Cost::new(units),
        ..charge
    }
}

#[test]
fn what_was_refused_here_passes_once_something_is_given_back() {
    let server = Server::redis();
    let store = Store::of(&server);
    let limit = per_minute(1);
    let passes = || store.passes(key(0, 1), &limit);
    assert_eq!([passes(), passes(), passes()], [Ok(true), Ok(false), Ok(false)]);
    assert_eq!(store.figures().remembered, 1);
    assert_eq!(store.refund(&[one(key(0, 1), &limit)]), Ok(()));
    assert_eq!([passes(), passes()], [Ok(true), Ok(false)]);
}

#[test]
fn what_a_server_that_hangs_is_told_to_give_back_comes_back_once() {
    let server = Server::redis();
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    let limit = per_minute(10);
    let counter = one(key(0, 1), &limit);
    until("eight are spent", || store.charge(&[costing(8, counter)]).ok());
    server.stop();
    let lost = store.refund(&[costing(3, counter)]).expect_err("nobody answers");
    assert_eq!(lost.error, StoreError::Timeout);
    assert!(lost.untouched.is_empty(), "it may have been given back: {lost:?}");
    server.cont();
    store.recovers(key(0, 2));
    let left = store.charge(&[costing(0, counter)]).expect("it decides").each[0].remaining;
    assert!(left == 2 || left == 5, "{left}: at most once");
}

#[test]
fn of_a_server_that_is_gone_it_is_known_that_nothing_came_back() {
    let mut server = Server::redis();
    let store = Store::of(&server);
    let limit = per_minute(10);
    let counters = [1, 2].map(|number| one(key(0, number), &limit));
    assert!(store.charge(&counters.map(|counter| costing(8, counter))).is_ok());
    server.kill();
    let gone = until("it is known to be gone", || {
        let gone = store.refund(&counters).expect_err("nobody is there");
        (!gone.untouched.is_empty()).then_some(gone)
    });
    assert_eq!(gone.error, StoreError::Unavailable);
    assert_eq!(gone.untouched[..], [0, 1]);
}

#[test]
fn a_server_without_memory_says_so_and_gives_nothing_back() {
    let server = Server::redis();
    let store = Store::of(&server);
    let limit = per_minute(10);
    let counter = one(key(0, 1), &limit);
    assert!(store.charge(&[costing(8, counter)]).is_ok());
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let full = store.refund(&[costing(3, counter)]).expect_err("it is full");
    assert_eq!(full.untouched[..], [0]);
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let left = store.charge(&[costing(0, counter)]).expect("it decides").each[0].remaining;
    assert_eq!(left, 2);
}
