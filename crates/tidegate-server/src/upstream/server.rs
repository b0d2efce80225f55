//! One server of an upstream, as all threads see it.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tidegate_policy::{ServerUrl, UpstreamTls};
use tokio::sync::watch;

use super::tls::TlsClient;
use crate::metrics::Tally;

/// One server of an upstream.
///
/// Everything that changes is an atomic that says one thing by itself, so relaxed ordering does everywhere.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: ServerUrl,
    /// What it is called in `Host`.
    pub(crate) host: HeaderValue,
    label: Box<str>,
    tls: Option<Secure>,
    known: watch::Sender<Known>,
    /// Counts changes of its addresses.
    generation: AtomicU64,
    /// Why no requests are sent to it: any of the bits below.
    down: AtomicU8,
    failures_in_a_row: AtomicU32,
    ejections_in_a_row: AtomicU32,
    failures: AtomicU64,
    /// Tries that it was given, counted by each pool on its own.
    tries: Mutex<Vec<Arc<Tally>>>,
    ejections: AtomicU64,
    told: AtomicBool,
}

#[derive(Debug)]
struct Secure {
    name: Option<ServerName<'static>>,
    client: TlsClient,
}

/// Where a server is, as far as is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) addresses: Arc<[SocketAddr]>,
    /// Somebody has looked.
    pub(crate) looked: bool,
}

/// Its answers to health checks are bad.
const SICK: u8 = 1;
/// It failed too many requests.
const EJECTED: u8 = 2;
/// Its name has no addresses.
const NOWHERE: u8 = 4;

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It is sent requests.
    Usable,
    /// Its answers to health checks are bad.
    Unhealthy,
    /// It failed too many requests, and is left alone for a while.
    Ejected,
    /// Its name has no addresses.
    Unresolved,
}

impl Condition {
    /// Every condition.
    pub const ALL: [Self; 4] = [Self::Usable, Self::Unhealthy, Self::Ejected, Self::Unresolved];

    /// The word in metrics and in the status.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
            Self::Unresolved => "unresolved",
        }
    }
}

impl Server {
    pub(super) fn new(url: &ServerUrl, settings: &UpstreamTls, tls: Option<&TlsClient>) -> Self {
        let authority = url.authority();
        let named = url.host_and_port();
        let fixed = named.and_then(|(host, port)| Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, port)));
        let known = Known {
            addresses: fixed.into_iter().collect(),
            looked: fixed.is_some() || named.is_none(),
        };
        let tls = tls.filter(|_| url.is_tls()).map(|client| {
            let host = named.map_or("", |(host, _)| host);
            let name = settings.server_name.as_deref().unwrap_or(host);
            Secure {
                name: ServerName::try_from(name.to_owned()).ok(),
                client: client.clone(),
            }
        });
        Self {
            url: url.clone(),
            // An authority is always a value that a field can have.
            host: HeaderValue::from_str(authority.as_str()).unwrap_or(HeaderValue::from_static("localhost")),
            label: url.to_string().into(),
            tls,
            known: watch::Sender::new(known),
            generation: AtomicU64::new(0),
            down: AtomicU8::new(0),
            failures_in_a_row: AtomicU32::new(0),
            ejections_in_a_row: AtomicU32::new(0),
            failures: AtomicU64::new(0),
            tries: Mutex::default(),
            ejections: AtomicU64::new(0),
            told: AtomicBool::new(false),
        }
    }

    /// What it is called in logs and metrics: its URL.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Whether `other` is at the same place and is spoken to in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let tls = match (&self.tls, &other.tls) {
            (Some(own), Some(other)) => own.name == other.name && own.client == other.client,
            (None, None) => true,
            _ => false,
        };
        self.url == other.url && tls
    }

    /// How TLS to it is spoken, and the name that its certificate has to have.
    pub(crate) fn tls(&self) -> Option<(Arc<ClientConfig>, ServerName<'static>)> {
        let Secure { name, client } = self.tls.as_ref()?;
        Some((client.config(), name.clone()?))
    }

    /// Host and port, if the host is a name that has to be looked up.
    pub(crate) fn name(&self) -> Option<(&str, u16)> {
        let (host, port) = self.url.host_and_port()?;
        host.parse::<IpAddr>().is_err().then_some((host, port))
    }

    /// Its addresses, once they were looked up for the first time. None if there are none.
    pub(crate) async fn addresses(&self) -> Arc<[SocketAddr]> {
        let mut known = self.known.subscribe();
        match known.wait_for(|known| known.looked).await {
            Ok(known) => known.addresses.clone(),
            // The sender is `self`, which lives.
            Err(_) => Arc::default(),
        }
    }

    /// Counts changes of its addresses.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Whether `address` is one of its own.
    pub(crate) fn is_at(&self, address: SocketAddr) -> bool {
        self.known.borrow().addresses.contains(&address)
    }

    /// It was found at `addresses`; true if that is news.
    pub(crate) fn found_at(&self, addresses: &[SocketAddr]) -> bool {
        let sorted = |addresses: &[SocketAddr]| {
            let mut sorted = addresses.to_vec();
            sorted.sort_unstable();
            sorted
        };
        self.down.fetch_and(!NOWHERE, Ordering::Relaxed);
        self.known.send_if_modified(|known| {
            // Many name servers turn the order at each look.
            let same = known.looked && sorted(&known.addresses) == sorted(addresses);
            if !same {
                known.addresses = addresses.into();
                known.looked = true;
                self.generation.fetch_add(1, Ordering::Relaxed);
            }
            !same
        })
    }

    /// It was not found. The addresses from before, if there are any, stay.
    pub(crate) fn not_found(&self) {
        self.known.send_modify(|known| {
            known.looked = true;
            if known.addresses.is_empty() {
                self.down.fetch_or(NOWHERE, Ordering::Relaxed);
            }
        });
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.down.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn condition(&self) -> Condition {
        match self.down.load(Ordering::Relaxed) {
            0 => Condition::Usable,
            down if down & NOWHERE != 0 => Condition::Unresolved,
            down if down & SICK != 0 => Condition::Unhealthy,
            _ => Condition::Ejected,
        }
    }

    /// Its answers to health checks are bad; true if that is news.
    pub(crate) fn sickens(&self) -> bool {
        self.down.fetch_or(SICK, Ordering::Relaxed) & SICK == 0
    }

    /// Its answers to health checks are good; true if that is news.
    pub(crate) fn recovers(&self) -> bool {
        self.down.fetch_and(!SICK, Ordering::Relaxed) & SICK != 0
    }

    pub(super) fn succeeded(&self) {
        // Read first: a store would take the cache line away from all other threads.
        if self.failures_in_a_row.load(Ordering::Relaxed) != 0 {
            self.failures_in_a_row.store(0, Ordering::Relaxed);
            self.ejections_in_a_row.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a failure; how many there were in a row.
    pub(super) fn failed(&self) -> u32 {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let one_more = |failures: u32| Some(failures.saturating_add(1));
        let before = self
            .failures_in_a_row
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        before.unwrap_or_else(|before| before).saturating_add(1)
    }

    /// No more requests for it; true if that is news.
    pub(super) fn eject(&self) -> bool {
        let news = self.down.fetch_or(EJECTED, Ordering::Relaxed) & EJECTED == 0;
        if news {
            self.ejections.fetch_add(1, Ordering::Relaxed);
            self.ejections_in_a_row.fetch_add(1, Ordering::Relaxed);
        }
        news
    }

    pub(crate) fn is_ejected(&self) -> bool {
        self.down.load(Ordering::Relaxed) & EJECTED != 0
    }

    /// Its pause is over. `failures` are taken as its last ones in a row, until it answers.
    pub(crate) fn returns(&self, failures: u32) {
        self.failures_in_a_row.store(failures, Ordering::Relaxed);
        self.down.fetch_and(!EJECTED, Ordering::Relaxed);
    }

    /// Whether a failure of it has not been told for a while.
    pub(super) fn is_worth_telling(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// A while has passed.
    pub(crate) fn may_be_told_again(&self) {
        self.told.store(false, Ordering::Relaxed);
    }

    pub(super) fn ejections_in_a_row(&self) -> u32 {
        self.ejections_in_a_row.load(Ordering::Relaxed)
    }

    /// Where one more pool counts the tries that it gives this server.
    pub(crate) fn tally(&self) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.push(tally.clone());
        tally
    }

    /// Tries that it was given by all pools.
    pub(super) fn tries(&self) -> u64 {
        let tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.iter().map(|tally| tally.get()).fold(0, u64::wrapping_add)
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(super) fn ejections(&self) -> u64 {
        self.ejections.load(Ordering::Relaxed)
    }
}
