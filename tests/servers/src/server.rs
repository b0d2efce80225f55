//! One server.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use redis::{FromRedisValue, RedisResult};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::control::{self, USER};
use crate::folder;
use crate::kind::Kind;
use crate::network::{Network, Wire};
use crate::port::Port;
use crate::process::Process;
use crate::wait::until;

/// How often a port that someone else took in between is given up for another.
const PORTS_TRIED: usize = 20;

/// What a server asks of its clients, and what it keeps.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The password of the user that clients are without a name.
    pub password: Option<&'static str>,
    /// A user and its password. Clients without a name are turned away then.
    pub user: Option<(&'static str, &'static str)>,
    /// Whether connections are encrypted.
    pub tls: Tls,
    /// Whether what was written outlives the server.
    pub keep: Keep,
    /// More lines of its configuration.
    pub settings: Vec<String>,
}

/// Whether connections over TCP are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// They are not.
    #[default]
    Off,
    /// They are.
    Server,
    /// They are, and clients show a certificate.
    Mutual,
}

/// Whether what was written outlives the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// It is forgotten.
    #[default]
    Nothing,
    /// All that was answered is on disk (`appendonly`, `appendfsync always`).
    Everything,
}

/// A running server. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct Server {
    process: Process,
    port: Port,
    launch: Launch,
}

/// What it takes to start it, again as well.
#[derive(Debug)]
struct Launch {
    kind: Kind,
    options: Options,
    role: Role,
    /// None: that of the tests.
    network: Option<Network>,
    folder: TempDir,
    certificates: Option<Certificates>,
}

/// What a program is started as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It holds data.
    Data,
    /// It watches others that do.
    Sentinel,
}

impl Server {
    /// A Redis 7.0 that asks for nothing and keeps nothing.
    pub fn redis() -> Self {
        Self::start(Kind::Redis70, Options::default())
    }

    /// A Valkey 9 that asks for nothing and keeps nothing.
    pub fn valkey() -> Self {
        Self::start(Kind::Valkey9, Options::default())
    }

    /// Starts one, and waits until it answers.
    pub fn start(kind: Kind, options: Options) -> Self {
        Self::start_as(Role::Data, kind, options)
    }

    /// Starts one in a network of its own, to which so many wires lead, and waits until it answers. Clients find it at
    /// [`Server::address_over`] each of them.
    pub fn apart(kind: Kind, options: Options, wires: usize) -> Self {
        Self::start_in(Some(Network::with_wires(wires)), Role::Data, kind, options)
    }

    /// A Redis 7.0 for all tests of this process, which keep apart by their keys. It lives as long as the process does.
    pub fn shared() -> &'static Self {
        Self::shared_of(Kind::default())
    }

    /// The same of another kind.
    pub fn shared_of(kind: Kind) -> &'static Self {
        static SHARED: [OnceLock<Server>; Kind::ALL.len()] = [const { OnceLock::new() }; Kind::ALL.len()];
        SHARED[kind as usize].get_or_init(|| Self::start(kind, Options::default()))
    }

    pub(crate) fn start_as(role: Role, kind: Kind, options: Options) -> Self {
        Self::start_in(None, role, kind, options)
    }

    fn start_in(network: Option<Network>, role: Role, kind: Kind, options: Options) -> Self {
        let folder = folder::make();
        let certificates = (options.tls != Tls::Off).then(|| Certificates::in_folder(folder.path()));
        let launch = Launch {
            kind,
            options,
            role,
            network,
            folder,
            certificates,
        };
        for _ in 0..PORTS_TRIED {
            let port = Port::claim();
            launch.configure(&port);
            if let Some(process) = launch.run() {
                return Self {
                    process,
                    port,
                    launch,
                };
            }
        }
        panic!("{kind:?} does not start: {}", launch.log());
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, killed before if it runs, on its port and in its folder, and waits until it answers.
    pub fn restart(&mut self) {
        self.kill();
        self.process = until("the server starts again", || self.launch.run());
    }

    /// Makes it stand still: it takes connections, and answers nothing.
    pub fn stop(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on after [`Server::stop`].
    pub fn cont(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Where clients find it over TCP, without a password: `redis://`, or `rediss://` where connections are encrypted.
    pub fn url(&self) -> String {
        let scheme = match self.launch.options.tls {
            Tls::Off => "redis",
            Tls::Server | Tls::Mutual => "rediss",
        };
        format!("{scheme}://{}", self.address())
    }

    /// Where clients find it over TCP: in a network of its own over the first wire.
    pub fn address(&self) -> SocketAddr {
        match &self.launch.network {
            None => self.port.address(),
            Some(_) => self.address_over(0),
        }
    }

    /// Where clients find it over one of the wires to its network.
    pub fn address_over(&self, wire: usize) -> SocketAddr {
        (self.wire(wire).address(), self.port()).into()
    }

    /// One of the wires that lead to its network.
    ///
    /// # Panics
    /// When there are not so many: none, unless it is [`Server::apart`].
    pub fn wire(&self, number: usize) -> &Wire {
        let network = self.launch.network.as_ref().expect("a network of its own");
        &network.wires()[number]
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.launch.socket()
    }

    /// Its folder, for files of the test's own as well.
    pub fn folder(&self) -> &Path {
        self.launch.folder.path()
    }

    /// The certificates of a server with TLS.
    ///
    /// # Panics
    /// Without TLS there are none.
    pub fn certificates(&self) -> &Certificates {
        self.launch.certificates.as_ref().expect("a server with TLS")
    }

    /// Runs a command on it, under a user that may do everything.
    ///
    /// # Panics
    /// When it answers with an error, or not at all.
    pub fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_ask(words)
            .unwrap_or_else(|error| panic!("{}: {error}", words.join(" ")))
    }

    /// The same, for commands that may fail.
    ///
    /// # Errors
    /// The server's, or that it cannot be reached.
    pub fn try_ask<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        control::ask(&self.launch.socket(), words)
    }

    /// The value of `name` in what `INFO` says.
    pub fn info(&self, name: &str) -> Option<String> {
        let text: String = self.try_ask(&["INFO"]).ok()?;
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.to_owned())
    }
}

impl Launch {
    /// Writes its configuration. Once: Sentinels, and servers that they watch, write into it what they have learned.
    fn configure(&self, port: &Port) {
        fs::write(self.file(), self.configuration(port)).unwrap();
    }

    /// Runs it until it answers. None if it ends instead.
    fn run(&self) -> Option<Process> {
        // What is left of one that was killed would be taken for this one's.
        let _ = fs::remove_file(self.socket());
        let program = self.kind.program();
        let mut command = match &self.network {
            None => Command::new(program),
            Some(network) => network.command(&program),
        };
        command.arg(self.file());
        if self.role == Role::Sentinel {
            command.arg("--sentinel");
        }
        let mut process = Process::start(command);
        until("the server answers", || {
            if process.has_ended() {
                return Some(false);
            }
            let pong = control::ask::<String>(&self.socket(), &["PING"]);
            pong.is_ok().then_some(true)
        })
        .then_some(process)
    }

    fn configuration(&self, port: &Port) -> String {
        let folder = self.folder.path().display();
        let socket = self.socket();
        let mut lines = vec![
            format!("bind {}", self.interface()),
            // Nobody but this machine reaches a network of its own.
            "protected-mode no".into(),
            format!("dir {folder}"),
            format!("logfile {folder}/server.log"),
            format!("unixsocket {}", socket.display()),
            format!("user {USER} on >{USER} ~* &* +@all"),
        ];
        lines.extend(self.listener(port));
        if self.role == Role::Data {
            lines.extend(self.kept());
        }
        lines.extend(
            self.options
                .password
                .map(|password| format!("requirepass {password}")),
        );
        if let Some((user, password)) = self.options.user {
            lines.push(format!("user {user} on >{password} ~* &* +@all"));
            lines.push("user default off".into());
        }
        lines.extend(self.options.settings.iter().cloned());
        lines.join("\n") + "\n"
    }

    fn interface(&self) -> Ipv4Addr {
        match self.network {
            None => Ipv4Addr::LOCALHOST,
            Some(_) => Ipv4Addr::UNSPECIFIED,
        }
    }

    fn listener(&self, port: &Port) -> Vec<String> {
        let number = port.number();
        let Some(files) = &self.certificates else {
            return vec![format!("port {number}")];
        };
        let demand = match self.options.tls {
            Tls::Mutual => "yes",
            Tls::Off | Tls::Server => "no",
        };
        vec![
            "port 0".into(),
            format!("tls-port {number}"),
            format!("tls-ca-cert-file {}", files.authority.display()),
            format!("tls-cert-file {}", files.server.display()),
            format!("tls-key-file {}", files.server_key.display()),
            format!("tls-auth-clients {demand}"),
        ]
    }

    fn kept(&self) -> Vec<String> {
        let mut lines = vec!["save \"\"".into()];
        if self.options.keep == Keep::Everything {
            lines.extend(["appendonly yes".into(), "appendfsync always".into()]);
        }
        lines
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("server.conf")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("server.sock")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }
}
