//! What `doors` means.

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};

use super::gateway::network;
use super::listener;
use crate::config::{Callers, Demand, Door, Listener};
use crate::document::doors::DoorText;
use crate::document::node::Spanned;
use crate::document::report::{Report, quoted};

/// The listeners of `texts`, none of which may listen where one of `others` does.
pub(super) fn doors(texts: &[DoorText], others: &[Listener], report: &mut Report<'_>) -> Vec<Listener> {
    let mut doors: Vec<Listener> = Vec::new();
    for text in texts {
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
        });
    }
    doors
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
