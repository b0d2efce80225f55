//! TLS from clients: what a listener shows and asks for, and how that is replaced while it listens.

mod certificate;
mod facts;
mod load;
mod names;
mod resolver;
mod switch;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tidegate_policy::{Demand, TlsVersion, UnknownNames};

pub(crate) use facts::{certificate, facts};
pub use load::Source;
pub(crate) use names::Names;
pub use switch::TlsSwitch;

pub(crate) use certificate::Term;

use certificate::Certificate;
use resolver::ByName;

/// HTTP/2 first: whoever speaks both is better served by it.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// How one listener speaks TLS.
#[derive(Debug)]
pub struct TlsListener {
    pub(crate) config: Arc<ServerConfig>,
    names: Arc<Names>,
    demand: Option<Demand>,
    terms: Vec<Term>,
}

/// What a listener's TLS is made of.
struct Parts {
    /// At least one.
    certificates: Vec<Certificate>,
    authorities: Option<(RootCertStore, Demand)>,
    min_version: TlsVersion,
    unknown_names: UnknownNames,
}

impl TlsListener {
    /// The listener of `parts`, whose certificates hold each name once, as `names` says.
    fn new(parts: Parts, names: Names) -> Result<Self, String> {
        let names = Arc::new(names);
        let demand = parts.authorities.as_ref().map(|(_, demand)| *demand);
        let terms = parts
            .certificates
            .iter()
            .map(|certificate| certificate.term.clone());
        let terms = terms.collect();
        let config = config(parts, names.clone())?;
        Ok(Self {
            config: Arc::new(config),
            names,
            demand,
            terms,
        })
    }

    /// Whom its certificates are for and how long they hold, in their order.
    pub(crate) fn certificates(&self) -> &[Term] {
        &self.terms
    }

    /// Whether requests for `host` may only come over this listener: its certificates hold the name, and it lets nobody in without
    /// a certificate.
    fn guards(&self, host: &str) -> bool {
        self.demand == Some(Demand::Required) && self.holds(host)
    }

    fn holds(&self, host: &str) -> bool {
        self.names.find(host).is_some()
    }
}

/// The TLS of all listeners of a gateway, in their order; none where a listener speaks plain HTTP.
#[derive(Debug, Default)]
pub(crate) struct TlsListeners(pub(crate) Vec<Option<Arc<TlsListener>>>);

impl TlsListeners {
    pub(crate) fn at(&self, index: usize) -> Option<&TlsListener> {
        self.0.get(index)?.as_deref()
    }

    /// Whether anybody's certificates are asked for at all: if not, no request can dodge that.
    pub(crate) fn guard(&self) -> bool {
        self.0
            .iter()
            .flatten()
            .any(|tls| tls.demand == Some(Demand::Required))
    }

    /// Whether `host`, asked for over the listener `index`, is only served over another one, which asks for certificates.
    pub(crate) fn is_misdirected(&self, index: usize, host: &str) -> bool {
        !self.at(index).is_some_and(|own| own.holds(host))
            && self.0.iter().flatten().any(|tls| tls.guards(host))
    }
}

/// The cryptography: AWS-LC, with post-quantum key exchange first.
pub(crate) fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}

fn config(parts: Parts, names: Arc<Names>) -> Result<ServerConfig, String> {
    let versions: &[_] = match parts.min_version {
        TlsVersion::V1_2 => &[&rustls::version::TLS13, &rustls::version::TLS12],
        TlsVersion::V1_3 => &[&rustls::version::TLS13],
    };
    let provider = Arc::new(provider());
    let verifier = match parts.authorities {
        None => WebPkiClientVerifier::no_client_auth(),
        Some((roots, demand)) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            let verifier = match demand {
                Demand::Required => verifier,
                Demand::Optional => verifier.allow_unauthenticated(),
            };
            verifier.build().map_err(|error| error.to_string())?
        }
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(ByName::new(
            parts.certificates,
            names,
            parts.unknown_names,
        )));
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    // Sessions are resumed by tickets, whose key changes every six hours, and never outlives these settings: who was let in by other
    // authorities comes in no more.
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(|error| error.to_string())?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(config)
}
