//! Addresses as ranges in order: one search, however many there are and however they lie in each other.

use ipnet::{Ipv4Net, Ipv6Net};
use tidegate_core::Timestamp;

/// For each range of addresses, until when it is listed.
///
/// Where networks lie in each other, the one that is listed longest counts, which is all that lists ask.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges<A> {
    /// Where each range begins, in order. It ends where the next begins.
    starts: Vec<A>,
    /// Until when each is listed; [`NEVER`] for what lies between networks.
    untils: Vec<Timestamp>,
}

const NEVER: Timestamp = Timestamp::EPOCH;

/// A network: its first and last address.
pub(super) type Network<A> = (A, A);

/// Addresses as numbers.
pub(super) trait Address: Copy + Ord {
    /// The next one, if there is one.
    fn next(self) -> Option<Self>;
}

impl Address for u32 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Address for u128 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl<A: Address> Ranges<A> {
    /// The ranges of `networks`, each listed until its moment. Networks either lie in each other or apart.
    pub(super) fn new(mut networks: Vec<(Network<A>, Timestamp)>) -> Self {
        networks.sort_unstable_by(|((start, end), _), ((other, other_end), _)| {
            start.cmp(other).then(other_end.cmp(end))
        });
        let mut ranges = Self {
            starts: Vec::new(),
            untils: Vec::new(),
        };
        // The networks that the present one lies in, from the outermost, with the longest moment so far.
        let mut around: Vec<(A, Timestamp)> = Vec::new();
        for ((start, end), until) in networks {
            while let Some(&(last, _)) = around.last()
                && last < start
            {
                ranges.close(&mut around);
            }
            let until = around.last().map_or(until, |(_, outer)| until.max(*outer));
            ranges.begin(start, until);
            around.push((end, until));
        }
        while !around.is_empty() {
            ranges.close(&mut around);
        }
        ranges
    }

    /// How many ranges are listed. Networks that touch and have the same end are one.
    pub(super) fn listed(&self) -> usize {
        self.untils.iter().filter(|until| **until != NEVER).count()
    }

    /// Until when `address` is listed; [`Timestamp::EPOCH`] if it is not.
    pub(super) fn until(&self, address: A) -> Timestamp {
        let after = self.starts.partition_point(|start| *start <= address);
        after.checked_sub(1).map_or(NEVER, |place| self.untils[place])
    }

    /// Until when all of `network` is listed, if that is one moment for all of it.
    pub(super) fn until_for_all(&self, (start, end): Network<A>) -> Option<Timestamp> {
        let place = |address| self.starts.partition_point(|start| *start <= address);
        let (first, last) = (place(start), place(end));
        (first == last && first > 0).then(|| self.untils[first - 1])
    }

    fn close(&mut self, around: &mut Vec<(A, Timestamp)>) {
        let ended = around.pop();
        let until = around.last().map_or(NEVER, |(_, until)| *until);
        if let Some(next) = ended.and_then(|(end, _)| end.next()) {
            self.begin(next, until);
        }
    }

    fn begin(&mut self, start: A, until: Timestamp) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.untils.pop();
        }
        if self.untils.last().copied().unwrap_or(NEVER) != until {
            self.starts.push(start);
            self.untils.push(until);
        }
    }
}

pub(super) fn of_v4(network: Ipv4Net) -> Network<u32> {
    (network.network().to_bits(), network.broadcast().to_bits())
}

pub(super) fn of_v6(network: Ipv6Net) -> Network<u128> {
    (network.network().to_bits(), network.broadcast().to_bits())
}
