//! How TLS to a door is spoken.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::Error;

/// How TLS to a door is spoken. Whoever answers there has to show a certificate for the host of the address, signed by a root that is believed; there is no way
/// around that.
///
/// Without more, the roots of the system are believed, or those in `SSL_CERT_FILE`, and no certificate is shown.
#[derive(Clone, Default)]
pub struct Tls {
    roots: Option<Vec<u8>>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

/// Who asks, in PEM.
#[derive(Clone)]
struct Identity {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// TLS with the roots of the system.
    pub fn new() -> Self {
        Self::default()
    }

    /// Believes the certificates in `pem` in place of those of the system.
    #[must_use]
    pub fn roots(self, pem: impl Into<Vec<u8>>) -> Self {
        Self {
            roots: Some(pem.into()),
            ..self
        }
    }

    /// Shows this certificate, with those that signed it, to doors that demand one, and signs with `key`. Both are PEM.
    #[must_use]
    pub fn identity(self, certificate: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        let identity = Identity {
            certificate: certificate.into(),
            key: key.into(),
        };
        Self {
            identity: Some(identity),
            ..self
        }
    }

    /// The certificate of the door is for `name`, which is not the host of the address: a name where the address has a number, say.
    #[must_use]
    pub fn server_name(self, name: impl Into<String>) -> Self {
        Self {
            server_name: Some(name.into()),
            ..self
        }
    }

    /// The name that the door has to have, if it is not the host of the address.
    pub(crate) fn name(&self) -> Result<Option<ServerName<'static>>, Error> {
        let Some(name) = &self.server_name else {
            return Ok(None);
        };
        let name = ServerName::try_from(name.clone());
        let name = name.map_err(|_| bad("the server name is none that a certificate can hold"))?;
        Ok(Some(name))
    }

    pub(crate) fn config(&self) -> Result<ClientConfig, Error> {
        let builder = builder()?.with_root_certificates(match &self.roots {
            Some(pem) => given_roots(pem)?,
            None => system_roots()?,
        });
        let Some(Identity { certificate, key }) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|error| bad(format!("there is no private key in the PEM: {error}")))?;
        let chain = certificates(certificate)?;
        let config = builder.with_client_auth_cert(chain, key);
        config.map_err(|error| bad(format!("certificate and key do not fit together: {error}")))
    }
}

/// TLS for who speaks none: it believes nobody.
pub(crate) fn unused() -> Result<ClientConfig, Error> {
    let nobody = RootCertStore::empty();
    Ok(builder()?.with_root_certificates(nobody).with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(bad)
}

fn system_roots() -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    // Stores of systems hold oddities that no door is signed by.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(bad(
            "the system has no root certificates: install them, or give `Tls::roots`",
        ));
    }
    Ok(roots)
}

fn given_roots(pem: &[u8]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        let added = roots.add(certificate);
        added.map_err(|error| bad(format!("a certificate cannot be a root: {error}")))?;
    }
    Ok(roots)
}

/// The certificates in `pem`, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(bad("there is no certificate in the PEM")),
        Err(error) => Err(bad(format!("there is no certificate in the PEM: {error}"))),
    }
}

fn bad(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::BadTls(why.into())
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Of keys nothing is told.
        f.debug_struct("Tls")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    fn problem(tls: &Tls) -> String {
        let problem = tls.config().map(drop).unwrap_err();
        assert!(matches!(problem, Error::BadTls(_)), "{problem:?}");
        problem.to_string()
    }

    #[test]
    fn what_is_no_certificate_or_key_is_told_before_anything_is_asked() {
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        let with = |certificate: &str, key: &str| Tls::new().roots(pair().0).identity(certificate, key);
        assert!(with(&certificate, &key).config().is_ok());
        assert!(problem(&Tls::new().roots("")).contains("no certificate"));
        assert!(problem(&Tls::new().roots(key.as_str())).contains("no certificate"));
        assert!(problem(&with("", &key)).contains("no certificate"));
        assert!(problem(&with(&certificate, &certificate)).contains("no private key"));
        assert!(problem(&with(&certificate, &other_key)).contains("do not fit"));
        assert!(Tls::new().server_name("a b").name().is_err());
    }

    #[test]
    fn keys_are_not_told_of() {
        let told = format!("{:?}", Tls::new().identity("a certificate", "a key"));
        assert!(!told.contains("97") && !told.contains("a key"), "{told}");
    }
}
