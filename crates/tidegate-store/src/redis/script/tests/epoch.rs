//! What is done when a master took over that may lack writes.

use core::time::Duration;

use tidegate_core::{Key, Limit, Rate};
use tidegate_test_servers::Kind;

use super::server::asking;
use super::{START, Server};
use crate::redis::call::Asked;

const SECOND: u64 = 1_000_000;

/// One of each that holds ten, and nothing more for a minute or six seconds.
fn limits() -> [Limit; 5] {
    let minute = Duration::from_secs(60);
    let rate = Rate::new(10, minute).unwrap();
    [
        Limit::token_bucket(rate, 10).unwrap(),
        Limit::fixed_window(rate),
        Limit::sliding_window(rate),
        Limit::sliding_window_log(rate).unwrap(),
        Limit::concurrency(10, minute).unwrap(),
    ]
}

fn careful(key: Key, limit: &Limit, cost: u64) -> Asked {
    asking(key, &limit.clone().cautious(), cost, 1, START)
}

fn passes(server: &mut Server, asked: &Asked, now: u64) -> bool {
    server.charge(&[asked], now)[0].charged
}

/// A server that nobody has asked before.
fn on_a_new_server(act: impl FnOnce(&mut Server)) {
    Server::with(Kind::Redis70, |server| {
        server.forget_everything();
        act(server);
        server.knows_master("", "");
    });
}

/// A master was seen, with a counter that nobody has charged; from here on the caller knows of another.
fn b2_takes_over_from_a1(server: &mut Server, key: Key, limit: &Limit) {
    server.knows_master("a1", "");
    passes(server, &careful(key, limit, 0), START);
    server.knows_master("b2", "a1");
}

#[test]
fn the_first_master_ever_seen_is_trusted() {
    on_a_new_server(|server| {
        server.knows_master("a1", "");
        for limit in limits() {
            let key = server.new_key();
            assert!(passes(server, &careful(key, &limit, 10), START));
        }
    });
}

#[test]
fn after_another_master_took_over_careful_limits_count_as_used_up_and_others_do_not() {
    on_a_new_server(|server| {
        let key = server.new_key();
        b2_takes_over_from_a1(server, key, &limits()[0]);
        for limit in limits() {
            let key = server.new_key();
            assert!(
                !passes(server, &careful(key, &limit, 1), START + SECOND),
                "{limit:?}"
            );
            assert!(
                passes(server, &asking(key, &limit, 10, 1, START), START + SECOND),
                "{limit:?}"
            );
        }
    });
}

#[test]
fn a_careful_bucket_fills_from_the_moment_of_the_failover_on() {
    on_a_new_server(|server| {
        let [bucket, ..] = limits();
        let key = server.new_key();
        b2_takes_over_from_a1(server, key, &bucket);
        assert!(!passes(server, &careful(key, &bucket, 1), START + SECOND));
        // One unit in six seconds.
        assert!(!passes(server, &careful(key, &bucket, 1), START + 7 * SECOND - 1));
        assert!(passes(server, &careful(key, &bucket, 1), START + 7 * SECOND));
        assert!(!passes(server, &careful(key, &bucket, 1), START + 7 * SECOND));
        assert!(passes(server, &careful(key, &bucket, 3), START + 25 * SECOND));
    });
}

#[test]
fn care_ends_after_a_minute() {
    on_a_new_server(|server| {
        let hour = Rate::new(10, Duration::from_secs(3600)).unwrap();
        let log = Limit::sliding_window_log(hour).unwrap();
        let key = server.new_key();
        b2_takes_over_from_a1(server, key, &log);
        assert!(!passes(server, &careful(key, &log, 1), START + SECOND));
        assert!(!passes(server, &careful(key, &log, 1), START + 61 * SECOND - 1));
        assert!(passes(server, &careful(key, &log, 10), START + 61 * SECOND));
    });
}

#[test]
fn an_instance_that_still_knows_the_old_master_does_not_start_care_anew() {
    on_a_new_server(|server| {
        let [bucket, ..] = limits();
        let key = server.new_key();
        b2_takes_over_from_a1(server, key, &bucket);
        passes(server, &careful(key, &bucket, 0), START + SECOND);
        server.knows_master("a1", "");
        passes(server, &careful(key, &bucket, 0), START + 6 * SECOND);
        server.knows_master("b2", "a1");
        assert!(passes(server, &careful(key, &bucket, 1), START + 7 * SECOND));
    });
}

#[test]
fn a_store_that_lost_even_what_it_knew_of_its_masters_is_noticed_by_those_who_remember() {
    on_a_new_server(|server| {
        let [bucket, ..] = limits();
        let key = server.new_key();
        server.knows_master("a1", "");
        passes(server, &careful(key, &bucket, 0), START);
        server.forget_everything();
        server.knows_master("b2", "a1");
        assert!(!passes(server, &careful(key, &bucket, 1), START + SECOND));
    });
}

#[test]
fn those_who_remember_are_believed_even_if_somebody_new_asks_a_store_that_lost_everything_before_them() {
    on_a_new_server(|server| {
        let [bucket, ..] = limits();
        let key = server.new_key();
        server.knows_master("a1", "");
        passes(server, &careful(key, &bucket, 0), START);
        server.forget_everything();
        server.knows_master("b2", "");
        assert!(passes(server, &careful(key, &bucket, 1), START));
        server.knows_master("b2", "a1");
        assert!(!passes(server, &careful(key, &bucket, 1), START + SECOND));
        // From then on for all, and counted from the first who said so.
        server.knows_master("b2", "");
        assert!(!passes(server, &careful(key, &bucket, 1), START + 2 * SECOND));
        server.knows_master("b2", "a1");
        assert!(passes(server, &careful(key, &bucket, 1), START + 7 * SECOND));
    });
}
