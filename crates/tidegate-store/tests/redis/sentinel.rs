//! A master, its replicas, and Sentinels that name another when it dies.

use tidegate_store::redis::{Login, Servers};
use tidegate_test_servers::{Kind, Sentinel};

use super::*;

fn settings_of(group: &Sentinel) -> Settings {
    brisk(Servers::Sentinel {
        sentinels: addresses(group.sentinels()),
        service: group.name().to_owned(),
        login: Login::default(),
    })
}

#[test]
fn when_the_master_dies_the_one_that_takes_over_is_found_and_its_history_noticed() {
    let mut group = Sentinel::start(Kind::Redis70, 1);
    let settings = settings_of(&group);
    let store = Store::connected(&settings);
    store.recovers(key(0, 1));
    let epoch = |group: &Sentinel, master: usize| {
        let server = &group.servers()[master];
        let epoch: String = server.ask(&["GET", "tg1:{00}:epoch"]);
        (
            epoch.starts_with(&server.info("master_replid").expect("an id")),
            epoch,
        )
    };
    let master = group.master();
    assert!(epoch(&group, master).0);

    group.kill_master();
    let watch = Watch::start();
    until("the store decides again", || {
        let (answer, took) = store.timed(key(0, 1), &per_minute(1_000_000));
        assert!(took < settings.timeout + SLACK, "{took:?}");
        answer.ok()
    });
    let recovered = watch.elapsed();
    let next = group.master();
    assert_ne!(next, master);
    let (is_known, epoch) = epoch(&group, next);
    assert!(is_known, "{epoch}");
    assert!(
        recovered < Duration::from_secs(3 + 3),
        "{recovered:?}, of which Sentinels need three"
    );
}

#[test]
fn a_sentinel_that_is_gone_is_passed_over() {
    let mut group = Sentinel::start(Kind::Redis70, 1);
    let settings = settings_of(&group);
    group.sentinel(0).kill();
    let store = Store::connected(&settings);
    store.recovers(key(0, 1));
}

#[test]
fn when_the_master_hangs_the_one_that_takes_over_is_found() {
    let mut group = Sentinel::start(Kind::Redis70, 1);
    let settings = settings_of(&group);
    let store = Store::connected(&settings);
    store.recovers(key(0, 1));
    let master = group.master();
    group.server(master).stop();
    let watch = Watch::start();
    until("the store decides again", || {
        let (answer, took) = store.timed(key(0, 1), &per_minute(1_000_000));
        assert!(took < settings.timeout + SLACK, "{took:?}");
        answer.ok()
    });
    assert!(
        watch.elapsed() < Duration::from_secs(3 + 3),
        "{:?}",
        watch.elapsed()
    );
    group.server(master).cont();
    store.recovers(key(0, 1));
}
