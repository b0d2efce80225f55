//! How tests reach servers and what they ask for.

use core::time::Duration;

use tidegate_core::{Charge, Cost, HoldId, Key, Limit, Mode};
use tidegate_store::redis::{Address, Servers, Settings};
use tidegate_test_servers::Server;

/// One unit.
pub(crate) fn one(key: Key, limit: &Limit) -> Charge<'_> {
    Charge {
        key,
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(1),
    }
}

pub(crate) fn address(server: &Server) -> Address {
    Address::new("127.0.0.1", server.port())
}

pub(crate) fn addresses(servers: &[Server]) -> Vec<Address> {
    servers.iter().map(address).collect()
}

/// With a timeout that a busy machine keeps.
pub(crate) fn patient(servers: Servers) -> Settings {
    Settings {
        timeout: Duration::from_secs(2),
        ..Settings::new(servers)
    }
}
