//! Two gateways and one Redis, and the network to one of them or to both loses everything.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_e2e::{Gateway, Nginx, Raw, Watch, until};
use tidegate_test_servers::{Kind, Options, Server};

/// What each policy allows.
const QUOTA: usize = 800;
/// What a gateway lets pass by itself where the policy says so: a twentieth.
const SHARE: usize = 40;
/// How long a decision may take.
const TIMEOUT: Duration = Duration::from_millis(250);
/// What comes on top, besides what a request takes that asks no store.
const A_LITTLE: Duration = Duration::from_millis(250);
/// How soon the store has to decide again after its network was mended.
const RECOVERY: Duration = Duration::from_secs(3);
/// How long the network is cut.
const CUT: Duration = Duration::from_secs(2);
/// Those who ask for one path at one gateway, and how long each rests between two requests.
const CLIENTS: usize = 2;
const PACE: Duration = Duration::from_millis(20);

/// Without the store its policy denies,
const CLOSED: &str = "/closed";
/// counts by itself,
const ALONE: &str = "/alone";
/// or allows.
const OPEN: &str = "/open";
const COUNTED: [&str; 3] = [CLOSED, ALONE, OPEN];
/// No policy concerns it: it shows what the machine itself does to requests.
const FREE: &str = "/free";

fn policies(store: SocketAddr) -> String {
    let policy = |path: &str, failure: &str| {
        let name = &path[1..];
        format!(
            "  - {{ name: {name}, match: {{ path: {path} }}, key: [client.ip], \
             limit: {{ quota: {QUOTA}, window: 90d }}, on_store_failure: {failure} }}\n"
        )
    };
    [
        format!("store: {{ redis: 'redis://{store}', timeout: 250ms }}\npolicies:\n"),
        policy(CLOSED, "deny"),
        policy(ALONE, "local, local_share: 5%"),
        policy(OPEN, "allow"),
    ]
    .concat()
}

/// Clients of both gateways, and what they were told.
struct Load {
    addresses: [SocketAddr; 2],
    over: AtomicBool,
    told: Mutex<Told>,
}

#[derive(Clone, Debug, Default)]
struct Told {
    counts: BTreeMap<Answer, usize>,
    longest: BTreeMap<&'static str, Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    gateway: usize,
    path: &'static str,
    status: u16,
    /// Who decided.
    by: Decider,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decider {
    Store,
    /// The gateway: the store did not answer.
    Gateway,
}

use Decider::{Gateway as Itself, Store};

impl Load {
    /// Asks until it is over.
    fn ask(&self, gateway: usize, path: &'static str) {
        // A flag on its own: no other memory hangs on it.
        while !self.over.load(Ordering::Relaxed) {
            let watch = Watch::start();
            let mut client = Raw::connect(self.addresses[gateway]);
            client.send(format!(
                "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            ));
            let answer = Answer::parse(gateway, path, &client.rest());
            self.told.lock().unwrap().add(answer, watch.elapsed());
            thread::park_timeout(PACE);
        }
    }

    fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }

    /// Waits until `gateway` has said so `by` one or the other on each counted path, once more than it had `before`.
    fn decides(&self, gateway: usize, by: Decider, before: &Told) {
        until("who decides is another", || {
            let now = self.told();
            let has = |path: &&str| now.by(gateway, path, by) > before.by(gateway, path, by);
            COUNTED.iter().all(has).then_some(())
        });
    }
}

impl Answer {
    fn parse(gateway: usize, path: &'static str, text: &str) -> Self {
        let (head, _) = text.split_once("\r\n\r\n").expect("an answer");
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self {
            gateway,
            path,
            status: status.expect("a status"),
            by: if head.contains("\r\nx-tidegate-failure: ") {
                Itself
            } else {
                Store
            },
        }
    }
}

impl Told {
    fn add(&mut self, answer: Answer, took: Duration) {
        let longest = self.longest.entry(answer.path).or_default();
        *longest = took.max(*longest);
        *self.counts.entry(answer).or_default() += 1;
    }

    fn sum(&self, pick: impl Fn(&Answer) -> bool) -> usize {
        let picked = self.counts.iter().filter(|(answer, _)| pick(answer));
        picked.map(|(_, count)| count).sum()
    }

    fn by(&self, gateway: usize, path: &str, by: Decider) -> usize {
        self.sum(|answer| (answer.gateway, answer.path, answer.by) == (gateway, path, by))
    }

    fn of(&self, path: &str, status: u16, by: Decider) -> usize {
        self.sum(|answer| (answer.path, answer.status, answer.by) == (path, status, by))
    }

    /// What was told since.
    fn since(&self, before: &Self) -> Self {
        let mut since = self.clone();
        for (answer, count) in &mut since.counts {
            *count -= before.counts.get(answer).unwrap_or(&0);
        }
        since
    }
}

/// Ends the load, even if the test fails.
struct Ending<'a>(&'a Load);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// What was told while the network was cut, and in all.
struct Played {
    meanwhile: Told,
    all: Told,
}

/// Lets both gateways be asked, cuts the wires of those in `cut` and mends them, and ends when all is spent.
fn play(cut: &[usize]) -> Played {
    let nginx = Nginx::start();
    let server = Server::apart(Kind::Redis70, Options::default(), 2);
    let gateway = |wire| Gateway::with_policies(&nginx.url(), &policies(server.address_over(wire)));
    let gateways = [gateway(0), gateway(1)];
    let load = Load {
        addresses: gateways.each_ref().map(Gateway::address),
        over: AtomicBool::new(false),
        told: Mutex::default(),
    };
    let meanwhile = thread::scope(|scope| {
        let _ending = Ending(&load);
        for gateway in [0, 1] {
            for path in [CLOSED, ALONE, OPEN, FREE].repeat(CLIENTS) {
                let load = &load;
                scope.spawn(move || load.ask(gateway, path));
            }
        }
        let meanwhile = disturb(&load, &server, cut);
        until("all is spent", || {
            let told = load.told();
            let is_spent = |path: &&str| told.of(path, 429, Store) > 0;
            COUNTED.iter().all(is_spent).then_some(())
        });
        meanwhile
    });
    Played {
        meanwhile,
        all: load.told(),
    }
}

/// Cuts and mends while clients ask. What they were told between, once what was under way was answered.
fn disturb(load: &Load, server: &Server, cut: &[usize]) -> Told {
    until("a quarter is spent", || {
        let told = load.told();
        let is_going = |path: &&str| told.of(path, 200, Store) >= QUOTA / 4;
        COUNTED.iter().all(is_going).then_some(())
    });
    let going = load.told();
    cut.iter().for_each(|&wire| server.wire(wire).cut());
    let watch = Watch::start();
    cut.iter()
        .for_each(|&gateway| load.decides(gateway, Itself, &going));
    let first = load.told();
    until("the cut is over", || (watch.elapsed() >= CUT).then_some(()));
    let last = load.told();
    cut.iter().for_each(|&wire| server.wire(wire).mend());
    let watch = Watch::start();
    cut.iter()
        .for_each(|&gateway| load.decides(gateway, Store, &last));
    let recovered = watch.elapsed();
    println!("the store decides again after {recovered:?}");
    assert!(recovered < RECOVERY, "{recovered:?}");
    last.since(&first)
}

/// What holds whoever is cut off: each path has one limit, nobody waits long, and policies do what they say.
fn is_as_promised(played: &Played, cut: &[usize]) {
    let Played { meanwhile, all } = played;
    println!("{all:?}");
    for path in COUNTED {
        let admitted = all.of(path, 200, Store);
        // Some was counted for those who had no answer in time.
        let undecided = all.sum(|answer| answer.path == path && answer.by == Itself);
        assert!(admitted <= QUOTA, "{path}: {admitted}");
        assert!(admitted + undecided >= QUOTA, "{path}: {admitted}");
        let longest = 3 * all.longest[FREE] + TIMEOUT + A_LITTLE;
        assert!(all.longest[path] < longest, "{path}: {:?}", all.longest[path]);
        for &gateway in cut {
            assert_eq!(meanwhile.by(gateway, path, Store), 0, "{path}");
            assert!(meanwhile.by(gateway, path, Itself) > 0, "{path}");
        }
    }
    let alone = |path, allowed: &[u16]| {
        let mut others = all
            .counts
            .keys()
            .filter(|answer| answer.path == path && answer.by == Itself);
        assert!(others.all(|answer| allowed.contains(&answer.status)), "{path}");
    };
    alone(CLOSED, &[503]);
    alone(ALONE, &[200, 429]);
    alone(OPEN, &[200]);
    for &gateway in cut {
        let by_itself = all.sum(|answer| {
            (answer.gateway, answer.path, answer.status, answer.by) == (gateway, ALONE, 200, Itself)
        });
        assert!((1..=SHARE).contains(&by_itself), "{by_itself}");
    }
}

#[test]
fn a_gateway_that_is_cut_off_goes_by_its_policies_while_the_other_counts_on() {
    let played = play(&[0]);
    is_as_promised(&played, &[0]);
    for path in COUNTED {
        let decided = played.meanwhile.by(1, path, Store);
        assert!(
            decided > 10 * played.meanwhile.by(1, path, Itself),
            "{path}: {decided}"
        );
    }
}

#[test]
fn gateways_that_are_all_cut_off_go_by_their_policies() {
    let cut = [0, 1];
    is_as_promised(&play(&cut), &cut);
}
