//! Servers that die, hang, lose their connections or become something else.

use tidegate_store::redis::{FAULTS, Servers};
use tidegate_test_servers::{Kind, Options, Relay};

use super::*;

#[test]
fn a_server_that_is_not_there_costs_next_to_nothing_and_is_found_when_it_comes() {
    let mut server = Server::redis();
    server.kill();
    let store = Store::new(&brisk(Servers::Single(address(&server))));
    let limit = per_minute(5);
    let (answer, took) = until("it is known to be gone", || {
        let (answer, took) = store.timed(key(0, 1), &limit);
        (took < Settings::TIMEOUT).then_some((answer, took))
    });
    assert_eq!(answer, Err(StoreError::Unavailable), "{took:?}");
    server.restart();
    store.recovers(key(0, 2));
}

#[test]
fn a_server_that_dies_fails_what_is_under_way_and_is_used_again_when_it_is_back() {
    let mut server = Server::redis();
    let store = Store::of(&server);
    assert_eq!(store.passes(key(0, 1), &per_minute(5)), Ok(true));
    server.kill();
    let (answer, took) = store.timed(key(0, 1), &per_minute(5));
    assert!(answer.is_err());
    assert!(took < SLACK, "a broken connection is seen at once: {took:?}");
    server.restart();
    let watch = Watch::start();
    store.recovers(key(0, 1));
    assert!(watch.elapsed() < Duration::from_secs(3), "{:?}", watch.elapsed());
}

#[test]
fn a_server_that_hangs_costs_a_few_requests_their_timeout_and_the_others_nothing() {
    let server = Server::redis();
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    let limit = per_minute(1_000_000);
    store.recovers(key(0, 1));
    server.stop();
    let mut timeouts = 0;
    until("the breaker opens", || {
        let (answer, took) = store.timed(key(0, 1), &limit);
        assert!(took < Settings::TIMEOUT + SLACK, "{took:?}");
        timeouts += u32::from(answer == Err(StoreError::Timeout));
        store.breaker_is(BreakerState::Open).then_some(())
    });
    assert!((1..=6).contains(&timeouts), "{timeouts}");

    let before = store.figures().timeouts;
    let watch = Watch::start();
    for _ in 0..1000 {
        assert!(store.passes(key(0, 1), &limit).is_err());
    }
    let waited = store.figures().timeouts - before;
    assert!(watch.elapsed() < Duration::from_secs(1), "{:?}", watch.elapsed());
    assert!(waited <= 5, "only probes wait: {waited}");

    server.cont();
    let watch = Watch::start();
    store.recovers(key(0, 1));
    assert!(watch.elapsed() < Duration::from_secs(3), "{:?}", watch.elapsed());
    until("the breaker closes", || {
        let _ = store.passes(key(0, 1), &limit);
        store.breaker_is(BreakerState::Closed).then_some(())
    });
}

#[test]
fn many_that_ask_a_server_that_hangs_wait_no_longer_than_one() {
    let server = Server::redis();
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    store.recovers(key(0, 1));
    server.stop();
    let watch = Watch::start();
    assert_eq!(store.admits(key(0, 1), &per_minute(1_000_000), 2000), 0);
    assert!(
        watch.elapsed() < Settings::TIMEOUT + SLACK,
        "{:?}",
        watch.elapsed()
    );
    server.cont();
}

#[test]
fn a_network_that_loses_everything_is_noticed_and_so_is_its_healing() {
    let server = Server::redis();
    let relay = Relay::before(server.address());
    let between = Address::new("127.0.0.1", relay.address().port());
    let store = Store::connected(&brisk(Servers::Single(between)));
    store.recovers(key(0, 1));
    relay.hold();
    until("the connection is given up", || {
        let (_, took) = store.timed(key(0, 1), &per_minute(1_000_000));
        assert!(took < Settings::TIMEOUT + SLACK, "{took:?}");
        (!store.is_connected()).then_some(())
    });
    relay.heal();
    let watch = Watch::start();
    store.recovers(key(0, 1));
    assert!(watch.elapsed() < Duration::from_secs(3), "{:?}", watch.elapsed());
}

#[test]
fn connections_that_are_cut_are_made_anew() {
    let server = Server::redis();
    let relay = Relay::before(server.address());
    let between = Address::new("127.0.0.1", relay.address().port());
    let store = Store::connected(&brisk(Servers::Single(between)));
    for _ in 0..3 {
        relay.cut();
        until("the cut is seen", || (!store.is_connected()).then_some(()));
        relay.heal();
        store.recovers(key(0, 1));
    }
}

#[test]
fn a_master_that_becomes_a_replica_is_not_asked_until_it_is_a_master_again() {
    let (server, other) = (Server::redis(), Server::redis());
    let store = Store::of(&server);
    store.recovers(key(0, 1));
    let _: () = server.ask(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    until("the store sees a replica", || {
        assert!(store.passes(key(0, 1), &per_minute(5)).is_err());
        (!store.is_connected()).then_some(())
    });
    let _: () = server.ask(&["REPLICAOF", "NO", "ONE"]);
    store.recovers(key(0, 1));
}

#[test]
fn a_server_that_is_busy_with_a_script_of_someone_else_is_waited_out() {
    let options = Options {
        settings: vec!["busy-reply-threshold 1".to_owned()],
        ..Options::default()
    };
    let server = Server::start(Kind::Redis70, options);
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    store.recovers(key(0, 1));
    std::thread::scope(|scope| {
        scope.spawn(|| server.try_ask::<()>(&["EVAL", "while true do end", "0"]));
        until("the server is busy", || {
            let (answer, took) = store.timed(key(0, 1), &per_minute(1_000_000));
            assert!(took < Settings::TIMEOUT + SLACK, "{took:?}");
            answer.err()
        });
        until("the script is killed", || {
            server.try_ask::<()>(&["SCRIPT", "KILL"]).ok()
        });
        store.recovers(key(0, 1));
    });
}

#[test]
fn a_server_without_memory_to_spare_is_an_error_and_not_a_refusal() {
    let server = Server::redis();
    let store = Store::of(&server);
    store.recovers(key(0, 1));
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let watch = Watch::start();
    assert_eq!(
        store.passes(key(0, 2), &per_minute(5)),
        Err(StoreError::Unavailable)
    );
    assert!(watch.elapsed() < SLACK, "trying again would not help");
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    store.recovers(key(0, 2));
}

#[test]
fn a_server_that_loads_its_data_is_waited_out() {
    let options = Options {
        // So that it takes a while, and the server answers meanwhile.
        settings: vec![
            "loading-process-events-interval-bytes 1024".to_owned(),
            "key-load-delay 500".to_owned(),
        ],
        ..Options::default()
    };
    let mut server = Server::start(Kind::Redis70, options);
    let fill = "for n = 1, 2000 do redis.call('SET', 'filler' .. n, string.rep('x', 64)) end";
    let _: () = server.ask(&["EVAL", fill, "0"]);
    let _: () = server.ask(&["SAVE"]);
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    store.recovers(key(0, 1));
    std::thread::scope(|scope| {
        let restarted = scope.spawn(|| server.restart());
        until("it is back", || {
            let (_, took) = store.timed(key(0, 1), &per_minute(1_000_000));
            assert!(took < Settings::TIMEOUT + SLACK, "{took:?}");
            restarted.is_finished().then_some(())
        });
    });
    assert!(store.figures().retries > 0, "it said so: {:?}", store.figures());
    let watch = Watch::start();
    store.recovers(key(0, 1));
    assert!(watch.elapsed() < Duration::from_secs(3), "{:?}", watch.elapsed());
}

#[test]
fn figures_tell_that_a_server_was_lost_left_alone_and_found_again() {
    let mut server = Server::redis();
    let store = Store::connected(&brisk(Servers::Single(address(&server))));
    let fault = |word: &str| {
        let figures = store.figures();
        let mut faults = FAULTS.iter().zip(figures.faults);
        faults
            .find_map(|(known, count)| (*known == word).then_some(count))
            .expect("a word of the list")
    };
    let limit = per_minute(1);
    assert_eq!(store.passes(key(0, 1), &limit), Ok(true));
    for _ in 0..3 {
        assert_eq!(store.passes(key(0, 1), &limit), Ok(false));
    }
    let figures = store.figures();
    assert_eq!((figures.decided, figures.remembered), (2, 2));
    assert_eq!((figures.connections, figures.openings), (1, 0));
    assert_eq!(figures.faults, [0; FAULTS.len()]);

    server.stop();
    until("the breaker opens", || {
        let _ = store.passes(key(0, 2), &limit);
        store.breaker_is(BreakerState::Open).then_some(())
    });
    assert_eq!(store.figures().openings, 1);
    assert!(fault("late") >= 5);
    server.kill();
    until("no connection can be made", || {
        (!store.is_connected() && fault("lost") > 0).then_some(())
    });
    server.restart();
    store.recovers(key(0, 3));
    assert_eq!(store.figures().connections, 2);
}
