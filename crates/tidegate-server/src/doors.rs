//! The doors beside the gateway: proxies ask here before they forward.
//!
//! Each turns what its protocol says into what the pipeline takes, and what was decided into what the protocol can say. Connections
//! come from the gateway's workers, which know of TLS, bounds and the end of the process.

pub(crate) mod check;
pub(crate) mod envoy;
pub(crate) mod redis;
mod sent;
pub(crate) mod spoe;
mod taken_off;

pub(crate) use sent::Sent;

/// What doors answer to whoever does not ask rightly, by the words of their `error`.
pub(crate) const FAULTS: [&str; 11] = [
    "unknown_check",
    "client_not_named",
    "method_not_named",
    "target_not_named",
    "described_twice",
    "no_grpc",
    "bad_call",
    "call_too_large",
    "unknown_call",
    "call_timeout",
    "bad_question",
];
