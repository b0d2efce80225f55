//! A network of a server's own, which can be cut so that nothing is answered any more.
//!
//! A [`Relay`](crate::Relay) takes connections even while it is silent. Here packets are lost: whoever connects hears nothing, and
//! kernels send again what was not confirmed, later and later.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Process;
use crate::wait::until;

/// 198.18.0.0/15 is set aside for tests of networks (RFC 2544): no machine's own network is there.
const RANGE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// Addresses that a wire takes (a /30), of which two are its ends.
const STRIDE: u32 = 4;
/// Wires that the range has room for.
const WIRES: u32 = (1 << 17) / STRIDE;
/// How often a wire that another test has is given up for the next.
const WIRES_TRIED: usize = 1_000;

/// What is missing, if it fails.
const NEEDS: &str = "a network of its own takes Linux, root (CAP_SYS_ADMIN and CAP_NET_ADMIN) and iproute2, which `cargo xtask tools` installs";

/// A network namespace, and the wires that lead into it. It has no name: the kernel removes it, and the wires with it, when the last
/// process in it ends, however that comes.
#[derive(Debug)]
pub(crate) struct Network {
    wires: Vec<Wire>,
    /// Does nothing but be in it.
    holder: Process,
}

/// A wire between the tests' network and that of a server.
#[derive(Debug)]
pub struct Wire {
    link: String,
    near: End,
    far: End,
}

/// An end of a wire.
#[derive(Debug)]
struct End {
    place: Place,
    address: Ipv4Addr,
    /// Its Ethernet address.
    hardware: String,
}

/// Where commands are run.
#[derive(Clone, Debug)]
enum Place {
    Here,
    /// In the network namespace that this file stands for.
    Within(PathBuf),
}

impl Network {
    /// One with so many wires.
    pub(crate) fn with_wires(count: usize) -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "infinity"]);
        let mut network = Self {
            wires: Vec::new(),
            holder: Process::start(command),
        };
        network.comes_about();
        let place = network.place();
        network.wires = (0..count).map(|_| Wire::claim(&place)).collect();
        network
    }

    /// The wires that lead into it.
    pub(crate) fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// `program`, to be started within.
    pub(crate) fn command(&self, program: &Path) -> Command {
        self.place().command(program)
    }

    fn comes_about(&mut self) {
        let own = fs::read_link("/proc/self/ns/net").unwrap_or_else(|error| panic!("{error}: {NEEDS}"));
        let its = self.namespace();
        until("a network of its own", || {
            if self.holder.has_ended() {
                let said = self.holder.logged(|line| Some(line.to_owned()));
                panic!("{}: {NEEDS}", said.unwrap_or_default());
            }
            (fs::read_link(&its).ok()? != own).then_some(())
        });
    }

    fn place(&self) -> Place {
        Place::Within(self.namespace())
    }

    fn namespace(&self) -> PathBuf {
        format!("/proc/{}/ns/net", self.holder.pid()).into()
    }
}

impl Wire {
    /// Where the server is, over this wire.
    pub fn address(&self) -> Ipv4Addr {
        self.far.address
    }

    /// The name that the tests' network has for it.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Loses all that is sent over it, in both directions, and tells nobody.
    pub fn cut(&self) {
        self.queue(&self.near, "blackhole");
        self.cut_answers();
    }

    /// Loses all that the server sends: it hears, and is not heard.
    pub fn cut_answers(&self) {
        self.queue(&self.far, "blackhole");
    }

    /// Carries everything again.
    pub fn mend(&self) {
        for end in [&self.near, &self.far] {
            self.queue(end, "noqueue");
        }
    }

    /// One that no other test has, in no other process.
    fn claim(place: &Place) -> Self {
        let start = RandomState::new().hash_one(0) % u64::from(WIRES);
        let mut candidates = (0..WIRES)
            .cycle()
            .skip(usize::try_from(start).unwrap())
            .take(WIRES_TRIED);
        let free = candidates.find_map(|number| Self::try_claim(number, place));
        free.unwrap_or_else(|| panic!("no free wire among {WIRES_TRIED}"))
    }

    /// Only one link can have a name: with it goes the right to these addresses.
    fn try_claim(number: u32, place: &Place) -> Option<Self> {
        let wire = Self {
            link: format!("tide-wire{number}"),
            near: End::new(number, 1, Place::Here),
            far: End::new(number, 2, place.clone()),
        };
        match wire.connect() {
            Ok(()) => Some(wire),
            Err(said) if said.contains("File exists") => None,
            Err(said) => panic!("{said}: {NEEDS}"),
        }
    }

    fn connect(&self) -> Result<(), String> {
        let (link, near, far) = (&self.link, &self.near, &self.far);
        let Place::Within(namespace) = &far.place else {
            unreachable!("the far end is elsewhere");
        };
        near.place.try_run(&format!(
            "ip link add {link} address {} type veth peer name {link} address {} netns {}",
            near.hardware,
            far.hardware,
            namespace.display()
        ))?;
        for end in [near, far] {
            end.place
                .run(&format!("ip address add {}/30 dev {link}", end.address));
            end.place.run(&format!("ip link set {link} up"));
        }
        // Else a kernel whose question for the other end's hardware is lost says at once that there is no such host.
        for (end, other) in [(near, far), (far, near)] {
            end.place.run(&format!(
                "ip neighbour add {} lladdr {} dev {link} nud permanent",
                other.address, other.hardware
            ));
        }
        Ok(())
    }

    fn queue(&self, end: &End, kind: &str) {
        end.place
            .run(&format!("tc qdisc replace dev {} root {kind}", self.link));
    }
}

impl End {
    fn new(number: u32, end: u8, place: Place) -> Self {
        let [_, high, middle, low] = number.to_be_bytes();
        Self {
            place,
            address: (u32::from(RANGE) + number * STRIDE + u32::from(end)).into(),
            // Of those that anybody may give.
            hardware: format!("02:74:{end:02x}:{high:02x}:{middle:02x}:{low:02x}"),
        }
    }
}

impl Place {
    fn command(&self, program: &Path) -> Command {
        match self {
            Self::Here => Command::new(program),
            Self::Within(namespace) => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net={}", namespace.display())).arg(program);
                command
            }
        }
    }

    fn run(&self, line: &str) {
        self.try_run(line)
            .unwrap_or_else(|said| panic!("{said}: {NEEDS}"));
    }

    /// Runs a program with its arguments, or says what it said.
    fn try_run(&self, line: &str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let program = words.next().expect("a program");
        let output = self.command(Path::new(program)).args(words).output();
        let output = output.map_err(|error| format!("{line}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{line}: {}", said.trim()))
    }
}
