//! Where counters are kept.

mod address;

use std::fmt;
use std::time::Duration;

use super::ClientCertificate;

pub use address::HostPort;
pub(crate) use address::{AddressFault, StoreUrl, UrlFault};

/// Where counters are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// The most memory that counters of this process may take. Default: 64 MiB.
    pub memory_bytes: usize,
    /// The store that all instances share, if there is one. Default: none.
    pub shared: Option<SharedStore>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            memory_bytes: 64 * 1024 * 1024,
            shared: None,
        }
    }
}

/// A Redis or Valkey in which several instances count together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedStore {
    /// Where it is.
    pub place: StorePlace,
    /// How TLS to it is spoken. None: it is not.
    pub tls: Option<StoreTls>,
    /// Who we are to it.
    pub login: StoreLogin,
    /// The number of the database. Default: 0.
    pub database: u32,
    /// How long a decision may take. Default: 25 ms.
    pub timeout: Duration,
    /// How long it may take to connect. Default: 500 ms.
    pub connect_timeout: Duration,
    /// What all names in the store begin with. Default: `tg1`.
    pub prefix: String,
    /// Where the secret is under which counters are named. Default: they are named without one.
    pub key_secret: Option<SecretPlace>,
}

impl SharedStore {
    /// The default of [`SharedStore::timeout`].
    pub const TIMEOUT: Duration = Duration::from_millis(25);
    /// The default of [`SharedStore::connect_timeout`].
    pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
    /// The default of [`SharedStore::prefix`]. The number is the version of what is kept.
    pub const PREFIX: &'static str = "tg1";
}

/// The servers of a shared store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// One server.
    Server(HostPort),
    /// One server, by the absolute path of its socket.
    Socket(String),
    /// A master with replicas, and Sentinels that say which one is the master.
    Sentinel {
        /// The Sentinels, at least one.
        sentinels: Vec<HostPort>,
        /// What they call the master.
        service: String,
        /// Who we are to the Sentinels.
        login: StoreLogin,
    },
    /// A Cluster: some of its nodes, at least one, which tell of the others.
    Cluster(Vec<HostPort>),
}

/// Who we are to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreLogin {
    /// The user. Default: the server's default user.
    pub username: Option<String>,
    /// Where the password is.
    pub password: Option<SecretPlace>,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// In the environment variable of this name.
    Env(String),
    /// In this file, as written.
    File(String),
}

/// How TLS to a store is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreTls {
    /// The file with the roots that sign its certificates, as written. Default: those of the system.
    pub ca: Option<String>,
    /// The name that its certificates must have. Default: the host of each server.
    pub server_name: Option<String>,
    /// The files with our own certificate and key, as written, for servers that want one.
    pub client: Option<ClientCertificate>,
}

/// As people know it: `redis://10.0.0.7:6379/2`, `sentinels a:26379, b:26379 of mymaster`.
impl fmt::Display for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            StorePlace::Server(server) => {
                let scheme = if self.tls.is_some() { "rediss" } else { "redis" };
                write!(f, "{scheme}://{server}/{}", self.database)
            }
            StorePlace::Socket(path) => write!(f, "unix://{path}"),
            StorePlace::Sentinel {
                sentinels, service, ..
            } => {
                write!(f, "sentinels {} of {service}", listed(sentinels))
            }
            StorePlace::Cluster(nodes) => write!(f, "cluster {}", listed(nodes)),
        }
    }
}

fn listed(servers: &[HostPort]) -> String {
    let servers: Vec<String> = servers.iter().map(HostPort::to_string).collect();
    servers.join(", ")
}
