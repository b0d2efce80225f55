//! Where is listened, and whether TLS is spoken there.

use std::net::SocketAddr;

use super::{Callers, Door, NamedFile, RedisDoor};

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address.
    pub address: SocketAddr,
    /// How it speaks TLS. Default: not at all.
    pub tls: Option<ListenerTls>,
    /// The header that every connection there begins with to say who opened it. Default: none.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// What is spoken there. Default: what clients of a gateway speak.
    pub door: Door,
    /// Who may connect. Default: anybody to the gateway, this machine to a door.
    pub callers: Callers,
    /// What only a door that speaks the protocol of Redis has.
    pub redis: Option<RedisDoor>,
}

/// The versions of the PROXY protocol that a listener requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// The line of text.
    V1,
    /// The binary header.
    V2,
    /// Either.
    Any,
}

impl From<SocketAddr> for Listener {
    /// Plain HTTP.
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            tls: None,
            proxy_protocol: None,
            door: Door::Gateway,
            callers: Callers::Anybody,
            redis: None,
        }
    }
}

/// How a listener speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerTls {
    /// At least one. Which is shown is decided by the name that the client asks for; the first is for everybody else.
    pub certificates: Vec<CertificateFiles>,
    /// Whose certificates clients show. Default: they are asked for none.
    pub client_auth: Option<ClientAuth>,
    /// The oldest version that is spoken. Default: 1.2.
    pub min_version: TlsVersion,
    /// What happens to a client that asks for a name in none of the certificates, or for no name.
    pub unknown_names: UnknownNames,
}

/// A certificate with its chain, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM: the certificate, followed by those that lead to its root.
    pub certificate: NamedFile,
    /// PEM: the private key.
    pub key: NamedFile,
}

/// Whose certificates clients show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAuth {
    /// PEM: the roots that clients' certificates lead to.
    pub authorities: NamedFile,
    /// What happens to a client that shows none. One that shows a wrong one is refused in any case.
    pub demand: Demand,
}

/// Whether a client has to show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Without one there is no connection.
    Required,
    /// Policies see whether it did.
    Optional,
}

/// A version of TLS that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// RFC 5246.
    V1_2,
    /// RFC 8446.
    V1_3,
}

impl TlsVersion {
    /// As policies and logs write it: `1.2` or `1.3`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_2 => "1.2",
            Self::V1_3 => "1.3",
        }
    }
}

/// What happens to a client that asks for a name in none of the certificates, or for no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownNames {
    /// It is shown the first certificate.
    GetTheFirst,
    /// It gets an alert.
    AreRefused,
}
