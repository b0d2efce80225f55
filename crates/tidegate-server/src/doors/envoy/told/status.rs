//! What is said of each descriptor.

use std::cmp::Reverse;
use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{CalendarUnit, Decision, Limit, Mode, Outcome};
use tidegate_policy::{PolicyLimit, Source};

use crate::doors::envoy::wire::Written;
use crate::doors::envoy::wire::rate_limit::{Code, Unit, current, duration, response, status};
use crate::pipeline::CallDecided;

/// Writes one status for each of `count` descriptors, in their order: what the limit said that holds it back most, of its own ones and those for
/// the whole call. Limits in shadow mode are not told of.
pub(super) fn write_each(decided: &CallDecided<'_>, count: usize, answer: &mut Written) {
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
    for (place, mut own) in own.into_iter().enumerate() {
        if let Some(whole) = whole {
            whole.if_tighter(&mut own);
        }
        answer.message(response::STATUSES, |told| match own {
            Some(said) => said.write(told),
            None => {
                told.number(status::CODE, Code::Ok as u64);
                if is_unlimited(place) {
                    told.number(status::LIMIT_REMAINING, u32::MAX.into());
                }
            }
        });
    }
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

    fn write(&self, told: &mut Written) {
        let PolicyLimit { limit, label, .. } = self.source.limit;
        let code = if self.decision.outcome.passes() {
            Code::Ok
        } else {
            Code::OverLimit
        };
        told.number(status::CODE, code as u64);
        told.message(status::CURRENT_LIMIT, |told| {
            told.number(current::REQUESTS_PER_UNIT, saturating(limit.quota()).into());
            told.number(current::UNIT, unit(limit) as u64);
            told.bytes(current::NAME, label.as_bytes());
        });
        let remaining = saturating(self.decision.remaining);
        told.number(status::LIMIT_REMAINING, remaining.into());
        let reset_after = self.decision.reset_after;
        told.message(status::DURATION_UNTIL_RESET, |told| {
            told.number(duration::SECONDS, reset_after.as_secs());
            told.number(duration::NANOS, reset_after.subsec_nanos().into());
        });
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
