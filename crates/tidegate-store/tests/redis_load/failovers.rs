//! A master that dies or stands still while others can take its place.

use tidegate_test_servers::{Cluster, Kind, Sentinel};

use super::*;
use crowd::SHARD;
use undisturbed::under;

fn in_cluster(cluster: &Cluster) -> (Settings, u16) {
    let settings = Settings::new(Servers::Cluster(addresses(cluster.nodes())));
    (settings, cluster.slot_of(&format!("{{{SHARD:02x}}}")))
}

#[test]
fn a_master_of_a_cluster_that_dies_lets_no_more_pass_than_was_under_way() {
    let mut cluster = Cluster::start(Kind::Redis70);
    let (settings, slot) = in_cluster(&cluster);
    let crowd = Crowd::start(&settings);
    crowd.gets_going();
    cluster.kill_master_of(slot);
    cluster.master_of(slot);
    let recovered = crowd.recovers();
    crowd
        .ends("master of a Cluster killed", recovered)
        .holds(Bound::AtOneTime);
}

#[test]
fn a_master_of_a_cluster_that_dies_lets_nothing_more_pass_where_policies_are_cautious() {
    let mut cluster = Cluster::start(Kind::Redis70);
    let (settings, slot) = in_cluster(&cluster);
    let crowd = Crowd::cautious(&settings);
    crowd.gets_going();
    cluster.kill_master_of(slot);
    cluster.master_of(slot);
    let recovered = crowd.recovers();
    crowd
        .ends("master of a Cluster killed; cautious", recovered)
        .holds(Bound::None);
}

#[test]
fn a_master_of_a_cluster_that_stands_still_is_not_believed_when_it_is_back() {
    let mut cluster = Cluster::start(Kind::Valkey9);
    let (settings, slot) = in_cluster(&cluster);
    let crowd = Crowd::start(&settings);
    crowd.gets_going();
    let old = cluster.master_of(slot);
    cluster.node(old).stop();
    cluster.master_of(slot);
    let recovered = crowd.recovers();
    cluster.node(old).cont();
    crowd
        .ends("master of a Cluster stood still, then came back", recovered)
        .holds(Bound::AtOneTime);
}

#[test]
fn a_shard_of_a_cluster_that_moves_in_agreement_lets_nothing_more_pass() {
    let cluster = Cluster::start(Kind::Valkey9);
    let (settings, slot) = in_cluster(&cluster);
    let crowd = Crowd::start(&settings);
    crowd.gets_going();
    cluster.fail_over(slot);
    let recovered = crowd.recovers();
    crowd
        .ends("master of a Cluster replaced in agreement", recovered)
        .holds(Bound::None);
}

#[test]
fn a_master_under_sentinels_that_dies_lets_no_more_pass_than_was_under_way() {
    let mut sentinel = Sentinel::start(Kind::Redis70, 2);
    let crowd = Crowd::start(&Settings::new(under(&sentinel)));
    crowd.gets_going();
    let old = sentinel.kill_master();
    until("another master", || {
        Some(sentinel.master()).filter(|&new| new != old)
    });
    let recovered = crowd.recovers();
    crowd
        .ends("master under Sentinels killed", recovered)
        .holds(Bound::AtOneTime);
}

#[test]
fn a_master_under_sentinels_that_stands_still_is_not_believed_when_it_is_back() {
    let mut sentinel = Sentinel::start(Kind::Valkey9, 1);
    let crowd = Crowd::start(&Settings::new(under(&sentinel)));
    crowd.gets_going();
    let old = sentinel.master();
    sentinel.server(old).stop();
    until("another master", || {
        Some(sentinel.master()).filter(|&new| new != old)
    });
    let recovered = crowd.recovers();
    sentinel.server(old).cont();
    crowd
        .ends("master under Sentinels stood still, then came back", recovered)
        .holds(Bound::AtOneTime);
}
