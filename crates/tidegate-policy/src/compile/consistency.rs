//! Where a policy counts, and what it does when the shared store cannot be asked.

use tidegate_core::Limit;

use crate::document::limit::{LimitText, cannot_be_held};
use crate::document::node::{Place, Spanned};
use crate::document::policy::PolicyText;
use crate::document::report::{Report, quoted};
use crate::document::store::StoreText;
use crate::policy::{Consistency, OnStoreFailure, Share};

/// How a policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counting {
    pub(super) consistency: Consistency,
    pub(super) on_store_failure: OnStoreFailure,
    pub(super) local_share: Share,
}

/// The most units that a shared store counts, and the longest time, in microseconds: sums of moments and of such times are whole
/// numbers that a double holds exactly.
const MOST_UNITS: u64 = (1 << 51) - 1;
const LONGEST_US: u128 = 1 << 50;

pub(super) fn counting(text: &PolicyText, store: Option<&StoreText>, report: &mut Report<'_>) -> Counting {
    let is_shared = store.is_some_and(StoreText::is_shared);
    let consistency = consistency(text.consistency.as_ref(), is_shared, report);
    let on_store_failure = text.on_store_failure.as_ref();
    let counting = Counting {
        consistency,
        on_store_failure: on_store_failure.map_or(OnStoreFailure::default(), |said| said.value),
        local_share: text
            .local_share
            .as_ref()
            .and_then(|text| share(text, report))
            .unwrap_or_default(),
    };
    judge(text, counting, is_shared, report);
    counting
}

/// Where a policy counts that does not say.
pub(super) fn usual(store: Option<&StoreText>) -> Consistency {
    consistency_of(store.is_some_and(StoreText::is_shared))
}

fn consistency_of(is_shared: bool) -> Consistency {
    if is_shared {
        Consistency::Strict
    } else {
        Consistency::Local
    }
}

pub(super) fn consistency(
    text: Option<&Spanned<Consistency>>,
    is_shared: bool,
    report: &mut Report<'_>,
) -> Consistency {
    match text {
        None => consistency_of(is_shared),
        Some(text) if text.value == Consistency::Strict && !is_shared => {
            let message = "there is no store in which instances could count together";
            let cure = "add `store: redis://127.0.0.1:6379`, or write `local`";
            report.error(text.at, message, cure);
            Consistency::Local
        }
        Some(text) => text.value,
    }
}

/// What is written and has no effect.
fn judge(text: &PolicyText, counting: Counting, is_shared: bool, report: &mut Report<'_>) {
    if let (Some(said), Consistency::Local, true) = (&text.on_store_failure, counting.consistency, is_shared)
    {
        let message = "`on_store_failure` says nothing here: this policy does not ask the shared store";
        report.warning(said.at, message, "remove it, or write `consistency: strict`");
    }
    let uses_share =
        counting.consistency == Consistency::Strict && counting.on_store_failure == OnStoreFailure::Local;
    if let (Some(said), false) = (&text.local_share, uses_share) {
        let message = "`local_share` says nothing here: it is for policies that are `strict` with `on_store_failure: local`";
        report.warning(said.at, message, "remove it");
    }
}

/// `50%`, `0.5` or `1`.
fn share(text: &Spanned<String>, report: &mut Report<'_>) -> Option<Share> {
    let share = text.value.strip_suffix('%').map_or_else(
        || millionths(&text.value, 1_000_000),
        |percent| millionths(percent, 10_000),
    );
    let share = share.and_then(Share::of_millionths);
    if share.is_none() {
        let message = format!("{} is not a part of a limit", quoted(&text.value));
        let cure = "write a percentage or a fraction, above 0 and at most the whole: `25%` or `0.25`";
        report.error(text.at, message, cure);
    }
    share
}

/// A decimal number of `unit` millionths each; digits beyond the millionths are dropped.
fn millionths(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number =
        |digits: &str| (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let scale = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    Some(whole + fraction.parse::<u64>().ok()? * unit / scale)
}

impl Counting {
    /// What this process allows by itself while the shared store cannot be asked about `limit`.
    pub(super) fn local(self, limit: &Limit, text: &LimitText, report: &mut Report<'_>) -> Option<Limit> {
        if self.local_share == Share::default() || self.consistency == Consistency::Local {
            return None;
        }
        let share = limit.share(self.local_share.millionths());
        share.map_err(|error| cannot_be_held(text.at, error, report)).ok()
    }

    /// The limit as it holds where a store may have forgotten spendings: a policy that would rather refuse than not count takes it to be
    /// used up.
    pub(super) fn after_loss(self, limit: Limit) -> Limit {
        match (self.consistency, self.on_store_failure) {
            (Consistency::Strict, OnStoreFailure::Deny) => limit.cautious(),
            _ => limit,
        }
    }

    /// What a shared store cannot count exactly is refused.
    pub(super) fn check(self, limit: &Limit, text: &LimitText, report: &mut Report<'_>) {
        if self.consistency == Consistency::Local {
            return;
        }
        if let Some((field, message, cure)) = uncountable(limit) {
            let at: Place = text.place(field).unwrap_or(text.at);
            let cure = format!("{cure}, or write `consistency: local`");
            report.error(at, message, cure);
        }
    }
}

/// The field at fault, what is wrong, and the cure.
fn uncountable(limit: &Limit) -> Option<(&'static str, &'static str, &'static str)> {
    let quota_field = if limit.ttl().is_some() { "slots" } else { "quota" };
    for (field, span) in [
        ("window", limit.window()),
        ("ttl", limit.ttl()),
        ("max_delay", limit.max_delay()),
    ] {
        let Some(span) = span else { continue };
        if span.subsec_nanos() % 1000 != 0 {
            return Some((
                field,
                "a shared store counts in whole microseconds",
                "write `us` or more",
            ));
        }
        if span.as_micros() > LONGEST_US {
            return Some((field, "a shared store counts at most 35 years", "write less"));
        }
    }
    for (field, units) in [
        (quota_field, limit.quota()),
        ("burst", limit.burst().unwrap_or(0)),
    ] {
        if units > MOST_UNITS {
            return Some((
                field,
                "a shared store counts at most 2251799813685247 units",
                "write less",
            ));
        }
    }
    let (Some(burst), Some(window)) = (limit.burst(), limit.window()) else {
        return None;
    };
    let (quota, window_us) = (u128::from(limit.quota()), window.as_micros());
    if quota > window_us {
        let message = "a shared store counts at most one unit per microsecond in a bucket";
        return Some(("quota", message, "write at most 1000000 per second"));
    }
    let span = (u128::from(burst) * window_us).div_ceil(quota);
    let wait = limit.max_delay().unwrap_or_default().as_micros();
    if span + wait > LONGEST_US {
        let message = "refilling the whole burst takes more than the 35 years that a shared store counts";
        return Some(("burst", message, "lower the burst or the window"));
    }
    None
}

#[cfg(test)]
mod tests;
