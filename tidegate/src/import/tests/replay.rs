//! Calls of the rate limit service, decided by imported policies.

use proptest::prelude::*;
use tidegate_core::{Decisions, HoldId, KeyHasher, Table, TableSize, Timestamp};
use tidegate_policy::{Config, Course, Descriptor, DescriptorCall, Entry, PolicyFile, Problems, compile};

use crate::import::Imported;

/// A call, and when it comes.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) at_ms: u64,
    pub(super) domain: &'static str,
    pub(super) descriptors: Vec<Asked>,
    /// What each of them costs that does not say so itself.
    pub(super) hits: Option<u64>,
}

/// One descriptor of a call.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) entries: Vec<(&'static str, &'static str)>,
    pub(super) hits: Option<u64>,
}

/// Imported policies and their counters.
pub(super) struct Replay {
    config: Config,
    table: Table,
    asked: u64,
}

impl Replay {
    pub(super) fn of(imported: Result<Imported, Problems>) -> Self {
        let imported = imported.unwrap_or_else(|problems| panic!("{problems}"));
        let file = PolicyFile {
            name: "imported",
            text: &imported.text,
        };
        let compiled = compile(file, &KeyHasher::new([7; 16]));
        let compiled = compiled.unwrap_or_else(|problems| panic!("{}\n{problems}", imported.text));
        Self {
            config: compiled.config,
            table: Table::new(TableSize {
                bucket_bytes: 1 << 12,
                ledger_bytes: 1 << 20,
            }),
            asked: 0,
        }
    }

    /// Whether `call` passes.
    pub(super) fn passes(&mut self, call: &Call) -> bool {
        self.asked += 1;
        let now = Timestamp::from_nanos(call.at_ms * 1_000_000);
        let descriptors: Vec<Descriptor<'_>> = call.descriptors.iter().map(descriptor).collect();
        let asked = DescriptorCall {
            domain: call.domain,
            descriptors: &descriptors,
            hits: call.hits,
        };
        let planned = self
            .config
            .policies
            .plan_descriptors(&asked, HoldId(self.asked), now);
        assert!(planned.plan.refusal.is_none(), "{:?}", planned.plan.refusal);
        let decisions = match planned.plan.charges.as_slice() {
            [] => Decisions::default(),
            charges => self.table.charge(charges, now),
        };
        let verdict = planned.plan.conclude(Ok(&decisions));
        match verdict.course {
            Course::Pass => true,
            Course::Reject(_) => false,
            Course::Delay(_) => panic!("windows make nobody wait"),
        }
    }
}

fn descriptor(asked: &Asked) -> Descriptor<'_> {
    let entry = |(key, value): &(&'static str, &'static str)| Entry { key, value };
    Descriptor {
        entries: asked.entries.iter().map(entry).collect(),
        hits: asked.hits,
        limit: None,
    }
}

/// What a call or descriptor says that it costs. Not 1: that is what one costs which says nothing.
pub(super) fn hits() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![6 => Just(None), 1 => Just(Some(0)), 2 => (2..4u64).prop_map(Some)]
}
