//! One policy, as the other parts see it.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Cost, Limit, Mode};

use crate::Tier;
use crate::answer::Told;

/// What a policy is called and how it treats requests. How it finds them is the set's own business.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The name in headers, logs, metrics and problem bodies: letters, digits, `_`, `-` and `.`, at most 64.
    pub name: Arc<str>,
    /// Whether a refusal refuses the request. Default: enforce.
    pub mode: Mode,
    /// What every request under it costs. Default: 1.
    pub cost: Cost,
    /// What happens when the store cannot decide. Default: local.
    pub on_store_failure: OnStoreFailure,
    /// The limits of clients without a tier, or with one not named in `tiers`. At least one.
    pub limits: Vec<PolicyLimit>,
    /// The limits of clients with a tier, by its name.
    pub tiers: Vec<(Tier, Vec<PolicyLimit>)>,
}

/// One limit of a policy.
#[derive(Clone, Debug)]
pub struct PolicyLimit {
    /// What `RateLimit-Policy` calls it: the policy's name, followed by `/` and its number (from 1) if there are several.
    pub label: Arc<str>,
    /// The limit, as stores take it.
    pub limit: Limit,
    /// The numbers it was made from.
    pub terms: Terms,
    /// What clients are told of it.
    pub(crate) told: Told,
}

impl PolicyLimit {
    /// The limit called `label`. `limit` was made from the numbers in `terms`.
    pub fn new(label: &str, limit: Limit, terms: Terms) -> Self {
        Self {
            told: Told::new(label, &limit, &terms),
            label: label.into(),
            limit,
            terms,
        }
    }
}

/// The numbers a limit was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terms {
    /// So many units per window. `burst` is what may be spent at once: the quota, unless the algorithm is a bucket.
    Rate {
        /// Units per window.
        quota: u64,
        /// The window.
        window: Window,
        /// Units that may be spent at once.
        burst: u64,
        /// How long a request may be held back; zero unless the algorithm is a leaky bucket.
        max_delay: Duration,
    },
    /// So many requests at one time.
    Slots {
        /// Requests at one time.
        slots: u64,
        /// When a slot that nobody gave back becomes free.
        ttl: Duration,
    },
}

/// The window of a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Window {
    /// So long.
    Span(Duration),
    /// From the beginning of a day, week or month to its end, as the clocks of a time zone say.
    Calendar {
        /// Day, week or month.
        unit: CalendarUnit,
        /// The IANA name of the time zone.
        time_zone: String,
    },
}

/// What a calendar window spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalendarUnit {
    /// From midnight to midnight.
    Day,
    /// From Monday's midnight to the next one.
    Week,
    /// From the first of a month to the first of the next.
    Month,
}

/// What happens to a request when the store cannot decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreFailure {
    /// It passes.
    Allow,
    /// It is refused with 503.
    Deny,
    /// This process decides alone.
    #[default]
    Local,
}
