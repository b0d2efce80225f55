//! The table against the pure algorithms, one key at a time.

use core::time::Duration;
use std::collections::HashMap;
use std::format;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::algorithm::state::State;
use crate::limit::Shape;
use crate::{Cost, Decision, KeyHasher, Limit, Mode, Rate};

const START: u64 = 1_700_000_000_000_000_000;

fn smallest() -> Table {
    Table::new(TableSize {
        bucket_bytes: 0,
        ledger_bytes: 0,
    })
}

fn key(number: u64) -> Key {
    KeyHasher::new([7; 16]).key(&number.to_le_bytes())
}

fn limits(quota: u64) -> Vec<Limit> {
    let rate = Rate::new(quota, Duration::from_secs(1)).unwrap();
    Vec::from([
        Limit::token_bucket(rate, quota).unwrap(),
        Limit::leaky_bucket(rate, 1, Duration::from_millis(300)).unwrap(),
        Limit::fixed_window(rate),
        Limit::sliding_window(rate),
        Limit::sliding_window_log(rate).unwrap(),
        Limit::concurrency(quota, Duration::from_secs(1)).unwrap(),
    ])
}

/// What every key has spent, without a table.
#[derive(Clone, Default)]
struct Model {
    tats: HashMap<Key, u64>,
    states: HashMap<Key, Option<State>>,
}

impl Model {
    fn charge(&mut self, charges: &[Charge<'_>], now: Timestamp) -> Decisions {
        let mut spent = self.clone();
        let mut decisions = Decisions {
            charged: true,
            ..Decisions::default()
        };
        for charge in charges {
            let decision = spent.spend(charge, now);
            decisions.charged &= decision.outcome.passes() || charge.mode == Mode::Shadow;
            decisions.each.push(decision);
        }
        if decisions.charged {
            *self = spent;
        } else {
            for (charge, decision) in charges.iter().zip(&mut decisions.each) {
                let look = Charge {
                    cost: Cost::LOOK,
                    ..*charge
                };
                *decision = Decision {
                    outcome: decision.outcome,
                    ..self.spend(&look, now)
                };
            }
        }
        decisions
    }

    fn spend(&mut self, charge: &Charge<'_>, now: Timestamp) -> Decision {
        match charge.limit.shape() {
            Shape::Bucket(bucket) => {
                let tat = self.tats.entry(charge.key).or_default();
                let step = bucket.decide(*tat, charge.cost.units(), now.as_nanos());
                *tat = step.next_tat.unwrap_or(*tat);
                step.decision
            }
            Shape::Tally(tally) => {
                let state = self.states.entry(charge.key).or_default();
                let decision = tally.look(state.as_ref(), charge.cost, now);
                if decision.outcome.passes() {
                    tally.spend(state, charge.cost, charge.hold, now);
                }
                decision
            }
        }
    }
}

/// A charge in a random batch: key, which limit, cost, whether it is a shadow.
type Wish = (u64, usize, u64, bool);

fn wishes(keys: u64) -> impl Strategy<Value = Vec<(u64, Vec<Wish>)>> {
    let wish = (0..keys, 0..6usize, 0u64..5, prop::bool::weighted(0.2));
    let step = (0u64..400_000_000, prop::collection::vec(wish, 1..6));
    prop::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn random_batches_are_answered_as_the_pure_algorithms_answer(steps in wishes(6), quota in 1u64..8) {
        let (table, limits, mut model) = (smallest(), limits(quota), Model::default());
        let mut now = START;
        for (number, (wait, wishes)) in (0u64..).zip(steps) {
            now += wait;
            let charges: Vec<Charge<'_>> = wishes
                .iter()
                .map(|&(number_of_key, limit, cost, shadow)| Charge {
                    // Two limits never share a key: state of another algorithm is no state.
                    key: key(number_of_key * 6 + limit as u64),
                    limit: &limits[limit],
                    cost: Cost::new(cost),
                    mode: if shadow { Mode::Shadow } else { Mode::Enforce },
                    hold: HoldId(number),
                })
                .collect();
            let now = Timestamp::from_nanos(now);
            prop_assert_eq!(table.charge(&charges, now), model.charge(&charges, now));
        }
        prop_assert_eq!(table.usage().bucket_evictions + table.usage().ledger_evictions, 0);
    }
}

#[test]
fn a_refused_request_leaves_every_bit_as_it_was() {
    let table = smallest();
    let limits = limits(1);
    let charge = |number, limit| Charge {
        key: key(number),
        limit,
        cost: Cost::ONE,
        mode: Mode::Enforce,
        hold: HoldId(number),
    };
    let never = limits.iter().map(|limit| Charge {
        cost: Cost::new(2),
        ..charge(99, limit)
    });
    let now = Timestamp::from_nanos(START);
    // The leaky bucket lets two pass, the second after a wait.
    let spent: Vec<Charge<'_>> = (0..)
        .zip(&limits)
        .map(|(number, limit)| charge(number, limit))
        .collect();
    for charge in &spent {
        while table.charge(&[*charge], now).charged {}
    }
    let before = format!("{table:?}");

    for refused in spent.iter().copied().chain(never) {
        assert!(!table.charge(&[refused], now).charged);
        for other in &limits {
            let absent = charge(50, other);
            assert!(!table.charge(&[absent, refused], now).charged);
            assert!(!table.charge(&[refused, absent, absent], now).charged);
        }
    }

    assert!(before == format!("{table:?}"), "something was written");
}
