//! Requests that wait for their leaky bucket.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use smallvec::SmallVec;
use tidegate_core::{Charge, Cost, Decision, Decisions, Mode, Timestamp};

use crate::{Store, StoreError};

/// Requests that wait for their leaky bucket at one time, in the whole process. More are answered with 503.
pub const MOST_WAITING: usize = 10_000;

/// Places for requests that wait.
#[derive(Debug)]
pub struct Turns {
    waiting: AtomicUsize,
    most: usize,
}

/// One of the places.
#[derive(Debug)]
pub struct Place<'t>(&'t AtomicUsize);

/// All places are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace;

/// What a store said, and the place to wait at, if the request may have to.
pub type Charged<'t> = (Result<Decisions, StoreError>, Option<Place<'t>>);

impl Turns {
    /// Places for `most` requests.
    pub const fn new(most: usize) -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            most,
        }
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Charges `charges` to `store`, once there is a place to wait at where that may be needed. None if the request would have to wait
    /// and there is no place: then nothing was charged.
    pub async fn charge<S: Store>(
        &self,
        store: &S,
        charges: &[Charge<'_>],
        now: Timestamp,
    ) -> Option<Charged<'_>> {
        let place = match self.place_for(charges) {
            Ok(place) => place,
            // Boxed like everything rare.
            Err(NoPlace) if Box::pin(store_would_wait(store, charges, now)).await => return None,
            Err(NoPlace) => None,
        };
        Some((store.charge(charges, now).await, place))
    }

    /// A place to wait at, if one of `charges` may need it.
    pub fn place_for(&self, charges: &[Charge<'_>]) -> Result<Option<Place<'_>>, NoPlace> {
        if charges.iter().any(may_wait) {
            return self.place().map(Some).ok_or(NoPlace);
        }
        Ok(None)
    }

    fn place(&self) -> Option<Place<'_>> {
        // A count and nothing else; no memory is handed over with it.
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.waiting);
        (before < self.most).then_some(place)
    }
}

impl Place<'_> {
    /// Holds the request back for `delay`. Dropping the future ends the wait.
    pub async fn wait(self, delay: Duration) {
        tokio::time::sleep(delay).await;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn may_wait(charge: &Charge<'_>) -> bool {
    charge.mode == Mode::Enforce && charge.limit.max_delay().is_some_and(|delay| !delay.is_zero())
}

/// Whether one of `charges` would have to wait at a leaky bucket, by what looks at their counters said.
pub fn would_wait(charges: &[Charge<'_>], seen: impl Iterator<Item = Option<Decision>>) -> bool {
    charges.iter().zip(seen).any(|(charge, seen)| {
        // What never passes does not wait either.
        let cost = charge.cost.units();
        may_wait(charge) && seen.is_some_and(|seen| cost > seen.remaining) && cost <= charge.limit.capacity()
    })
}

async fn store_would_wait<S: Store>(store: &S, charges: &[Charge<'_>], now: Timestamp) -> bool {
    let looks: SmallVec<[Charge<'_>; 4]> = charges
        .iter()
        .map(|charge| Charge {
            cost: Cost::LOOK,
            ..*charge
        })
        .collect();
    // A store that fails now will tell so to the charge as well.
    let Ok(seen) = store.charge(&looks, now).await else {
        return false;
    };
    would_wait(charges, seen.each.into_iter().map(Some))
}

#[cfg(test)]
mod tests {
    use tidegate_core::{Key, KeyHasher, Limit, Outcome, Rate, TableSize};

    use super::*;
    use crate::Memory;

    const HOUR: Duration = Duration::from_secs(3600);
    const NOW: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);

    fn memory() -> Memory {
        Memory::new(TableSize {
            bucket_bytes: 1 << 16,
            ledger_bytes: 1 << 16,
        })
    }

    fn leaky() -> Limit {
        Limit::leaky_bucket(Rate::new(1, HOUR).unwrap(), 1, HOUR * 10).unwrap()
    }

    fn plenty() -> Limit {
        Limit::token_bucket(Rate::new(1, HOUR).unwrap(), 100).unwrap()
    }

    fn key(name: &str) -> Key {
        KeyHasher::new([7; 16]).key(name.as_bytes())
    }

    fn charge<'l>(name: &str, limit: &'l Limit) -> Charge<'l> {
        Charge {
            key: key(name),
            limit,
            cost: Cost::ONE,
            mode: Mode::Enforce,
            hold: Default::default(),
        }
    }

    #[test]
    fn places_are_bounded_and_come_back() {
        let turns = Turns::new(2);
        let (one, two) = (turns.place(), turns.place());
        assert!(one.is_some() && two.is_some());
        assert!(turns.place().is_none());
        assert_eq!(turns.waiting(), 2);
        drop(one);
        assert!(turns.place().is_some());
    }

    #[tokio::test]
    async fn who_finds_no_place_to_wait_at_spends_nothing() {
        let (store, turns, leaky, plenty) = (memory(), Turns::new(1), leaky(), plenty());
        let both = [charge("everybody", &plenty), charge("one", &leaky)];
        let (first, _) = turns.charge(&store, &both, NOW).await.unwrap();
        assert_eq!(first.unwrap().each[1].outcome, Outcome::ALLOW);
        let (second, place) = turns.charge(&store, &both, NOW).await.unwrap();
        let waits = Outcome::Allow { delay: HOUR };
        assert_eq!(second.unwrap().each[1].outcome, waits);
        assert!(place.is_some());
        assert!(turns.charge(&store, &both, NOW).await.is_none());

        // Who need not wait goes on meanwhile, and sees that nothing was spent in between.
        let other = [charge("everybody", &plenty), charge("other", &leaky)];
        let (third, _) = turns.charge(&store, &other, NOW).await.unwrap();
        assert_eq!(third.unwrap().each[0].remaining, 97);
        drop(place);
        let (fourth, _) = turns.charge(&store, &both, NOW).await.unwrap();
        let fourth = fourth.unwrap();
        assert_eq!(fourth.each[0].remaining, 96);
        assert_eq!(fourth.each[1].outcome, Outcome::Allow { delay: HOUR * 2 });
    }

    #[tokio::test]
    async fn who_can_never_pass_or_is_only_watched_needs_no_place() {
        let (store, turns, leaky) = (memory(), Turns::new(0), leaky());
        let never = Charge {
            cost: Cost::new(2),
            ..charge("one", &leaky)
        };
        let (answer, _) = turns.charge(&store, &[never], NOW).await.unwrap();
        assert_eq!(answer.unwrap().each[0].outcome, Outcome::Never);
        let watched = Charge {
            mode: Mode::Shadow,
            ..charge("one", &leaky)
        };
        for _ in 0..2 {
            let (answer, place) = turns.charge(&store, &[watched], NOW).await.unwrap();
            assert!(answer.unwrap().charged && place.is_none());
        }
        assert!(
            turns
                .charge(&store, &[charge("one", &leaky)], NOW)
                .await
                .is_none()
        );
        assert_eq!(turns.waiting(), 0);
    }
}
