use std::collections::BTreeSet;
use std::iter::successors;

use tidegate_policy::ERRORS;

use super::Fault;
use crate::doors::FAULTS;
use crate::metrics::{REFUSALS, UPSTREAM_FAILURES};
use crate::record::UNREAD;

/// Every fault, found by going from one to the next: a new one does not compile until it has its place here.
fn faults() -> impl Iterator<Item = Fault> {
    use Fault::*;
    successors(Some(Connect), |fault| match fault {
        Connect => Some(Target),
        Target => Some(TargetTooLong),
        TargetTooLong => Some(Host),
        Host => Some(Misdirected),
        Misdirected => Some(TooManyFields),
        TooManyFields => Some(Padded),
        Padded => Some(Field),
        Field => Some(Framing),
        Framing => Some(Coding),
        Coding => Some(Expectation),
        Expectation => Some(RequestBody),
        RequestBody => Some(RequestBodyTimeout),
        RequestBodyTimeout => Some(RequestBodyTooLong),
        RequestBodyTooLong => Some(TooManyBodies),
        TooManyBodies => Some(TooManyAtOnce),
        TooManyAtOnce => Some(Crowded),
        Crowded => Some(Overloaded),
        Overloaded => Some(NoRoute),
        NoRoute => Some(Unreachable),
        Unreachable => Some(Tls),
        Tls => Some(ConnectTimeout),
        ConnectTimeout => Some(Busy),
        Busy => Some(Closed),
        Closed => Some(BadResponse),
        BadResponse => Some(ResponseTimeout),
        ResponseTimeout => None,
    })
}

#[test]
fn every_reason_for_an_answer_of_ours_is_counted_under_its_own_name() {
    let own = faults().filter(|fault| !fault.is_upstream()).map(Fault::error);
    let reasons: BTreeSet<&str> = own
        .chain(UNREAD)
        .chain(FAULTS)
        .chain(ERRORS.iter().copied())
        .collect();
    assert_eq!(reasons, REFUSALS.iter().copied().collect());

    let failures = faults().filter(|fault| fault.is_upstream()).map(Fault::error);
    let bodies = ["upstream_body_broken", "upstream_body_stalled"];
    let failures: BTreeSet<&str> = failures.chain(bodies).collect();
    assert_eq!(failures, UPSTREAM_FAILURES.iter().copied().collect());
}

#[test]
fn the_manual_lists_every_fault() {
    let manual = include_str!("../../../../../docs/gateway.md");
    let own = faults().map(Fault::error).chain(UNREAD);
    let missing: Vec<&str> = own
        .filter(|error| !manual.contains(&format!("`{error}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
