//! Refusals that are known to hold for a while: who is over its limit and asks again is answered here, without a call.
//!
//! Only time makes room under a limit that refused, so until the wait is over the store would refuse the same again. Slots of a
//! concurrency limit come back at any moment; refusals by them are not kept.

use core::hash::{BuildHasher, Hasher as _};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use tidegate_core::{Decisions, Mode, Outcome, Timestamp};

use super::call::Ask;
use super::numbers::Kind;

/// The longest time for which a refusal is answered without asking: a counter that was reset by hand holds again after it.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Refusals kept at one time, about 300 bytes each. Another takes the place of one that falls on the same.
pub(crate) const PLACES: usize = 8192;

/// The refusals of one instance.
#[derive(Debug)]
pub(crate) struct Denials {
    places: Box<[Mutex<Option<Box<Denial>>>]>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Denial {
    asks: SmallVec<[Ask; 2]>,
    decisions: Decisions,
    since: Timestamp,
    until: Timestamp,
}

impl Denials {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            places: (0..PLACES).map(|_| Mutex::new(None)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The answer to `asks`, if they are refused for sure at `now`: the waits are shorter by the time that has passed.
    pub(crate) fn find(&self, asks: &[Ask], now: Timestamp) -> Option<Decisions> {
        let mut place = self.place(asks)?.lock().unwrap_or_else(PoisonError::into_inner);
        let denial = place.as_deref().filter(|denial| *denial.asks == *asks)?;
        // A clock that was set back says nothing about how long it is still refused.
        if now < denial.since || now >= denial.until {
            *place = None;
            return None;
        }
        Some(later(&denial.decisions, now.saturating_since(denial.since)))
    }

    /// Keeps what the store said to `asks` that were sent at `since`, if it is a refusal that holds for a while.
    pub(crate) fn keep(&self, asks: &[Ask], decisions: &Decisions, since: Timestamp) {
        let Some(wait) = certain_wait(asks, decisions) else {
            return;
        };
        let Some(place) = self.place(asks) else {
            return;
        };
        let denial = Denial {
            asks: SmallVec::from_slice(asks),
            decisions: decisions.clone(),
            since,
            until: since.saturating_add(wait.min(LONGEST)),
        };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(denial));
    }

    fn place(&self, asks: &[Ask]) -> Option<&Mutex<Option<Box<Denial>>>> {
        let places = self.places.len() as u64;
        // Requests that differ only in their costs fall on one place. There are few of them.
        let mut hasher = self.hasher.build_hasher();
        asks.iter().for_each(|ask| hasher.write_u128(ask.key.hash()));
        let place = hasher.finish().checked_rem(places)?;
        self.places.get(usize::try_from(place).ok()?)
    }
}

/// How long the request is refused whatever others do: as long as any of its charges is.
fn certain_wait(asks: &[Ask], decisions: &Decisions) -> Option<Duration> {
    if decisions.charged {
        return None;
    }
    let waits = asks
        .iter()
        .zip(&decisions.each)
        .map(|(ask, decision)| match decision.outcome {
            _ if ask.mode == Mode::Shadow || ask.limit.kind() == Kind::Slots => Duration::ZERO,
            Outcome::Allow { .. } => Duration::ZERO,
            Outcome::Deny { retry_after } => retry_after,
            Outcome::Never => LONGEST,
        });
    waits.max().filter(|wait| !wait.is_zero())
}

/// What would be said `passed` later, if nothing was spent meanwhile.
fn later(decisions: &Decisions, passed: Duration) -> Decisions {
    let mut decisions = decisions.clone();
    for decision in &mut decisions.each {
        decision.reset_after = decision.reset_after.saturating_sub(passed);
        if let Outcome::Deny { retry_after } = &mut decision.outcome {
            // A refusal by another charge may be over; this one's wait is then as good as none, but never none.
            *retry_after = retry_after.saturating_sub(passed).max(Duration::from_micros(1));
        }
    }
    decisions
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_core::{Charge, Cost, HoldId, Key, KeyHasher, Limit, Rate, Table, TableSize};

    use super::*;

    const START: Timestamp = Timestamp::from_nanos(1_700_006_400_000_000_000);

    fn limits(quota: u64) -> [Limit; 5] {
        let window = Duration::from_secs(2);
        let rate = Rate::new(quota, window).unwrap();
        [
            Limit::token_bucket(rate, quota).unwrap(),
            Limit::fixed_window(rate),
            Limit::sliding_window(rate),
            Limit::sliding_window_log(rate).unwrap(),
            Limit::concurrency(quota, window).unwrap(),
        ]
    }

    fn key(number: u64) -> Key {
        KeyHasher::new([3; 16]).key(&number.to_le_bytes())
    }

    fn charge(key: Key, limit: &Limit, cost: u64, mode: Mode) -> Charge<'_> {
        Charge {
            key,
            limit,
            cost: Cost::new(cost),
            mode,
            hold: HoldId(1),
        }
    }

    fn asks(charges: &[Charge<'_>]) -> SmallVec<[Ask; 2]> {
        charges
            .iter()
            .map(|charge| Ask::of(charge, START).unwrap())
            .collect()
    }

    fn table() -> Table {
        Table::new(TableSize {
            bucket_bytes: 1 << 16,
            ledger_bytes: TableSize::MIN_LEDGER_BYTES,
        })
    }

    fn after(micros: u64) -> Timestamp {
        START.saturating_add(Duration::from_micros(micros))
    }

    #[test]
    fn a_refusal_is_told_until_its_wait_is_over_with_what_is_left_of_it() {
        let (denials, table) = (Denials::new(), table());
        let [bucket, ..] = limits(1);
        let charges = [charge(key(1), &bucket, 1, Mode::Enforce)];
        let asks = asks(&charges);
        assert!(table.charge(&charges, START).charged);
        let refused = table.charge(&charges, START);
        denials.keep(&asks, &refused, START);

        let told = denials.find(&asks, after(500_000)).unwrap();
        let retry_after = Duration::from_millis(1_500);
        assert_eq!(told.each[0].outcome, Outcome::Deny { retry_after });
        assert_eq!(told.each[0].reset_after, retry_after);
        assert!(denials.find(&asks, after(1_999_999)).is_some());
        assert_eq!(denials.find(&asks, after(2_000_000)), None);
    }

    #[test]
    fn only_the_same_request_is_answered() {
        let (denials, table) = (Denials::new(), table());
        let [bucket, ..] = limits(1);
        let charges = [charge(key(1), &bucket, 1, Mode::Enforce)];
        table.charge(&charges, START);
        denials.keep(&asks(&charges), &table.charge(&charges, START), START);

        assert!(denials.find(&asks(&charges), START).is_some());
        let [larger, ..] = limits(2);
        let others = [
            [charge(key(2), &bucket, 1, Mode::Enforce)],
            [charge(key(1), &larger, 1, Mode::Enforce)],
            [charge(key(1), &bucket, 0, Mode::Enforce)],
            [charge(key(1), &bucket, 1, Mode::Shadow)],
        ];
        for other in others {
            assert_eq!(denials.find(&asks(&other), START), None);
        }
    }

    #[test]
    fn what_passes_and_what_waits_for_a_slot_is_not_kept() {
        let (denials, table) = (Denials::new(), table());
        let [bucket, .., slots] = limits(1);
        for limit in [bucket, slots] {
            let charges = [charge(key(1), &limit, 1, Mode::Enforce)];
            let passed = table.charge(&charges, START);
            assert!(passed.charged);
            denials.keep(&asks(&charges), &passed, START);
            assert_eq!(denials.find(&asks(&charges), START), None);
            if limit.algorithm() == tidegate_core::Algorithm::Concurrency {
                denials.keep(&asks(&charges), &table.charge(&charges, START), START);
                assert_eq!(denials.find(&asks(&charges), START), None);
            }
        }
    }

    #[test]
    fn no_refusal_is_told_for_longer_than_stated_nor_to_a_clock_that_went_back() {
        let (denials, table) = (Denials::new(), table());
        let [bucket, ..] = limits(1);
        let charges = [charge(key(1), &bucket, 2, Mode::Enforce)];
        let asks = asks(&charges);
        let never = table.charge(&charges, START);
        denials.keep(&asks, &never, START);
        assert_eq!(denials.find(&asks, after(9_999_999)), Some(never.clone()));
        assert_eq!(denials.find(&asks, START.saturating_add(LONGEST)), None);

        denials.keep(&asks, &never, START);
        assert_eq!(
            denials.find(&asks, START.saturating_sub(Duration::from_nanos(1))),
            None
        );
    }

    proptest! {
        #[test]
        fn what_is_refused_here_the_store_would_refuse(
            quotas in proptest::collection::vec((0..4usize, 1u64..4), 1..3),
            steps in proptest::collection::vec((0u64..700_000, 1u64..3, any::<bool>()), 1..60),
        ) {
            let (denials, table) = (Denials::new(), table());
            let limits: Vec<Limit> = quotas.iter().map(|&(kind, quota)| limits(quota)[kind].clone()).collect();
            let mut micros = 0;
            for (later, cost, shadow) in steps {
                micros += later;
                let mode = |number| if shadow && number == 0 { Mode::Shadow } else { Mode::Enforce };
                let charges: Vec<Charge<'_>> = (0..)
                    .zip(&limits)
                    .map(|(number, limit)| charge(key(number), limit, cost, mode(number)))
                    .collect();
                let asks = asks(&charges);
                let told = denials.find(&asks, after(micros));
                let decided = table.charge(&charges, after(micros));
                prop_assert!(told.is_none() || !decided.charged, "{:?} but {:?}", told, decided);
                denials.keep(&asks, &decided, after(micros));
            }
        }
    }
}
