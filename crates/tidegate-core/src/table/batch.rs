//! Several charges of one request, all or nothing: everything involved is locked, then all is decided, then all is written.

mod buckets;
mod ledger;

use smallvec::SmallVec;

use self::buckets::BucketBatch;
use self::ledger::LedgerBatch;
use super::Table;
use crate::limit::Shape;
use crate::{Charge, Cost, Decision, Decisions, Mode, Timestamp};

pub(super) fn charge(table: &Table, charges: &[Charge<'_>], now: Timestamp) -> Decisions {
    let mut batch = Batch {
        buckets: BucketBatch::new(&table.buckets, now.as_nanos()),
        ledger: LedgerBatch::new(&table.ledger, now),
    };
    batch.lock(charges);
    let mut each: SmallVec<[Decision; 4]> = charges.iter().map(|charge| batch.decide(charge)).collect();
    let charged = charges
        .iter()
        .zip(&each)
        .all(|(charge, decision)| decision.outcome.passes() || charge.mode == Mode::Shadow);
    if !charged {
        batch.undo();
        for (charge, decision) in charges.iter().zip(&mut each) {
            *decision = Decision {
                outcome: decision.outcome,
                ..batch.look(charge)
            };
        }
    }
    batch.write();
    Decisions { charged, each }
}

/// Everything that the charges of one request touch. Lines of buckets are locked before shards of the ledger.
struct Batch<'t, 'c> {
    buckets: BucketBatch<'t, 'c>,
    ledger: LedgerBatch<'t, 'c>,
}

impl<'c> Batch<'_, 'c> {
    fn lock(&mut self, charges: &'c [Charge<'_>]) {
        for charge in charges {
            match charge.limit.shape() {
                Shape::Bucket(bucket) => self.buckets.open(charge.key, bucket),
                Shape::Tally(tally) => self.ledger.open(charge, tally),
            }
        }
        self.buckets.lock();
        self.ledger.lock();
    }

    /// Decides on a charge as if those before it were spent.
    fn decide(&mut self, charge: &'c Charge<'_>) -> Decision {
        match charge.limit.shape() {
            Shape::Bucket(bucket) => self.buckets.decide(charge.key, bucket, charge.cost.units()),
            Shape::Tally(tally) => self.ledger.decide(charge, tally),
        }
    }

    /// What a charge that only looks would answer.
    fn look(&self, charge: &Charge<'_>) -> Decision {
        match charge.limit.shape() {
            Shape::Bucket(bucket) => self.buckets.look(charge.key, bucket),
            Shape::Tally(tally) => self.ledger.look(charge, tally, Cost::LOOK),
        }
    }

    fn undo(&mut self) {
        self.buckets.undo();
        self.ledger.undo();
    }

    fn write(&mut self) {
        self.buckets.write();
        self.ledger.write();
    }
}
