//! What is asked of whom.

use std::time::Duration;

use super::Told;
use super::grpc::{self, Service};
use super::stream::{self, Words};

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tidegate, counting in memory.
    Memory,
    /// Tidegate, counting in a Redis on its own core.
    Redis,
    Throttlecrab,
    /// The module, in Redis.
    Cell,
}

impl Kind {
    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "tidegate",
            Self::Redis => "tidegate, in Redis",
            Self::Throttlecrab => "throttlecrab-server",
            Self::Cell => "redis-cell",
        }
    }
}

/// One kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Case {
    /// gRPC, one descriptor, 64 at a time over 4 connections
    Grpc,
    /// gRPC, ten descriptors in each call
    GrpcTen,
    /// gRPC, one at a time
    GrpcLone,
    /// HTTP, 64 connections
    Http,
    /// RESP, 50 connections
    Resp,
    /// RESP, 50 connections of 64 commands each
    RespPipelined,
}

impl Case {
    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Grpc => "gRPC, 4 connections of 16 calls",
            Self::GrpcTen => "gRPC, ten descriptors, 4 connections of 16 calls",
            Self::GrpcLone => "gRPC, one call at a time",
            Self::Http => "HTTP, 64 connections",
            Self::Resp => "RESP, 50 connections",
            Self::RespPipelined => "RESP, 50 connections of 64 commands",
        }
    }

    /// Who is asked, Tidegate first.
    pub(crate) fn kinds(self) -> Vec<Kind> {
        match self {
            Self::Grpc => vec![Kind::Memory, Kind::Redis, Kind::Throttlecrab],
            Self::GrpcTen => vec![Kind::Memory, Kind::Redis],
            Self::GrpcLone | Self::Http => vec![Kind::Memory, Kind::Throttlecrab],
            Self::Resp | Self::RespPipelined => vec![Kind::Memory, Kind::Throttlecrab, Kind::Cell],
        }
    }

    /// What is asked of `kind`.
    pub(crate) const fn asked(self, kind: Kind) -> Asked {
        Asked { case: self, kind }
    }
}

/// A question to somebody.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) case: Case,
    pub(crate) kind: Kind,
}

impl Asked {
    /// Asks whoever listens on `port`, again and again.
    pub(crate) async fn ask(self, port: u16, keys: u64, lasts: Duration) -> anyhow::Result<Told> {
        let ours = !matches!(self.kind, Kind::Throttlecrab);
        let service = |descriptors| {
            if ours {
                Service::RateLimit { descriptors }
            } else {
                Service::Throttle
            }
        };
        let words = if ours { Words::Check } else { Words::Throttle };
        let command = if ours { "CL.THROTTLE" } else { "THROTTLE" };
        match self.case {
            Case::Grpc => grpc::ask(service(1), port, (4, 16), keys, lasts).await,
            Case::GrpcTen => grpc::ask(service(10), port, (4, 16), keys, lasts).await,
            Case::GrpcLone => grpc::ask(service(1), port, (1, 1), keys, lasts).await,
            Case::Http => stream::ask(words, port, (64, 1), keys, lasts).await,
            Case::Resp => stream::ask(Words::Resp { command }, port, (50, 1), keys, lasts).await,
            Case::RespPipelined => stream::ask(Words::Resp { command }, port, (50, 64), keys, lasts).await,
        }
    }
}

/// Numbers without end, each below `keys`.
pub(crate) struct Draw {
    state: u64,
    keys: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64, keys: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            keys,
        }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % self.keys
    }
}
