//! One limit that two instances hold, asked by 64 at one time, while the store dies, stands still, forgets, fails over or cannot be
//! reached.
//!
//! Each test says what it measured as a line of the table in `docs/store-failures.md`, and holds it to its bound:
//! `cargo test -p tidegate-store --test redis_load -- --nocapture`.
#![allow(clippy::expect_used, reason = "a failed check is a failed test")]

#[path = "../common/asking.rs"]
mod asking;
mod crowd;
mod failovers;
mod faults;
mod networks;
mod pulse;
mod report;
mod undisturbed;

use core::time::Duration;

use tidegate_store::redis::{Address, Servers, Settings};
use tidegate_test_servers::{Server, Watch, until};

use asking::{address, addresses, patient};
use crowd::Crowd;
use report::Bound;

/// How long servers stand still and networks are down.
const STALL: Duration = Duration::from_secs(2);

/// One server, and the timeout that holds where nothing is said.
fn single(server: &Server) -> Settings {
    Settings::new(Servers::Single(address(server)))
}

/// Until the fault has lasted as long as it should.
fn endure() {
    endure_for(STALL);
}

fn endure_for(time: Duration) {
    let watch = Watch::start();
    until("the fault is over", || (watch.elapsed() >= time).then_some(()));
}
