//! What a file of Limitador means, decided as slowly and plainly as can be.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::replay::Call;

/// A limit of the file.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) name: Option<&'static str>,
    pub(super) max_value: u64,
    pub(super) seconds: u64,
    pub(super) conditions: Vec<Condition>,
    pub(super) variables: Vec<Place>,
}

/// An entry of a descriptor: the descriptor's number, and the key.
pub(super) type Place = (usize, &'static str);

/// A condition.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Is(Place, &'static str),
    IsNot(Place, &'static str),
    BeginsWith(Place, &'static str),
    Either(Box<Condition>, Box<Condition>),
    LimitIsNamed(&'static str),
}

/// Where windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// At multiples of their length.
    Aligned,
    /// With the first spending after the one before, as in Limitador.
    FromFirst,
}

impl Limit {
    /// As the file writes it.
    pub(super) fn as_json(&self) -> Value {
        let conditions: Vec<String> = self.conditions.iter().map(Condition::written).collect();
        let variables: Vec<String> = self.variables.iter().map(written).collect();
        json!({
            "namespace": "shop",
            "name": self.name,
            "max_value": self.max_value,
            "seconds": self.seconds,
            "conditions": conditions,
            "variables": variables,
        })
    }
}

fn written((number, key): &Place) -> String {
    format!("descriptors[{number}]['{key}']")
}

/// The value of an entry; of several with one key the last.
fn value<'c>(call: &'c Call, (number, key): &Place) -> Option<&'c str> {
    let entries = &call.descriptors.get(*number)?.entries;
    let entry = entries.iter().rev().find(|(own, _)| own == key);
    entry.map(|(_, value)| *value)
}

impl Condition {
    fn written(&self) -> String {
        match self {
            Self::Is(place, value) => format!("{} == \"{value}\"", written(place)),
            Self::IsNot(place, value) => format!("'{value}' != {}", written(place)),
            Self::BeginsWith(place, value) => format!("{}.startsWith('{value}')", written(place)),
            Self::Either(one, other) => format!("{} || {}", one.written(), other.written()),
            Self::LimitIsNamed(name) => format!("limit.name == '{name}'"),
        }
    }

    /// Whether it holds; None if it reads what is not there.
    fn holds(&self, call: &Call, limit: &Limit) -> Option<bool> {
        match self {
            Self::Is(place, wanted) => Some(value(call, place)? == *wanted),
            Self::IsNot(place, wanted) => Some(value(call, place)? != *wanted),
            Self::BeginsWith(place, wanted) => Some(value(call, place)?.starts_with(wanted)),
            // As CEL has it. Limitador 0.14 gives up where the left side reads what is not there, which the importer says.
            Self::Either(one, other) => match (one.holds(call, limit), other.holds(call, limit)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::LimitIsNamed(name) => Some(limit.name == Some(*name)),
        }
    }
}

/// Counters by limit and values.
pub(super) struct Model<'l> {
    limits: &'l [Limit],
    windows: Windows,
    counts: HashMap<(usize, Vec<String>), Count>,
}

#[derive(Clone, Copy)]
struct Count {
    spent: u64,
    /// When the window ends.
    end_ms: u64,
}

impl<'l> Model<'l> {
    pub(super) fn of(limits: &'l [Limit], windows: Windows) -> Self {
        Self {
            limits,
            windows,
            counts: HashMap::new(),
        }
    }

    /// Whether `call` passes: all limits that apply are spent, or none.
    pub(super) fn passes(&mut self, call: &Call) -> bool {
        let hits = call.hits.unwrap_or(1);
        let mut spent = Vec::new();
        for (index, limit) in self.limits.iter().enumerate() {
            let Some(values) = applies(limit, call) else {
                continue;
            };
            let counter = (index, values);
            let length_ms = limit.seconds * 1000;
            let earlier = self
                .counts
                .get(&counter)
                .filter(|count| count.end_ms > call.at_ms);
            let count = earlier.copied().unwrap_or(Count {
                spent: 0,
                end_ms: match self.windows {
                    Windows::Aligned => (call.at_ms / length_ms + 1) * length_ms,
                    Windows::FromFirst => call.at_ms + length_ms,
                },
            });
            if hits > 0 && count.spent + hits > limit.max_value {
                return false;
            }
            let spent_then = count.spent + hits;
            spent.push((
                counter,
                Count {
                    spent: spent_then,
                    ..count
                },
            ));
        }
        self.counts.extend(spent);
        true
    }
}

/// What `limit` counts `call` by, if it counts it.
fn applies(limit: &Limit, call: &Call) -> Option<Vec<String>> {
    let holds = |condition: &Condition| condition.holds(call, limit) == Some(true);
    if !limit.conditions.iter().all(holds) {
        return None;
    }
    let values = limit
        .variables
        .iter()
        .map(|place| value(call, place).map(str::to_owned));
    values.collect()
}
