use core::time::Duration;

use proptest::prelude::*;

use super::{Breaker, BreakerState, Change, FAILURES, FIRST_REST, LONGEST_REST, Permit};

const START: Duration = Duration::from_secs(7);
const A_MOMENT: Duration = Duration::from_nanos(1);

fn opened() -> Breaker {
    let mut breaker = Breaker::new();
    for _ in 1..FAILURES {
        assert_eq!(breaker.failed(Permit::Call, START), Change::None);
    }
    assert_eq!(breaker.failed(Permit::Call, START), Change::Opened);
    breaker
}

#[test]
fn it_opens_at_the_fifth_failure_in_a_row_and_an_answer_begins_the_count_anew() {
    let mut breaker = Breaker::new();
    for _ in 1..FAILURES {
        breaker.failed(Permit::Call, START);
    }
    assert_eq!(breaker.succeeded(Permit::Call), Change::None);
    for _ in 1..FAILURES {
        assert_eq!(breaker.failed(Permit::Call, START), Change::None);
        assert!(breaker.lets_in(START));
    }
    assert_eq!(breaker.failed(Permit::Call, START), Change::Opened);
    assert!(!breaker.lets_in(START));
    assert_eq!(breaker.ask(START), None);
}

#[test]
fn after_its_rest_one_call_and_no_second_probes() {
    let mut breaker = opened();
    let until = START + FIRST_REST;
    assert_eq!(breaker.ask(until - A_MOMENT), None);
    assert!(breaker.lets_in(until));
    assert_eq!(breaker.ask(until), Some(Permit::Probe));
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert!(!breaker.lets_in(until + LONGEST_REST));
    assert_eq!(breaker.ask(until + LONGEST_REST), None);
}

#[test]
fn a_probe_that_is_answered_closes_it_and_the_next_rest_is_the_first_again() {
    let mut breaker = opened();
    let mut now = START + FIRST_REST;
    breaker.ask(now);
    breaker.failed(Permit::Probe, now);
    now += 2 * FIRST_REST;
    breaker.ask(now);
    assert_eq!(breaker.succeeded(Permit::Probe), Change::Closed);
    for _ in 0..FAILURES {
        breaker.failed(Permit::Call, now);
    }
    assert!(!breaker.lets_in(now + FIRST_REST - A_MOMENT));
    assert!(breaker.lets_in(now + FIRST_REST));
}

#[test]
fn each_probe_that_fails_doubles_the_rest_up_to_the_longest() {
    let mut breaker = opened();
    let mut now = START;
    let mut rest = FIRST_REST;
    for _ in 0..10 {
        now += rest;
        assert_eq!(breaker.ask(now - A_MOMENT), None, "a rest of {rest:?}");
        assert_eq!(breaker.ask(now), Some(Permit::Probe));
        assert_eq!(breaker.failed(Permit::Probe, now), Change::None);
        rest = (rest * 2).min(LONGEST_REST);
    }
    assert_eq!(rest, LONGEST_REST);
}

#[test]
fn a_new_connection_ends_the_rest_and_forgives_nothing() {
    let mut breaker = opened();
    breaker.reconnected(START + A_MOMENT);
    assert_eq!(breaker.ask(START + A_MOMENT), Some(Permit::Probe));
    breaker.reconnected(START + A_MOMENT);
    assert_eq!(breaker.ask(START + A_MOMENT), None, "a probe is on its way");
    breaker.failed(Permit::Probe, START);
    assert_eq!(breaker.ask(START + 2 * FIRST_REST - A_MOMENT), None);
    assert_eq!(breaker.ask(START + 2 * FIRST_REST), Some(Permit::Probe));
}

#[test]
fn what_was_asked_before_the_rest_changes_nothing_when_it_ends() {
    let mut breaker = opened();
    let until = START + FIRST_REST;
    assert_eq!(breaker.failed(Permit::Call, until), Change::None);
    assert_eq!(breaker.succeeded(Permit::Call), Change::None);
    assert_eq!(breaker.ask(until), Some(Permit::Probe));
    assert_eq!(breaker.succeeded(Permit::Call), Change::None);
    assert_eq!(breaker.failed(Permit::Call, until), Change::None);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Ask,
    Succeed,
    Fail,
    Reconnect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..1500u64).prop_map(Step::Wait),
        Just(Step::Ask),
        Just(Step::Ask),
        Just(Step::Succeed),
        Just(Step::Fail),
        Just(Step::Fail),
        Just(Step::Reconnect),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    /// Whatever happens in whatever order: one probe at a time, a server that answers again is asked again after the longest rest at
    /// the latest, and nobody is let in who then gets no permit.
    #[test]
    fn one_probe_at_a_time_and_never_shut_for_longer_than_the_longest_rest(steps in steps()) {
        let mut breaker = Breaker::new();
        let mut now = Duration::ZERO;
        let mut under_way: Vec<Permit> = Vec::new();
        for step in steps {
            match step {
                Step::Wait(ms) => now += Duration::from_millis(ms),
                Step::Ask => {
                    let expected = breaker.lets_in(now);
                    let permit = breaker.ask(now);
                    prop_assert_eq!(permit.is_some(), expected);
                    under_way.extend(permit);
                }
                Step::Succeed => {
                    if let Some(permit) = under_way.pop() {
                        breaker.succeeded(permit);
                    }
                }
                Step::Fail => {
                    if !under_way.is_empty() {
                        breaker.failed(under_way.remove(0), now);
                    }
                }
                Step::Reconnect => breaker.reconnected(now),
            }
            let probes = under_way.iter().filter(|permit| **permit == Permit::Probe).count();
            prop_assert!(probes <= 1);
            prop_assert_eq!(probes == 1, breaker.state() == BreakerState::HalfOpen);
        }
        for permit in under_way {
            breaker.failed(permit, now);
        }
        let later = now + LONGEST_REST;
        let permit = breaker.ask(later);
        prop_assert!(permit.is_some());
        breaker.succeeded(permit.expect("it was let in"));
        prop_assert_eq!(breaker.state(), BreakerState::Closed);
    }
}
