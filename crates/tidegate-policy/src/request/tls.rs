//! The TLS connection of a request.

use crate::TlsVersion;

/// What is known of the TLS connection that a request came over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The version that was agreed on, if it is known: a proxy may say that there was TLS and no more.
    pub version: Option<TlsVersion>,
    /// The cipher suite that was agreed on, by its name in IANA's registry, such as `TLS13_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// The name of the server that the client asked for, in lower case.
    pub server_name: Option<Box<str>>,
    /// The protocol that was agreed on: `h2` or `http/1.1`; none if the client offered none.
    pub alpn: Option<&'static str>,
    /// The certificate that the client showed. It leads to an authority that the listener knows.
    pub client_certificate: Option<PeerCertificate>,
}

impl Tls {
    /// A connection of which only the version is known.
    pub fn new(version: TlsVersion) -> Self {
        Self {
            version: Some(version),
            ..Self::default()
        }
    }
}

/// A client's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCertificate {
    /// Whom it stands for, as RFC 4514 writes it: `CN=billing,O=Example`.
    pub subject: Box<str>,
    /// Its alternative names: host names, addresses, mail addresses and URIs, each as text.
    pub names: Vec<Box<str>>,
    /// SHA-256 of the whole certificate, in lower-case hexadecimal.
    pub sha256: Box<str>,
}

impl PeerCertificate {
    /// A certificate with no alternative names.
    pub fn new(subject: impl Into<Box<str>>, sha256: impl Into<Box<str>>) -> Self {
        Self {
            subject: subject.into(),
            names: Vec::new(),
            sha256: sha256.into(),
        }
    }
}
