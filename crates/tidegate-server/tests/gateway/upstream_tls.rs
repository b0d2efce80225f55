//! TLS to an upstream: who it has to be, and who the gateway is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tidegate_server::clock::Clock;

use crate::bed::{Bed, field};

/// Who signs certificates.
struct Authority {
    pem: String,
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            pem: certificate.pem(),
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    fn signs(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone()).unwrap();
        roots
    }
}

/// An origin that speaks TLS as `name`, answers one request after the other, and wants a certificate of `clients`, if given.
fn origin(signed: (rcgen::Certificate, KeyPair), clients: Option<&Authority>) -> SocketAddr {
    let (certificate, key) = signed;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(clients.roots()), provider)
                .build()
                .unwrap(),
        ),
    };
    let mut config = builder
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((tcp, _)) = listener.accept() {
            let mut tls = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), tcp);
            answer(&mut tls);
        }
    });
    address
}

fn answer(tls: &mut StreamOwned<ServerConnection, std::net::TcpStream>) {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.ends_with(b"\r\n\r\n") {
        match tls.read(&mut buffer) {
            Ok(count) if count > 0 => head.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    let name = tls.conn.server_name().unwrap_or("nobody").to_owned();
    let client = tls.conn.peer_certificates().map_or(0, <[_]>::len);
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\nx-name: {name}\r\nx-client: {client}\r\n\r\nhi"
    );
    let _ = tls.write_all(answer.as_bytes());
    tls.conn.send_close_notify();
    let _ = tls.flush();
}

/// What a client of a gateway before `address` gets. `tls` is said of the upstream, with `{folder}` for where its files are.
fn asked(address: SocketAddr, folder: &Path, tls: &str) -> String {
    let tls = tls.replace("{folder}", folder.to_str().unwrap());
    let file = format!(
        "gateway: {{ upstream: app }}\nupstreams: {{ app: {{ servers: \"https://{address}\", tls: {{ {tls} }} }} }}\npolicies: []"
    );
    let bed = Bed::limited(&file, "", Clock::system(), |_| {});
    let mut client = bed.client();
    client.send("GET / HTTP/1.1\r\nHost: public.test\r\nConnection: close\r\n\r\n");
    client.rest()
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[track_caller]
fn refused(response: &str) {
    assert!(response.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{response}");
    assert!(
        response.contains("\"error\":\"upstream_tls_failed\""),
        "{response}"
    );
}

const NAMED: &str = "ca: \"{folder}/ca.pem\", server_name: app.test";

#[test]
fn an_upstream_that_proves_its_name_is_spoken_to() {
    let authority = Authority::new();
    let folder = folder(&[("ca.pem", &authority.pem)]);
    let address = origin(authority.signs("app.test", |_| {}), None);
    let response = asked(address, folder.path(), NAMED);
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert_eq!(field(&response, "x-name"), Some("app.test"));
    assert!(response.ends_with("\r\n\r\nhi"));
}

#[test]
fn the_address_of_the_url_is_the_name_if_no_other_is_given() {
    let authority = Authority::new();
    let folder = folder(&[("ca.pem", &authority.pem)]);
    let ca = "ca: \"{folder}/ca.pem\"";
    let right = origin(authority.signs("127.0.0.1", |_| {}), None);
    assert!(asked(right, folder.path(), ca).starts_with("HTTP/1.1 200 OK\r\n"));
    let wrong = origin(authority.signs("app.test", |_| {}), None);
    refused(&asked(wrong, folder.path(), ca));
}

#[test]
fn an_upstream_with_another_name_is_refused() {
    let authority = Authority::new();
    let folder = folder(&[("ca.pem", &authority.pem)]);
    let address = origin(authority.signs("other.test", |_| {}), None);
    refused(&asked(address, folder.path(), NAMED));
}

#[test]
fn an_upstream_whose_certificate_has_ended_is_refused() {
    let authority = Authority::new();
    let folder = folder(&[("ca.pem", &authority.pem)]);
    let ended = authority.signs("app.test", |params| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    });
    refused(&asked(origin(ended, None), folder.path(), NAMED));
}

#[test]
fn an_upstream_that_somebody_else_signed_is_refused_unless_anybody_will_do() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let folder = folder(&[("ca.pem", &authority.pem)]);
    let address = origin(stranger.signs("app.test", |_| {}), None);
    refused(&asked(address, folder.path(), NAMED));
    refused(&asked(address, folder.path(), "server_name: app.test"));
    let response = asked(address, folder.path(), "insecure_skip_verify: true");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
}

#[test]
fn an_upstream_that_wants_a_certificate_gets_it() {
    let authority = Authority::new();
    let (certificate, key) = authority.signs("gateway.test", |_| {});
    let folder = folder(&[
        ("ca.pem", &authority.pem),
        ("client.pem", &certificate.pem()),
        ("client.key", &key.serialize_pem()),
    ]);
    let address = origin(authority.signs("app.test", |_| {}), Some(&authority));
    let with = format!("{NAMED}, certificate: \"{{folder}}/client.pem\", key: \"{{folder}}/client.key\"");
    let response = asked(address, folder.path(), &with);
    assert_eq!(field(&response, "x-client"), Some("1"), "{response}");
    let without = asked(address, folder.path(), NAMED);
    assert!(without.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{without}");
}

#[test]
fn an_upstream_that_speaks_no_tls_is_refused() {
    let plain = crate::bed::Origin::new();
    let address = plain.address();
    std::thread::spawn(move || {
        let mut wire = plain.accept();
        wire.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        wire.gone();
    });
    refused(&asked(address, Path::new("/"), "insecure_skip_verify: true"));
}
