//! How a connection is made: the socket, TLS, the login.

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, Value};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::fault::Fault;
use super::figures::Events;
use super::settings::{Address, Login, Settings, Tls};

/// Makes connections as the settings say.
#[derive(Clone)]
pub(crate) struct Dialer {
    login: RedisConnectionInfo,
    tls: Option<Secure>,
    timeout: Duration,
    events: Arc<Events>,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    Tcp(Address),
    Unix(PathBuf),
}

/// A connection that is alive as long as this is kept.
#[derive(Debug)]
pub(crate) struct Line {
    /// Cheap to copy. Commands go out in the order in which they are given.
    pub(crate) connection: MultiplexedConnection,
    /// Reads and writes; ends when the connection breaks.
    driver: JoinSet<()>,
}

impl Line {
    /// Waits until the connection breaks.
    pub(crate) async fn broken(&mut self) {
        self.driver.join_next().await;
    }
}

impl Dialer {
    /// Or what is wrong with the texts of TLS.
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            login: introduction(&settings.login, settings.database),
            tls: settings.tls.as_ref().map(Secure::new).transpose()?,
            timeout: settings.connect_timeout,
            events: Arc::default(),
        })
    }

    /// The same for servers to which we are somebody else.
    pub(crate) fn as_user(&self, login: &Login) -> Self {
        Self {
            login: introduction(login, 0),
            ..self.clone()
        }
    }

    /// How long [`Dialer::dial`] may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Where it is counted what becomes of connections.
    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Connects and logs in.
    pub(crate) async fn dial(&self, to: &Endpoint) -> Result<Line, Fault> {
        let made = timeout(self.timeout, self.connect(to)).await;
        made.unwrap_or_else(|_| Err(Fault::Lost(format!("no connection within {:?}", self.timeout))))
    }

    async fn connect(&self, to: &Endpoint) -> Result<Line, Fault> {
        match to {
            Endpoint::Unix(path) => self.login(UnixStream::connect(path).await.map_err(lost)?).await,
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect((address.host.as_str(), address.port))
                    .await
                    .map_err(lost)?;
                stream.set_nodelay(true).map_err(lost)?;
                match &self.tls {
                    None => self.login(stream).await,
                    Some(tls) => {
                        let name = tls.name_of(address)?;
                        self.login(tls.connector.connect(name, stream).await.map_err(lost)?)
                            .await
                    }
                }
            }
        }
    }

    async fn login<S>(&self, stream: S) -> Result<Line, Fault>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Deadlines are kept by those who call.
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None);
        let (connection, work) = MultiplexedConnection::new_with_config(&self.login, stream, config)
            .await
            .map_err(|error| Fault::of_connection(&error))?;
        let mut driver = JoinSet::new();
        driver.spawn(work);
        Ok(Line { connection, driver })
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer")
            .field("tls", &self.tls.is_some())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Sends one command. An error that the server answers is a fault, too.
pub(crate) async fn ask(connection: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, Fault> {
    match connection.send_packed_command(command).await {
        Ok(Value::ServerError(error)) => Err(Fault::of_server(&error)),
        Ok(value) => Ok(value),
        Err(error) => Err(Fault::of_connection(&error)),
    }
}

fn introduction(login: &Login, database: u32) -> RedisConnectionInfo {
    let mut info = RedisConnectionInfo::default()
        .set_db(i64::from(database))
        .set_lib_name("tidegate", env!("CARGO_PKG_VERSION"));
    if let Some(username) = &login.username {
        info = info.set_username(username);
    }
    if let Some(password) = &login.password {
        info = info.set_password(password.reveal());
    }
    info
}

fn lost(error: std::io::Error) -> Fault {
    Fault::Lost(error.to_string())
}

#[derive(Clone)]
struct Secure {
    connector: TlsConnector,
    server_name: Option<ServerName<'static>>,
}

/// What is wrong with settings, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SettingsError {}

impl Secure {
    fn new(tls: &Tls) -> Result<Self, SettingsError> {
        let server_name =
            match &tls.server_name {
                None => None,
                Some(name) => Some(ServerName::try_from(name.clone()).map_err(|_| {
                    SettingsError(format!("`{name}` is not a name that a certificate can hold"))
                })?),
            };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SettingsError(error.to_string()))?
            .with_root_certificates(roots(tls.ca.as_deref())?);
        let config = match &tls.client {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key)
                    .map_err(|error| SettingsError(format!("`key` holds no private key: {error}")))?;
                builder
                    .with_client_auth_cert(certificates("certificate", certificate)?, key)
                    .map_err(|error| {
                        SettingsError(format!("`certificate` and `key` do not fit together: {error}"))
                    })?
            }
        };
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            server_name,
        })
    }

    fn name_of(&self, address: &Address) -> Result<ServerName<'static>, Fault> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => ServerName::try_from(address.host.clone()).map_err(|_| {
                Fault::Lost(format!(
                    "`{}` is not a name that a certificate can hold",
                    address.host
                ))
            }),
        }
    }
}

fn roots(ca: Option<&[u8]>) -> Result<RootCertStore, SettingsError> {
    let mut roots = RootCertStore::empty();
    match ca {
        // Stores of systems hold oddities that no server is signed by.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(ca) => {
            for certificate in certificates("ca", ca)? {
                roots.add(certificate).map_err(|error| {
                    SettingsError(format!("`ca` holds a certificate that cannot be a root: {error}"))
                })?;
            }
        }
    }
    if roots.is_empty() {
        return Err(SettingsError(
            "the system has no root certificates: install them, or name a file with `tls.ca`".to_owned(),
        ));
    }
    Ok(roots)
}

/// The certificates in `pem`, at least one.
fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(SettingsError(format!("`{what}` holds no certificate"))),
        Err(error) => Err(SettingsError(format!("`{what}` holds no certificate: {error}"))),
    }
}
