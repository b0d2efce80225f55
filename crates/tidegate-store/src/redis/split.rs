//! A request whose charges live in different places: cut into parts, and its answers joined again.

use smallvec::SmallVec;
use tidegate_core::{Decision, Decisions, Mode};

use super::call::{Ask, Asked, StoreTime};

/// The charges of one request that go to one lane.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) shard: u8,
    pub(crate) asked: Asked,
    /// Where each of them stands in the request.
    pub(crate) places: SmallVec<[usize; 2]>,
}

/// What became of a part.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) at: StoreTime,
    pub(crate) decisions: Decisions,
}

/// Cuts a request by shards. All of it is one part if `together`.
pub(crate) fn cut(asks: &[Ask], hold: [u8; 16], together: bool) -> SmallVec<[Part; 1]> {
    let mut parts: SmallVec<[Part; 1]> = SmallVec::new();
    for (place, ask) in asks.iter().enumerate() {
        let shard = if together { 0 } else { ask.key.shard() };
        match parts.iter_mut().find(|part| part.shard == shard) {
            Some(part) => {
                part.asked.asks.push(*ask);
                part.places.push(place);
            }
            None => parts.push(Part {
                shard,
                asked: Asked {
                    asks: SmallVec::from_iter([*ask]),
                    hold,
                },
                places: SmallVec::from_iter([place]),
            }),
        }
    }
    parts
}

/// The answer to the whole request. Where one part was refused, what the others spent counts as unspent: it is given back.
pub(crate) fn join(parts: &[Part], answers: &[Answered]) -> Decisions {
    let charged = answers.iter().all(|answer| answer.decisions.charged);
    let mut each: SmallVec<[(usize, Decision); 4]> = SmallVec::new();
    for (part, answer) in parts.iter().zip(answers) {
        let given_back = answer.decisions.charged && !charged;
        for ((place, ask), decision) in part
            .places
            .iter()
            .zip(&part.asked.asks)
            .zip(&answer.decisions.each)
        {
            let mut decision = *decision;
            if given_back && decision.outcome.passes() {
                decision.remaining = decision.remaining.saturating_add(ask.cost);
            }
            each.push((*place, decision));
        }
    }
    each.sort_unstable_by_key(|(place, _)| *place);
    Decisions {
        charged,
        each: each.into_iter().map(|(_, decision)| decision).collect(),
    }
}

/// Whether a part that was charged has spent anything that must be given back.
pub(crate) fn has_spent(part: &Part, answer: &Answered) -> bool {
    let spends = |(ask, decision): (&Ask, &Decision)| ask.cost > 0 && decision.outcome.passes();
    answer.decisions.charged && part.asked.asks.iter().zip(&answer.decisions.each).any(spends)
}

/// What a part that was charged spent: not the shadow charges that were refused.
pub(crate) fn spent(part: &Part, answer: &Answered) -> Asked {
    let passed = part.asked.asks.iter().zip(&answer.decisions.each);
    Asked {
        asks: passed
            .filter(|(ask, decision)| decision.outcome.passes() || ask.mode == Mode::Enforce)
            .map(|(ask, _)| *ask)
            .collect(),
        hold: part.asked.hold,
    }
}
