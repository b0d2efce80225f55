//! A gateway under attack, and what has to hold meanwhile and afterwards.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::gateway::{Gateway, Ports};
use crate::hostile::{Hostile, Reads, Then, wait};
use crate::nginx::Nginx;
use crate::ordinary::{Ordinary, get};
use tidegate_test_servers::{Watch, until};

/// What hostile clients do.
#[derive(Clone, Debug)]
pub struct Attack {
    /// What it is, for when it succeeds.
    pub name: &'static str,
    /// The port of the gateway that they come to.
    pub at: SocketAddr,
    /// How many do so at one time.
    pub clients: usize,
    /// What each says first.
    pub says: Vec<u8>,
    /// What each does then.
    pub then: Then,
    /// Whether each reads what it is told.
    pub reads: Reads,
    /// How soon all of them have to be cut.
    pub within: Duration,
}

/// What each of the clients of an attack was told, up to a bound.
pub type Told = Vec<Vec<u8>>;

/// What is added to every bound on time, for a machine that has other things to do.
const SLACK: Duration = Duration::from_secs(20);
/// The longest that anybody else waits for an answer.
const LONGEST: Duration = Duration::from_secs(15);
/// So many requests of somebody else at least are answered during an attack.
const SERVED: usize = 20;
/// Sockets that ordinary clients and the connections kept to the origin may take.
const ORDINARY_SOCKETS: usize = 24;
/// What the process may keep of what it had during an attack.
const KEPT_MEMORY_KIB: u64 = 32 * 1024;
/// The networks 127.0.x.0/24 that attacks come from. The port that wants a proxy's header takes it from the one only.
const STRANGERS: u8 = 2;
const PROXIES: u8 = 3;
/// So many addresses share the hostile connections.
const ADDRESSES: usize = 8;
/// How long a client that drips keeps silent.
const DRIP_MS: i64 = 100;

/// A gateway in front of nginx, with one port of each kind.
#[derive(Debug)]
pub struct Siege {
    /// The origin.
    pub nginx: Nginx,
    /// The gateway.
    pub gateway: Gateway,
    /// Its ports.
    pub ports: Ports,
    _folder: TempDir,
    calm: Calm,
}

/// How the process was before.
#[derive(Clone, Copy, Debug)]
struct Calm {
    memory_kib: u64,
    sockets: usize,
}

impl Siege {
    /// A gateway whose `gateway` section ends with the lines `settings`, without policies.
    pub fn of(settings: &str) -> Self {
        allow_many_files();
        let folder = tempfile::tempdir().unwrap();
        make_certificate(folder.path());
        let nginx = Nginx::start();
        let policies = format!("{LISTEN}{settings}\nadmin: 127.0.0.1:0\npolicies: []\n");
        let (mut gateway, ports) = Gateway::with_ports(folder.path(), &nginx.url(), &policies);
        let sockets = gateway.process().sockets();
        for _ in 0..SERVED {
            get(ports.clear, "/", "nginx says").unwrap();
        }
        let calm = Calm {
            memory_kib: gateway.process().memory_kib(),
            sockets,
        };
        Self {
            nginx,
            gateway,
            ports,
            _folder: folder,
            calm,
        }
    }

    /// Lets `attacks` come, all at once, while an ordinary client asks in clear: it is served throughout, those who attack are cut in
    /// time, and what they took comes back. What they were told, by attack.
    pub fn withstands<const N: usize>(&mut self, attacks: [Attack; N]) -> [Told; N] {
        let ordinary = Ordinary::begin(self.ports.clear);
        self.withstands_beside(ordinary, attacks)
    }

    /// The same while `ordinary` asks.
    pub fn withstands_beside<const N: usize>(
        &mut self,
        ordinary: Ordinary,
        attacks: [Attack; N],
    ) -> [Told; N] {
        let names = attacks.each_ref().map(|attack| attack.name).join(", ");
        let mut camps = attacks.map(|attack| self.camp(attack));
        let within = camps
            .iter()
            .map(|camp| camp.attack.within)
            .max()
            .unwrap_or_default();
        let watch = Watch::start();
        let mut were_here = false;
        while self.is_held(&camps, &mut were_here) {
            let held = self.gateway.process().sockets();
            let took = watch.elapsed();
            assert!(
                took < within + SLACK,
                "{names}: {held} sockets after {took:?}, {} before; not cut: {:?}",
                self.calm.sockets,
                camps.each_ref().map(Camp::not_cut)
            );
            go_on(&mut camps);
        }
        let took = watch.elapsed();
        until("an ordinary client is served", || {
            (ordinary.served() > SERVED).then_some(())
        });
        let asked = ordinary.end();
        assert_eq!(asked.failed, [""; 0], "{names}");
        assert!(asked.longest < LONGEST, "{names}: {asked:?}");
        let told = camps.map(Camp::told);
        self.comes_to_rest(&names);
        let (now, peak) = (
            self.gateway.process().memory_kib(),
            self.gateway.process().peak_memory_kib(),
        );
        println!(
            "{names}: cut after {took:?}; {} served, waiting {:?} at most; {} KiB before, {peak} at most, {now} after",
            asked.served, asked.longest, self.calm.memory_kib
        );
        told
    }

    fn camp(&self, attack: Attack) -> Camp {
        let network = if attack.at == self.ports.proxied {
            PROXIES
        } else {
            STRANGERS
        };
        let from = |index| Ipv4Addr::new(127, 0, network, u8::try_from(1 + index % ADDRESSES).unwrap());
        let clients = (0..attack.clients).map(|index| Hostile::connect(from(index), &attack));
        Camp {
            clients: clients.collect(),
            attack,
        }
    }

    /// Waits until the memory that an attack took is given back.
    fn comes_to_rest(&mut self, names: &str) {
        let most = self.calm.memory_kib + KEPT_MEMORY_KIB;
        until(&format!("{names}: the memory comes back"), || {
            (self.gateway.process().memory_kib() < most).then_some(())
        });
    }

    /// Whether the gateway still has connections of theirs. Those who read see their end. Of the others the gateway's sockets tell, once
    /// they were seen to be there.
    fn is_held(&mut self, camps: &[Camp], were_here: &mut bool) -> bool {
        let is_full = self.gateway.process().sockets() > self.calm.sockets + ORDINARY_SOCKETS;
        *were_here |= is_full;
        let reading = camps.iter().filter(|camp| camp.attack.reads == Reads::All);
        let all_read = camps.iter().all(|camp| camp.attack.reads == Reads::All);
        is_full || reading.map(Camp::not_cut).sum::<usize>() > 0 || !(*were_here || all_read)
    }
}

/// The clients of an attack.
#[derive(Debug)]
struct Camp {
    attack: Attack,
    clients: Vec<Hostile>,
}

impl Camp {
    /// Lets each go on as far as it can; how many could.
    fn act(&mut self) -> usize {
        let then = &self.attack.then;
        let moved = self.clients.iter_mut().map(|client| client.act(then));
        moved.map(usize::from).sum()
    }

    fn drip(&mut self) {
        if let Then::Drips(drop) = &self.attack.then {
            self.clients.iter_mut().for_each(|client| client.drip(drop));
        }
    }

    fn not_cut(&self) -> usize {
        self.clients.iter().filter(|client| !client.is_cut()).count()
    }

    fn told(self) -> Told {
        let clients = self.clients.into_iter();
        clients.map(Hostile::into_heard).collect()
    }
}

/// Lets everybody go on once. Where nobody can, they wait for the gateway, and then those drip who do.
fn go_on(camps: &mut [Camp]) {
    if camps.iter_mut().map(Camp::act).sum::<usize>() > 0 {
        return;
    }
    let all = camps.iter().flat_map(|camp| &camp.clients);
    if !wait(all, DRIP_MS) {
        camps.iter_mut().for_each(Camp::drip);
    }
}

fn make_certificate(folder: &Path) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
                     -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem";
    let made = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output();
    assert!(made.unwrap().status.success());
}

/// Raises this process's limit of open files as far as it goes.
pub fn allow_many_files() {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
}

/// One listener of each kind.
const LISTEN: &str = "
gateway:
  trusted_proxies: 127.0.3.0/24
  listen:
    - address: 127.0.0.1:0
    - { address: 127.0.0.2:0, proxy_protocol: any }
    - address: 127.0.0.3:0
      tls: { certificates: [{ certificate: cert.pem, key: key.pem }] }
";
