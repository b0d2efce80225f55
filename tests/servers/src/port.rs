//! Ports that stay ours.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::os::unix::net::UnixListener;

/// Below the ports that systems give to outgoing connections: else a client that tries to reach a dead server could take its port,
/// or reach itself.
const PORTS: Range<u16> = 10_000..22_000;
/// A node of a Cluster talks to the others on its port plus this.
const BUS: u16 = 10_000;

/// A port of 127.0.0.1, and the port of the cluster bus that goes with it, for one server and those that follow it in its place. No other
/// test has it, in no other process, while the server is down either.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _claims: [UnixListener; 2],
}

impl Port {
    /// One that nobody listens on.
    pub fn claim() -> Self {
        let count = usize::from(PORTS.end - PORTS.start);
        let start = usize::try_from(RandomState::new().hash_one(0) % 10_000).unwrap();
        let mut candidates = PORTS.cycle().skip(start).take(count);
        candidates.find_map(Self::try_claim).expect("a free port")
    }

    fn try_claim(number: u16) -> Option<Self> {
        let claims = [claim(number)?, claim(number + BUS)?];
        let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        (is_free(number) && is_free(number + BUS)).then_some(Self {
            number,
            _claims: claims,
        })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

/// A name that one process at a time can have, and that is free again when it ends: a socket without a file.
#[cfg(target_os = "linux")]
fn claim(port: u16) -> Option<UnixListener> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::SocketAddr;

    let name = SocketAddr::from_abstract_name(format!("tidegate-test-port-{port}")).unwrap();
    UnixListener::bind_addr(&name).ok()
}

/// Elsewhere a file does it, which stays.
#[cfg(not(target_os = "linux"))]
fn claim(port: u16) -> Option<UnixListener> {
    let name = format!("tidegate-test-port-{}-{port}", std::process::id());
    UnixListener::bind(std::env::temp_dir().join(name)).ok()
}
