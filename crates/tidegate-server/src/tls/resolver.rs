//! Which certificate a client is shown.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tidegate_policy::UnknownNames;

use super::certificate::Certificate;
use super::names::Names;

/// The certificate that holds the name asked for, else the first or none.
#[derive(Debug)]
pub(super) struct ByName {
    certificates: Vec<Arc<CertifiedKey>>,
    names: Arc<Names>,
    unknown: UnknownNames,
}

impl ByName {
    pub(super) fn new(certificates: Vec<Certificate>, names: Arc<Names>, unknown: UnknownNames) -> Self {
        Self {
            certificates: certificates
                .into_iter()
                .map(|certificate| certificate.key)
                .collect(),
            names,
            unknown,
        }
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello.server_name().and_then(|name| self.names.find(name));
        let index = match (named, self.unknown) {
            (Some(index), _) => index,
            (None, UnknownNames::GetTheFirst) => 0,
            (None, UnknownNames::AreRefused) => return None,
        };
        self.certificates.get(index).cloned()
    }
}
