//! Keys of tokens at an `https` address of one's own authority: fetched, changed, and gone for a while.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tidegate_e2e::{Authority, Gateway, Nginx, Reply, TokenIssuer, curl, until};

/// Serves a key set over TLS. Ends with the test's process.
struct KeyServer {
    address: SocketAddr,
    /// None: connections are closed before a word is said.
    keys: Arc<Mutex<Option<String>>>,
}

impl KeyServer {
    fn start(config: Arc<ServerConfig>, keys: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let keys = Arc::new(Mutex::new(Some(keys)));
        let shared = keys.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if let Some(keys) = shared.lock().unwrap().clone() {
                    // Whoever does not believe the certificate goes away.
                    let _ = answer(stream.unwrap(), config.clone(), &keys);
                }
            }
        });
        Self { address, keys }
    }

    fn serve(&self, keys: Option<String>) {
        *self.keys.lock().unwrap() = keys;
    }
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, keys: &str) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line)?;
    }
    let length = keys.len();
    write!(
        stream.get_mut(),
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{keys}"
    )
}

#[test]
fn keys_at_an_address_are_fetched_changed_and_kept_while_it_is_down() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let [old, new] = ["old", "new"].map(TokenIssuer::new);
    let server = KeyServer::start(authority.issue().shown(), TokenIssuer::jwks(&[&old]));
    let nginx = Nginx::start();
    let mut gateway = gateway(&nginx, &server, &authority);
    let told = gateway.url("/told");
    let ask = |issuer: &TokenIssuer| ask(&told, issuer);
    assert!(ask(&old).body.contains("subject=ann\n"));
    assert_eq!(ask(&new).status, 401);

    // A token that names a new key makes it look again. What is no longer published holds no more.
    server.serve(Some(TokenIssuer::jwks(&[&new])));
    until("the new key is known", || (ask(&new).status == 200).then_some(()));
    assert_eq!(ask(&old).status, 401);

    server.serve(None);
    let later = TokenIssuer::new("later");
    assert_eq!(ask(&later).status, 401);
    let in_vain = |line: &str| {
        line.contains("keys of tokens cannot be fetched")
            .then(|| line.contains("those from before stay in use"))
    };
    assert_eq!(gateway.process().logged(in_vain), Some(true));
    assert_eq!(ask(&new).status, 200);
    server.serve(Some(TokenIssuer::jwks(&[&later])));
    until("it is back", || (ask(&later).status == 200).then_some(()));

    // Who shows a certificate of somebody else is not believed: nobody can tell whether tokens hold.
    let false_server = KeyServer::start(stranger.issue().shown(), TokenIssuer::jwks(&[&old]));
    let unbelieving = self::gateway(&nginx, &false_server, &authority);
    assert_eq!(self::ask(&unbelieving.url("/told"), &old).status, 503);
}

/// A gateway before `nginx` that gets the keys of tokens from `server` and believes `authority`.
fn gateway(nginx: &Nginx, server: &KeyServer, authority: &Authority) -> Gateway {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let port = server.address.port();
    let policies = write(
        "tidegate.yaml",
        &format!(
            "identity: {{ jwt: {{ issuer: me, audience: you, algorithms: EdDSA, jwks: \"https://localhost:{port}/keys\" }} }}\npolicies: []\n"
        ),
    );
    let root = write("root.pem", &authority.root);
    let arguments = [
        "serve",
        "--config",
        &policies,
        "--upstream",
        &nginx.url(),
        "--listen",
        "127.0.0.1:0",
    ];
    // The folder may go once it listens: nothing in it is read again, and without it nothing is reloaded.
    let mut command = Gateway::command(&arguments);
    command.env("SSL_CERT_FILE", root);
    Gateway::run(command)
}

/// What comes back for a token of `issuer` about ann.
fn ask(url: &str, issuer: &TokenIssuer) -> Reply {
    let field = format!("authorization: Bearer {}", issuer.token("ann"));
    curl(&["-H", &field, url])
}
