//! A master and its replicas, and the Sentinels that watch them.

use std::sync::OnceLock;

use crate::kind::Kind;
use crate::server::{Options, Role, Server};
use crate::wait::until;

/// What the Sentinels call the master.
const NAME: &str = "tidegate";
/// How many Sentinels there are.
const SENTINELS: usize = 3;
/// How many of them must find the master dead.
const QUORUM: usize = 2;
/// How long it is silent before one does.
const DOWN_AFTER_MS: u32 = 1_000;
/// How long a failover may take before another is tried.
const FAILOVER_TIMEOUT_MS: u32 = 5_000;

/// One master, replicas that follow it, and three Sentinels that know them and each other.
#[derive(Debug)]
pub struct Sentinel {
    servers: Vec<Server>,
    sentinels: Vec<Server>,
}

impl Sentinel {
    /// Starts them, with `replicas` replicas, and waits until the master may die.
    pub fn start(kind: Kind, replicas: usize) -> Self {
        let master = Server::start(kind, data(Vec::new()));
        let follow = format!("replicaof 127.0.0.1 {}", master.port());
        let follower = || Server::start(kind, data(vec![follow.clone()]));
        let mut servers: Vec<_> = (0..replicas).map(|_| follower()).collect();
        servers.insert(0, master);
        until("every replica follows", || {
            let up = |server: &Server| server.info("master_link_status").as_deref() == Some("up");
            servers[1..].iter().all(up).then_some(())
        });
        // Told apart from servers by their role; they are asked as servers are.
        let watch = || Server::start_as(Role::Sentinel, kind, watching(servers[0].port()));
        let own = Self {
            sentinels: (0..SENTINELS).map(|_| watch()).collect(),
            servers,
        };
        until("every Sentinel knows everybody", || {
            own.know_everybody().then_some(())
        });
        own
    }

    /// A Redis 7.0 with a replica for all tests of this process, which keep apart by their keys and let it live.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Sentinel> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Kind::Redis70, 1))
    }

    /// What the Sentinels call the master.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> &[Server] {
        &self.sentinels
    }

    /// One of them.
    pub fn sentinel(&mut self, number: usize) -> &mut Server {
        &mut self.sentinels[number]
    }

    /// Where clients find the Sentinels: `redis://`, each.
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(Server::url).collect()
    }

    /// The master and the replicas.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// One of the servers.
    pub fn server(&mut self, number: usize) -> &mut Server {
        &mut self.servers[number]
    }

    /// The server that all Sentinels that run call the master, once they agree and it says so too.
    pub fn master(&self) -> usize {
        until("the Sentinels agree on a master", || {
            let named: Vec<u16> = self.sentinels.iter().filter_map(master_as_seen).collect();
            let port = *named.first()?;
            let number = self.servers.iter().position(|server| server.port() == port)?;
            let agreed = named.iter().all(|&other| other == port);
            let role = self.servers[number].info("role");
            (agreed && role.as_deref() == Some("master")).then_some(number)
        })
    }

    /// Kills the master, as a crash would, and says which it was. Another takes its place in about three seconds:
    /// [`Sentinel::master`] waits for it.
    pub fn kill_master(&mut self) -> usize {
        let master = self.master();
        self.servers[master].kill();
        master
    }

    fn know_everybody(&self) -> bool {
        let knows = |sentinel: &Server, what: &str, count: usize| {
            sentinel
                .try_ask::<Vec<String>>(&["SENTINEL", "MASTER", NAME])
                .is_ok_and(|fields| {
                    let mut pairs = fields.chunks_exact(2);
                    pairs.any(|pair| pair[0] == what && pair[1] == count.to_string())
                })
        };
        self.sentinels.iter().all(|sentinel| {
            knows(sentinel, "num-slaves", self.servers.len() - 1)
                && knows(sentinel, "num-other-sentinels", SENTINELS - 1)
        })
    }
}

/// A server that may follow another.
fn data(mut settings: Vec<String>) -> Options {
    settings.extend([
        "repl-diskless-sync yes".into(),
        "repl-diskless-sync-delay 0".into(),
    ]);
    Options {
        settings,
        ..Options::default()
    }
}

fn watching(master: u16) -> Options {
    Options {
        settings: vec![
            format!("sentinel monitor {NAME} 127.0.0.1 {master} {QUORUM}"),
            format!("sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}"),
            format!("sentinel failover-timeout {NAME} {FAILOVER_TIMEOUT_MS}"),
        ],
        ..Options::default()
    }
}

/// The port of the master, as `sentinel` knows it. None if it does not answer.
fn master_as_seen(sentinel: &Server) -> Option<u16> {
    let address = sentinel.try_ask::<(String, u16)>(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]);
    address.ok().map(|(_, port)| port)
}
