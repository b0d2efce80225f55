//! Three masters, each with a replica.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use redis::{Value, from_redis_value_ref};

use crate::kind::Kind;
use crate::server::{Options, Server};
use crate::wait::until;

/// Masters, and as many replicas.
const MASTERS: usize = 3;
/// Slots of a cluster.
const SLOTS: usize = 16_384;
/// How long a node is silent before the others take it for dead.
const NODE_TIMEOUT_MS: u32 = 1_500;

/// A Cluster that knows itself: every slot has a master, every master a replica that follows it. Nodes are told by their number, masters
/// first.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
}

impl Cluster {
    /// Starts one, and waits until a master may die.
    pub fn start(kind: Kind) -> Self {
        Self::with(kind, Options::default())
    }

    /// One of Redis 7.0 for all tests of this process, which keep apart by their keys and let it live.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(Kind::Redis70))
    }

    /// One of servers with `options`.
    pub fn with(kind: Kind, mut options: Options) -> Self {
        options.settings.extend([
            "cluster-enabled yes".into(),
            "cluster-config-file nodes.conf".into(),
            format!("cluster-node-timeout {NODE_TIMEOUT_MS}"),
            "repl-diskless-sync yes".into(),
            "repl-diskless-sync-delay 0".into(),
        ]);
        let start = || Server::start(kind, options.clone());
        let cluster = Self {
            nodes: (0..2 * MASTERS).map(|_| start()).collect(),
        };
        cluster.share_out_slots();
        cluster.introduce();
        cluster.attach_replicas();
        cluster
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// One node.
    pub fn node(&mut self, number: usize) -> &mut Server {
        &mut self.nodes[number]
    }

    /// Where clients find it: the first node, by which they learn of the others.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Server::url).collect()
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: &str) -> u16 {
        let living = self.living().next().expect("a living node");
        self.nodes[living].ask(&["CLUSTER", "KEYSLOT", key])
    }

    /// The master that all living nodes agree on for `slot`, once they agree on a living one and on the whole cluster being well.
    pub fn master_of(&self, slot: u16) -> usize {
        until("the cluster agrees on a master", || {
            let living: Vec<_> = self.living().collect();
            let mut masters = living.iter().map(|&node| self.master_as_seen(node, slot));
            let first = masters.next()??;
            let agreed = masters.all(|master| master == Some(first));
            (agreed && living.contains(&first) && self.is_well(&living)).then_some(first)
        })
    }

    /// A replica of `master` that follows it.
    pub fn replica_of(&self, master: usize) -> usize {
        let port = self.nodes[master].port().to_string();
        until("a master has a replica", || {
            self.living().find(|&node| {
                let node = &self.nodes[node];
                node.info("master_port").as_ref() == Some(&port) && is_in_step(node)
            })
        })
    }

    /// Kills the master of `slot`, as a crash would, and says which it was. Another takes its place in about four seconds:
    /// [`Cluster::master_of`] waits for it.
    pub fn kill_master_of(&mut self, slot: u16) -> usize {
        let master = self.master_of(slot);
        self.nodes[master].kill();
        master
    }

    /// Makes a replica the master of `slot`, in agreement with the old one, so that nothing is lost. Says which it is.
    pub fn fail_over(&self, slot: u16) -> usize {
        let old = self.master_of(slot);
        let replica = self.replica_of(old);
        let _: () = self.nodes[replica].ask(&["CLUSTER", "FAILOVER"]);
        until("the replica is the master", || {
            (self.master_of(slot) == replica).then_some(replica)
        })
    }

    fn share_out_slots(&self) {
        for (number, node) in self.nodes.iter().enumerate() {
            // Two nodes with the same epoch would settle it among themselves later, which takes a while.
            let epoch = (number + 1).to_string();
            let _: () = node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
            if number < MASTERS {
                let slots: Vec<_> = slots_of(number).map(|slot| slot.to_string()).collect();
                let mut words = vec!["CLUSTER", "ADDSLOTS"];
                words.extend(slots.iter().map(String::as_str));
                let _: () = node.ask(&words);
            }
        }
    }

    fn introduce(&self) {
        let (first, others) = self.nodes.split_first().expect("a node");
        for other in others {
            let port = other.port().to_string();
            let _: () = first.ask(&["CLUSTER", "MEET", "127.0.0.1", &port]);
        }
        until("every node knows every other", || {
            let all = self.nodes.iter().all(|node| known(node) == self.nodes.len());
            all.then_some(())
        });
    }

    fn attach_replicas(&self) {
        for number in 0..MASTERS {
            let id: String = self.nodes[number].ask(&["CLUSTER", "MYID"]);
            let _: () = self.nodes[MASTERS + number].ask(&["CLUSTER", "REPLICATE", &id]);
        }
        // A master that dies before all know its replica leaves its slots without one for good.
        until("every node knows every replica", || {
            let all = self.nodes.iter().all(|node| {
                let nodes: String = node.ask(&["CLUSTER", "NODES"]);
                nodes.matches("slave").count() == MASTERS
            });
            all.then_some(())
        });
        for number in 0..MASTERS {
            self.replica_of(self.master_of(*slots_of(number).start()));
        }
    }

    fn living(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node].try_ask::<()>(&["PING"]).is_ok())
    }

    /// The node that `node` takes for the master of `slot`.
    fn master_as_seen(&self, node: usize, slot: u16) -> Option<usize> {
        let ranges: Vec<Vec<Value>> = self.nodes[node].try_ask(&["CLUSTER", "SLOTS"]).ok()?;
        let port = ranges.iter().find_map(|range| port_of_master(range, slot))?;
        self.nodes.iter().position(|node| node.port() == port)
    }

    fn is_well(&self, living: &[usize]) -> bool {
        living.iter().all(|&node| {
            let info = self.nodes[node].try_ask::<String>(&["CLUSTER", "INFO"]);
            info.is_ok_and(|info| info.contains("cluster_state:ok"))
        })
    }
}

fn slots_of(master: usize) -> RangeInclusive<u16> {
    let bound = |master| u16::try_from(master * SLOTS / MASTERS).unwrap();
    bound(master)..=bound(master + 1) - 1
}

/// How many nodes `node` knows, itself included.
fn known(node: &Server) -> usize {
    let nodes: String = node.ask(&["CLUSTER", "NODES"]);
    nodes.lines().filter(|line| !line.contains("handshake")).count()
}

/// What `CLUSTER SLOTS` says of one range: its first and last slot, then host, port and id of the master, then those of replicas.
fn port_of_master(range: &[Value], slot: u16) -> Option<u16> {
    let [first, last, master, ..] = range else {
        return None;
    };
    let number = |value| from_redis_value_ref::<u16>(value).ok();
    let is_in = (number(first)?..=number(last)?).contains(&slot);
    let master: Vec<Value> = from_redis_value_ref(master).ok()?;
    is_in.then(|| number(master.get(1)?))?
}

fn is_in_step(replica: &Server) -> bool {
    replica.info("master_link_status").as_deref() == Some("up")
}
