//! The checks. Each is a sentence about every store.

use core::time::Duration;
use std::sync::Arc;
use std::vec::Vec;

use tidegate_core::{Charge, HoldId, Key, Limit, Mode, Outcome};

use super::{START, Subject, ask, ask_one, charge, costing, left, limits, refund};
use crate::Store;

/// A denied request spends nothing, under any mix of algorithms, and tells what is left unspent.
pub async fn one_refusal_spends_nothing_anywhere(subject: &impl Subject) {
    for (first, small) in limits(1).iter().enumerate() {
        for (second, large) in limits(10).iter().enumerate() {
            let [a, b, c] = ["small", "large", "untouched"].map(|name| key(subject, name, &[first, second]));
            assert!(
                ask(subject, &[charge(a, small), charge(b, large)], START)
                    .await
                    .charged
            );

            let refused = ask(
                subject,
                &[charge(b, large), charge(a, small), charge(c, large)],
                START,
            )
            .await;

            assert!(!refused.charged);
            let passes: Vec<bool> = refused.each.iter().map(|each| each.outcome.passes()).collect();
            assert_eq!(passes, [true, false, true]);
            let remaining: Vec<u64> = refused.each.iter().map(|each| each.remaining).collect();
            assert_eq!(remaining, [9, 0, 10], "unspent");
            assert_eq!(left(subject, b, large, START).await, 9);
            assert_eq!(left(subject, c, large, START).await, 10);
        }
    }
}

/// A refusal in shadow mode is told, not spent, and the request passes.
pub async fn a_refused_shadow_charge_is_not_spent_and_stops_nobody(subject: &impl Subject) {
    for (first, small) in limits(1).iter().enumerate() {
        for (second, large) in limits(10).iter().enumerate() {
            let [a, b] = ["small", "large"].map(|name| key(subject, name, &[first, second]));
            let shadow = Charge {
                mode: Mode::Shadow,
                ..charge(a, small)
            };
            assert!(ask(subject, &[shadow, charge(b, large)], START).await.charged);

            let another = [shadow, charge(b, large)].map(|charge| Charge {
                hold: HoldId(2),
                ..charge
            });
            let passed = ask(subject, &another, START).await;

            assert!(passed.charged);
            assert!(!passed.each[0].outcome.passes());
            assert_eq!(passed.each[1].remaining, 8);
            assert_eq!(left(subject, a, small, START).await, 0);

            let enforced = charge(a, small);
            let shadow = Charge {
                mode: Mode::Shadow,
                ..charge(b, large)
            };
            assert!(!ask(subject, &[shadow, enforced], START).await.charged);
            assert_eq!(
                left(subject, b, large, START).await,
                8,
                "a shadow charge is of the request, too"
            );
        }
    }
}

/// One request may charge a key twice.
pub async fn the_second_charge_on_a_key_sees_the_first(subject: &impl Subject) {
    for (number, limit) in limits(3).iter().enumerate() {
        let key = key(subject, "twice", &[number]);
        let twice = [charge(key, limit), charge(key, limit)];
        let passed = ask(subject, &twice, START).await;
        assert!(passed.charged);
        assert_eq!([passed.each[0].remaining, passed.each[1].remaining], [2, 1]);
        assert!(!ask(subject, &twice, START).await.charged);
        assert_eq!(left(subject, key, limit, START).await, 1);
    }
}

/// More than the limit holds is `Never`; what it holds passes; the next is `Deny`, and passes after exactly the wait it is told.
pub async fn what_can_never_pass_is_told_apart_from_what_passes_later(subject: &impl Subject) {
    for (number, limit) in limits(4).iter().enumerate() {
        let key = key(subject, "never", &[number]);
        let never = ask_one(subject, costing(5, charge(key, limit)), START).await;
        assert_eq!((never.outcome, never.remaining), (Outcome::Never, 4));
        let all = ask_one(subject, costing(4, charge(key, limit)), START).await;
        assert_eq!((all.outcome, all.remaining), (Outcome::ALLOW, 0));

        let later = ask_one(subject, charge(key, limit), START).await;
        let Outcome::Deny { retry_after } = later.outcome else {
            panic!("{later:?}");
        };
        assert!(!retry_after.is_zero());
        let just_before = START.saturating_add(retry_after - MICROSECOND);
        assert!(
            !ask_one(subject, charge(key, limit), just_before)
                .await
                .outcome
                .passes()
        );
        let then = START.saturating_add(retry_after);
        assert!(ask_one(subject, charge(key, limit), then).await.outcome.passes());
    }
}

/// Keys whose parts read the same when joined are different, and a thousand keys are a thousand counters.
pub async fn different_keys_never_share_a_counter(subject: &impl Subject) {
    for (number, limit) in limits(1).iter().enumerate() {
        let keys = subject.keys();
        let parts = |parts: &[&str]| {
            let mut builder = keys.start();
            builder.part(&number.to_le_bytes());
            parts.iter().for_each(|part| builder.part(part.as_bytes()));
            builder.finish()
        };
        let alike = [
            parts(&["ab", "c"]),
            parts(&["a", "bc"]),
            parts(&["abc"]),
            parts(&["abc", ""]),
        ];
        let many = (0..1000).map(|other| key(subject, "many", &[number, other]));
        for key in alike.into_iter().chain(many) {
            assert!(ask_one(subject, charge(key, limit), START).await.outcome.passes());
        }
    }
}

/// A slot given back twice is one slot, and only its own.
pub async fn releasing_twice_is_releasing_once(subject: &impl Subject) {
    let [.., slots] = limits(2);
    let (store, key) = (subject.store(), key(subject, "slots", &[]));
    let take = |hold| Charge {
        hold: HoldId(hold),
        ..charge(key, &slots)
    };
    let answers = [take(1), take(2), take(3)];
    let mut passed = Vec::new();
    for answer in answers {
        passed.push(ask_one(subject, answer, START).await.outcome.passes());
    }
    assert_eq!(passed, [true, true, false]);

    for hold in [1, 1, 9] {
        store
            .release(key, HoldId(hold), START)
            .await
            .expect("the store releases");
    }
    assert!(ask_one(subject, take(4), START).await.outcome.passes());
    assert!(!ask_one(subject, take(5), START).await.outcome.passes());
}

/// What was spent some time ago comes back, as far as it is there, for each charge by itself, whatever was spent on other keys.
pub async fn as_much_is_given_back_as_counters_hold_and_no_more(subject: &impl Subject) {
    let limits = limits(10);
    let keys: Vec<Key> = (0..limits.len())
        .map(|number| key(subject, "back", &[number]))
        .collect();
    let all = |units| -> Vec<Charge<'_>> {
        let pairs = keys.iter().zip(&limits);
        pairs
            .map(|(key, limit)| costing(units, charge(*key, limit)))
            .collect()
    };
    let with_first_again = |units| {
        let mut charges = all(units);
        charges.push(charges[0]);
        charges
    };
    refund(subject, &all(3), START).await;
    let mut spent = [0; 6];
    for (units, charges, back) in [
        (8, all(0), 0),
        (0, all(3), 3),
        (0, with_first_again(1), 1),
        (0, all(u64::MAX), u64::MAX),
        (4, all(0), 0),
    ] {
        for (number, charge) in all(units).into_iter().enumerate() {
            assert!(ask_one(subject, charge, START).await.outcome.passes());
            spent[number] += units;
        }
        refund(subject, &charges, START).await;
        for charge in &charges {
            let number = keys
                .iter()
                .position(|key| *key == charge.key)
                .expect("a key of ours");
            spent[number] = spent[number].saturating_sub(back);
        }
        for (number, limit) in limits.iter().enumerate() {
            let left = left(subject, keys[number], limit, START).await;
            assert_eq!(
                left,
                10 - spent[number],
                "{} after {back} back",
                limit.algorithm().name()
            );
        }
    }
}

/// Whoever spends and gives back at one time: what passes in the end is the limit and what was given back.
pub async fn tasks_that_give_back_at_one_time_admit_what_they_gave_back(subject: &impl Subject) {
    subject.set_time(START).await;
    for (number, limit) in limits(100).into_iter().enumerate() {
        let (key, limit) = (key(subject, "mixed", &[number]), Arc::new(limit));
        assert!(
            ask_one(subject, costing(50, charge(key, &limit)), START)
                .await
                .outcome
                .passes()
        );
        let tasks: Vec<_> = (0..8)
            .map(|task| {
                let (store, limit) = (subject.store(), Arc::clone(&limit));
                tokio::spawn(async move {
                    let mut admitted = 0;
                    for step in 0..20 {
                        let charge = Charge {
                            hold: HoldId(task * 1000 + step),
                            ..charge(key, &limit)
                        };
                        if step % 4 == 0 {
                            store
                                .refund(&[charge], START)
                                .await
                                .expect("the store gives back");
                        }
                        let decisions = store.charge(&[charge], START).await.expect("the store decides");
                        admitted += u64::from(decisions.charged);
                    }
                    admitted
                })
            })
            .collect();
        let (admitted, left) = (sum(tasks).await, left(subject, key, &limit, START).await);
        // 50 and 40 came back, each while something was spent.
        assert_eq!(admitted + left, 90, "{}", limit.algorithm().name());
    }
}

/// However many ask at one time, a limit admits what it admits.
pub async fn tasks_on_one_key_admit_exactly_the_limit(subject: &impl Subject) {
    subject.set_time(START).await;
    for (number, limit) in limits(100).into_iter().enumerate() {
        let (key, limit) = (key(subject, "one", &[number]), Arc::new(limit));
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let (store, limit) = (subject.store(), Arc::clone(&limit));
                tokio::spawn(async move {
                    let mut admitted = 0;
                    for step in 0..20 {
                        let charge = Charge {
                            hold: HoldId(task * 1000 + step),
                            ..charge(key, &limit)
                        };
                        let decisions = store.charge(&[charge], START).await.expect("the store decides");
                        admitted += u64::from(decisions.charged);
                    }
                    admitted
                })
            })
            .collect();
        assert_eq!(sum(tasks).await, 100, "{}", limit.algorithm().name());
    }
}

/// Two keys charged together, in either order, by many: what passes is spent on both, what does not on neither.
pub async fn batches_in_opposite_order_pass_whole_or_not_at_all(subject: &impl Subject) {
    subject.set_time(START).await;
    for (first, one) in limits(40).into_iter().enumerate() {
        for (second, other) in limits(50).into_iter().enumerate() {
            let [a, b] = ["one", "other"].map(|name| key(subject, name, &[first, second]));
            let limits = Arc::new([one.clone(), other]);
            let tasks: Vec<_> = (0..8)
                .map(|task| {
                    let (store, limits) = (subject.store(), Arc::clone(&limits));
                    tokio::spawn(async move { passed_pairs(&*store, [a, b], &limits, task).await })
                })
                .collect();
            assert_eq!(sum(tasks).await, 40);
            assert_eq!(left(subject, a, &limits[0], START).await, 0);
            assert_eq!(left(subject, b, &limits[1], START).await, 10);
        }
    }
}

async fn passed_pairs(store: &impl Store, [a, b]: [Key; 2], [one, other]: &[Limit; 2], task: u64) -> u64 {
    let mut passed = 0;
    for step in 0..10 {
        let named = |charge| Charge {
            hold: HoldId(task * 1000 + step),
            ..charge
        };
        let mut pair = [named(charge(a, one)), named(charge(b, other))];
        if (task + step).is_multiple_of(2) {
            pair.reverse();
        }
        let decisions = store.charge(&pair, START).await.expect("the store decides");
        passed += u64::from(decisions.charged);
    }
    passed
}

/// State lives until it equals fresh: just before that something is missing, and from then on nothing, however long it takes.
pub async fn state_is_kept_until_it_equals_fresh(subject: &impl Subject) {
    for (number, limit) in limits(60).iter().enumerate() {
        let key = key(subject, "kept", &[number]);
        let spent = ask_one(subject, costing(60, charge(key, limit)), START).await;
        assert_eq!(spent.remaining, 0);
        let just_before = START.saturating_add(spent.reset_after - MICROSECOND);
        assert!(
            left(subject, key, limit, just_before).await < 60,
            "{}",
            limit.algorithm().name()
        );
        for later in [
            Duration::ZERO,
            Duration::from_secs(1),
            Duration::from_secs(86_400),
        ] {
            let fresh = START.saturating_add(spent.reset_after + later);
            assert_eq!(
                left(subject, key, limit, fresh).await,
                60,
                "{}",
                limit.algorithm().name()
            );
        }
    }
}

/// The least wait that every store can tell from none.
const MICROSECOND: Duration = Duration::from_micros(1);

fn key(subject: &impl Subject, name: &str, numbers: &[usize]) -> Key {
    let mut builder = subject.keys().start();
    builder.part(name.as_bytes());
    for number in numbers {
        builder.part(&number.to_le_bytes());
    }
    builder.finish()
}

async fn sum(tasks: Vec<tokio::task::JoinHandle<u64>>) -> u64 {
    let mut sum = 0;
    for task in tasks {
        sum += task.await.expect("a task ends");
    }
    sum
}
