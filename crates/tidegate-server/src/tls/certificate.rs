//! One certificate of a listener: what its files hold, and what is wrong with them.

use std::fmt;
use std::sync::Arc;

use rustls::InconsistentKeys;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tidegate_core::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::provider;

/// A certificate with its chain and key, ready to be shown.
pub(super) struct Certificate {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) term: Term,
}

/// Whom a certificate is for, and how long it holds.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The host names in it; a `*.` in front stands for one label.
    pub(crate) names: Vec<String>,
    validity: Validity,
}

/// Whether a certificate holds at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    NotYet,
    Right,
    /// It ends within this many days.
    Ending(u64),
    Over,
}

/// Seconds since 1970.
#[derive(Clone, Copy, Debug)]
struct Validity {
    from: i64,
    to: i64,
}

/// Certificates that end within this many days are warned of: who renews by hand has time, and who renews by machine does it earlier.
const SOON_DAYS: i64 = 7;

const DAY: i64 = 24 * 60 * 60;

/// Why files make no certificate.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The file holds no certificate.
    NoCertificate,
    /// What stands where the certificate should be is none.
    BadCertificate(String),
    /// The file holds no private key.
    NoKey,
    /// The key is under a password.
    KeyEncrypted,
    /// The key is of a kind that is not spoken.
    BadKey(String),
    /// The key is another certificate's.
    Mismatch,
}

impl Certificate {
    /// The certificate of these two PEM files.
    pub(super) fn new(chain: &[u8], key: &[u8]) -> Result<Self, Fault> {
        let chain = certificates(chain)?;
        let first = chain.first().ok_or(Fault::NoCertificate)?.clone();
        let (_, parsed) = X509Certificate::from_der(&first).map_err(bad)?;
        let validity = Validity {
            from: parsed.validity().not_before.timestamp(),
            to: parsed.validity().not_after.timestamp(),
        };
        let key =
            CertifiedKey::from_der(chain, private_key(key)?, &provider()).map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Fault::Mismatch,
                rustls::Error::InvalidCertificate(error) => Fault::BadCertificate(format!("{error:?}")),
                other => Fault::BadKey(other.to_string()),
            })?;
        Ok(Self {
            key: Arc::new(key),
            term: Term {
                names: host_names(&parsed),
                validity,
            },
        })
    }

    /// Whether it holds at `now`.
    pub(super) fn age(&self, now: Timestamp) -> Age {
        let validity = self.term.validity;
        let left = validity.left(now);
        if seconds(now) < validity.from {
            Age::NotYet
        } else if left < 0 {
            Age::Over
        } else if left < SOON_DAYS * DAY {
            Age::Ending(u64::try_from(left / DAY).unwrap_or(0))
        } else {
            Age::Right
        }
    }
}

impl Term {
    /// When it ends, or when the clock does.
    pub(crate) fn not_after(&self) -> Timestamp {
        let seconds = u64::try_from(self.validity.to).unwrap_or(0);
        Timestamp::from_nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Whole days until it ends, less than 0 if that is past.
    pub(crate) fn days_left(&self, now: Timestamp) -> i64 {
        self.validity.left(now).div_euclid(DAY)
    }
}

impl Validity {
    /// Seconds until it ends.
    fn left(self, now: Timestamp) -> i64 {
        self.to.saturating_sub(seconds(now))
    }
}

fn seconds(now: Timestamp) -> i64 {
    i64::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX)
}

/// All certificates in the PEM file `text`, in its order.
pub(super) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, Fault> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(bad)?;
    if all.is_empty() {
        return Err(Fault::NoCertificate);
    }
    Ok(all)
}

fn private_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, Fault> {
    let is_encrypted = |marker: &[u8]| text.windows(marker.len()).any(|part| part == marker);
    if is_encrypted(b"BEGIN ENCRYPTED PRIVATE KEY") || is_encrypted(b"Proc-Type: 4,ENCRYPTED") {
        return Err(Fault::KeyEncrypted);
    }
    PrivateKeyDer::from_pem_slice(text).map_err(|_| Fault::NoKey)
}

fn bad(error: impl fmt::Display) -> Fault {
    Fault::BadCertificate(error.to_string())
}

fn host_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(names)) = certificate.subject_alternative_name() else {
        return Vec::new();
    };
    let names = names.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect()
}
