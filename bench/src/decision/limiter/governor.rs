//! governor's keyed limiter on its default store (DashMap) and clock (quanta).

use std::num::NonZeroU32;
use std::time::Duration;

use ::governor::clock::DefaultClock;
use ::governor::state::keyed::DashMapStateStore;
use ::governor::{Quota as GovernorQuota, RateLimiter};
use anyhow::Context as _;

use super::{Limiter, Name, Quota};

type Keyed<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock>;

/// Keyed by the sixteen characters.
pub(crate) struct GovernorText(Keyed<String>);

/// Keyed by the number they stand for.
pub(crate) struct GovernorNumber(Keyed<u64>);

impl GovernorText {
    pub(crate) fn new(quota: Quota) -> anyhow::Result<Self> {
        Ok(Self(RateLimiter::dashmap(translated(quota)?)))
    }
}

impl GovernorNumber {
    pub(crate) fn new(quota: Quota) -> anyhow::Result<Self> {
        Ok(Self(RateLimiter::dashmap(translated(quota)?)))
    }
}

fn translated(quota: Quota) -> anyhow::Result<GovernorQuota> {
    let burst = NonZeroU32::new(quota.burst).context("a burst of 0")?;
    let spaced = GovernorQuota::with_period(Duration::from_secs(quota.interval_secs));
    Ok(spaced.context("an interval of 0")?.allow_burst(burst))
}

impl Limiter for GovernorText {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        self.0.check_key(&name.text).is_ok()
    }
}

impl Limiter for GovernorNumber {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        self.0.check_key(&name.number).is_ok()
    }
}
