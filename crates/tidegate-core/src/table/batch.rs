//! Several charges of one request, all or nothing: everything involved is locked, then all is decided, then all is written.

use smallvec::SmallVec;

use super::Table;
use super::teller::Teller;
use crate::limit::Shape;
use crate::{Charge, Decision, Decisions, Mode, Timestamp};

/// Charges, each with the account of its counter.
type Opened<'c> = SmallVec<[(&'c Charge<'c>, usize); 4]>;

pub(super) fn charge(table: &Table, charges: &[Charge<'_>], now: Timestamp) -> Decisions {
    let mut teller = Teller::new(&table.buckets, now.as_nanos());
    let opened: Opened<'_> = charges
        .iter()
        .map(|charge| (charge, open(&mut teller, charge)))
        .collect();
    teller.lock();

    let mut each: SmallVec<[Decision; 4]> = opened
        .iter()
        .map(|&(charge, account)| decide(&mut teller, charge, account))
        .collect();
    let charged = opened
        .iter()
        .zip(&each)
        .all(|((charge, _), decision)| decision.outcome.passes() || charge.mode == Mode::Shadow);
    if !charged {
        teller.undo();
        for (&(charge, account), decision) in opened.iter().zip(&mut each) {
            *decision = unspent(&teller, charge, account, *decision);
        }
    }
    teller.write();
    Decisions { charged, each }
}

fn open<'c>(teller: &mut Teller<'_, 'c>, charge: &'c Charge<'_>) -> usize {
    match charge.limit.shape() {
        Shape::Bucket(bucket) => teller.open(charge.key, bucket),
        Shape::Tally(_) => 0,
    }
}

fn decide<'c>(teller: &mut Teller<'_, 'c>, charge: &'c Charge<'_>, account: usize) -> Decision {
    match charge.limit.shape() {
        Shape::Bucket(bucket) => teller.decide(account, bucket, charge.cost.units()),
        // Until the ledger keeps their state, as if nothing had been spent.
        Shape::Tally(tally) => tally.look(None, charge.cost, Timestamp::EPOCH),
    }
}

/// The outcome as it was told, with what is left now that nothing is spent.
fn unspent(teller: &Teller<'_, '_>, charge: &Charge<'_>, account: usize, told: Decision) -> Decision {
    let left = match charge.limit.shape() {
        Shape::Bucket(bucket) => teller.look(account, bucket),
        Shape::Tally(tally) => tally.look(None, crate::Cost::LOOK, Timestamp::EPOCH),
    };
    Decision {
        outcome: told.outcome,
        ..left
    }
}
