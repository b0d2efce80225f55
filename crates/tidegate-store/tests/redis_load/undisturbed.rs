//! Nothing goes wrong: exactly the limit is admitted, on every kind of store.

use tidegate_store::redis::Login;
use tidegate_test_servers::{Cluster, Kind, Options, Sentinel};

use super::*;

fn is_exact(on: &'static str, servers: Servers) {
    let crowd = Crowd::start(&patient(servers));
    let recovered = crowd.recovers();
    let report = crowd.ends(on, recovered);
    let all = report.all();
    assert_eq!((all.timeouts, all.unavailable), (0, 0), "{report:?}");
    report.holds(Bound::Exact);
}

#[test]
fn two_instances_admit_exactly_the_limit_on_every_kind_of_server() {
    let names = ["Redis 6.2", "Redis 7.0", "Valkey 8", "Valkey 9"];
    for (kind, name) in Kind::ALL.into_iter().zip(names) {
        let server = Server::start(kind, Options::default());
        is_exact(name, Servers::Single(address(&server)));
    }
}

#[test]
fn two_instances_admit_exactly_the_limit_on_a_cluster() {
    let cluster = Cluster::start(Kind::Valkey9);
    is_exact("Cluster", Servers::Cluster(addresses(cluster.nodes())));
}

#[test]
fn two_instances_admit_exactly_the_limit_under_sentinels() {
    let sentinel = Sentinel::start(Kind::Redis70, 1);
    is_exact("Sentinel", under(&sentinel));
}

pub(crate) fn under(sentinel: &Sentinel) -> Servers {
    Servers::Sentinel {
        sentinels: addresses(sentinel.sentinels()),
        service: sentinel.name().to_owned(),
        login: Login::default(),
    }
}
