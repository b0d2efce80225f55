//! Settings that hold until a restart.

use tidegate_policy::{Config, Gateway, Listener, StoreSettings, Upstream};

/// What a process was started with and cannot change.
#[derive(Debug)]
pub(crate) struct Fixed {
    gateway: Gateway,
    upstream: Option<Upstream>,
    store: StoreSettings,
}

impl Fixed {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            gateway: config.gateway.clone(),
            upstream: config.forwarding.default_upstream().cloned(),
            store: config.store,
        }
    }

    /// The settings that `wanted` says otherwise than they hold, by the names of the policy file.
    pub(crate) fn differing(&self, wanted: &Config) -> Vec<&'static str> {
        let (held, asked) = (&self.gateway, &wanted.gateway);
        let each = [
            ("gateway.listen", !is_same(&held.listen, &asked.listen)),
            ("gateway.bounds", held.bounds != asked.bounds),
            ("gateway.timeouts", held.timeouts != asked.timeouts),
            (
                "gateway.upstream",
                self.upstream.as_ref() != wanted.forwarding.default_upstream(),
            ),
            ("gateway.workers", held.workers != asked.workers),
            ("store", self.store != wanted.store),
        ];
        each.into_iter()
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

/// Whether the sockets are the same. What TLS they show is taken at once, but not whether they show any.
fn is_same(held: &[Listener], asked: &[Listener]) -> bool {
    let sockets = |listeners: &[Listener]| {
        let sockets = listeners
            .iter()
            .map(|listener| (listener.address, listener.tls.is_some()));
        sockets.collect::<Vec<_>>()
    };
    sockets(held) == sockets(asked)
}
