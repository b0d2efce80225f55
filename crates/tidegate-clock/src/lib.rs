//! What time it is: the machine's [`Clock`], which never runs back, and a [`ManualClock`] for tests and replays.

mod clock;

pub use clock::{ANCHOR_EVERY, Clock, ManualClock};
