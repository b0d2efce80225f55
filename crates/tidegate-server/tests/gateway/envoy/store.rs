//! Calls while the shared store cannot decide.

use tidegate_core::{Charge, Decisions, HoldId, Key};
use tidegate_store::{NotRefunded, Store, StoreError};

use super::auth::{CHECK, get};
use super::*;

/// A store that nobody reaches.
struct Gone;

impl Store for Gone {
    async fn charge(&self, _: &[Charge<'_>], _: Timestamp) -> Result<Decisions, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn release(&self, _: Key, _: HoldId, _: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn refund(&self, charges: &[Charge<'_>], _: Timestamp) -> Result<(), NotRefunded> {
        Err(NotRefunded {
            error: StoreError::Unavailable,
            untouched: (0..charges.len()).collect(),
        })
    }
}

const UNAVAILABLE: u32 = 14;

fn policies(on_store_failure: &str) -> String {
    let limit = "limit: { algorithm: fixed_window, quota: 1, window: 1h }";
    format!(
        "policies:
  - {{ name: call, match: {{ domain: shop, descriptor: [user] }}, on_store_failure: {on_store_failure}, {limit} }}
  - {{ name: request, match: {{ path: /search }}, key: [client.ip], on_store_failure: {on_store_failure}, {limit} }}
"
    )
}

#[test]
fn a_policy_that_denies_then_makes_the_call_fail() {
    let bed = Bed::over(Gone, &policies("deny"), Clock::system(), at_the_door);
    let mut envoy = Envoy::at(&bed);
    let asked = call("shop", &[descriptor(&[("user", "ann")])]);
    assert_eq!(envoy.call(RATE_LIMIT, &asked).status.0, UNAVAILABLE);
    let reply = envoy.call(CHECK, &get("/search").message()).ok();
    assert_eq!(reply.message(1).unwrap().number(1), u64::from(UNAVAILABLE));
    assert!(reply.message(2).is_none() && reply.message(3).is_none());
    let failed = reply.message(5).unwrap();
    assert_eq!(failed.message(1).unwrap().number(1), 503);
    assert!(
        failed.text(3).contains("\"error\":\"limiter_failed\""),
        "{}",
        failed.text(3)
    );
}

/// A descriptor whose hit is given back.
fn back(user: &str) -> Message {
    descriptor(&[("user", user)]).with_number(4, 1)
}

#[test]
fn a_store_that_gives_nothing_back_is_a_store_that_fails() {
    for (on_store_failure, status, code) in [("allow", 0, OK), ("deny", UNAVAILABLE, 0), ("local", 0, OK)] {
        let bed = Bed::over(Gone, &policies(on_store_failure), Clock::system(), at_the_door);
        let mut envoy = Envoy::at(&bed);
        let reply = envoy.call(RATE_LIMIT, &call("shop", &[back("ann")]));
        assert_eq!(reply.status.0, status, "{on_store_failure}");
        if status == 0 {
            let reply = reply.ok();
            assert_eq!(reply.number(1), code);
            assert_eq!(header(&reply, "x-tidegate-failure"), Some("unavailable"));
        }
    }
}

#[test]
fn a_policy_that_decides_alone_then_gives_back_alone() {
    let bed = Bed::over(Gone, &policies("local"), Clock::system(), at_the_door);
    let mut envoy = Envoy::at(&bed);
    let mut code = |asked: Message| envoy.call(RATE_LIMIT, &call("shop", &[asked])).ok().number(1);
    let spends = || descriptor(&[("user", "ann")]);
    assert_eq!([code(spends()), code(spends())], [OK, OVER_LIMIT]);
    assert_eq!(
        [code(back("bob")), code(spends())],
        [OK, OVER_LIMIT],
        "another counter"
    );
    assert_eq!(
        [code(back("ann")), code(spends()), code(spends())],
        [OK, OK, OVER_LIMIT]
    );
}

#[test]
fn a_policy_that_allows_then_lets_pass_and_says_so() {
    let bed = Bed::over(Gone, &policies("allow"), Clock::system(), at_the_door);
    let mut envoy = Envoy::at(&bed);
    let asked = call("shop", &[descriptor(&[("user", "ann")])]);
    for _ in 0..2 {
        let reply = envoy.call(RATE_LIMIT, &asked).ok();
        assert_eq!((reply.number(1), reply.messages(2)[0].number(1)), (OK, OK));
        assert_eq!(header(&reply, "x-tidegate-failure"), Some("unavailable"));
    }
}

#[test]
fn a_policy_that_decides_alone_then_limits() {
    let bed = Bed::over(Gone, &policies("local"), Clock::system(), at_the_door);
    let mut envoy = Envoy::at(&bed);
    let asked = call("shop", &[descriptor(&[("user", "ann")])]);
    let codes = [(); 2].map(|()| envoy.call(RATE_LIMIT, &asked).ok().number(1));
    assert_eq!(codes, [OK, OVER_LIMIT]);
}
