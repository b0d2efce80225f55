//! What is spoken on a listener, and who may.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::SecretPlace;
use crate::address::{canonical, covers};
use crate::policy::{Consistency, OnStoreFailure};

/// What is spoken on a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Door {
    /// HTTP of clients, which is forwarded.
    #[default]
    Gateway,
    /// gRPC of Envoy: its rate limit service, and its external authorization.
    Envoy,
    /// HTTP of proxies that ask before they forward, and the JSON interface.
    Check,
    /// HAProxy's Stream Processing Offload Protocol.
    Spoe,
    /// The protocol of Redis, with `CL.THROTTLE`.
    Redis,
}

impl Door {
    /// The doors beside the gateway, by their names in policy files.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("envoy", Self::Envoy),
        ("check", Self::Check),
        ("spoe", Self::Spoe),
        ("redis", Self::Redis),
    ];

    /// The name in policy files, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Envoy => "envoy",
            Self::Check => "check",
            Self::Spoe => "spoe",
            Self::Redis => "redis",
        }
    }

    /// The scheme of its addresses for people, without and with TLS.
    pub const fn scheme(self, has_tls: bool) -> &'static str {
        match (self, has_tls) {
            (Self::Gateway | Self::Check, false) => "http",
            (Self::Gateway | Self::Check, true) => "https",
            (Self::Envoy, false) => "grpc",
            (Self::Envoy, true) => "grpcs",
            (Self::Spoe, _) => "spop",
            (Self::Redis, false) => "redis",
            (Self::Redis, true) => "rediss",
        }
    }
}

/// How a door that speaks the protocol of Redis counts, and whom it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisDoor {
    /// Where it counts. Default: strict if instances share a store, else local.
    pub consistency: Consistency,
    /// What happens when the shared store cannot decide. Default: local.
    pub on_store_failure: OnStoreFailure,
    /// Where the password is that clients say first. Default: they say none.
    pub password: Option<SecretPlace>,
    /// The SHA-256 of that password, once it was read.
    pub password_digest: Option<[u8; 32]>,
}

/// Who may connect to a door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Whoever can.
    Anybody,
    /// Who is in one of these networks.
    Among(Vec<IpNet>),
}

impl Callers {
    /// This machine alone.
    pub fn loopback() -> Self {
        let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
        let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
        Self::Among(vec![v4.into(), v6.into()])
    }

    /// Whether `peer` is one of them.
    pub fn admit(&self, peer: IpAddr) -> bool {
        match self {
            Self::Anybody => true,
            Self::Among(networks) => covers(networks, canonical(peer)),
        }
    }
}
