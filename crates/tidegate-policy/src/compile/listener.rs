//! What `gateway.listen` means.

use std::net::SocketAddr;

use super::gateway::parsed;
use crate::config::{
    Callers, CertificateFiles, ClientAuth, Demand, Door, Listener, ListenerTls, NamedFile, TlsVersion,
    UnknownNames,
};
use crate::document::listener::{ListenerText, TlsText};
use crate::document::report::Report;

/// The most certificates of one listener.
pub(crate) const MAX_CERTIFICATES: usize = 1000;

pub(super) fn listeners(texts: &[ListenerText], report: &mut Report<'_>) -> Vec<Listener> {
    let cure = |_| "write address and port: `127.0.0.1:8080`, `0.0.0.0:8080` or `[::]:8080`".to_owned();
    let mut listeners: Vec<Listener> = Vec::new();
    for text in texts {
        let tls = text.tls.as_ref().map(|text| tls(text, report));
        let Some(address) = parsed(&text.address, "an address to listen on", cure, report) else {
            continue;
        };
        if is_known(address, &listeners) {
            let message = format!("{address} is written twice");
            report.error(text.address.at, message, "keep one of them");
        }
        listeners.push(Listener {
            address,
            tls,
            proxy_protocol: text.proxy_protocol.as_ref().map(|said| said.value),
            door: Door::Gateway,
            callers: Callers::Anybody,
            redis: None,
        });
    }
    listeners
}

fn is_known(address: SocketAddr, listeners: &[Listener]) -> bool {
    listeners.iter().any(|listener| listener.address == address)
}

pub(super) fn tls(text: &TlsText, report: &mut Report<'_>) -> ListenerTls {
    if let Some(surplus) = text.certificates.get(MAX_CERTIFICATES) {
        let message = format!("a listener has at most {MAX_CERTIFICATES} certificates");
        report.error(
            surplus.certificate.at,
            message,
            "let one certificate hold several names",
        );
    }
    let certificates = text.certificates.iter().map(|text| CertificateFiles {
        certificate: NamedFile::from(&text.certificate),
        key: NamedFile::from(&text.key),
    });
    ListenerTls {
        certificates: certificates.collect(),
        client_auth: client_auth(text, report),
        min_version: text
            .min_version
            .as_ref()
            .map_or(TlsVersion::V1_2, |text| text.value),
        unknown_names: text
            .strict_sni
            .as_ref()
            .map_or(UnknownNames::GetTheFirst, |text| text.value),
    }
}

fn client_auth(text: &TlsText, report: &mut Report<'_>) -> Option<ClientAuth> {
    let demand = text.client_auth.as_ref();
    if let (None, Some(demand)) = (&text.client_ca, demand) {
        let message = "`client_auth` asks for certificates, and nothing says whose are right";
        report.error(
            demand.at,
            message,
            "add `client_ca: ca.pem`, the authorities that sign your clients' certificates",
        );
    }
    let authorities = text.client_ca.as_ref()?;
    Some(ClientAuth {
        authorities: NamedFile::from(authorities),
        demand: demand.map_or(Demand::Required, |text| text.value),
    })
}
