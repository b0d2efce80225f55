//! The limiters, each asked the way its documentation shows.

use super::workload::{Name, Quota};

mod governor;
mod limitador;
mod null;
mod throttlecrab;
mod tidegate;
mod yardstick;

pub(crate) use governor::{GovernorNumber, GovernorText};
pub(crate) use limitador::Limitador;
pub(crate) use null::Null;
pub(crate) use throttlecrab::Throttlecrab;
pub(crate) use tidegate::Tidegate;
pub(crate) use yardstick::Yardstick;

/// Something that decides per key. It reads its own clock.
pub(crate) trait Limiter: Send + Sync {
    /// Spends one unit of `name`; whether there was one.
    fn allows(&self, name: &Name) -> bool;

    /// Whether it still knows that `name` spent something, if it can tell without spending.
    fn remembers(&self, _name: &Name) -> Option<bool> {
        None
    }
}

/// Which limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// tidegate-core's table
    Tidegate,
    /// governor 0.10, keyed by u64
    GovernorU64,
    /// governor 0.10, keyed by String
    GovernorString,
    /// throttlecrab 0.4, periodic store, behind a mutex
    Throttlecrab,
    /// limitador 0.14, in memory
    Limitador,
    /// A plain open-addressed table
    Yardstick,
    /// The loop and the key's formatting alone
    Null,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Tidegate,
        Self::GovernorU64,
        Self::GovernorString,
        Self::Throttlecrab,
        Self::Limitador,
        Self::Yardstick,
        Self::Null,
    ];

    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::GovernorU64 => "governor u64",
            Self::GovernorString => "governor String",
            Self::Throttlecrab => "throttlecrab",
            Self::Limitador => "limitador",
            Self::Yardstick => "plain table",
            Self::Null => "harness",
        }
    }

    /// Whether it is a product that Tidegate is compared with.
    pub(crate) const fn is_peer(self) -> bool {
        !matches!(self, Self::Tidegate | Self::Yardstick | Self::Null)
    }
}
