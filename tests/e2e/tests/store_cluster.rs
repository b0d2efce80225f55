//! `docs/store-cluster.md`, played as it stands there: two gateways hold one limit over a Cluster while a master is killed under load.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};
use tempfile::TempDir;
use tidegate_e2e::{
    Gateway, Nginx, Port, Process, Reply, Shown, Watch, blocks, curl, search_path, shown, until,
};

const PAGE: &str = include_str!("../../../docs/store-cluster.md");

/// What both policies allow.
const QUOTA: u64 = 4_000;
/// What may be let through above that: the clients of one path, whose requests may be under way when the master dies.
const UNDER_WAY: u64 = 32;
/// The default `timeout` of a decision, and what else a request may take on top of what one takes that asks no store.
const TIMEOUT: Duration = Duration::from_millis(25);
const A_LITTLE: Duration = Duration::from_millis(250);
/// How soon decisions have to be the store's again after the Cluster has a new master.
const RECOVERY: Duration = Duration::from_secs(3);
/// Ports as the page has them.
const NODES: [&str; 6] = ["7001", "7002", "7003", "7004", "7005", "7006"];
const GATEWAYS: [&str; 2] = ["8081", "8082"];
/// What the first master is asked for.
const SLOTS: &str = " 0-5460";

/// The page in a folder of its own, with ports that are free.
struct Walk {
    folder: TempDir,
    commands: std::vec::IntoIter<Shown>,
    ports: Vec<(&'static str, String)>,
    nginx: Nginx,
    _claims: Vec<Port>,
}

impl Walk {
    fn new() -> Self {
        let claims: Vec<Port> = NODES.iter().map(|_| Port::claim()).collect();
        let numbers = claims.iter().map(|port| port.number().to_string());
        let mut walk = Self {
            folder: tempfile::tempdir().unwrap(),
            commands: shown(PAGE).into_iter(),
            ports: NODES.into_iter().zip(numbers).collect(),
            nginx: Nginx::start(),
            _claims: claims,
        };
        let (_, origin) = walk
            .nginx
            .url()
            .rsplit_once(':')
            .map(|(host, port)| (host.to_owned(), port.to_owned()))
            .unwrap();
        walk.ports
            .extend([("9000", origin), ("9901", "0".into()), ("9902", "0".into())]);
        for (language, name) in [
            ("conf", "cluster.conf"),
            ("yaml", "cluster.yaml"),
            ("lua", "count.lua"),
        ] {
            let text: String = blocks(PAGE, language).collect();
            fs::write(walk.folder.path().join(name), walk.with_ports(&text)).unwrap();
        }
        walk
    }

    fn with_ports(&self, text: &str) -> String {
        let replace =
            |text: String, (shown, port): &(&str, String)| text.replace(shown, &format!("<{shown}>{port}"));
        let marked = self.ports.iter().fold(text.to_owned(), replace);
        // A port that is put in may look like one that is to be replaced.
        let clean = |text: String, (shown, _): &(&str, String)| text.replace(&format!("<{shown}>"), "");
        self.ports.iter().fold(marked, clean)
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &self.with_ports(command), "sh"])
            .current_dir(&self.folder)
            .env("PATH", search_path())
            .env_remove("TERM")
            .env_remove("TIDEGATE_LOG")
            .stdout(Stdio::null());
        shell
    }

    /// The next command of the page, which begins like this.
    fn next(&mut self, beginning: &str) -> Shown {
        let next = self.commands.next().expect("the page goes on");
        assert!(next.command.starts_with(beginning), "{}", next.command);
        next
    }

    /// Runs `command`, and says what it prints.
    fn output(&self, command: &str) -> String {
        let output = self.shell(command).stdout(Stdio::piped()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs the next command of the page. It prints what stands there.
    fn play(&mut self, beginning: &str) {
        let next = self.next(beginning);
        assert_eq!(self.output(next.command), next.prints, "$ {}", next.command);
    }

    /// The same where what stands there is true a moment later.
    fn settle(&mut self, beginning: &str) {
        let next = self.next(beginning);
        until(next.command, || {
            (self.output(next.command) == next.prints).then_some(())
        });
    }

    /// Starts a server as the next command of the page does, and waits until it answers.
    fn serve(&mut self) -> Process {
        let next = self.next("redis-server ");
        let process = Process::start(self.shell(&format!("exec {}", next.command)));
        let port = next.command.split(' ').nth(3).unwrap();
        until("the server answers", || {
            (self.output(&format!("redis-cli -p {port} ping 2>&1")) == "PONG").then_some(())
        });
        process
    }

    /// Starts a gateway as the next command of the page does.
    fn gateway(&mut self, port: &'static str) -> Gateway {
        let next = self.next("REDIS_PASSWORD=");
        let command = next.command.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:0");
        let gateway = Gateway::run(self.shell(&format!("exec env {command} \"$@\"")));
        self.ports.push((port, gateway.address().port().to_string()));
        gateway
    }

    /// Starts the load of the page. It lasts until it is told to end.
    fn load(&mut self) -> Process {
        let next = self.next("for ");
        assert!(next.command.contains(" -d20s "));
        Process::start(self.shell(&next.command.replace(" -d20s ", " -d100s ")))
    }

    /// Whether the nodes that live agree on another master for the slots of the first.
    fn has_another_master(&self) -> bool {
        let dead = self.with_ports("127.0.0.1:7001@");
        NODES[1..].iter().all(|port| {
            let nodes = self.output(&format!("redis-cli -p {port} cluster nodes"));
            let mut masters = nodes.lines().filter(|line| line.ends_with(SLOTS));
            masters.next().is_some_and(|line| !line.contains(&dead))
        })
    }
}

/// What the load has counted, summed over both gateways.
#[derive(Debug)]
struct Counted(Vec<(String, u64)>);

impl Counted {
    /// Ends the load, and reads what it says.
    fn at_the_end_of(load: Process) -> Self {
        kill_process_group(load.pid(), Signal::INT).unwrap();
        let mut lines = Vec::new();
        let _: Option<()> = load.logged(|line| {
            let (_, counted) = line.split_once(' ').unwrap();
            let (what, number) = counted.rsplit_once(' ').unwrap();
            let what: Vec<&str> = what.split_whitespace().collect();
            lines.push((what.join(" "), number.parse().unwrap()));
            None
        });
        println!("{lines:?}");
        Self(lines)
    }

    fn all<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = u64> + 'a {
        let fitting = self.0.iter().filter(move |(what, _)| what.starts_with(beginning));
        fitting.map(|(_, number)| *number)
    }

    fn sum(&self, beginning: &str) -> u64 {
        self.all(beginning).sum()
    }

    /// What was answered with `status` while the store did not decide.
    fn degraded(&self, path: &str, status: u16) -> u64 {
        self.sum(&format!("{path} {status} ")) - self.decided(path, status)
    }

    /// What was answered with `status` otherwise.
    fn decided(&self, path: &str, status: u16) -> u64 {
        self.sum(&format!("{path} {status} -"))
    }

    fn longest(&self, path: &str) -> Duration {
        let longest = self.all(&format!("{path} longest ms")).max().unwrap();
        Duration::from_millis(longest)
    }
}

/// What the store has decided, and nobody else.
fn decided(reply: Reply) -> Option<Reply> {
    reply.field("x-tidegate-failure").is_none().then_some(reply)
}

#[test]
fn two_gateways_and_a_cluster_hold_one_limit_while_a_master_is_killed_under_load() {
    let mut walk = Walk::new();
    walk.play("mkdir ");
    let mut nodes = NODES.map(|_| walk.serve());
    walk.play("redis-cli --cluster create ");
    walk.play("redis-cli -p 7001 wait ");
    let gateways = GATEWAYS.map(|port| walk.gateway(port));
    // What is asked here counts as well.
    let mut asked = [("/login", 0), ("/api", 0)];
    let mut ask = |gateway: &Gateway, path: usize| {
        let reply = decided(curl(&[&gateway.url(asked[path].0)]))?;
        asked[path].1 += u64::from(reply.status == 200);
        Some(reply)
    };

    let load = walk.load();
    until("half of the limit is spent", || {
        let reply = ask(&gateways[0], 1)?;
        (reply.number("x-ratelimit-remaining") < QUOTA / 2).then_some(())
    });
    walk.play("redis-cli -p 7001 --scan ");
    walk.play("kill -9 ");
    let _ = nodes[0].ended();
    let outage = Watch::start();
    until("the Cluster has another master", || {
        walk.has_another_master().then_some(())
    });
    let failover = outage.elapsed();
    for gateway in &gateways {
        for path in [0, 1] {
            until("the store decides again", || ask(gateway, path).map(drop));
        }
    }
    let recovery = outage.elapsed() - failover;
    until("the whole limit is spent", || {
        (ask(&gateways[1], 1)?.status == 429).then_some(())
    });
    let counted = Counted::at_the_end_of(load);
    println!("failover {failover:?}, recovery {recovery:?}, {asked:?}");
    assert!(recovery < RECOVERY, "{recovery:?} after {failover:?}");

    // Who would rather refuse lets nobody pass uncounted.
    let [login, api] = asked.map(|(path, here)| counted.decided(path, 200) + here);
    assert!(login > QUOTA / 8 && login <= QUOTA, "{login}");
    assert_eq!(counted.degraded("/login", 200), 0);
    assert!(counted.degraded("/login", 503) > 0);
    // Who goes on by itself says so. What the store decides is one limit before and after.
    assert!(api > QUOTA / 2 && api <= QUOTA + UNDER_WAY, "{api}");
    assert_eq!(counted.sum("/api 5"), 0);
    let alone = counted.degraded("/api", 200);
    assert!(alone > 0 && alone <= QUOTA, "{alone}");
    // Everybody is answered, and soon.
    for path in ["/login", "/api", "/free"] {
        assert_eq!(counted.sum(&format!("{path} not answered")), 0);
    }
    let longest = 3 * counted.longest("/free") + TIMEOUT + A_LITTLE;
    for path in ["/login", "/api"] {
        assert!(counted.longest(path) < longest, "{path}");
    }

    nodes[0] = walk.serve();
    walk.settle("redis-cli -p 7001 role ");
    assert!(walk.commands.next().is_none(), "all of the page was played");
}
