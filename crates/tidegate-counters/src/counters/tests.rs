use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderMap, Method, Version};
use tidegate_core::TableSize;
use tidegate_policy::{Body, Identity, PolicyFile, PolicySet, Request, Verdict, compile};

use tidegate_store::{NotRefunded, Turns};
use tokio::runtime::{Builder, Runtime};

use super::*;
use tidegate_clock::ManualClock;

const NOW: Timestamp = Timestamp::from_nanos(1_800_000_000_000_000_000);

/// A shared store that answers from memory, or fails as it is told.
#[derive(Debug)]
struct Stand {
    memory: Memory,
    fails: Mutex<Option<StoreError>>,
    garbles: bool,
    calls: AtomicUsize,
    /// Of the last request.
    cautious: Mutex<Vec<bool>>,
}

impl Store for Stand {
    async fn charge(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<Decisions, StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let cautious = charges.iter().map(|charge| charge.limit.is_cautious());
        *self.cautious.lock().unwrap() = cautious.collect();
        if let Some(error) = *self.fails.lock().unwrap() {
            return Err(error);
        }
        if self.garbles {
            return Ok(Decisions::default());
        }
        self.memory.charge(charges, now).await
    }

    async fn release(&self, key: Key, hold: HoldId, now: Timestamp) -> Result<(), StoreError> {
        self.memory.release(key, hold, now).await
    }

    async fn refund(&self, charges: &[Charge<'_>], now: Timestamp) -> Result<(), NotRefunded> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let Some(error) = *self.fails.lock().unwrap() else {
            return self.memory.refund(charges, now).await;
        };
        // An answer that does not come may be on its way.
        let surely_not = if error == StoreError::Timeout {
            0
        } else {
            charges.len()
        };
        Err(NotRefunded {
            error,
            untouched: (0..surely_not).collect(),
        })
    }
}

fn memory() -> Memory {
    Memory::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 20,
    })
}

/// A set of policies and the counters that they ask.
struct Bed {
    policies: PolicySet,
    counters: Counters<Stand>,
    clock: Clock,
}

impl Bed {
    fn of(policies: &str) -> Self {
        let text = &format!("store: redis://a.test\npolicies:\n{policies}");
        let file = PolicyFile { name: "t.yaml", text };
        let compiled = compile(file, &KeyHasher::new([1; 16])).unwrap();
        let stand = Stand {
            memory: memory(),
            fails: Mutex::new(None),
            garbles: false,
            calls: AtomicUsize::new(0),
            cautious: Mutex::default(),
        };
        Self {
            policies: compiled.config.policies,
            counters: Counters::sharing(memory(), stand, KeyHasher::new([2; 16])),
            clock: Clock::manual(ManualClock::starting_at(NOW)),
        }
    }

    fn stand(&self) -> &Stand {
        self.counters.store().unwrap()
    }

    fn fail(&self, with: Option<StoreError>) {
        *self.stand().fails.lock().unwrap() = with;
    }

    fn calls(&self) -> usize {
        self.stand().calls.load(Ordering::Relaxed)
    }

    /// Asks about one request, and hands what was found to `look`.
    fn ask<T>(&self, look: impl FnOnce(&Plan<'_>, &Findings, Verdict<'_>) -> T) -> T {
        self.planned(|plan, runtime| {
            let findings = runtime.block_on(self.counters.charge(plan, NOW, &self.clock));
            assert_eq!(findings.each.len(), plan.charges.len());
            look(plan, &findings, plan.conclude_findings(&findings))
        })
    }

    /// Hands the plan of one request to `act`.
    fn planned<T>(&self, act: impl FnOnce(&Plan<'_>, &Runtime) -> T) -> T {
        let headers = HeaderMap::new();
        let request = Request {
            method: &Method::GET,
            version: Version::HTTP_11,
            host: "a.test",
            path: "/",
            query: None,
            headers: &headers,
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tls: None,
            body: &Body::UNREAD,
        };
        let plan = self.policies.plan(&request, &Identity::Anonymous, HoldId(1), NOW);
        assert!(!self.counters.are_local(&plan));
        let runtime = Builder::new_current_thread().build().unwrap();
        act(&plan, &runtime)
    }

    /// Gives back what one request costs.
    fn refund(&self) -> Result<(), StoreFailure> {
        self.planned(|plan, runtime| runtime.block_on(self.counters.refund(plan, NOW, &self.clock)))
    }

    /// What becomes of one request.
    fn word(&self) -> &'static str {
        self.ask(|_, _, verdict| verdict.word())
    }

    /// What each limit has left after one request, where it was asked.
    fn left(&self) -> Vec<Option<u64>> {
        self.ask(|_, findings, _| {
            let left = |finding: &Finding| Some(finding.decision()?.remaining);
            findings.each.iter().map(left).collect()
        })
    }
}

/// A policy that holds `quota` per day.
fn policy(name: &str, quota: u64, more: &str) -> String {
    format!("  - {{ name: {name}, key: [client.ip], limit: {{ quota: {quota}, window: 24h }}, {more} }}\n")
}

#[test]
fn a_refusal_in_memory_costs_no_call() {
    let bed = Bed::of(&(policy("own", 1, "consistency: local") + &policy("shared", 9, "")));
    assert_eq!(bed.word(), "pass");
    assert_eq!((bed.word(), bed.calls()), ("reject", 1));
    assert_eq!(bed.left(), [Some(0), None]);
}

#[test]
fn what_was_spent_in_memory_is_given_back_when_the_shared_store_refuses() {
    let bed = Bed::of(&(policy("own", 9, "consistency: local") + &policy("shared", 1, "")));
    assert_eq!(bed.left(), [Some(8), Some(0)]);
    assert_eq!(bed.left(), [Some(8), Some(0)], "told as if it had not been spent");
    assert_eq!((bed.word(), bed.left()), ("reject", vec![Some(8), Some(0)]));
}

#[test]
fn all_that_is_shared_travels_in_one_call() {
    let bed = Bed::of(&(policy("one", 5, "") + &policy("other", 7, "")));
    assert_eq!(bed.left(), [Some(4), Some(6)]);
    assert_eq!(bed.calls(), 1);
}

#[test]
fn policies_that_deny_without_the_store_are_cautious_in_it() {
    let bed = Bed::of(
        &(policy("own", 9, "consistency: local")
            + &policy("open", 9, "on_store_failure: allow")
            + &policy("closed", 9, "on_store_failure: deny")
            + &policy("alone", 9, "")),
    );
    bed.word();
    assert_eq!(*bed.stand().cautious.lock().unwrap(), [false, true, false]);
}

#[test]
fn while_the_store_fails_each_policy_goes_its_own_way() {
    let bed = Bed::of(
        &(policy("own", 9, "consistency: local")
            + &policy("open", 9, "on_store_failure: allow")
            + &policy("alone", 8, "on_store_failure: local, local_share: 25%")),
    );
    bed.fail(Some(StoreError::Timeout));
    for left in [1, 0] {
        bed.ask(|_, findings, verdict| {
            assert_eq!(findings.failure, Some(StoreFailure::Timeout));
            assert_eq!(verdict.word(), "pass");
            assert_eq!(findings.each[1], Finding::Failed);
            assert_eq!(findings.each[2].decision().unwrap().remaining, left);
        });
    }
    assert_eq!(bed.word(), "reject", "the share is used up");
    assert_eq!(
        bed.left(),
        [Some(7), None, Some(0)],
        "and takes nothing of the others"
    );
    bed.fail(None);
    assert_eq!(
        bed.left(),
        [Some(6), Some(8), Some(7)],
        "the store knows nothing of it"
    );
}

#[test]
fn one_policy_that_denies_is_enough_and_nothing_is_spent() {
    let bed = Bed::of(
        &(policy("own", 9, "consistency: local")
            + &policy("alone", 9, "on_store_failure: local")
            + &policy("closed", 9, "on_store_failure: deny")),
    );
    bed.fail(Some(StoreError::Unavailable));
    bed.ask(|_, findings, verdict| {
        assert_eq!(verdict.word(), "reject");
        assert!(verdict.readings.is_empty());
        assert_eq!(
            findings.each[..],
            [Finding::Unasked, Finding::Failed, Finding::Failed]
        );
    });
    bed.fail(None);
    assert_eq!(bed.left(), [Some(8), Some(8), Some(8)]);
    assert!(bed.counters.outage().unwrap().lasts());
}

#[test]
fn a_rehearsed_policy_refuses_nobody_whatever_it_says_of_failures() {
    let bed = Bed::of(
        &(policy("closed", 9, "on_store_failure: deny, mode: shadow")
            + &policy("open", 9, "on_store_failure: allow")),
    );
    bed.fail(Some(StoreError::Unavailable));
    assert_eq!(bed.word(), "pass");
}

#[test]
fn an_answer_that_does_not_fit_the_charges_is_a_failure() {
    let mut bed = Bed::of(&policy("open", 9, "on_store_failure: allow"));
    bed.counters.shared.as_mut().unwrap().store.garbles = true;
    bed.ask(|_, findings, _| assert_eq!(findings.failure, Some(StoreFailure::Garbled)));
}

#[test]
fn a_request_that_costs_more_than_a_share_holds_uses_it_up() {
    let bed = Bed::of(&policy(
        "alone",
        8,
        "cost: 5, on_store_failure: local, local_share: 25%",
    ));
    bed.fail(Some(StoreError::Timeout));
    assert_eq!(bed.word(), "pass");
    assert_eq!(bed.word(), "reject");
}

#[test]
fn a_slot_comes_back_wherever_it_was_taken() {
    let slots = "limit: { algorithm: concurrency, slots: 1 }";
    let bed = Bed::of(&format!(
        "  - {{ name: shared, key: [client.ip], {slots} }}\n  - {{ name: own, key: [client.ip], {slots}, consistency: local }}\n"
    ));
    let release = |bed: &Bed| {
        bed.ask(|plan, _, _| {
            let slots: Vec<Slot> = plan
                .charges
                .iter()
                .zip(&plan.sources)
                .map(|(charge, source)| Slot::of(charge.key, source))
                .collect();
            let shared = bed.counters.release_locally(&slots, HoldId(1), NOW);
            assert_eq!(shared[..], [plan.charges[0].key]);
            for key in shared {
                bed.stand().memory.table().release(key, HoldId(1), NOW);
            }
        });
    };
    assert_eq!((bed.word(), bed.word()), ("pass", "reject"));
    release(&bed);
    bed.fail(Some(StoreError::Timeout));
    assert_eq!((bed.word(), bed.word()), ("pass", "reject"));
    release(&bed);
    assert_eq!((bed.word(), bed.word()), ("pass", "reject"));
}

#[test]
fn what_was_spent_some_time_ago_comes_back_wherever_it_counts() {
    let bed = Bed::of(
        &(policy("own", 9, "consistency: local, cost: 2")
            + &policy("one", 8, "")
            + &policy("other", 7, "cost: 3")),
    );
    assert_eq!(bed.left(), [Some(7), Some(7), Some(4)]);
    let calls = bed.calls();
    assert_eq!(bed.refund(), Ok(()));
    assert_eq!(bed.calls(), calls + 1, "all that is shared travels in one call");
    assert_eq!(bed.left(), [Some(7), Some(7), Some(4)]);
}

#[test]
fn while_the_store_fails_hits_come_back_to_the_counters_that_take_its_place() {
    let bed = Bed::of(
        &(policy("open", 9, "on_store_failure: allow")
            + &policy("alone", 8, "on_store_failure: local, local_share: 50%")),
    );
    assert_eq!(bed.left(), [Some(8), Some(7)]);
    bed.fail(Some(StoreError::Unavailable));
    assert_eq!(bed.left(), [None, Some(3)]);
    assert_eq!(bed.refund(), Err(StoreFailure::Unavailable));
    assert!(bed.counters.outage().unwrap().lasts());
    assert_eq!(bed.left(), [None, Some(3)], "one came back");
    bed.fail(None);
    assert_eq!(bed.left(), [Some(7), Some(6)], "nothing came back there");
}

#[test]
fn what_the_store_may_have_given_back_is_not_given_back_again() {
    let bed = Bed::of(&policy("alone", 8, "on_store_failure: local, local_share: 50%"));
    bed.fail(Some(StoreError::Timeout));
    assert_eq!(bed.left(), [Some(3)]);
    assert_eq!(bed.refund(), Err(StoreFailure::Timeout));
    assert_eq!(bed.left(), [Some(2)], "nothing came back");
}

#[test]
fn a_store_that_has_just_failed_is_not_asked_again() {
    let bed = Bed::of(
        &(policy("own", 9, "consistency: local")
            + &policy("alone", 8, "on_store_failure: local, local_share: 50%")),
    );
    let turns = Turns::new(1);
    bed.planned(|plan, runtime| {
        let asking = bed
            .counters
            .ask_without_store(plan, &turns, StoreFailure::Timeout, NOW, &bed.clock);
        let (answer, _) = runtime.block_on(asking).unwrap();
        let left: Vec<_> = answer
            .decisions()
            .map(|decision| decision.unwrap().remaining)
            .collect();
        assert_eq!((left, bed.calls()), (vec![8, 3], 0));
        assert_eq!(answer.conclude(plan).failure, Some(StoreFailure::Timeout));
    });
}
