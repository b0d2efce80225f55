//! Certificates made for a test, and clients that believe in them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned};
use tidegate_core::{KeyHasher, Timestamp};
use tidegate_policy::{FileReport, Listener, PolicyFile, Problems, compile};
use tidegate_server::load::Files;
use tidegate_server::tls::{Source, TlsListener};

use crate::bed::{Channel, Wire};

/// A folder of certificates, and the authority that signs them all.
pub struct Certs {
    pub folder: PathBuf,
    authority: Issuer<'static, KeyPair>,
    pub root: String,
}

static FOLDERS: AtomicU64 = AtomicU64::new(0);

impl Certs {
    pub fn new() -> Self {
        // Each test has a folder of its own, and no other process has that number.
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tidegate-tls-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("authority {number}"));
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().pem();
        std::fs::write(folder.join("ca.pem"), &root).unwrap();
        Self {
            folder,
            authority: Issuer::new(params, key),
            root,
        }
    }

    /// Writes `file.pem` and `file.key` with these host names, and returns its PEM parts.
    pub fn issue(&self, file: &str, names: &[&str]) -> (String, String) {
        self.issue_with(file, names, |_| {})
    }

    pub fn issue_with(
        &self,
        file: &str,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, file);
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let pem = params.signed_by(&key, &self.authority).unwrap().pem();
        std::fs::write(self.folder.join(format!("{file}.pem")), &pem).unwrap();
        let path = self.folder.join(format!("{file}.key"));
        std::fs::write(&path, key.serialize_pem()).unwrap();
        private(&path);
        (pem, key.serialize_pem())
    }

    /// What is loaded for a policy file that says `listen`, and what is wrong with it.
    pub fn load(
        &self,
        listen: &str,
        now: Timestamp,
    ) -> (Vec<Listener>, Vec<Option<Arc<TlsListener>>>, Problems) {
        let text = format!("gateway:\n  listen:\n{listen}\npolicies: []\n");
        let file = PolicyFile {
            name: "test.yaml",
            text: &text,
        };
        let config = compile(file, &KeyHasher::new([7; 16])).unwrap().config;
        let mut report = FileReport::new(file, &[]);
        let tls = Source {
            folder: &self.folder,
            now,
            files: &mut Files::default(),
            report: &mut report,
        }
        .load(&config.gateway.listen);
        (config.gateway.listen, tls, report.finish(Problems::default()))
    }

    /// The listeners of `listen` as the gateway's settings have them.
    pub fn listeners(&self, listen: &str) -> Vec<tidegate_server::gateway::Listener> {
        let (listeners, tls, problems) = self.load(listen, now());
        assert!(problems.is_empty(), "{problems}");
        let pairs = listeners.iter().zip(tls);
        pairs
            .map(|(listener, tls)| tidegate_server::gateway::Listener {
                tls,
                proxy_protocol: listener.proxy_protocol,
                ..listener.address.into()
            })
            .collect()
    }

    pub fn client(&self) -> Client {
        Client {
            roots: self.root.clone(),
            certificate: None,
            versions: rustls::ALL_VERSIONS,
            protocols: Vec::new(),
        }
    }
}

impl Drop for Certs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// A moment in 2026, at which certificates of tests hold.
pub fn now() -> Timestamp {
    Timestamp::from_nanos(1_790_000_000_000_000_000)
}

/// A client that is about to connect.
#[derive(Clone)]
pub struct Client {
    roots: String,
    certificate: Option<(String, String)>,
    versions: &'static [&'static rustls::SupportedProtocolVersion],
    protocols: Vec<Vec<u8>>,
}

impl Client {
    pub fn showing(mut self, certificate: (String, String)) -> Self {
        self.certificate = Some(certificate);
        self
    }

    pub fn speaking(mut self, versions: &'static [&'static rustls::SupportedProtocolVersion]) -> Self {
        self.versions = versions;
        self
    }

    pub fn offering(mut self, protocols: &[&str]) -> Self {
        self.protocols = protocols
            .iter()
            .map(|protocol| protocol.as_bytes().to_vec())
            .collect();
        self
    }

    pub fn config(&self) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.roots.as_bytes()).unwrap())
            .unwrap();
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(self.versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &self.certificate {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = self.protocols.clone();
        Arc::new(config)
    }

    /// Shakes hands with `address` as a client of `name`.
    pub fn connect(&self, address: SocketAddr, name: &str) -> Result<Secure, rustls::Error> {
        Self::connect_with(self.config(), address, name)
    }

    /// The same, with `header` in front of the hello and in one piece with it.
    pub fn connect_after(&self, header: &[u8], address: SocketAddr, name: &str) -> Secure {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let mut connection = ClientConnection::new(self.config(), name).unwrap();
        let mut first = header.to_vec();
        connection.write_tls(&mut first).unwrap();
        let mut tcp = TcpStream::connect(address).unwrap();
        tcp.write_all(&first).unwrap();
        Secure(StreamOwned::new(connection, tcp))
    }

    pub fn connect_with(
        config: Arc<ClientConfig>,
        address: SocketAddr,
        name: &str,
    ) -> Result<Secure, rustls::Error> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connection = ClientConnection::new(config, name).unwrap();
        let tcp = TcpStream::connect(address).unwrap();
        tcp.set_read_timeout(Some(crate::bed::PATIENCE)).unwrap();
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
                return Err(tls_error(error));
            }
        }
        Ok(Secure(stream))
    }
}

fn tls_error(error: io::Error) -> rustls::Error {
    let text = error.to_string();
    match error.into_inner().map(|inner| inner.downcast::<rustls::Error>()) {
        Some(Ok(error)) => *error,
        _ => rustls::Error::General(text),
    }
}

/// A TLS connection, as bytes.
pub struct Secure(pub StreamOwned<ClientConnection, TcpStream>);

impl Secure {
    pub fn version(&self) -> ProtocolVersion {
        self.0.conn.protocol_version().unwrap()
    }

    pub fn protocol(&self) -> Option<&[u8]> {
        self.0.conn.alpn_protocol()
    }

    /// The certificate that the gateway showed.
    pub fn shown(&self) -> CertificateDer<'static> {
        self.0.conn.peer_certificates().unwrap()[0].clone().into_owned()
    }

    pub fn wire(self) -> Wire {
        let tcp = self.0.sock.try_clone().unwrap();
        Wire::over(tcp, Box::new(self))
    }

    /// Whether the gateway ends the connection with an alert, which TLS 1.3 sends after the client's part of the handshake.
    pub fn alert(mut self) -> Option<rustls::AlertDescription> {
        let error = self.0.read(&mut [0; 1]).err()?;
        match tls_error(error) {
            rustls::Error::AlertReceived(alert) => Some(alert),
            _ => None,
        }
    }
}

impl Read for Secure {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Channel for Secure {
    fn finish(&mut self) {
        self.0.conn.send_close_notify();
        self.0.flush().unwrap();
        self.0.sock.shutdown(Shutdown::Write).unwrap();
    }
}

/// The certificate in a PEM text.
pub fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}
