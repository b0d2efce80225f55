//! One server that does what it should.

use tidegate_core::HoldId;
use tidegate_store::redis::Servers;
use tidegate_test_servers::{Kind, Options, Server};

use super::*;

#[test]
fn two_instances_that_are_asked_by_many_admit_exactly_the_limit() {
    let server = Server::redis();
    let stores = [Store::of(&server), Store::of(&server)];
    let limit = per_minute(100);
    let admitted: u64 = std::thread::scope(|scope| {
        let askers = stores
            .each_ref()
            .map(|store| scope.spawn(|| store.admits(key(0, 1), &limit, 200)));
        askers
            .into_iter()
            .map(|asker| asker.join().expect("it ends"))
            .sum()
    });
    assert_eq!(admitted, 100);
}

#[test]
fn requests_that_come_at_one_time_share_calls() {
    let server = Server::redis();
    let store = Store::of(&server);
    assert_eq!(store.admits(key(0, 1), &per_minute(1000), 400), 400);
    let figures = store.figures();
    assert_eq!(figures.decided, 400);
    assert!(figures.calls < 200, "{figures:?}");
    assert_eq!(figures.latencies.iter().sum::<u64>(), 400);
}

#[test]
fn every_kind_of_server_is_spoken_to_over_its_unix_socket() {
    for kind in Kind::ALL {
        let server = Server::start(kind, Options::default());
        let store = Store::connected(&patient(Servers::Unix(server.socket())));
        let limit = per_minute(1);
        assert_eq!(store.passes(key(0, 1), &limit), Ok(true), "{kind:?}");
        assert_eq!(store.passes(key(0, 1), &limit), Ok(false), "{kind:?}");
    }
}

#[test]
fn a_server_that_forgets_the_script_is_told_it_again() {
    let server = Server::redis();
    let store = Store::of(&server);
    let limit = per_minute(2);
    assert_eq!(store.passes(key(0, 1), &limit), Ok(true));
    let _: () = server.ask(&["SCRIPT", "FLUSH"]);
    assert_eq!(store.passes(key(0, 1), &limit), Ok(true));
    assert_eq!(store.passes(key(0, 1), &limit), Ok(false));
}

#[test]
fn keys_live_in_the_database_and_under_the_prefix_that_is_set() {
    let server = Server::redis();
    let settings = Settings {
        database: 3,
        prefix: "shop".to_owned(),
        ..patient(Servers::Single(address(&server)))
    };
    assert_eq!(
        Store::connected(&settings).passes(key(0x2f, 1), &per_minute(5)),
        Ok(true)
    );
    let space = server.info("db3").expect("a database with keys");
    assert!(space.starts_with("keys=2,"), "the counter and the epoch: {space}");
    assert_eq!(server.info("db0"), None);
}

#[test]
fn a_slot_comes_back_when_it_is_released_and_when_nobody_waits_for_it_any_more() {
    let server = Server::redis();
    let store = Store::of(&server);
    let slots = Limit::concurrency(1, Duration::from_secs(3600)).expect("a legal limit");
    let take = |hold| Charge {
        hold: HoldId(hold),
        ..one(key(0, 1), &slots)
    };
    let taken = |hold| store.charge(&[take(hold)]).expect("the store decides").charged;
    assert!(taken(1));
    assert!(!taken(2));
    store
        .runtime
        .block_on(store.redis.release(key(0, 1), HoldId(1), NOW))
        .expect("the store releases");
    assert!(taken(3));
    store
        .runtime
        .block_on(store.redis.release(key(0, 1), HoldId(3), NOW))
        .expect("the store releases");

    store.runtime.block_on(async {
        let charges = [take(4)];
        let mut asked = Box::pin(store.redis.charge(&charges, NOW));
        let first = std::future::poll_fn(|context| std::task::Poll::Ready(asked.as_mut().poll(context)));
        assert!(first.await.is_pending());
    });
    until("the slot comes back", || taken(5).then_some(()));
}
