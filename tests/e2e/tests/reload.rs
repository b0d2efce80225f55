//! Everything that files say changes again and again under load: each request is answered, and by one generation of files.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;
use tempfile::TempDir;
use tidegate_e2e::{Authority, Certificate, Gateway, Nginx, PATIENCE, TokenIssuer, curl};

/// The last generation. The first is 1.
const LAST: u64 = 24;

const KEY: &str = "a-key-of-acme-3eb1f0c26a57";

/// A folder whose files all say something else in each generation.
struct Files {
    folder: TempDir,
    /// For even generations, and for odd ones.
    origins: [String; 2],
    issuers: [TokenIssuer; 2],
    authority: Authority,
    /// By generation.
    certificates: Vec<Certificate>,
}

impl Files {
    fn new(origins: &[Nginx; 2]) -> Self {
        let authority = Authority::new();
        Self {
            folder: tempfile::tempdir().unwrap(),
            origins: origins.each_ref().map(Nginx::url),
            issuers: ["even", "odd"].map(TokenIssuer::new),
            certificates: (0..=LAST + 1).map(|_| authority.issue()).collect(),
            authority,
        }
    }

    /// Says what `generation` says. Each has files of its own beside the policy file, which is replaced at once: nobody who reads
    /// finds half of one and half of another.
    fn publish(&self, generation: u64) {
        let beside = generation.to_string();
        self.write(generation, &beside);
        self.replace(&self.policies(generation, &beside));
    }

    /// Says what would be `generation` if one of the files were not broken, another one each time.
    fn spoil(&self, generation: u64) {
        let beside = format!("spoilt-{generation}");
        self.write(generation, &beside);
        let names = ["keys.yaml", "jwks.json", "cert.pem", "key.pem", "bad.txt"];
        match names.get(usize::try_from(generation % 6).unwrap()) {
            Some(name) => {
                fs::write(self.path(&format!("{beside}-{name}")), "{").unwrap();
                self.replace(&self.policies(generation, &beside));
            }
            None => self.replace("policies: ["),
        }
    }

    fn write(&self, generation: u64, beside: &str) {
        let certificate = &self.certificates[usize::try_from(generation).unwrap()];
        let odd = generation % 2;
        let issuer = &self.issuers[usize::try_from(odd).unwrap()];
        for (name, text) in [
            ("keys.yaml", keys(generation)),
            ("jwks.json", TokenIssuer::jwks(&[issuer])),
            ("cert.pem", certificate.certificate.clone()),
            ("key.pem", certificate.key.clone()),
            ("bad.txt", format!("10.9.0.{odd}\n")),
        ] {
            fs::write(self.path(&format!("{beside}-{name}")), text).unwrap();
        }
    }

    fn policies(&self, generation: u64, beside: &str) -> String {
        let quota = quota(generation);
        let origin = &self.origins[usize::from(!generation.is_multiple_of(2))];
        format!(
            "gateway:
  listen:
    - 127.0.0.1:0
    - {{ address: \"127.0.0.2:0\", tls: {{ certificates: {{ certificate: {beside}-cert.pem, key: {beside}-key.pem }} }} }}
  trusted_proxies: 127.0.0.0/8
  limits: {{ max_connections: {quota}, max_body_bytes: {quota} }}
  upstream: app
upstreams: {{ app: {{ servers: \"{origin}\" }} }}
identity:
  api_key: {{ header: x-api-key, keys: {beside}-keys.yaml }}
  jwt: {{ issuer: me, audience: you, algorithms: EdDSA, jwks: {beside}-jwks.json, on_invalid: anonymous }}
access: {{ deny: {{ file: {beside}-bad.txt }} }}
policies:
  - {{ name: api, match: {{ path: /told }}, key: [identity], limit: {{ quota: {quota}, window: 1h }} }}
  - {{ name: few, match: {{ path: /few }}, key: [client.ip], limit: {{ algorithm: sliding_window_log, quota: 5, window: 1d }} }}
"
        )
    }

    fn replace(&self, policies: &str) {
        fs::write(self.path("new"), policies).unwrap();
        fs::rename(self.path("new"), self.path("tidegate.yaml")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The quota of the policy `api`, by which its answers tell the generation.
fn quota(generation: u64) -> u64 {
    1_000_000 + generation
}

/// A keys file in which the key stands for another subject in each generation.
fn keys(generation: u64) -> String {
    let mut command = Gateway::command(&["hash-key", "--subject", &format!("acme-{generation}")]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{KEY}").unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// What the gateway may be at.
#[derive(Default)]
struct Progress {
    /// The generation that it said holds.
    held: AtomicU64,
    /// The last one that was published.
    published: AtomicU64,
    over: AtomicBool,
}

/// Somebody who asks without pause.
struct Client<'a> {
    files: &'a Files,
    progress: &'a Progress,
    /// The last part of the address in `X-Forwarded-For`, which even or odd generations deny.
    address: u64,
}

/// How many answers of each kind a client had.
#[derive(Debug, Default)]
struct Answers {
    passed: usize,
    denied: usize,
    generations: HashSet<u64>,
}

impl Client<'_> {
    /// Asks over one connection, which has to last.
    fn keep_asking(&self, address: SocketAddr) -> Answers {
        let mut stream = BufReader::new(connect(address));
        self.asking(|client| {
            let answer = client.ask(&mut stream);
            (answer, None)
        })
    }

    /// Asks over a new connection each time, with TLS.
    fn ask_anew_in_tls(&self, address: SocketAddr, config: &Arc<ClientConfig>) -> Answers {
        self.asking(|client| {
            let name = "localhost".try_into().unwrap();
            let connection = ClientConnection::new(config.clone(), name).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(connection, connect(address)));
            let answer = client.ask(&mut stream);
            let shown = stream.get_ref().conn.peer_certificates().unwrap()[0]
                .clone()
                .into_owned();
            let certificates = &client.files.certificates;
            let of = certificates
                .iter()
                .position(|certificate| certificate.der() == shown);
            (answer, Some(of.unwrap() as u64))
        })
    }

    fn asking(&self, mut ask: impl FnMut(&Self) -> (Answer, Option<u64>)) -> Answers {
        let mut answers = Answers::default();
        // A flag and two numbers that only grow: whatever order they are seen in, the answer lies between them.
        while !self.progress.over.load(Ordering::SeqCst) {
            let held = self.progress.held.load(Ordering::SeqCst);
            let (answer, shown) = ask(self);
            let published = self.progress.published.load(Ordering::SeqCst);
            if answer.status == 403 {
                let denying = (held..=published).any(|generation| generation % 2 == self.address);
                assert!(denying, "denied between {held} and {published}");
                answers.denied += 1;
                continue;
            }
            let generation = self.generation(&answer);
            assert!(
                (held..=published).contains(&generation),
                "{generation} after {held}: {answer:?}"
            );
            assert!(
                shown.is_none_or(|shown| (held..=generation).contains(&shown)),
                "{shown:?} before {generation}"
            );
            answers.passed += 1;
            answers.generations.insert(generation);
        }
        answers
    }

    fn ask<S: Read + Write>(&self, stream: &mut BufReader<S>) -> Answer {
        let token = self.files.issuers[0].token("ann");
        let address = self.address;
        let request = format!(
            "GET /told HTTP/1.1\r\nhost: localhost\r\nx-api-key: {KEY}\r\nauthorization: Bearer {token}\r\n\
             x-forwarded-for: 10.9.0.{address}\r\n\r\n"
        );
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        Answer::read(stream)
    }

    /// The generation of an answer, in which everything has to be of that one.
    fn generation(&self, answer: &Answer) -> u64 {
        assert_eq!(answer.status, 200, "{answer:?}");
        let limit: u64 = answer.value("x-ratelimit-limit: ").parse().unwrap();
        let generation = limit - quota(0);
        let (subject, origin) = match generation % 2 {
            0 => ("ann".to_owned(), &self.files.origins[0]),
            _ => (format!("acme-{generation}"), &self.files.origins[1]),
        };
        assert_eq!(answer.value("subject="), subject, "{answer:?}");
        let port = answer.value("port=");
        assert!(origin.ends_with(&format!(":{port}")), "{origin}: {answer:?}");
        assert_ne!(generation % 2, self.address, "it denies this client: {answer:?}");
        generation
    }
}

/// A response, read to its end.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// Head and body.
    text: String,
}

impl Answer {
    fn read(stream: &mut impl BufRead) -> Self {
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut text).unwrap(), 0, "closed after {text:?}");
        }
        let mut answer = Self {
            status: text.split(' ').nth(1).unwrap().parse().unwrap(),
            text,
        };
        let mut body = vec![0; answer.value("content-length: ").parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        answer.text.push_str(std::str::from_utf8(&body).unwrap());
        answer
    }

    /// What follows `begin` in its line.
    fn value(&self, begin: &str) -> &str {
        let value = self.text.lines().find_map(|line| line.strip_prefix(begin));
        value.unwrap_or_else(|| panic!("no {begin:?} in {self:?}"))
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The number of the generation, and its checksum, once the gateway says `message`.
fn said(gateway: &mut Gateway, message: &str) -> (u64, String) {
    let found = gateway.process().logged(|line| {
        let event: Value = serde_json::from_str(line).ok()?;
        let number = event["generation"].as_u64();
        (event["message"] == message).then(|| {
            (
                number.unwrap(),
                event["checksum"].as_str().unwrap_or_default().to_owned(),
            )
        })
    });
    found.unwrap_or_else(|| panic!("it ended before it said: {message}"))
}

fn statuses(url: &str, count: usize) -> Vec<u16> {
    (0..count).map(|_| curl(&[url]).status).collect()
}

#[test]
fn everything_changes_under_load_and_each_answer_is_of_one_generation() {
    let origins = [Nginx::start(), Nginx::start()];
    let files = Files::new(&origins);
    files.publish(1);
    let mut gateway = Gateway::run(Gateway::command(&[
        "serve",
        "--config",
        files.path("tidegate.yaml").to_str().unwrap(),
    ]));
    let clear = gateway.address();
    let secure = gateway.process().logged(listening).unwrap();
    let few = gateway.url("/few");
    assert_eq!(statuses(&few, 3), [200; 3]);

    let progress = Progress::default();
    progress.held.store(1, Ordering::SeqCst);
    progress.published.store(1, Ordering::SeqCst);
    let config = files.authority.believer();
    let client = |address| Client {
        files: &files,
        progress: &progress,
        address,
    };
    let (answers, checksums) = thread::scope(|scope| {
        let clients = [0, 1].map(|address| {
            let kept = scope.spawn(move || client(address).keep_asking(clear));
            let config = &config;
            [
                kept,
                scope.spawn(move || client(address).ask_anew_in_tls(secure, config)),
            ]
        });
        let mut checksums = HashSet::new();
        for generation in 2..=LAST {
            files.spoil(generation);
            assert_eq!(
                said(
                    &mut gateway,
                    "not reloaded: the files cannot be used, what was loaded before goes on"
                )
                .0,
                generation - 1
            );
            progress.published.store(generation, Ordering::SeqCst);
            files.publish(generation);
            let (held, checksum) = said(&mut gateway, "reloaded");
            assert_eq!(held, generation);
            checksums.insert(checksum);
            progress.held.store(generation, Ordering::SeqCst);
        }
        progress.over.store(true, Ordering::SeqCst);
        (
            clients.map(|clients| clients.map(|client| client.join().unwrap())),
            checksums,
        )
    });
    for answers in answers.as_flattened() {
        assert!(
            answers.passed > 10 && answers.denied > 0 && answers.generations.len() > 5,
            "{answers:?}"
        );
    }
    assert_eq!(checksums.len() as u64, LAST - 1, "each has a checksum of its own");
    assert_eq!(statuses(&few, 3), [200, 200, 429], "what was spent stays spent");
    assert_eq!(gateway.stop(), Some(0));
}

/// Where it listens, if it says so.
fn listening(line: &str) -> Option<SocketAddr> {
    let event: Value = serde_json::from_str(line).ok()?;
    (event["message"] == "listening").then(|| event["address"].as_str()?.parse().ok())?
}
