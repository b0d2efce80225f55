//! The scripts, put together from the parts that a call needs: what an algorithm needs stands in the file of its name.
//!
//! The server runs a script from its beginning for each call, definitions included, so one that knows a single algorithm takes half
//! the time of one that knows all.

use std::sync::OnceLock;

use super::numbers::Kind;

/// The kinds of limits in a call, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    /// How many sets there are.
    const ALL: usize = 1 << 7;

    pub(crate) fn insert(&mut self, kind: Kind) {
        self.0 |= Self::bit(kind);
    }

    fn contains(self, kind: Kind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    fn contains_any(self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|&kind| self.contains(kind))
    }

    const fn bit(kind: Kind) -> u8 {
        1 << (kind as u8 - 1)
    }
}

/// A script, and the name under which servers keep it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) text: String,
    pub(crate) sha1: String,
}

impl Program {
    pub(super) fn new(text: String) -> Self {
        let sha1 = redis::Script::new(&text).get_hash().to_owned();
        Self { text, sha1 }
    }
}

/// Which time a program goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The store's own.
    Store,
    /// That of the caller, in the last argument: for tests that set it.
    #[cfg(any(test, feature = "conformance"))]
    Caller,
}

/// All programs, each made when it is first needed.
#[derive(Debug)]
pub(crate) struct Programs {
    clock: Clock,
    charge: [OnceLock<Program>; Kinds::ALL],
    give_back: [OnceLock<Program>; Kinds::ALL],
    refund: [OnceLock<Program>; Kinds::ALL],
    release: OnceLock<Program>,
}

impl Programs {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            charge: [const { OnceLock::new() }; Kinds::ALL],
            give_back: [const { OnceLock::new() }; Kinds::ALL],
            refund: [const { OnceLock::new() }; Kinds::ALL],
            release: OnceLock::new(),
        }
    }

    /// Decides on all charges of all requests of a call with limits of `kinds`.
    pub(crate) fn charge(&self, kinds: Kinds) -> &Program {
        let make = || self.program(kinds, include_str!("script/charge.lua"));
        self.charge[usize::from(kinds.0) % Kinds::ALL].get_or_init(make)
    }

    /// Gives back what charges on limits of `kinds` have spent.
    pub(crate) fn give_back(&self, kinds: Kinds) -> &Program {
        let make = || self.program(kinds, include_str!("script/give_back.lua"));
        self.give_back[usize::from(kinds.0) % Kinds::ALL].get_or_init(make)
    }

    /// Gives back what was spent some time ago of limits of `kinds`.
    pub(crate) fn refund(&self, kinds: Kinds) -> &Program {
        let make = || self.program(kinds, include_str!("script/refund.lua"));
        self.refund[usize::from(kinds.0) % Kinds::ALL].get_or_init(make)
    }

    /// Frees the slots of one request.
    pub(crate) fn release(&self) -> &Program {
        let make = || Program::new(include_str!("script/release.lua").to_owned());
        self.release.get_or_init(make)
    }

    fn program(&self, kinds: Kinds, ask: &str) -> Program {
        use Kind::{Calendar, Even, FixedWindow, Log, SlidingWindow, Slots, Uneven};
        let clock = match self.clock {
            Clock::Store => include_str!("script/clock.lua"),
            #[cfg(any(test, feature = "conformance"))]
            Clock::Caller => include_str!("script/clock_of_caller.lua"),
        };
        // A part after those that it uses, and the kinds that need it.
        let parts: [(&str, &[Kind]); 10] = [
            (
                include_str!("script/strings.lua"),
                &[Even, Uneven, FixedWindow, Calendar, SlidingWindow],
            ),
            (include_str!("script/share.lua"), &[Uneven, SlidingWindow]),
            (include_str!("script/bucket.lua"), &[Even, Uneven]),
            (include_str!("script/even_bucket.lua"), &[Even]),
            (include_str!("script/uneven_bucket.lua"), &[Uneven]),
            (
                include_str!("script/judge.lua"),
                &[FixedWindow, Calendar, SlidingWindow, Log, Slots],
            ),
            (include_str!("script/fixed_window.lua"), &[FixedWindow, Calendar]),
            (include_str!("script/sliding_window.lua"), &[SlidingWindow]),
            (include_str!("script/log.lua"), &[Log]),
            (include_str!("script/slots.lua"), &[Slots]),
        ];
        let mut text = [clock, include_str!("script/numbers.lua")].concat();
        let needed = parts.iter().filter(|(_, of)| kinds.contains_any(of));
        text.extend(needed.map(|(part, _)| *part));
        text.push_str(include_str!("script/plan.lua"));
        text.push_str(ask);
        Program::new(text)
    }
}

#[cfg(test)]
mod tests;
