//! Gateways that share a store.

mod hits;
mod one;
mod secure;
mod sentinel;

use tidegate_e2e::{Gateway, Reply, curl};

fn get(gateway: &Gateway, path: &str) -> Reply {
    curl(&[&gateway.url(path)])
}
