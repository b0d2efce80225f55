//! Settings for those who run it: where they look, and what is written down.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

/// Where the admin listener is: metrics, health and status, in plain HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admin {
    /// At this address if it is free; nobody asked for it. The default, at [`Admin::DEFAULT`].
    IfFree(SocketAddr),
    /// At this address.
    At(SocketAddr),
    /// Nowhere.
    Off,
}

impl Admin {
    /// Only this machine reaches it.
    pub const DEFAULT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9900));
}

impl Default for Admin {
    fn default() -> Self {
        Self::IfFree(Self::DEFAULT)
    }
}

/// What is written down about requests, one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Where to.
    pub to: LogTarget,
    /// About which requests.
    pub only: Logged,
    /// About how many of those, in percent, at random. Default: 100.
    pub sample_percent: u8,
}

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A file; lines are added to its end.
    File(PathBuf),
}

impl fmt::Display for LogTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::Stderr => f.write_str("stderr"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Which requests have a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logged {
    /// All.
    #[default]
    All,
    /// Those that were answered here instead of by the origin.
    Rejected,
}

/// Whether each request gets an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestIds {
    /// It does, unless it came with a usable one; both sides are told.
    #[default]
    On,
    /// `X-Request-Id` is a field like any other.
    Off,
}
