//! Upstreams as all threads see them: their servers, where those are, and which of them are well.
//!
//! Connections are each worker's own and not here. What is shared is a few numbers per server, each written seldom: a request that
//! goes well only reads.

mod names;
mod server;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::uri::Authority;
use tidegate_policy::{Forwarding, Upstream};
use tokio::sync::Notify;

pub use names::{MAX_ADDRESSES, Names, Resolve, Resolving, SystemNames};
pub use server::Condition;
pub(crate) use server::Server;
pub(crate) use tls::Material;
pub use tls::TlsClient;

/// All upstreams of one configuration.
#[derive(Debug)]
pub struct Fleet {
    pub(crate) groups: Vec<Arc<Group>>,
    default: Option<usize>,
    default_host: Authority,
}

/// The servers of one upstream.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) settings: Upstream,
    /// In the order of the settings.
    pub(crate) members: Vec<Arc<Server>>,
    /// Somebody was ejected.
    pub(crate) ejected: Notify,
    retries: AtomicU64,
}

/// The longest pause of a server that fails each time it comes back, unless its first is longer.
pub const MAX_PAUSE: Duration = Duration::from_secs(300);

impl Fleet {
    /// The upstreams of `forwarding`. `tls` is how each of them is spoken to, in the same order.
    pub fn new(forwarding: &Forwarding, tls: &[Option<TlsClient>]) -> Self {
        let groups = forwarding.upstreams.iter().enumerate().map(|(index, upstream)| {
            let tls = tls.get(index).and_then(Option::as_ref);
            Arc::new(Group::new(upstream, tls))
        });
        let first = forwarding
            .default_upstream()
            .or(forwarding.upstreams.first())
            .and_then(|upstream| upstream.servers.first());
        Self {
            groups: groups.collect(),
            default: forwarding.default,
            default_host: first.map_or(Authority::from_static("localhost"), |server| {
                server.url.authority()
            }),
        }
    }

    /// The same, with the servers of `earlier` that are the same: their connections and what is known of them stay.
    pub(crate) fn keeping(&self, earlier: &Self) -> Self {
        let kept = |group: &Arc<Group>| {
            let mut known = earlier.groups.iter();
            match known.find(|known| known.settings.name == group.settings.name) {
                Some(known) => group.keeping(known),
                None => group.clone(),
            }
        };
        Self {
            groups: self.groups.iter().map(kept).collect(),
            default: self.default,
            default_host: self.default_host.clone(),
        }
    }

    /// Where requests go that no route matches.
    pub(crate) fn default(&self) -> Option<usize> {
        self.default
    }

    /// The name of the upstream where requests go that no route matches.
    pub fn default_name(&self) -> Option<&str> {
        let group = self.groups.get(self.default?)?;
        Some(&group.settings.name)
    }

    /// The host of requests that name none.
    pub(crate) fn default_host(&self) -> &Authority {
        &self.default_host
    }

    /// Whether any server can be sent a request.
    pub fn is_usable(&self) -> bool {
        let mut members = self.groups.iter().flat_map(|group| &group.members);
        members.any(|server| server.is_usable())
    }

    /// Whether requests that no route matches can be sent to a server; where such requests go nowhere, whether any can.
    pub fn is_ready(&self) -> bool {
        match self.default.and_then(|place| self.groups.get(place)) {
            Some(group) => group.usable() != 0,
            None => self.groups.is_empty() || self.is_usable(),
        }
    }

    /// What is known of each server, as metrics and status pages want it.
    pub fn servers(&self) -> impl Iterator<Item = ServerReport<'_>> {
        self.groups.iter().flat_map(|group| {
            group.members.iter().map(|server| ServerReport {
                upstream: &group.settings.name,
                server: server.label(),
                condition: server.condition(),
                requests: server.tries(),
                failures: server.failures(),
                ejections: server.ejections(),
            })
        })
    }

    /// How many requests of each upstream were tried once more.
    pub fn retries(&self) -> impl Iterator<Item = (&str, u64)> {
        self.groups
            .iter()
            .map(|group| (&*group.settings.name, group.retries.load(Ordering::Relaxed)))
    }
}

/// What is known of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerReport<'a> {
    /// The upstream that it belongs to.
    pub upstream: &'a str,
    /// Its URL.
    pub server: &'a str,
    /// How it is.
    pub condition: Condition,
    /// Requests that it was sent, since it is known; each try counts.
    pub requests: u64,
    /// Requests that it failed, since it is known.
    pub failures: u64,
    /// How often it was ejected, since it is known.
    pub ejections: u64,
}

impl Group {
    fn new(settings: &Upstream, tls: Option<&TlsClient>) -> Self {
        let server =
            |server: &tidegate_policy::Server| Arc::new(Server::new(&server.url, &settings.tls, tls));
        Self {
            members: settings.servers.iter().map(server).collect(),
            settings: settings.clone(),
            ejected: Notify::new(),
            retries: AtomicU64::new(0),
        }
    }

    /// This group, with the servers of `known` that are the same. All of `known` if nothing differs.
    fn keeping(&self, known: &Arc<Self>) -> Arc<Self> {
        let same = |server: &Arc<Server>| known.members.iter().find(|known| known.is_same(server));
        let all_same = self
            .members
            .iter()
            .zip(&known.members)
            .all(|(own, known)| own.is_same(known));
        if self.settings == known.settings && all_same {
            return known.clone();
        }
        Arc::new(Self {
            members: self
                .members
                .iter()
                .map(|server| same(server).unwrap_or(server).clone())
                .collect(),
            settings: self.settings.clone(),
            ejected: Notify::new(),
            retries: AtomicU64::new(known.retries.load(Ordering::Relaxed)),
        })
    }

    /// The servers that can be sent requests, a bit for each.
    pub(crate) fn usable(&self) -> u64 {
        let usable = |(index, server): (usize, &Arc<Server>)| u64::from(server.is_usable()) << index;
        self.members.iter().enumerate().map(usable).sum()
    }

    /// Server number `index` answered.
    pub(crate) fn succeeded(&self, index: usize) {
        self.members[index].succeeded();
    }

    /// Server number `index` failed a request, for the reason `why`. It is ejected if it did so too often in a row, unless no other
    /// server is left.
    pub(crate) fn failed(&self, index: usize, why: &str) {
        let server = &self.members[index];
        let in_a_row = server.failed();
        if self.members.len() > 1 && server.is_worth_telling() {
            let (upstream, server) = (&*self.settings.name, server.label());
            tracing::warn!(upstream, server, why, "a server failed a request");
        }
        let Some(ejection) = self.settings.ejection else {
            return;
        };
        let others = self.usable() & !(1 << index);
        if in_a_row >= ejection.failures && others != 0 && server.eject() {
            self.ejected.notify_one();
        }
    }

    /// How long server number `index`, which was just ejected, is left alone.
    pub(crate) fn pause(&self, index: usize) -> Duration {
        let first = self
            .settings
            .ejection
            .map_or(Duration::ZERO, |ejection| ejection.pause);
        let doublings = self.members[index].ejections_in_a_row().saturating_sub(1).min(31);
        first.saturating_mul(1 << doublings).min(MAX_PAUSE.max(first))
    }

    /// A request was tried once more.
    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
