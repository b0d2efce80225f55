//! limitador's in-memory limiter, with the key as a descriptor's value.

use std::collections::HashMap;

use ::limitador::RateLimiter;
use ::limitador::limit::{Context, Expression, Limit, Namespace, Predicate};
use anyhow::Context as _;

use super::{Limiter, Name, Quota};

/// One limit on the value of `key`: a fixed window, the only algorithm it has.
pub(crate) struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Limitador {
    pub(crate) fn new(quota: Quota, keys: u32) -> anyhow::Result<Self> {
        let variable = Expression::parse("key").ok().context("limitador's expression")?;
        let conditions = Vec::<Predicate>::new();
        let limit = Limit::new("bench", u64::from(quota.burst), 3600, conditions, vec![variable]);
        // Its cache admits by frequency, so it needs room to keep all keys.
        let limiter = RateLimiter::new(2 * u64::from(keys) + 1000);
        limiter.add_limit(limit);
        Ok(Self {
            limiter,
            namespace: "bench".into(),
        })
    }
}

impl Limiter for Limitador {
    fn allows(&self, name: &Name) -> bool {
        let values = HashMap::from([("key".to_owned(), name.text.clone())]);
        let context = Context::from(values);
        let answer = self
            .limiter
            .check_rate_limited_and_update(&self.namespace, &context, 1);
        answer.is_ok_and(|answer| !answer.limited)
    }
}
