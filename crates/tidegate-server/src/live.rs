//! What a reload replaces, all at once, and how requests look at it.
//!
//! Everything that files say about requests is in one [`Live`]; what belongs to the process (clock, store, secret of the counters,
//! sockets) is not. A request takes what is live when it begins and keeps it to its end, so it never meets half of a reload.

use std::cell::RefCell;
use std::net::IpAddr;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use tidegate_policy::{Config, Identifier};
use tokio::sync::Notify;

use crate::load::Loaded;
use crate::metrics::{Meters, Metrics};
use crate::tls::TlsListener;
use crate::token_keys::TokenKeys;
use crate::upstream::Fleet;

/// One set of what files say: the configuration, and what the files that it names hold.
#[derive(Debug)]
pub struct Live {
    /// What the policy file means.
    pub config: Config,
    /// The TLS of the listeners, in their order.
    pub tls: Vec<Option<Arc<TlsListener>>>,
    /// What counts the decisions of the policies; made on the way to the stage.
    pub meters: Arc<Meters>,
    /// Finds out who sent a request.
    pub identifier: Identifier,
    /// The keys of those who issue tokens.
    pub token_keys: TokenKeys,
    /// The upstreams of the configuration.
    pub fleet: Arc<Fleet>,
}

impl Live {
    /// Whether the socket's peer is believed about who came before it.
    pub(crate) fn trusts(&self, peer: IpAddr) -> bool {
        self.config.gateway.trust.believes(peer)
    }

    /// What counts the decisions of the policies.
    #[inline]
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }
}

impl From<Loaded> for Live {
    fn from(loaded: Loaded) -> Self {
        Self {
            fleet: Arc::new(Fleet::new(&loaded.config.forwarding, &loaded.upstream_tls)),
            config: loaded.config,
            tls: loaded.tls,
            meters: Arc::default(),
            identifier: loaded.identifier,
            token_keys: TokenKeys::new(loaded.key_origins),
        }
    }
}

/// Where the process keeps what is live. Clones share it.
#[derive(Clone, Debug)]
pub struct Stage {
    live: Arc<ArcSwap<Live>>,
    metrics: Arc<Metrics>,
    /// Tells whoever looks after the upstreams.
    replaced: Arc<Notify>,
}

impl Stage {
    /// Begins with `live`, whose policies are counted in `metrics`.
    pub fn new(mut live: Live, metrics: Arc<Metrics>) -> Self {
        live.meters = metrics.meters(live.config.policies.policies());
        Self {
            live: Arc::new(ArcSwap::from_pointee(live)),
            metrics,
            replaced: Arc::default(),
        }
    }

    /// Where requests are counted.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Requests that begin from now on see `live`, with the keys of tokens that were fetched before. Servers of upstreams that are the
    /// same as before keep their connections, and what is known of them.
    pub fn replace(&self, mut live: Live) {
        live.meters = self.metrics.meters(live.config.policies.policies());
        live.token_keys.adopt(&self.live.load().token_keys);
        live.fleet = Arc::new(live.fleet.keeping(&self.current().fleet));
        self.live.store(Arc::new(live));
        self.replaced.notify_one();
    }

    /// Waits until something else may be live than before. For one waiter.
    pub(crate) async fn replaced(&self) {
        self.replaced.notified().await;
    }

    /// What is live now. Not for the way of a request: each call counts on memory that all threads share.
    pub fn current(&self) -> Arc<Live> {
        self.live.load_full()
    }
}

/// One thread's view of the stage.
///
/// Taking what is live costs a look at one pointer, which changes only with a reload, and a count on the thread's own memory.
#[derive(Debug)]
pub(crate) struct View(RefCell<Looked>);

#[derive(Debug)]
struct Looked {
    cache: Cache<Arc<ArcSwap<Live>>, Arc<Live>>,
    seen: Seen,
}

/// What was live when somebody looked. Clones are counted by the thread alone.
#[derive(Clone, Debug)]
#[expect(
    clippy::redundant_allocation,
    reason = "the outer count is the thread's own: all threads counting on one cache line would slow each other down"
)]
pub(crate) struct Seen(Rc<Arc<Live>>);

impl View {
    pub(crate) fn of(stage: &Stage) -> Self {
        let mut cache = Cache::new(stage.live.clone());
        let seen = Seen(Rc::new(cache.load().clone()));
        Self(RefCell::new(Looked { cache, seen }))
    }

    /// What is live now.
    pub(crate) fn now(&self) -> Seen {
        let Looked { cache, seen } = &mut *self.0.borrow_mut();
        let latest = cache.load();
        if !Arc::ptr_eq(latest, &seen.0) {
            *seen = Seen(Rc::new(latest.clone()));
        }
        seen.clone()
    }
}

impl Deref for Seen {
    type Target = Live;

    fn deref(&self) -> &Live {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::load::PolicySource;
    use tidegate_core::KeyHasher;

    fn live(policy: &str) -> Live {
        let text =
            format!("policies: [{{ name: {policy}, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}]");
        let source = PolicySource::read_from("test.yaml", text.as_bytes()).unwrap();
        source.load(&KeyHasher::new([7; 16])).unwrap().into()
    }

    fn name(live: &Live) -> &str {
        &live.config.policies.policies()[0].name
    }

    #[test]
    fn who_looks_after_a_reload_sees_it_and_who_looked_before_keeps_what_was_there() {
        let stage = Stage::new(live("old"), Metrics::new(NonZeroUsize::MIN));
        let view = View::of(&stage);
        let before = view.now();
        stage.replace(live("new"));
        assert_eq!(name(&before), "old");
        assert_eq!(name(&view.now()), "new");
        assert_eq!(name(&stage.current()), "new");
    }

    #[test]
    fn what_was_live_is_dropped_once_nobody_looks_at_it_any_more() {
        let stage = Stage::new(live("old"), Metrics::new(NonZeroUsize::MIN));
        let old = Arc::downgrade(&stage.current());
        let view = View::of(&stage);
        let request = view.now();
        stage.replace(live("new"));
        view.now();
        assert!(old.upgrade().is_some());
        drop(request);
        assert!(old.upgrade().is_none());
    }
}
