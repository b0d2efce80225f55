//! Certificates made for a test.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Signs certificates for `localhost`.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, in PEM.
    pub root: String,
}

/// A certificate for `localhost` and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "tests");
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            root,
        }
    }

    /// A certificate for `localhost`.
    pub fn issue(&self) -> Certificate {
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        Certificate {
            certificate: params.signed_by(&key, &self.issuer).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }

    /// What a client needs that believes this authority alone.
    pub fn believer(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.root.as_bytes()).unwrap())
            .unwrap();
        Arc::new(
            ClientConfig::builder()
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// As it goes over the wire.
    pub fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }

    /// What a server needs that shows it to whoever connects.
    pub fn shown(&self) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let builder = ServerConfig::builder().with_no_client_auth();
        Arc::new(builder.with_single_cert(vec![self.der()], key).unwrap())
    }
}
