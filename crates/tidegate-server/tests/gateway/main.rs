//! The gateway as its clients and its origin see it: bytes on real sockets.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test support"
)]

mod bed;
mod bodies;
mod bounds;
mod certs;
mod endings;
mod envoy;
mod forwarding;
mod framing;
mod hostile;
mod http2;
mod limits;
mod overload;
mod proxy_protocol;
mod records;
mod reload;
mod stopping;
mod streaming;
mod timeouts;
mod tls;
mod upgrade;
mod upstream_tls;
mod upstreams;
mod waiting;
