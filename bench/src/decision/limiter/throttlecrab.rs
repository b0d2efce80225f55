//! throttlecrab on its periodic store. Its methods take `&mut self`, so threads share it through a mutex.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ::throttlecrab::{PeriodicStore, RateLimiter};

use super::{Limiter, Name, Quota};

/// The limiter and the numbers that each call brings along.
pub(crate) struct Throttlecrab {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    burst: i64,
    period_secs: i64,
}

impl Throttlecrab {
    pub(crate) fn new(quota: Quota, keys: u32) -> anyhow::Result<Self> {
        let store = PeriodicStore::builder().capacity(keys as usize).build();
        Ok(Self {
            limiter: Mutex::new(RateLimiter::new(store)),
            burst: i64::from(quota.burst),
            period_secs: i64::try_from(quota.interval_secs)?,
        })
    }
}

impl Limiter for Throttlecrab {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = limiter.rate_limit(&name.text, self.burst, 1, self.period_secs, 1, SystemTime::now());
        answer.is_ok_and(|(allowed, _)| allowed)
    }
}
