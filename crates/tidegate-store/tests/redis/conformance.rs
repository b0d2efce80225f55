//! What every store must do, done by this one on real servers whose time the suite sets.

use core::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use tidegate_core::KeyHasher;
use tidegate_store::conformance::{Resolution, Subject};
use tidegate_store::redis::{Login, Servers};
use tidegate_test_servers::{Cluster, Kind, Sentinel};

use super::*;

struct Subjected {
    redis: Arc<Redis>,
    keys: KeyHasher,
}

mod on_redis_6_2 {
    tidegate_store::conformance_tests! { super::on_a_server(super::Kind::Redis62) }
}

mod on_redis_7_0 {
    tidegate_store::conformance_tests! { super::on_a_server(super::Kind::Redis70) }
}

mod on_valkey_8 {
    tidegate_store::conformance_tests! { super::on_a_server(super::Kind::Valkey8) }
}

mod on_valkey_9 {
    tidegate_store::conformance_tests! { super::on_a_server(super::Kind::Valkey9) }
}

mod under_sentinels {
    tidegate_store::conformance_tests! { super::under_sentinels() }
}

/// Without the checks of requests over several shards: what those give back comes back a moment after the answer.
mod on_a_cluster {
    tidegate_store::conformance_tests! { super::on_a_cluster();
        shared_vectors_are_answered_to_the_nanosecond
        the_second_charge_on_a_key_sees_the_first
        what_can_never_pass_is_told_apart_from_what_passes_later
        different_keys_never_share_a_counter
        releasing_twice_is_releasing_once
        as_much_is_given_back_as_counters_hold_and_no_more
        tasks_that_give_back_at_one_time_admit_what_they_gave_back
        tasks_on_one_key_admit_exactly_the_limit
        state_is_kept_until_it_equals_fresh
    }
}

fn on_a_server(kind: Kind) -> Subjected {
    subject(Servers::Unix(Server::shared_of(kind).socket()))
}

fn under_sentinels() -> Subjected {
    let group = Sentinel::shared();
    subject(Servers::Sentinel {
        sentinels: addresses(group.sentinels()),
        service: group.name().to_owned(),
        login: Login::default(),
    })
}

fn on_a_cluster() -> Subjected {
    subject(Servers::Cluster(addresses(Cluster::shared().nodes())))
}

fn subject(servers: Servers) -> Subjected {
    let runtime = tokio::runtime::Handle::current();
    let drawn = RandomState::new().build_hasher().finish().to_le_bytes();
    let redis = Redis::by_callers_clock(&patient(servers), runtime).expect("sound settings");
    until("the store is connected", || {
        is_connected(&redis.figures()).then_some(())
    });
    Subjected {
        redis: Arc::new(redis),
        keys: KeyHasher::shared(Some(&drawn)),
    }
}

impl Subject for Subjected {
    type Store = Redis;

    fn store(&self) -> Arc<Redis> {
        Arc::clone(&self.redis)
    }

    async fn set_time(&self, _now: Timestamp) {}

    fn keys(&self) -> KeyHasher {
        self.keys.clone()
    }

    fn resolution(&self) -> Resolution {
        Resolution::Microseconds
    }
}

impl fmt::Debug for Subjected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.redis.fmt(f)
    }
}
