//! What is said of each descriptor.

use std::cmp::Reverse;
use std::time::Duration;

use bytes::Bytes;
use smallvec::SmallVec;
use tidegate_core::{CalendarUnit, Decision, Limit, Mode, Outcome};
use tidegate_policy::Source;

use crate::doors::envoy::wire::rate_limit::{Code, DescriptorStatus, RateLimit, Unit};
use crate::pipeline::CallDecided;

/// One status for each of `count` descriptors, in their order: what the limit said that holds it back most, of its own ones and those for
/// the whole call. Limits in shadow mode are not told of.
pub(super) fn each(decided: &CallDecided<'_>, count: usize) -> Vec<DescriptorStatus> {
    let planned = &decided.planned;
    let mut own: SmallVec<[Option<Said<'_, '_>>; 4]> = SmallVec::from_elem(None, count);
    let mut whole = None;
    let charges = planned
        .plan
        .charges
        .iter()
        .zip(&planned.plan.sources)
        .zip(&planned.places);
    for (((charge, source), place), decision) in charges.zip(decided.answer.decisions()) {
        let (Mode::Enforce, Some(decision)) = (charge.mode, decision) else {
            continue;
        };
        let said = Said { source, decision };
        match place {
            None => said.if_tighter(&mut whole),
            Some(place) => {
                if let Some(own) = own.get_mut(*place as usize) {
                    said.if_tighter(own);
                }
            }
        }
    }
    let is_unlimited = |place| {
        planned
            .unlimited
            .iter()
            .any(|unlimited| *unlimited as usize == place)
    };
    let statuses = own.into_iter().enumerate().map(|(place, mut own)| {
        if let Some(whole) = whole {
            whole.if_tighter(&mut own);
        }
        match own {
            Some(said) => said.status(),
            None if is_unlimited(place) => DescriptorStatus {
                limit_remaining: u32::MAX,
                ..passed()
            },
            None => passed(),
        }
    });
    statuses.collect()
}

/// What one limit said.
#[derive(Clone, Copy)]
struct Said<'d, 'set> {
    source: &'d Source<'set>,
    decision: Decision,
}

impl Said<'_, '_> {
    /// Takes the place of `other` if it holds the client back more.
    fn if_tighter(self, other: &mut Option<Self>) {
        if other.is_none_or(|other| self.tightness() > other.tightness()) {
            *other = Some(self);
        }
    }

    fn tightness(&self) -> (u8, Duration, Reverse<u64>) {
        let (rank, wait) = match self.decision.outcome {
            Outcome::Allow { .. } => (0, Duration::ZERO),
            Outcome::Deny { retry_after } => (1, retry_after),
            Outcome::Never => (2, Duration::ZERO),
        };
        (rank, wait, Reverse(self.decision.remaining))
    }

    fn status(&self) -> DescriptorStatus {
        let limit = &self.source.limit.limit;
        let code = if self.decision.outcome.passes() {
            Code::Ok
        } else {
            Code::OverLimit
        };
        DescriptorStatus {
            code: code.into(),
            current_limit: Some(RateLimit {
                requests_per_unit: saturating(limit.quota()),
                unit: unit(limit).into(),
                name: Bytes::copy_from_slice(self.source.limit.label.as_bytes()),
            }),
            limit_remaining: saturating(self.decision.remaining),
            duration_until_reset: Some(self.decision.reset_after.into()),
        }
    }
}

/// The status of a descriptor that nothing limits.
fn passed() -> DescriptorStatus {
    DescriptorStatus {
        code: Code::Ok.into(),
        ..DescriptorStatus::default()
    }
}

/// The unit whose length the limit's window has; unknown if there is none.
fn unit(limit: &Limit) -> Unit {
    if let Some((unit, _)) = limit.calendar() {
        return match unit {
            CalendarUnit::Day => Unit::Day,
            CalendarUnit::Week => Unit::Week,
            CalendarUnit::Month => Unit::Month,
        };
    }
    let window = limit.window().filter(|window| window.subsec_nanos() == 0);
    match window.map(|window| window.as_secs()) {
        Some(1) => Unit::Second,
        Some(60) => Unit::Minute,
        Some(3600) => Unit::Hour,
        Some(86_400) => Unit::Day,
        Some(604_800) => Unit::Week,
        Some(2_592_000) => Unit::Month,
        Some(31_536_000) => Unit::Year,
        _ => Unit::Unknown,
    }
}

fn saturating(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use tidegate_core::Rate;

    use super::*;

    fn unit_of(window: Duration) -> Unit {
        unit(&Limit::fixed_window(Rate::new(1, window).unwrap()))
    }

    #[test]
    fn a_limit_has_the_unit_whose_length_its_window_has() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        for (window, unit) in [
            (Duration::from_secs(1), Unit::Second),
            (Duration::from_secs(60), Unit::Minute),
            (Duration::from_secs(3600), Unit::Hour),
            (days(1), Unit::Day),
            (days(7), Unit::Week),
            (days(30), Unit::Month),
            (days(365), Unit::Year),
            (Duration::from_secs(10), Unit::Unknown),
            (Duration::from_millis(1), Unit::Unknown),
            (Duration::from_millis(60_001), Unit::Unknown),
        ] {
            assert_eq!(unit_of(window), unit, "{window:?}");
        }
        let slots = Limit::concurrency(3, Duration::from_secs(60)).unwrap();
        assert_eq!(unit(&slots), Unit::Unknown);
    }

    #[test]
    fn a_number_that_does_not_fit_is_told_as_the_largest() {
        let most = u64::from(u32::MAX);
        assert_eq!(
            [0, most, most + 1, u64::MAX].map(saturating),
            [0, u32::MAX, u32::MAX, u32::MAX]
        );
    }
}
