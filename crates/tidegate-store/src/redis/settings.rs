//! Where a Redis is and how it is spoken to. Plain data: what a policy file says, with its files and secrets already read.

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;

/// Where a Redis or Valkey is and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The servers.
    pub servers: Servers,
    /// Who we are to them.
    pub login: Login,
    /// The number of the database. A Cluster has only 0.
    pub database: u32,
    /// TLS, to the servers and to their Sentinels.
    pub tls: Option<Tls>,
    /// How long a decision may take, waiting included.
    pub timeout: Duration,
    /// How long it may take to connect, handshakes included.
    pub connect_timeout: Duration,
    /// What all keys begin with.
    pub prefix: String,
}

impl Settings {
    /// How long a decision may take where nothing is said.
    pub const TIMEOUT: Duration = Duration::from_millis(25);
    /// How long it may take to connect where nothing is said: less than the second after which a lost first packet is sent again.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
    /// What keys begin with where nothing is said.
    pub const PREFIX: &'static str = "tg1";

    /// Those servers, without a login and TLS, and with what holds where nothing is said.
    pub fn new(servers: Servers) -> Self {
        Self {
            servers,
            login: Login::default(),
            database: 0,
            tls: None,
            timeout: Self::TIMEOUT,
            connect_timeout: Self::CONNECT_TIMEOUT,
            prefix: Self::PREFIX.to_owned(),
        }
    }
}

/// The servers that hold the counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    /// One server.
    Single(Address),
    /// One server, over a Unix socket.
    Unix(PathBuf),
    /// A master and its replicas; Sentinels say which one is the master.
    Sentinel {
        /// The Sentinels.
        sentinels: Vec<Address>,
        /// What they call the master.
        service: String,
        /// Who we are to the Sentinels.
        login: Login,
    },
    /// A Cluster. Any of its nodes tells of the others.
    Cluster(Vec<Address>),
}

/// The name or address of a host, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl Address {
    /// `host` and `port`.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Who we are to a server. Without a password nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The ACL user; none is `default`.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<Password>,
}

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// A password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// How TLS is spoken. All texts are PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// The roots that servers' certificates must come from. None: those of the system.
    pub ca: Option<Vec<u8>>,
    /// Our certificate, with those that signed it, and its key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
    /// The name that servers' certificates must hold. None: the host they are reached by.
    pub server_name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("ca", &self.ca.is_some())
            .field("client", &self.client.is_some())
            .field("server_name", &self.server_name)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_password_nor_a_private_key_is_shown() {
        let login = Login {
            username: Some("tidegate".to_owned()),
            password: Some(Password::new("correct horse")),
        };
        let settings = Settings {
            login: login.clone(),
            tls: Some(Tls {
                client: Some((b"certificate".to_vec(), b"battery staple".to_vec())),
                ..Tls::default()
            }),
            ..Settings::new(Servers::Sentinel {
                sentinels: vec![Address::new("::1", 26379)],
                service: "limits".to_owned(),
                login,
            })
        };
        let shown = format!("{settings:?} {settings:#?}");
        assert!(shown.contains("tidegate") && shown.contains("limits"));
        for secret in ["correct horse", "battery staple", "98, 97, 116"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn an_address_is_written_as_it_is_typed() {
        assert_eq!(
            Address::new("redis.internal", 6379).to_string(),
            "redis.internal:6379"
        );
        assert_eq!(Address::new("::1", 6379).to_string(), "[::1]:6379");
    }
}
