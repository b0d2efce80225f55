//! Settings that hold until a restart.

use tidegate_policy::{AccessLog, Admin, Config, Door, Gateway, Listener, StoreSettings};

/// What a process was started with and cannot change.
#[derive(Debug)]
pub(crate) struct Fixed {
    gateway: Gateway,
    store: StoreSettings,
    admin: Admin,
    access_log: Option<AccessLog>,
}

impl Fixed {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            gateway: config.gateway.clone(),
            store: config.store.clone(),
            admin: config.admin,
            access_log: config.access_log.clone(),
        }
    }

    /// The settings that `wanted` says otherwise than they hold, by the names of the policy file.
    pub(crate) fn differing(&self, wanted: &Config) -> Vec<&'static str> {
        let asked = &wanted.gateway;
        // Named one by one, so that whoever adds a setting says here which kind it is.
        let Gateway {
            listen,
            timeouts,
            bounds,
            workers,
            request_ids,
            // Each request reads these anew.
            trust: _,
            forwarded_field: _,
        } = &self.gateway;
        let each = [
            ("gateway.listen", !is_same(listen, &asked.listen, is_of_gateway)),
            (
                "doors",
                !is_same(listen, &asked.listen, |listener| !is_of_gateway(listener)),
            ),
            ("gateway.limits", *bounds != asked.bounds),
            ("gateway.timeouts", *timeouts != asked.timeouts),
            ("gateway.workers", *workers != asked.workers),
            ("gateway.request_ids", *request_ids != asked.request_ids),
            ("store", self.store != wanted.store),
            ("admin", self.admin != wanted.admin),
            ("access_log", self.access_log != wanted.access_log),
        ];
        each.into_iter()
            .filter_map(|(name, differs)| differs.then_some(name))
            .collect()
    }
}

/// Whether the `wanted` sockets are the same. What TLS they show is taken at once, but not whether they show any, nor what
/// proxies say there, nor who may connect.
fn is_same(held: &[Listener], asked: &[Listener], wanted: impl Fn(&Listener) -> bool) -> bool {
    let sockets = |listeners: &[Listener]| {
        let wanted = listeners.iter().filter(|listener| wanted(listener));
        let sockets = wanted.map(|listener| {
            let clear = Listener {
                tls: None,
                ..listener.clone()
            };
            (clear, listener.tls.is_some())
        });
        sockets.collect::<Vec<_>>()
    };
    sockets(held) == sockets(asked)
}

fn is_of_gateway(listener: &Listener) -> bool {
    listener.door == Door::Gateway
}
