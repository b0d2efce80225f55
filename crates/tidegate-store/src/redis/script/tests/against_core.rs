//! The same requests at the same moments on a real server and in core's table, compared number by number.

use core::time::Duration;

use proptest::prelude::*;
use tidegate_core::{
    Charge, Cost, Decisions, HoldId, Key, Limit, Mode, Outcome, Rate, Table, TableSize, Timestamp,
};
use tidegate_test_servers::Kind;

use super::server::asking;
use super::{START, Server};
use crate::redis::call::{Ask, Asked};
use crate::redis::numbers::Uncountable;

/// A limit in microseconds, as the script counts it, and as core would count it if its nanoseconds were microseconds.
#[derive(Clone, Debug)]
enum Written {
    Bucket {
        quota: u64,
        window: u64,
        burst: u64,
        delay: u64,
    },
    Fixed {
        quota: u64,
        window: u64,
    },
    Sliding {
        quota: u64,
        window: u64,
    },
    Log {
        quota: u64,
        window: u64,
    },
    Slots {
        slots: u64,
        ttl: u64,
    },
}

impl Written {
    fn limit(&self, unit: Duration) -> Limit {
        let span = |count: u64| Duration::from_nanos(count * u64::try_from(unit.as_nanos()).unwrap());
        let rate = |quota, window| Rate::new(quota, span(window)).unwrap();
        match *self {
            Self::Bucket {
                quota,
                window,
                burst,
                delay: 0,
            } => Limit::token_bucket(rate(quota, window), burst).unwrap(),
            Self::Bucket {
                quota,
                window,
                burst,
                delay,
            } => Limit::leaky_bucket(rate(quota, window), burst, span(delay)).unwrap(),
            Self::Fixed { quota, window } => Limit::fixed_window(rate(quota, window)),
            Self::Sliding { quota, window } => Limit::sliding_window(rate(quota, window)),
            Self::Log { quota, window } => Limit::sliding_window_log(rate(quota, window)).unwrap(),
            Self::Slots { slots, ttl } => Limit::concurrency(slots, span(ttl)).unwrap(),
        }
    }
}

fn written() -> impl Strategy<Value = Written> {
    // From a fifth of a second to a month, and quotas that do and do not divide them; products of the largest do not fit a double.
    let window = prop_oneof![
        Just(SECOND),
        Just(60 * SECOND),
        Just(86_400 * SECOND),
        Just(2_592_000 * SECOND),
        200_000u64..100_000_000
    ];
    let quota = prop_oneof![1u64..12, Just(60), Just(1_000), 1u64..200_000];
    let few = prop_oneof![1u64..12, 50u64..400];
    let delay = prop_oneof![Just(0u64), 0u64..3_000_000];
    of_each_kind(quota, few, window, delay)
}

/// Limits of a few microseconds, where each one of them matters.
fn tiny() -> impl Strategy<Value = Written> {
    (2u64..40).prop_flat_map(|window| {
        let delay = prop_oneof![Just(0u64), 0u64..20];
        of_each_kind(1..window, 1u64..8, Just(window), delay)
    })
}

fn of_each_kind(
    quota: impl Strategy<Value = u64>,
    few: impl Strategy<Value = u64>,
    window: impl Strategy<Value = u64>,
    delay: impl Strategy<Value = u64>,
) -> impl Strategy<Value = Written> {
    let numbers = (0..9u8, quota, few, window, 1u64..20, delay);
    numbers.prop_map(|(kind, quota, few, window, burst, delay)| {
        let many = quota * 1_000_003;
        match kind {
            0 => Written::Fixed { quota: few, window },
            1 => Written::Fixed { quota: many, window },
            2 => Written::Sliding { quota: few, window },
            3 => Written::Sliding { quota: many, window },
            4 => Written::Log { quota: few, window },
            5 => Written::Slots {
                slots: few,
                ttl: window,
            },
            _ => Written::Bucket {
                quota,
                window,
                burst,
                delay,
            },
        }
    })
}

/// One request: for each charge which of the counters, how many units, and whether it only tells; and how much later it comes.
#[derive(Clone, Debug)]
struct Step {
    charges: Vec<(usize, u64, bool)>,
    later: u64,
    with_last: bool,
    /// Its charges are given back instead.
    gives_back: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let later = prop_oneof![
        Just(0u64),
        Just(1),
        Just(SECOND),
        Just(60 * SECOND),
        0u64..2_000,
        0u64..2_000_000,
        0u64..100_000_000
    ];
    steps_that_come(later)
}

fn steps_that_come(later: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Step>> {
    let cost = prop_oneof![4 => Just(1u64), 1 => 0u64..8, 1 => 0u64..500, 1 => 0u64..20_000_000_000];
    let charges = proptest::collection::vec((0..4usize, cost, proptest::bool::weighted(0.2)), 1..4);
    let kind = (any::<bool>(), proptest::bool::weighted(0.2));
    let step = (charges, later, kind).prop_map(|(charges, later, (with_last, gives_back))| Step {
        charges,
        later,
        with_last,
        gives_back,
    });
    proptest::collection::vec(step, 1..40)
}

fn table() -> Table {
    Table::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 22,
    })
}

/// Runs `steps` on both sides: `limits` are those of the script, `twins` those of core, in whose time a microsecond is `unit`.
fn run(kind: Kind, steps: &[Step], limits: &[Limit], twins: &[Limit], unit: u64) {
    let table = table();
    Server::with(kind, |server| {
        let keys: Vec<Key> = limits.iter().map(|_| server.new_key()).collect();
        let mut now = START;
        let mut number = 0;
        let mut waiting: Vec<(Asked, Decisions)> = Vec::new();
        for step in steps {
            if !step.with_last || waiting.is_empty() {
                check(server, &mut waiting, now);
                now += step.later;
            }
            number += 1;
            let on_core = charges(step, &keys, twins, number);
            let on_script = charges(step, &keys, limits, number);
            let moment = Timestamp::from_nanos(now * 1_000);
            let asked = |make: fn(&Charge<'_>, Timestamp) -> Result<Ask, Uncountable>| {
                on_script
                    .iter()
                    .map(|charge| make(charge, moment).unwrap())
                    .collect()
            };
            let mut hold = [7; 16];
            hold[8..].copy_from_slice(&number.to_le_bytes());
            if step.gives_back {
                check(server, &mut waiting, now);
                let asks = asked(Ask::refunding);
                table.refund(&on_core, Timestamp::from_nanos(now * unit));
                server.refund(&Asked { asks, hold }, now);
                continue;
            }
            let asks = asked(Ask::of);
            let wanted = table.charge(&on_core, Timestamp::from_nanos(now * unit));
            waiting.push((Asked { asks, hold }, scaled(wanted, 1_000 / unit)));
        }
        check(server, &mut waiting, now);
    });
}

/// What `step` asks of the counters `keys` under `limits`.
fn charges<'l>(step: &Step, keys: &[Key], limits: &'l [Limit], number: u64) -> Vec<Charge<'l>> {
    let charge = |&(counter, cost, shadow): &(usize, u64, bool)| Charge {
        key: keys[counter % keys.len()],
        limit: &limits[counter % keys.len()],
        cost: Cost::new(cost),
        mode: if shadow { Mode::Shadow } else { Mode::Enforce },
        hold: HoldId(number),
    };
    step.charges.iter().map(charge).collect()
}

/// Asks for all that waits, in one call. Nothing is asked where nothing waits.
fn check(server: &mut Server, waiting: &mut Vec<(Asked, Decisions)>, now: u64) {
    if waiting.is_empty() {
        return;
    }
    let requests: Vec<&Asked> = waiting.iter().map(|(asked, _)| asked).collect();
    let answers = server.charge(&requests, now);
    for (answer, (asked, wanted)) in answers.iter().zip(waiting.iter()) {
        assert_eq!(answer, wanted, "{asked:?} at {now}");
    }
    waiting.clear();
}

/// Waits in core's time, in the script's: `by` times as long, and in whole microseconds, rounded up.
fn scaled(mut decisions: Decisions, by: u64) -> Decisions {
    let by = |wait: Duration| {
        let nanos = u64::try_from(wait.as_nanos()).unwrap() * by;
        Duration::from_micros(nanos.div_ceil(1_000))
    };
    for decision in &mut decisions.each {
        decision.reset_after = by(decision.reset_after);
        decision.outcome = match decision.outcome {
            Outcome::Allow { delay } => Outcome::Allow { delay: by(delay) },
            Outcome::Deny { retry_after } => Outcome::Deny {
                retry_after: by(retry_after),
            },
            Outcome::Never => Outcome::Never,
        };
    }
    decisions
}

/// In microseconds.
const SECOND: u64 = 1_000_000;

const NANOSECOND: Duration = Duration::from_nanos(1);
const MICROSECOND: Duration = Duration::from_micros(1);

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_script_answers_as_core_does_if_a_nanosecond_were_a_microsecond(
        kind in proptest::sample::select(&Kind::ALL), written in proptest::collection::vec(written(), 1..4), steps in steps(),
    ) {
        let limits: Vec<Limit> = written.iter().map(|written| written.limit(MICROSECOND)).collect();
        let twins: Vec<Limit> = written.iter().map(|written| written.limit(NANOSECOND)).collect();
        run(kind, &steps, &limits, &twins, 1);
    }

    #[test]
    fn the_script_answers_as_core_does_to_the_microsecond(
        written in proptest::collection::vec(tiny(), 1..3), steps in steps_that_come(0u64..12),
    ) {
        let limits: Vec<Limit> = written.iter().map(|written| written.limit(MICROSECOND)).collect();
        let twins: Vec<Limit> = written.iter().map(|written| written.limit(NANOSECOND)).collect();
        run(Kind::Redis70, &steps, &limits, &twins, 1);
    }

    #[test]
    fn the_script_answers_as_core_does_where_all_intervals_are_whole_microseconds(
        written in proptest::collection::vec(written(), 1..4), steps in steps(),
    ) {
        let limits: Vec<Limit> = written
            .iter()
            .map(|written| match written {
                Written::Bucket { burst, delay, window, .. } => {
                    Written::Bucket { quota: 1 + burst % 2, window: window / 2 * 2, burst: *burst, delay: *delay }
                }
                other => other.clone(),
            })
            .map(|written| written.limit(MICROSECOND))
            .collect();
        run(Kind::Redis70, &steps, &limits, &limits, 1_000);
    }

    #[test]
    fn logs_of_many_spendings_answer_as_core_does(
        quota in 70u64..300, spendings in proptest::collection::vec((1u64..4, 0u64..8_000, 0u64..60, any::<bool>()), 200..500),
    ) {
        let limit = [Written::Log { quota, window: 1_000_000 }.limit(MICROSECOND)];
        let steps: Vec<Step> = spendings
            .into_iter()
            .map(|(cost, later, look, with_last)| {
                let cost = if look == 0 { 0 } else if look == 1 || look == 2 { cost * 30 } else { cost };
                Step { charges: vec![(0, cost, false)], later, with_last, gives_back: look == 2 }
            })
            .collect();
        run(Kind::Redis70, &steps, &limit, &limit, 1_000);
    }

    #[test]
    fn what_is_given_back_was_never_spent(
        written in written(), before in proptest::collection::vec((1u64..6, 0u64..3_000_000), 0..6), cost in 1u64..6, until in 0u64..2_000_000,
    ) {
        let limit = written.limit(MICROSECOND);
        Server::with(Kind::Redis70, |server| {
            let key = server.new_key();
            let asked = |cost, hold| asking(key, &limit, cost, hold, START);
            let mut now = START;
            for (number, &(cost, later)) in before.iter().enumerate() {
                now += later;
                server.charge(&[&asked(cost, u8::try_from(number).unwrap())], now);
            }
            let look = |server: &mut Server, now| server.charge(&[&asked(0, 0)], now)[0].each[0].remaining;
            let unspent: Vec<u64> = [0, until, until * 3].map(|later| look(server, now + later)).to_vec();
            let spent = asked(cost, 99);
            if server.charge(&[&spent], now)[0].charged {
                server.give_back(&spent, now, now);
            }
            let given_back: Vec<u64> = [0, until, until * 3].map(|later| look(server, now + later)).to_vec();
            assert_eq!(given_back, unspent);
        });
    }

    #[test]
    fn a_refused_request_leaves_every_byte_as_it_was(written in proptest::collection::vec(written(), 1..4), steps in steps()) {
        let limits: Vec<Limit> = written.iter().map(|written| written.limit(MICROSECOND)).collect();
        Server::with(Kind::Redis70, |server| {
            let keys: Vec<Key> = limits.iter().map(|_| server.new_key()).collect();
            let mut now = START;
            for (number, step) in steps.iter().enumerate() {
                now += step.later;
                let asks = step.charges.iter().map(|&(counter, cost, shadow)| {
                    let counter = counter % limits.len();
                    let mode = if shadow { Mode::Shadow } else { Mode::Enforce };
                    let charge = Charge { key: keys[counter], limit: &limits[counter], cost: Cost::new(cost), mode, hold: HoldId(0) };
                    Ask::of(&charge, Timestamp::EPOCH).unwrap()
                });
                let asked = Asked { asks: asks.collect(), hold: [u8::try_from(number).unwrap(); 16] };
                let before: Vec<Option<Vec<u8>>> = server.of_counters("DUMP", &asked);
                if !server.charge(&[&asked], now)[0].charged {
                    let after: Vec<Option<Vec<u8>>> = server.of_counters("DUMP", &asked);
                    assert_eq!(after, before);
                }
            }
        });
    }
}
