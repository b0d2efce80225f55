//! How TLS to an upstream is spoken.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

/// How TLS to an upstream is spoken. Two are equal if they were made from the same files.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    digest: [u8; 32],
}

/// What a [`TlsClient`] is made from: what files hold.
#[derive(Default)]
pub(crate) struct Material {
    /// Roots. None: those of the system.
    pub(crate) ca: Option<Vec<u8>>,
    /// The gateway's own certificate, with those that signed it, and its key.
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
    /// Any certificate of the server will do.
    pub(crate) insecure: bool,
}

impl TlsClient {
    /// Or what is wrong, in words.
    pub(crate) fn new(material: &Material) -> Result<Self, String> {
        let mut digest = Sha256::new();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = if material.insecure {
            digest.update("insecure");
            let anybody = Arc::new(Anybody(provider));
            builder.dangerous().with_custom_certificate_verifier(anybody)
        } else {
            builder.with_root_certificates(roots(material.ca.as_deref(), &mut digest)?)
        };
        let mut config = match &material.client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                counted(certificate, &mut digest);
                counted(key, &mut digest);
                let chain = certificates(certificate)
                    .map_err(|why| format!("`certificate` holds no certificate: {why}"))?;
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| format!("`key` holds no private key: {error}"))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| format!("`certificate` and `key` do not fit together: {error}"))?
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            digest: digest.finalize().into(),
        })
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.clone()
    }
}

impl PartialEq for TlsClient {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsClient")
    }
}

fn roots(ca: Option<&[u8]>, digest: &mut Sha256) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(ca) = ca else {
        for certificate in rustls_native_certs::load_native_certs().certs {
            counted(&certificate, digest);
            // Stores of systems hold oddities that no upstream is signed by.
            let _ = roots.add(certificate);
        }
        if roots.is_empty() {
            return Err(
                "the system has no root certificates: install them, or name a file with `tls.ca`".to_owned(),
            );
        }
        return Ok(roots);
    };
    counted(ca, digest);
    for certificate in certificates(ca).map_err(|why| format!("`ca` holds no certificate: {why}"))? {
        roots
            .add(certificate)
            .map_err(|error| format!("`ca` holds a certificate that cannot be a root: {error}"))?;
    }
    Ok(roots)
}

/// The certificates in `pem`, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| error.to_string())?;
    if certificates.is_empty() {
        return Err("there is no `-----BEGIN CERTIFICATE-----`".to_owned());
    }
    Ok(certificates)
}

/// Lengths come first, so that no two lists look the same.
fn counted(bytes: &[u8], digest: &mut Sha256) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Takes any certificate, for `insecure_skip_verify`. That whoever shows it has its key is checked all the same.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
