//! Which server of a Cluster has which shard.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use redis::{Value, cmd};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::backoff::Backoff;
use super::breaker::BreakerState;
use super::dial::{Dialer, Endpoint, ask};
use super::fault::Fault;
use super::link::{Link, Target};
use super::settings::Address;

/// Virtual shards: what a key's hash tag names.
pub(crate) const SHARDS: usize = 256;
/// Slots of a Cluster.
const SLOTS: u16 = 16_384;
/// How often the map is asked for while all is well.
const REFRESHED_EVERY: Duration = Duration::from_secs(5);
/// Servers that are asked for the map at one time.
const ASKED_AT_ONCE: usize = 3;

/// The masters of a Cluster, each with its link.
#[derive(Debug)]
pub(crate) struct Cluster {
    nodes: Arc<Nodes>,
    _refresher: JoinSet<()>,
}

#[derive(Debug)]
struct Nodes {
    dialer: Dialer,
    seeds: Vec<Address>,
    map: ArcSwap<Map>,
    /// Held while a changed map is made.
    changing: Mutex<()>,
    stale: Notify,
}

/// Where shards live.
#[derive(Clone, Debug)]
struct Map {
    /// By the number of the shard.
    shards: Vec<Option<Arc<Link>>>,
    links: HashMap<Address, Arc<Link>>,
}

/// A range of slots, both ends included, and its master.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    first: u16,
    last: u16,
    master: Address,
}

impl Cluster {
    /// Begins to look for the nodes. Must be called within a runtime.
    pub(crate) fn start(dialer: Dialer, seeds: Vec<Address>) -> Self {
        let nodes = Arc::new(Nodes {
            dialer,
            seeds,
            map: ArcSwap::from_pointee(Map {
                shards: vec![None; SHARDS],
                links: HashMap::new(),
            }),
            changing: Mutex::new(()),
            stale: Notify::new(),
        });
        let mut refresher = JoinSet::new();
        refresher.spawn(refresh(Arc::clone(&nodes)));
        Self {
            nodes,
            _refresher: refresher,
        }
    }

    /// The master that has `shard`, as far as is known.
    pub(crate) fn link(&self, shard: u8) -> Option<Arc<Link>> {
        self.nodes.map.load().shards.get(usize::from(shard))?.clone()
    }

    /// All masters that are known.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        self.nodes.map.load().links.values().cloned().collect()
    }

    /// The map may be old: it is asked for.
    pub(crate) fn doubt(&self) {
        self.nodes.stale.notify_one();
    }

    /// A server says that `shard` lives at `address` from now on.
    pub(crate) fn moved(&self, shard: u8, address: Address) {
        self.nodes.change(|map, dialer| {
            let link = map.link(address, dialer);
            if let Some(place) = map.shards.get_mut(usize::from(shard)) {
                *place = Some(link);
            }
        });
        self.doubt();
    }

    /// The server at `address`, which takes over a slot.
    pub(crate) fn at(&self, address: Address) -> Arc<Link> {
        self.nodes.change(|map, dialer| map.link(address, dialer))
    }
}

impl Map {
    fn link(&mut self, address: Address, dialer: &Dialer) -> Arc<Link> {
        let target = Target::Fixed(Endpoint::Tcp(address.clone()));
        let start = || Arc::new(Link::start(dialer.clone(), target));
        Arc::clone(self.links.entry(address).or_insert_with(start))
    }

    /// The same with the masters of `ranges`, and no others.
    fn follow(&mut self, ranges: &[Range], dialer: &Dialer) {
        self.links
            .retain(|address, _| ranges.iter().any(|range| range.master == *address));
        for shard in 0..SHARDS {
            let slot = slot_of(shard);
            let range = ranges
                .iter()
                .find(|range| range.first <= slot && slot <= range.last);
            let link = range.map(|range| self.link(range.master.clone(), dialer));
            if let Some(place) = self.shards.get_mut(shard) {
                *place = link;
            }
        }
    }

    /// Whether every shard has a master that answers.
    fn is_well(&self) -> bool {
        let well = |link: &Arc<Link>| !link.is_down() && link.breaker() == BreakerState::Closed;
        self.shards.iter().all(|link| link.as_ref().is_some_and(well))
    }
}

impl Nodes {
    fn change<T>(&self, change: impl FnOnce(&mut Map, &Dialer) -> T) -> T {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut map = Map::clone(&self.map.load());
        let result = change(&mut map, &self.dialer);
        self.map.store(Arc::new(map));
        result
    }

    /// The map, as the first of the nodes says that answers.
    async fn look(self: &Arc<Self>, turn: usize) -> Result<Vec<Range>, Fault> {
        let mut sources: Vec<Source> = {
            let map = self.map.load();
            let up = map.links.iter().filter(|(_, link)| link.is_up());
            up.map(|(address, link)| Source::Link(address.clone(), Arc::clone(link)))
                .collect()
        };
        if !sources.is_empty() {
            let by = turn % sources.len();
            sources.rotate_left(by);
        }
        sources.extend(self.seeds.iter().cloned().map(Source::Seed));
        let mut sources = sources.into_iter();
        let mut asked = JoinSet::new();
        let mut last = Fault::Down;
        loop {
            while asked.len() < ASKED_AT_ONCE
                && let Some(source) = sources.next()
            {
                asked.spawn(source.slots(self.dialer.clone()));
            }
            match asked.join_next().await {
                Some(Ok(Ok(ranges))) => return Ok(ranges),
                Some(Ok(Err(fault))) => last = fault,
                Some(Err(_)) => {}
                None => return Err(last),
            }
        }
    }
}

/// Who can be asked for the map.
enum Source {
    Link(Address, Arc<Link>),
    Seed(Address),
}

impl Source {
    async fn slots(self, dialer: Dialer) -> Result<Vec<Range>, Fault> {
        let mut command = cmd("CLUSTER");
        command.arg("SLOTS");
        let limit = dialer.timeout();
        let asked = async {
            match &self {
                Self::Link(address, link) => {
                    let mut up = link.up().await?;
                    Ok((ask(&mut up.connection, &command).await?, address))
                }
                Self::Seed(address) => {
                    let mut line = dialer.dial(&Endpoint::Tcp(address.clone())).await?;
                    Ok((ask(&mut line.connection, &command).await?, address))
                }
            }
        };
        let (answer, address) = timeout(limit, asked).await.unwrap_or(Err(Fault::Late))?;
        let ranges =
            ranges(answer, &address.host).ok_or_else(|| Fault::Nonsense("CLUSTER SLOTS".to_owned()))?;
        if ranges.is_empty() {
            return Err(Fault::NotNow(format!("{address} knows no slots")));
        }
        Ok(ranges)
    }
}

/// The task that keeps the map true.
async fn refresh(nodes: Arc<Nodes>) {
    let mut backoff = Backoff::new();
    let mut complained = false;
    for turn in 0.. {
        match nodes.look(turn).await {
            Ok(ranges) => {
                complained = false;
                nodes.change(|map, dialer| map.follow(&ranges, dialer));
            }
            Err(fault) if !complained => {
                complained = true;
                warn!("no node of the store's cluster tells where slots are: {fault}");
            }
            Err(_) => {}
        }
        if nodes.map.load().is_well() {
            backoff = Backoff::new();
            tokio::select! {
                () = nodes.stale.notified() => {}
                () = sleep(REFRESHED_EVERY) => {}
            }
        }
        sleep(backoff.step()).await;
    }
}

/// The slot of the keys of a shard: that of their tag, two hexadecimal digits.
fn slot_of(shard: usize) -> u16 {
    crc16::State::<crc16::XMODEM>::calculate(format!("{shard:02x}").as_bytes()) % SLOTS
}

/// Reads `CLUSTER SLOTS`. A node that does not know its own host is at `host`.
fn ranges(answer: Value, host: &str) -> Option<Vec<Range>> {
    let Value::Array(rows) = answer else { return None };
    rows.into_iter()
        .map(|row| {
            let Value::Array(row) = row else { return None };
            let mut row = row.into_iter();
            let (Value::Int(first), Value::Int(last), Value::Array(master)) =
                (row.next()?, row.next()?, row.next()?)
            else {
                return None;
            };
            Some(Range {
                first: u16::try_from(first).ok()?,
                last: u16::try_from(last).ok()?,
                master: address(&master, host)?,
            })
        })
        .collect()
}

fn address(node: &[Value], asked: &str) -> Option<Address> {
    let [host, Value::Int(port), ..] = node else {
        return None;
    };
    let host = match host {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok()?,
        Value::SimpleString(text) => text.clone(),
        Value::Nil => String::new(),
        _ => return None,
    };
    let host = if host.is_empty() || host == "?" {
        asked.to_owned()
    } else {
        host
    };
    Some(Address::new(host, u16::try_from(*port).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: Value, port: i64) -> Value {
        Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())])
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn the_slot_of_a_shard_is_that_of_its_tag() {
        // As `CLUSTER KEYSLOT {00}` and `{ff}` say.
        assert_eq!(slot_of(0x00), 13_254);
        assert_eq!(slot_of(0xff), 11_756);
    }

    #[test]
    fn a_map_names_the_master_of_each_range_and_not_its_replicas() {
        let rows = Value::Array(vec![
            Value::Array(vec![
                Value::Int(0),
                Value::Int(99),
                node(text("10.0.0.1"), 7000),
                node(text("10.0.0.2"), 7000),
            ]),
            Value::Array(vec![Value::Int(100), Value::Int(16_383), node(text(""), 7001)]),
        ]);
        let range = |first, last, host, port| Range {
            first,
            last,
            master: Address::new(host, port),
        };
        assert_eq!(
            ranges(rows, "10.0.0.9"),
            Some(vec![
                range(0, 99, "10.0.0.1", 7000),
                range(100, 16_383, "10.0.0.9", 7001)
            ])
        );
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for answer in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(1)])]),
            Value::Array(vec![Value::Array(vec![
                Value::Int(-1),
                Value::Int(1),
                node(text("a"), 1),
            ])]),
            Value::Array(vec![Value::Array(vec![
                Value::Int(0),
                Value::Int(1),
                node(text("a"), 70_000),
            ])]),
        ] {
            assert_eq!(ranges(answer.clone(), "a"), None, "{answer:?}");
        }
    }
}
