//! Looks after upstreams beside the workers: names, health checks, and the return of servers that were ejected.

use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::health;
use crate::live::Stage;
use crate::upstream::{Group, Names, Server};

/// How often failures of one server are told at most.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How long looking a name up may take.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(10);

/// How soon a name that was never found is looked up again.
const SOON: Duration = Duration::from_secs(1);

/// Looks after whatever is on `stage`.
pub(super) async fn watch(stage: Stage, names: Names) -> Infallible {
    let mut watched: Vec<(Arc<Group>, JoinSet<Infallible>)> = Vec::new();
    loop {
        let live = stage.current();
        let groups = &live.fleet.groups;
        watched.retain(|(known, _)| groups.iter().any(|group| Arc::ptr_eq(group, known)));
        for group in groups {
            if !watched.iter().any(|(known, _)| Arc::ptr_eq(group, known)) {
                let mut task = JoinSet::new();
                task.spawn(guard(group.clone(), names.clone()));
                watched.push((group.clone(), task));
            }
        }
        drop(live);
        stage.replaced().await;
    }
}

/// Looks after one upstream.
async fn guard(group: Arc<Group>, names: Names) -> Infallible {
    let mut tasks: JoinSet<Infallible> = JoinSet::new();
    for (index, server) in group.members.iter().enumerate() {
        // What an earlier guard had found out under other settings.
        server.recovers();
        if server.name().is_some() {
            tasks.spawn(follow(server.clone(), names.clone()));
        }
        if let Some(check) = &group.settings.health {
            tasks.spawn(health::check(group.clone(), index, check.clone(), fraction()));
        }
    }
    // Those that are ejected already are given their pause, too.
    group.ejected.notify_one();
    let mut pauses = JoinSet::new();
    let mut pausing = vec![false; group.members.len()];
    let mut telling = interval(TELL_EVERY);
    telling.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = group.ejected.notified() => {
                for (index, server) in group.members.iter().enumerate() {
                    if server.is_ejected() && !std::mem::replace(&mut pausing[index], true) {
                        pauses.spawn(pause(group.clone(), index));
                    }
                }
            }
            Some(Ok(index)) = pauses.join_next() => {
                pausing[index] = false;
                come_back(&group, index);
            }
            _ = telling.tick() => group.members.iter().for_each(|server| server.may_be_told_again()),
        }
    }
}

async fn pause(group: Arc<Group>, index: usize) -> usize {
    let (upstream, server) = (&*group.settings.name, group.members[index].label());
    let pause = group.pause(index);
    tracing::warn!(
        upstream,
        server,
        ?pause,
        "a server is left alone: it failed too often"
    );
    sleep(pause).await;
    index
}

/// One more failure ejects it again.
fn come_back(group: &Group, index: usize) {
    let failures = group.settings.ejection.map_or(1, |ejection| ejection.failures);
    let (upstream, server) = (&*group.settings.name, &group.members[index]);
    server.returns(failures.saturating_sub(1));
    tracing::info!(
        upstream,
        server = server.label(),
        "a server is sent requests again"
    );
}

/// Looks up where `server` is, again and again.
async fn follow(server: Arc<Server>, names: Names) -> Infallible {
    let Some((host, port)) = server.name() else {
        return std::future::pending().await;
    };
    let mut is_lost = false;
    loop {
        let found = timeout(LOOK_UP_WITHIN, names.resolver.resolve(host, port)).await;
        let why = match found {
            Ok(Ok(addresses)) if !addresses.is_empty() => {
                if server.found_at(&addresses) {
                    tracing::info!(host, ?addresses, "a name leads to these addresses");
                }
                is_lost = false;
                None
            }
            Ok(Ok(_)) => Some("it has no addresses".to_owned()),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it takes too long".to_owned()),
        };
        if let Some(why) = why {
            server.not_found();
            if !std::mem::replace(&mut is_lost, true) {
                tracing::warn!(
                    host,
                    why,
                    "a name cannot be looked up: its last addresses are used, if there were any"
                );
            }
        }
        let every = if server.is_usable() || !is_lost {
            names.every
        } else {
            SOON.min(names.every)
        };
        sleep(every).await;
    }
}

/// A random number from 0 to 1.
fn fraction() -> f64 {
    let drawn = RandomState::new().hash_one(0) >> 32;
    f64::from(u32::try_from(drawn).unwrap_or_default()) / f64::from(u32::MAX)
}
