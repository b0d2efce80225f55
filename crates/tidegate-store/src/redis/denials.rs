//! Refusals that are known to hold for a while: who is over its limit and asks again is answered here, without a call.
//!
//! Only time makes room under a limit that refused, and what is given back, so until the wait is over the store would refuse the same again.
//! Who gives back says so, and what was known of that counter then is forgotten; what another instance gives back is known here when the
//! wait is over. Slots of a concurrency limit come back at any moment; refusals by them are not kept.

use core::hash::{BuildHasher, Hasher as _};
use core::time::Duration;
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use tidegate_core::{Decisions, Key, Mode, Outcome, Timestamp};

use super::call::Ask;
use super::numbers::Kind;

/// The longest time for which a refusal is answered without asking: a counter that was reset by hand holds again after it.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Refusals kept at one time, about 300 bytes each. Another takes the place of one that falls on the same.
pub(crate) const PLACES: usize = 8192;

/// How many groups of counters are told apart by what was given back to them.
const GROUPS: usize = 1024;

/// The refusals of one instance.
#[derive(Debug)]
pub(crate) struct Denials {
    places: Box<[Mutex<Option<Box<Denial>>>]>,
    /// How often something was given back to one of a group of counters.
    given_back: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// What was given back to some counters until a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Era(u64);

#[derive(Debug)]
struct Denial {
    asks: SmallVec<[Ask; 2]>,
    decisions: Decisions,
    since: Timestamp,
    until: Timestamp,
    era: Era,
}

impl Denials {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            places: (0..PLACES).map(|_| Mutex::new(None)).collect(),
            given_back: (0..GROUPS).map(|_| AtomicU64::new(0)).collect(),
            hasher: RandomState::new(),
        }
    }

    /// The answer to `asks`, if they are refused for sure at `now`: the waits are shorter by the time that has passed.
    pub(crate) fn find(&self, asks: &[Ask], now: Timestamp) -> Option<Decisions> {
        let mut place = self.place(asks)?.lock().unwrap_or_else(PoisonError::into_inner);
        let denial = place.as_deref().filter(|denial| *denial.asks == *asks)?;
        // A clock that was set back says nothing about how long it is still refused.
        if now < denial.since || now >= denial.until || denial.era != self.era(asks) {
            *place = None;
            return None;
        }
        Some(later(&denial.decisions, now.saturating_since(denial.since)))
    }

    /// What has been given back to the counters of `asks` so far. Read before they are sent.
    pub(crate) fn era(&self, asks: &[Ask]) -> Era {
        let counts = asks.iter().filter_map(|ask| self.group(ask.key));
        // Paired with `was_given_back`: who was told of it finds no refusal from before.
        Era(counts.fold(0, |sum: u64, count| {
            sum.wrapping_add(count.load(Ordering::Acquire))
        }))
    }

    /// Something may have been given back to the counter of `key`: what is known of it holds no more. To be said when the store has
    /// answered, or will not.
    pub(crate) fn was_given_back(&self, key: Key) {
        if let Some(count) = self.group(key) {
            // Paired with `era`.
            count.fetch_add(1, Ordering::Release);
        }
    }

    /// Keeps what the store said to `asks` that were sent at `since`, in `era`, if it is a refusal that holds for a while.
    pub(crate) fn keep(&self, asks: &[Ask], decisions: &Decisions, (since, era): (Timestamp, Era)) {
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
            era,
        };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(denial));
    }

    #[allow(clippy::cast_possible_truncation, reason = "any bits of the hash do")]
    fn group(&self, key: Key) -> Option<&AtomicU64> {
        self.given_back.get(key.hash() as usize % GROUPS)
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
    use tidegate_core::{Charge, Cost, HoldId, KeyHasher, Limit, Rate, Table, TableSize};

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
        denials.keep(&asks, &refused, (START, denials.era(&asks)));

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
        denials.keep(
            &asks(&charges),
            &table.charge(&charges, START),
            (START, denials.era(&asks(&charges))),
        );

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
            denials.keep(&asks(&charges), &passed, (START, denials.era(&asks(&charges))));
            assert_eq!(denials.find(&asks(&charges), START), None);
            if limit.algorithm() == tidegate_core::Algorithm::Concurrency {
                denials.keep(
                    &asks(&charges),
                    &table.charge(&charges, START),
                    (START, denials.era(&asks(&charges))),
                );
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
        denials.keep(&asks, &never, (START, denials.era(&asks)));
        assert_eq!(denials.find(&asks, after(9_999_999)), Some(never.clone()));
        assert_eq!(denials.find(&asks, START.saturating_add(LONGEST)), None);

        denials.keep(&asks, &never, (START, denials.era(&asks)));
        assert_eq!(
            denials.find(&asks, START.saturating_sub(Duration::from_nanos(1))),
            None
        );
    }

    #[test]
    fn what_is_given_back_ends_the_refusals_that_it_may_have_ended() {
        let (denials, table) = (Denials::new(), table());
        let [bucket, ..] = limits(1);
        let [gets, other] = [1, 2].map(|number| {
            let charges = [charge(key(number), &bucket, 1, Mode::Enforce)];
            assert!(table.charge(&charges, START).charged);
            let (asks, refused) = (asks(&charges), table.charge(&charges, START));
            denials.keep(&asks, &refused, (START, denials.era(&asks)));
            (asks, refused)
        });
        denials.was_given_back(key(1));
        assert_eq!(denials.find(&gets.0, START), None);
        assert!(denials.find(&other.0, START).is_some());
        // One that was sent before and is told after it.
        let era = denials.era(&gets.0);
        denials.was_given_back(key(1));
        denials.keep(&gets.0, &gets.1, (START, era));
        assert_eq!(denials.find(&gets.0, START), None);
        denials.keep(&gets.0, &gets.1, (START, denials.era(&gets.0)));
        assert!(denials.find(&gets.0, START).is_some());
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
                denials.keep(&asks, &decided, (after(micros), denials.era(&asks)));
            }
        }
    }
}
