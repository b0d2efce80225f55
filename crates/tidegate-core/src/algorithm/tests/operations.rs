//! Random lists of operations, on a clock whose readers may be late.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub(super) enum Operation {
    Charge { cost: u64, hold: u64 },
    Release { hold: u64 },
    Refund { units: u64 },
    Forget,
}

/// Time that passes before an operation.
#[derive(Clone, Debug)]
pub(super) enum Wait {
    Nanos(u64),
    /// Sixteenths of the limit's span.
    Sixteenths(u64),
    Spans(u64),
}

#[derive(Clone, Debug)]
pub(super) struct Timed {
    pub(super) wait: Wait,
    /// How late the reader of the clock is, in sixteenths of the span, and never more than any skew.
    pub(super) late: u64,
    pub(super) operation: Operation,
}

/// The moment of each operation, for a limit that works in `span` nanoseconds.
pub(super) fn moments(operations: &[Timed], start: u64, span: u64) -> Vec<(u64, Operation)> {
    let mut time = start;
    operations
        .iter()
        .map(|timed| {
            let wait = match timed.wait {
                Wait::Nanos(nanos) => nanos,
                Wait::Sixteenths(parts) => span / 16 * parts,
                Wait::Spans(spans) => span.saturating_mul(spans),
            };
            time = time.saturating_add(wait).min(i64::MAX as u64);
            let late = (span / 16).saturating_mul(timed.late).min(4_999_999_999);
            (time.saturating_sub(late), timed.operation.clone())
        })
        .collect()
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        12 => (prop_oneof![6 => Just(1u64), 4 => 0..=12u64, 1 => Just(u64::MAX)], 0..6u64)
            .prop_map(|(cost, hold)| Operation::Charge { cost, hold }),
        2 => (0..6u64).prop_map(|hold| Operation::Release { hold }),
        2 => prop_oneof![6 => 1..5u64, 1 => Just(u64::MAX)].prop_map(|units| Operation::Refund { units }),
        1 => Just(Operation::Forget),
    ]
}

fn wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        3 => Just(Wait::Nanos(0)),
        1 => Just(Wait::Nanos(1)),
        1 => (0..1000u64).prop_map(Wait::Nanos),
        5 => (0..20u64).prop_map(Wait::Sixteenths),
        1 => (0..4u64).prop_map(Wait::Spans),
        1 => Just(Wait::Spans(1_000_000)),
    ]
}

pub(super) fn operations() -> impl Strategy<Value = Vec<Timed>> {
    let late = prop_oneof![6 => Just(0u64), 1 => 0..24u64];
    vec(
        (wait(), late, operation()).prop_map(|(wait, late, operation)| Timed {
            wait,
            late,
            operation,
        }),
        1..40,
    )
}

/// Windows from a few nanoseconds to a century, most of which divide by nothing.
pub(super) fn window() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..100u64,
        1..1_000_000u64,
        Just(1_000_000_000u64),
        1..4_000_000_000_000u64,
        Just(3_155_760_000_000_000_000u64),
    ]
}

pub(super) fn start() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        0..1_000_000u64,
        1_700_000_000_000_000_000..1_900_000_000_000_000_000u64
    ]
}
