//! Servers that stand in for each other.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tidegate_test_servers::{Cluster, Kind, Relay, Sentinel, Server, Watch, until};

fn a_killed_master_is_followed(kind: Kind) {
    let watch = Watch::start();
    let mut cluster = Cluster::start(kind);
    eprintln!("{kind:?}: a cluster is ready after {:?}", watch.elapsed());
    let slot = cluster.slot_of("k");
    let watch = Watch::start();
    let old = cluster.kill_master_of(slot);
    let new = cluster.master_of(slot);
    eprintln!("{kind:?}: another master after {:?}", watch.elapsed());
    assert_ne!(new, old);
    let _: () = cluster.node(new).ask(&["SET", "k", "v"]);
    cluster.node(old).restart();
    assert_eq!(cluster.replica_of(new), old, "the old one follows the new one");
    assert_eq!(cluster.master_of(slot), new);
}

#[test]
fn a_cluster_of_redis_outlives_a_master() {
    a_killed_master_is_followed(Kind::Redis70);
}

#[test]
fn a_cluster_of_old_redis_outlives_a_master() {
    a_killed_master_is_followed(Kind::Redis62);
}

#[test]
fn a_cluster_of_valkey_outlives_a_master() {
    a_killed_master_is_followed(Kind::Valkey9);
}

#[test]
fn a_replica_of_a_cluster_takes_over_and_nothing_is_lost() {
    let mut cluster = Cluster::start(Kind::Valkey8);
    let slot = cluster.slot_of("k");
    let old = cluster.master_of(slot);
    let _: () = cluster.node(old).ask(&["SET", "k", "v"]);
    let new = cluster.fail_over(slot);
    assert_ne!(new, old);
    assert_eq!(cluster.node(new).ask::<String>(&["GET", "k"]), "v");
}

fn sentinels_name_another(kind: Kind, replicas: usize) {
    let watch = Watch::start();
    let mut sentinel = Sentinel::start(kind, replicas);
    eprintln!("{kind:?}: Sentinels are ready after {:?}", watch.elapsed());
    let watch = Watch::start();
    let old = sentinel.kill_master();
    let new = until("another master", || {
        Some(sentinel.master()).filter(|&new| new != old)
    });
    eprintln!("{kind:?}: another master after {:?}", watch.elapsed());
    let _: () = sentinel.server(new).ask(&["SET", "k", "v"]);
    sentinel.server(old).restart();
    let port = sentinel.server(new).port().to_string();
    until("the old one follows the new one", || {
        (sentinel.server(old).info("master_port").as_ref() == Some(&port)).then_some(())
    });
}

#[test]
fn sentinels_of_redis_name_another_master() {
    sentinels_name_another(Kind::Redis70, 2);
}

#[test]
fn sentinels_of_valkey_name_another_master() {
    sentinels_name_another(Kind::Valkey9, 1);
}

#[test]
fn a_relay_passes_holds_and_cuts() {
    let server = Server::redis();
    let relay = Relay::before(server.address());
    let mut client = TcpStream::connect(relay.address()).unwrap();
    let mut ping = |patience| {
        client.set_read_timeout(Some(patience)).unwrap();
        client.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        client
            .read_exact(&mut answer)
            .map(|()| assert_eq!(&answer, b"+PONG\r\n"))
    };
    let (short, long) = (Duration::from_millis(50), Duration::from_secs(10));
    ping(long).unwrap();
    relay.hold();
    assert!(ping(short).is_err());
    relay.heal();
    ping(long).unwrap();
    relay.cut();
    // The answer to what was held came first, and one may still be on its way.
    assert!((0..3).any(|_| ping(long).is_err()));
    let mut refused = TcpStream::connect(relay.address()).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap_or(0), 0, "closed at once");
    relay.heal();
    let mut again = TcpStream::connect(relay.address()).unwrap();
    again.write_all(b"PING\r\n").unwrap();
    again.read_exact(&mut [0; 7]).unwrap();
}
