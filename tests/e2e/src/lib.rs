//! Tidegate's binary, real clients (curl, wrk, h2load, a WebSocket client, a browser), a
//! real balancer (HAProxy) and a real origin (nginx).
//!
//! A crate of its own, so that `cargo test -p tidegate` needs none of these programs and stays fast; a member of the
//! workspace, so that `cargo test --workspace` leaves nothing out. `cargo xtask tools` installs the programs. A missing one
//! fails the test that needs it.

mod authority;
mod beside;
mod browser;
mod curl;
mod echo;
mod example;
pub mod frames;
mod gateway;
mod haproxy;
mod hostile;
mod http2;
mod issuer;
mod load;
mod nginx;
mod ordinary;
mod page;
mod raw;
mod secure;
mod siege;
pub mod spop;

pub use authority::{Authority, Certificate};
pub use beside::{Beside, ENVOY_ARGUMENTS, Proxy};
pub use browser::Browser;
pub use curl::{Reply, curl, try_curl};
pub use echo::{EchoOrigin, chat};
pub use example::Example;
pub use gateway::{Gateway, Ports};
pub use haproxy::Haproxy;
pub use hostile::{Reads, Then};
pub use http2::Http2;
pub use issuer::TokenIssuer;
pub use load::{Counts, h2load, wrk};
pub use nginx::Nginx;
pub use ordinary::{Ordinary, get};
pub use page::{Shown, blocks, search_path, shown};
pub use raw::Raw;
pub use secure::Secure;
pub use siege::{Attack, Siege, Told, allow_many_files};
pub use tidegate_test_servers::{PATIENCE, Port, Process, Watch, until};
