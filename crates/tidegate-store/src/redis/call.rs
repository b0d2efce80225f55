//! What goes into one call of the script, and what comes back.

use core::fmt;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use smallvec::SmallVec;
use tidegate_core::{Charge, Decision, Decisions, Key, Mode, Outcome, Timestamp};

use super::name;
use super::numbers::{Kind, MOST_UNITS, Numbers, Uncountable};
use super::script::Kinds;

/// What one request asks of one lane: all or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) asks: SmallVec<[Ask; 2]>,
    /// Who holds the slots it takes: unique among all instances.
    pub(crate) hold: [u8; 16],
}

/// A charge that owns its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ask {
    pub(crate) key: Key,
    pub(crate) limit: Numbers,
    pub(crate) cost: u64,
    pub(crate) mode: Mode,
    /// Whether a master that may have lost writes is taken to have spent everything.
    pub(crate) cautious: bool,
}

impl Ask {
    /// # Errors
    /// [`Uncountable`]: the script cannot count that limit. Policies with such limits are refused at load.
    pub(crate) fn of(charge: &Charge<'_>, now: Timestamp) -> Result<Self, Uncountable> {
        Ok(Self {
            key: charge.key,
            limit: Numbers::of(charge.limit, now)?,
            // Above the capacity all costs are the same, and a double may not hold them.
            cost: charge.cost.units().min(charge.limit.capacity() + 1),
            mode: charge.mode,
            cautious: charge.limit.is_cautious(),
        })
    }

    /// The same to give back what it costs.
    ///
    /// # Errors
    /// As [`Ask::of`].
    pub(crate) fn refunding(charge: &Charge<'_>, now: Timestamp) -> Result<Self, Uncountable> {
        Ok(Self {
            // A leaky bucket may have lent more than it holds, and no counter holds more than this.
            cost: charge.cost.units().min(MOST_UNITS),
            ..Self::of(charge, now)?
        })
    }
}

/// A call: keys and arguments for the script.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The epoch key of the lane, then the counters.
    pub(crate) keys: Vec<String>,
    /// The plan, in MessagePack.
    pub(crate) plan: Vec<u8>,
    /// What the script must know.
    pub(crate) kinds: Kinds,
    /// How many charges each request has, for reading the answer.
    charges: Vec<Charges>,
}

/// The modes of a request's charges.
type Charges = SmallVec<[Mode; 2]>;

/// What the script says about one charge, by number.
mod code {
    pub(super) const ALLOW: i64 = 0;
    pub(super) const DENY: i64 = 1;
    pub(super) const NEVER: i64 = 2;
    /// The calendar that was sent does not reach the store's time.
    pub(super) const LOST: i64 = 3;
}

/// Numbers in the answer for each charge.
const ANSWER: usize = 4;

impl Call {
    /// A call that decides on `requests`, with counters named by `prefix` and the epoch of `shard`.
    pub(crate) fn charging(prefix: &str, shard: u8, requests: &[&Asked]) -> Self {
        let mut plan = Plan::new(prefix, requests.iter().flat_map(|request| &request.asks));
        for request in requests {
            plan.number(request.asks.len() as u64);
            if request.asks.iter().any(|ask| ask.limit.kind() == Kind::Slots) {
                plan.bytes(&request.hold);
            } else {
                plan.number(0);
            }
            for ask in &request.asks {
                plan.counter_and_limit();
                plan.number(ask.cost);
                plan.number(u64::from(ask.mode == Mode::Shadow) + 2 * u64::from(ask.cautious));
            }
        }
        let charges = requests
            .iter()
            .map(|request| request.asks.iter().map(|ask| ask.mode).collect())
            .collect();
        plan.into_call(name::epoch(prefix, shard), charges)
    }

    /// A call that gives back what `spent` spent at `spent_at`, by the store's time.
    pub(crate) fn giving_back(prefix: &str, shard: u8, spent: &Asked, spent_at: StoreTime) -> Self {
        let passed = || spent.asks.iter().filter(|ask| ask.cost > 0);
        let mut plan = Plan::new(prefix, passed());
        for ask in passed() {
            plan.counter_and_limit();
            plan.number(ask.cost);
            plan.number(spent_at.0);
            plan.bytes(&spent.hold);
        }
        plan.into_call(name::epoch(prefix, shard), Vec::new())
    }

    /// A call that gives back what `asked` costs, whenever it was spent.
    pub(crate) fn refunding(prefix: &str, shard: u8, asked: &Asked) -> Self {
        let spent = || asked.asks.iter().filter(|ask| ask.cost > 0);
        let mut plan = Plan::new(prefix, spent());
        for ask in spent() {
            plan.counter_and_limit();
            plan.number(ask.cost);
        }
        plan.into_call(name::epoch(prefix, shard), Vec::new())
    }

    /// Reads the answer of a call that charges: the store's time, and what it decided on each request.
    ///
    /// # Errors
    /// [`BadAnswer`]: it is not an answer to this call.
    pub(crate) fn answers(&self, answer: &[i64]) -> Result<(StoreTime, Vec<Answer>), BadAnswer> {
        let (&now, mut rest) = answer.split_first().ok_or(BadAnswer)?;
        let now = StoreTime(u64::try_from(now).map_err(|_| BadAnswer)?);
        let mut all = Vec::with_capacity(self.charges.len());
        for modes in &self.charges {
            let (own, others) = rest.split_at_checked(modes.len() * ANSWER).ok_or(BadAnswer)?;
            all.push(one_answer(modes, own)?);
            rest = others;
        }
        if !rest.is_empty() {
            return Err(BadAnswer);
        }
        Ok((now, all))
    }
}

/// A moment by the store's clock, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreTime(pub(crate) u64);

/// What the script says about one request: None if it could not decide, because this instance's clock and the store's are more than
/// a window of the calendar apart.
pub(crate) type Answer = Option<Decisions>;

/// An answer that no script of this version gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadAnswer;

impl fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store's answer cannot be read")
    }
}

fn one_answer(modes: &Charges, numbers: &[i64]) -> Result<Answer, BadAnswer> {
    let mut decisions = Decisions {
        charged: true,
        each: SmallVec::new(),
    };
    let mut lost = false;
    for (mode, number) in modes.iter().zip(numbers.chunks_exact(ANSWER)) {
        let [code, wait, remaining, reset_after] = *number else {
            return Err(BadAnswer);
        };
        let wait = micros(wait)?;
        let outcome = match code {
            code::ALLOW => Outcome::Allow { delay: wait },
            code::DENY => Outcome::Deny { retry_after: wait },
            code::NEVER => Outcome::Never,
            code::LOST => {
                lost = true;
                continue;
            }
            _ => return Err(BadAnswer),
        };
        decisions.charged &= outcome.passes() || *mode == Mode::Shadow;
        decisions.each.push(Decision {
            outcome,
            remaining: u64::try_from(remaining).map_err(|_| BadAnswer)?,
            reset_after: micros(reset_after)?,
        });
    }
    Ok((!lost).then_some(decisions))
}

fn micros(micros: i64) -> Result<Duration, BadAnswer> {
    u64::try_from(micros)
        .map(Duration::from_micros)
        .map_err(|_| BadAnswer)
}

/// A plan in the making: a list of numbers whose length goes first once it is known.
#[derive(Default)]
struct Plan {
    /// Counters that are strings come first: the script reads them at once.
    strings: Names,
    others: Names,
    limits: HashMap<Numbers, u64, RandomState>,
    rows: Vec<[u64; 6]>,
    kinds: Kinds,
    /// The counter and the limit of each charge, in their order.
    places: VecDeque<Place>,
    body: Vec<u8>,
    length: u32,
}

/// The names of counters, and where in their list each is.
#[derive(Default)]
struct Names {
    places: HashMap<(Key, char), u64, RandomState>,
    names: Vec<String>,
}

struct Place {
    is_string: bool,
    counter: u64,
    limit: u64,
}

impl Names {
    fn place(&mut self, prefix: &str, key: Key, kind: Kind) -> u64 {
        let names = &mut self.names;
        *self.places.entry((key, kind.letter())).or_insert_with(|| {
            names.push(name::counter(prefix, key, kind));
            names.len() as u64
        })
    }
}

impl Plan {
    /// Names the counters of `asks` and numbers their limits.
    fn new<'a>(prefix: &str, asks: impl Iterator<Item = &'a Ask>) -> Self {
        let mut plan = Self::default();
        let mut last = None;
        for ask in asks {
            let kind = ask.limit.kind();
            let is_string = kind.is_string();
            plan.kinds.insert(kind);
            let names = if is_string {
                &mut plan.strings
            } else {
                &mut plan.others
            };
            let counter = names.place(prefix, ask.key, kind);
            // Most calls are about few limits.
            let limit = match last {
                Some((same, limit)) if same == ask.limit => limit,
                _ => plan.limit(ask.limit),
            };
            last = Some((ask.limit, limit));
            plan.places.push_back(Place {
                is_string,
                counter,
                limit,
            });
        }
        plan
    }

    fn limit(&mut self, limit: Numbers) -> u64 {
        let rows = &mut self.rows;
        *self.limits.entry(limit).or_insert_with(|| {
            rows.push(limit.row());
            rows.len() as u64
        })
    }

    /// Those of the next charge.
    fn counter_and_limit(&mut self) {
        let Some(place) = self.places.pop_front() else {
            return;
        };
        let before = if place.is_string {
            0
        } else {
            self.strings.names.len() as u64
        };
        // The epoch key is the first.
        self.number(1 + before + place.counter);
        self.number(place.limit);
    }

    fn number(&mut self, number: u64) {
        self.length += 1;
        write_number(&mut self.body, number);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length += 1;
        // As text, of any bytes: the script's reader knows no other. Writing to memory cannot fail.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let _ = rmp::encode::write_str_len(&mut self.body, length);
        self.body.extend_from_slice(bytes);
    }

    fn into_call(self, epoch: String, charges: Vec<Charges>) -> Call {
        let head = 2 + 6 * self.rows.len();
        let mut plan = Vec::with_capacity(self.body.len() + 9 * head);
        let length = self
            .length
            .saturating_add(u32::try_from(head).unwrap_or(u32::MAX));
        let _ = rmp::encode::write_array_len(&mut plan, length);
        write_number(&mut plan, self.strings.names.len() as u64);
        write_number(&mut plan, self.rows.len() as u64);
        for number in self.rows.into_iter().flatten() {
            write_number(&mut plan, number);
        }
        plan.extend_from_slice(&self.body);
        let mut keys = Vec::with_capacity(1 + self.strings.names.len() + self.others.names.len());
        keys.push(epoch);
        keys.extend(self.strings.names);
        keys.extend(self.others.names);
        Call {
            keys,
            plan,
            kinds: self.kinds,
            charges,
        }
    }
}

fn write_number(to: &mut Vec<u8>, number: u64) {
    let _ = rmp::encode::write_uint(to, number);
}
