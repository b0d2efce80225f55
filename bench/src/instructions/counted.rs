//! What is counted: a step, taken so many times. Runs under valgrind.

use std::hint::black_box;
use std::time::Duration;

use tidegate_core::{Charge, Cost, HoldId, Key, KeyHasher, Limit, Mode, Rate, Table, TableSize, Timestamp};

/// What the process is to do. For the bench itself, not for people.
#[derive(clap::Args)]
pub(crate) struct Options {
    step: Step,
    times: u32,
}

/// Part of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Step {
    /// Hashing a key of 16 bytes
    HashKey,
    /// One charge that passes
    ChargeAllowed,
    /// One charge that is refused
    ChargeDenied,
    /// One charge that passes, at a rate that does not divide a second
    ChargeUneven,
    /// Three charges of one request that pass
    ThreeCharges,
}

impl Step {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::HashKey => "hash a key of 16 bytes",
            Self::ChargeAllowed => "one charge, allowed",
            Self::ChargeDenied => "one charge, denied",
            Self::ChargeUneven => "one charge, allowed, 7 per second",
            Self::ThreeCharges => "three charges of one request, allowed",
        }
    }

    /// The name on the command line and in the record.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::HashKey => "hash-key",
            Self::ChargeAllowed => "charge-allowed",
            Self::ChargeDenied => "charge-denied",
            Self::ChargeUneven => "charge-uneven",
            Self::ThreeCharges => "three-charges",
        }
    }
}

/// Takes the step.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let hasher = KeyHasher::new(*b"bench's own key!");
    let keys =
        ["0123456789abcdef", "123456789abcdef0", "23456789abcdef01"].map(|name| hasher.key(name.as_bytes()));
    match options.step {
        Step::HashKey => {
            for _ in 0..options.times {
                black_box(hasher.key(black_box(b"0123456789abcdef")));
            }
        }
        Step::ChargeAllowed => charge(&keys[..1], &limit(1, 1_000_000)?, options.times),
        Step::ChargeDenied => charge(&keys[..1], &limit(1, 1)?, options.times),
        Step::ChargeUneven => charge(&keys[..1], &limit(7, 1_000_000)?, options.times),
        Step::ThreeCharges => charge(&keys, &limit(1, 1_000_000)?, options.times),
    }
    Ok(())
}

fn limit(quota: u64, burst: u64) -> anyhow::Result<Limit> {
    Ok(Limit::token_bucket(
        Rate::new(quota, Duration::from_secs(1))?,
        burst,
    )?)
}

/// Charges `keys` together, a microsecond between requests.
fn charge(keys: &[Key], limit: &Limit, times: u32) {
    let table = Table::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 16,
    });
    let charges: Vec<Charge<'_>> = keys
        .iter()
        .map(|&key| Charge {
            key,
            limit,
            cost: Cost::ONE,
            mode: Mode::Enforce,
            hold: HoldId::default(),
        })
        .collect();
    for index in 0..u64::from(times) {
        let now = Timestamp::from_nanos(1_800_000_000_000_000_000 + index * 1000);
        black_box(table.charge(black_box(&charges), now));
    }
}
