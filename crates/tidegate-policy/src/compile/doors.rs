//! What `doors` means.

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};

use super::consistency::consistency;
use super::gateway::network;
use super::listener;
use super::store::secret;
use crate::config::{Callers, Demand, Door, Listener, RedisDoor};
use crate::document::Document;
use crate::document::doors::{DoorText, RedisText};
use crate::document::node::Spanned;
use crate::document::report::{Report, quoted};
use crate::document::store::StoreText;
use crate::policy::{Consistency, OnStoreFailure};

/// The listeners of all doors, none of which may listen where one of `others` does.
pub(super) fn doors(document: &Document, others: &[Listener], report: &mut Report<'_>) -> Vec<Listener> {
    let is_shared = document.store.as_ref().is_some_and(StoreText::is_shared);
    let mut doors: Vec<Listener> = Vec::new();
    for text in &document.doors {
        let tls = text.tls.as_ref().map(|text| listener::tls(text, report));
        let shows_certificates = tls
            .as_ref()
            .and_then(|tls| tls.client_auth.as_ref())
            .is_some_and(|auth| auth.demand == Demand::Required);
        if let (Door::Spoe, Some(_)) = (text.door, &text.tls) {
            let message = "HAProxy does not speak TLS to this door";
            report.warning(
                text.listen.at,
                message,
                "remove `tls`, and keep the door on loopback or a network of its own",
            );
        }
        let callers = callers(text, shows_certificates, report);
        let redis = (text.door == Door::Redis).then(|| redis(text.redis.as_ref(), is_shared, report));
        let Some(address) = address(&text.listen, report) else {
            continue;
        };
        if others.iter().chain(&doors).any(|known| known.address == address) && address.port() != 0 {
            let message = format!("{address} is listened on already");
            report.error(text.listen.at, message, "give each door a port of its own");
        }
        doors.push(Listener {
            address,
            tls,
            proxy_protocol: None,
            door: text.door,
            callers,
            redis,
        });
    }
    doors
}

/// How a door for Redis counts, in an instance that shares a store or not.
fn redis(text: Option<&RedisText>, is_shared: bool, report: &mut Report<'_>) -> RedisDoor {
    let said = text.and_then(|text| text.consistency.as_ref());
    let consistency = consistency(said, is_shared, report);
    let on_store_failure = text.and_then(|text| text.on_store_failure.as_ref());
    if let (Some(said), Consistency::Local) = (on_store_failure, consistency) {
        let message = "`on_store_failure` says nothing here: this door does not ask the shared store";
        report.warning(said.at, message, "remove it, or write `consistency: strict`");
    }
    RedisDoor {
        consistency,
        on_store_failure: on_store_failure.map_or(OnStoreFailure::default(), |said| said.value),
        password: text.and_then(|text| secret(&text.password, report)),
        password_digest: None,
    }
}

/// An address; a port alone is one of this machine's loopback.
fn address(text: &Spanned<String>, report: &mut Report<'_>) -> Option<SocketAddr> {
    let address = match text.value.parse::<u16>() {
        Ok(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text.value.parse().ok(),
    };
    if address.is_none() {
        let message = format!("{} is not an address to listen on", quoted(&text.value));
        let cure = "write a port, which is then on loopback, or address and port: `8081`, `0.0.0.0:8081` or `[::]:8081`";
        report.error(text.at, message, cure);
    }
    address
}

fn callers(text: &DoorText, show_certificates: bool, report: &mut Report<'_>) -> Callers {
    let Some(texts) = &text.callers else {
        return if show_certificates {
            Callers::Anybody
        } else {
            Callers::loopback()
        };
    };
    if let Some(any) = texts.iter().find(|text| text.value == "any") {
        if !show_certificates {
            let message = "whoever reaches this door would be believed about who its clients are, and could spend their limits";
            let cure = "name the addresses of your proxies, or ask for certificates: `tls: { …, client_ca: ca.pem }`";
            report.warning(any.at, message, cure);
        }
        return Callers::Anybody;
    }
    let networks = texts.iter().filter_map(|text| network(text, report));
    Callers::Among(networks.collect())
}
