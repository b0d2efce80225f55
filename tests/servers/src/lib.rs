//! Real Redis and Valkey servers for tests, alone, as a Cluster and under Sentinels; and what starts and ends other programs
//! with a test.
//!
//! ```no_run
//! # use tidegate_test_servers::{Kind, Options, Server};
//! let server = Server::redis();
//! assert!(server.url().starts_with("redis://127.0.0.1:"));
//! let old = Server::start(Kind::Redis62, Options::default());
//! ```
//!
//! Each server has a folder and ports of its own, and ends with the test. `cargo xtask tools` installs the programs; see
//! [`Kind`] for where they are looked for.

mod certificates;
mod cluster;
mod control;
mod folder;
mod kind;
mod network;
mod port;
mod process;
mod relay;
mod sentinel;
mod server;
mod spawn;
mod wait;

pub use certificates::Certificates;
pub use cluster::Cluster;
pub use kind::Kind;
pub use network::Wire;
pub use port::Port;
pub use process::Process;
pub use relay::Relay;
pub use sentinel::Sentinel;
pub use server::{Keep, Options, Server, Tls};
pub use wait::{PATIENCE, Watch, until};
