//! Certificates of one server, its clients and the authority that signs them.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// PEM files.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The server's certificate, for 127.0.0.1 and localhost.
    pub server: PathBuf,
    /// The server's key.
    pub server_key: PathBuf,
    /// A client's certificate.
    pub client: PathBuf,
    /// The client's key.
    pub client_key: PathBuf,
}

impl Certificates {
    /// Makes them all, in `folder`.
    pub fn in_folder(folder: &Path) -> Self {
        let mut params = named("tidegate tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let authority = write(folder, "authority.pem", &params.self_signed(&key).unwrap().pem());
        let issuer = Issuer::new(params, key);
        let (server, server_key) = issue(folder, "server", &issuer);
        let (client, client_key) = issue(folder, "client", &issuer);
        Self {
            authority,
            server,
            server_key,
            client,
            client_key,
        }
    }
}

fn issue(folder: &Path, name: &str, issuer: &Issuer<'_, KeyPair>) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let certificate = named(name).signed_by(&key, issuer).unwrap();
    (
        write(folder, &format!("{name}.pem"), &certificate.pem()),
        write(folder, &format!("{name}.key"), &key.serialize_pem()),
    )
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".into(), "localhost".into()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}
