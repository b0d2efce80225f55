//! A Cluster of three masters and their replicas.

use tidegate_store::redis::Servers;
use tidegate_test_servers::{Cluster, Kind, Options};

use super::login::{manual_user, rights};
use super::*;

/// Long enough for a busy machine, and shorter than anything that one server could hold others up by.
const TIMEOUT: Duration = Duration::from_millis(250);

/// A Cluster of which the rest goes on while a part is not there.
fn start() -> Cluster {
    let options = Options {
        settings: vec!["cluster-require-full-coverage no".to_owned()],
        ..Options::default()
    };
    Cluster::with(Kind::Redis70, options)
}

fn slot(cluster: &Cluster, shard: u8) -> u16 {
    cluster.slot_of(&format!("{{{shard:02x}}}"))
}

/// Two shards of different masters.
fn apart(cluster: &Cluster) -> [u8; 2] {
    let master = |shard| cluster.master_of(slot(cluster, shard));
    let other = (1..=255)
        .find(|&shard| master(shard) != master(0))
        .expect("a cluster");
    [0, other]
}

/// As the user that the manual describes, with no other rights.
fn store(cluster: &Cluster) -> Store {
    let nodes: Vec<&Server> = cluster.nodes().iter().collect();
    let settings = Settings {
        timeout: TIMEOUT,
        login: manual_user(&nodes, rights("In a Cluster add ")),
        ..Settings::new(Servers::Cluster(addresses(&cluster.nodes()[..1])))
    };
    let store = Store::new(&settings);
    until("all masters are connected", || {
        (store.figures().servers.len() == 3 && store.is_connected()).then_some(())
    });
    store
}

#[test]
fn a_master_that_dies_stops_its_own_shards_alone_and_its_replica_takes_over() {
    let mut cluster = start();
    let store = store(&cluster);
    let [lost, kept] = apart(&cluster);
    let limit = per_minute(1_000_000);
    for shard in [lost, kept] {
        assert_eq!(store.passes(key(shard, 1), &limit), Ok(true));
    }
    cluster.kill_master_of(slot(&cluster, lost));
    let watch = Watch::start();
    until("the replica takes over", || {
        let (answer, took) = store.timed(key(lost, 1), &limit);
        assert!(took < TIMEOUT + SLACK, "{took:?}");
        assert_eq!(
            store.passes(key(kept, 1), &limit),
            Ok(true),
            "{:?}",
            watch.elapsed()
        );
        answer.ok()
    });
    assert!(
        watch.elapsed() < Duration::from_secs(4 + 3),
        "{:?}",
        watch.elapsed()
    );
}

#[test]
fn a_master_that_hangs_holds_nobody_else_up() {
    let mut cluster = start();
    let store = store(&cluster);
    let [lost, kept] = apart(&cluster);
    let limit = per_minute(1_000_000);
    store.recovers(key(lost, 1));
    let master = cluster.master_of(slot(&cluster, lost));
    cluster.node(master).stop();
    let mut kept_waited = 0;
    until("the replica takes over", || {
        let (answer, took) = store.timed(key(lost, 1), &limit);
        assert!(took < TIMEOUT + SLACK, "{took:?}");
        kept_waited += u32::from(store.passes(key(kept, 1), &limit).is_err());
        answer.ok()
    });
    assert_eq!(kept_waited, 0);
    cluster.node(master).cont();
    store.recovers(key(lost, 1));
}

#[test]
fn a_shard_that_moves_in_agreement_is_followed_without_an_error() {
    let cluster = start();
    let store = store(&cluster);
    let limit = per_minute(1_000_000);
    store.recovers(key(0, 1));
    cluster.fail_over(slot(&cluster, 0));
    store.recovers(key(0, 1));
    assert!(store.figures().retries > 0, "{:?}", store.figures());
    for shard in 0..=255 {
        assert_eq!(store.passes(key(shard, 1), &limit), Ok(true), "{shard}");
    }
}

#[test]
fn counters_on_their_way_to_another_master_are_followed() {
    let cluster = start();
    let store = store(&cluster);
    let [moving, other] = apart(&cluster);
    let slot_number = slot(&cluster, moving);
    let source = &cluster.nodes()[cluster.master_of(slot_number)];
    let target = &cluster.nodes()[cluster.master_of(slot(&cluster, other))];
    let id = |node: &Server| -> String { node.ask(&["CLUSTER", "MYID"]) };
    let limit = per_minute(3);
    assert_eq!(store.passes(key(moving, 1), &limit), Ok(true));

    let slot = slot_number.to_string();
    let _: () = target.ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(source)]);
    let _: () = source.ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(target)]);
    assert_eq!(
        store.passes(key(moving, 1), &limit),
        Ok(true),
        "it is still there"
    );
    let names: Vec<String> = source.ask(&["CLUSTER", "GETKEYSINSLOT", &slot, "10"]);
    assert_eq!(names.len(), 2, "the counter and the epoch");
    let port = target.port().to_string();
    for name in &names {
        let _: () = source.ask(&["MIGRATE", "127.0.0.1", &port, name, "0", "5000"]);
    }
    assert_eq!(
        store.passes(key(moving, 1), &limit),
        Ok(true),
        "it is there already"
    );
    assert_eq!(
        store.passes(key(moving, 1), &limit),
        Ok(false),
        "and nothing was forgotten"
    );
    assert!(store.figures().retries >= 2, "{:?}", store.figures());
    for node in [target, source] {
        let _: () = node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &id(target)]);
    }
    assert_eq!(store.passes(key(moving, 1), &per_minute(4)), Ok(true));
}

#[test]
fn a_request_over_several_masters_spends_everywhere_or_nowhere() {
    let cluster = start();
    let store = store(&cluster);
    let [here, there] = apart(&cluster);
    let (small, large) = (per_minute(1), per_minute(10));
    let both = [one(key(here, 1), &small), one(key(there, 1), &large)];
    let passed = store.charge(&both).expect("the store decides");
    assert!(passed.charged);
    assert_eq!(passed.each[1].remaining, 9);

    let refused = store.charge(&both).expect("the store decides");
    assert!(!refused.charged);
    let passes: Vec<bool> = refused.each.iter().map(|each| each.outcome.passes()).collect();
    assert_eq!(passes, [false, true]);
    assert_eq!(refused.each[1].remaining, 9, "unspent");
    let look = Charge {
        cost: Cost::LOOK,
        ..one(key(there, 1), &large)
    };
    until("what was spent is given back", || {
        let left = store.charge(&[look]).ok()?.each[0].remaining;
        (left == 9).then_some(())
    });
}
