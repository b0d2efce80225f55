//! The scripts on real servers, at times that the tests say.

mod against_core;
mod epoch;
mod lifetime;
mod server;

use server::Server;

/// The beginning of a minute, an hour and a day, in microseconds.
const START: u64 = 1_700_006_400_000_000;
