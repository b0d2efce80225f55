//! Networks and subjects, each up to a moment.

use std::net::IpAddr;

use ipnet::IpNet;
use tidegate_core::Timestamp;

use super::ranges::{Ranges, of_v4, of_v6};
use crate::address::canonical_network;
use crate::{Identity, NamedSubject, canonical};

/// Networks and subjects, each up to a moment; [`FOREVER`] for those without one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    v4: Ranges<u32>,
    v6: Ranges<u128>,
    /// Sorted, each once.
    subjects: Vec<(NamedSubject, Timestamp)>,
}

/// The moment of an entry without an end.
pub(crate) const FOREVER: Timestamp = Timestamp::MAX;

impl Entries {
    pub(crate) fn new(networks: &[(IpNet, Timestamp)], subjects: Vec<(NamedSubject, Timestamp)>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for (network, until) in networks {
            match canonical_network(*network) {
                IpNet::V4(network) => v4.push((of_v4(network), *until)),
                IpNet::V6(network) => v6.push((of_v6(network), *until)),
            }
        }
        Self {
            v4: Ranges::new(v4),
            v6: Ranges::new(v6),
            subjects: longest(subjects),
        }
    }

    pub(super) fn hold_address(&self, client: IpAddr, now: Timestamp) -> bool {
        let until = match canonical(client) {
            IpAddr::V4(client) => self.v4.until(client.to_bits()),
            IpAddr::V6(client) => self.v6.until(client.to_bits()),
        };
        lasts(until, now)
    }

    pub(super) fn hold_subject(&self, identity: &Identity, now: Timestamp) -> bool {
        let (Identity::Known { subject, .. }, false) = (identity, self.subjects.is_empty()) else {
            return false;
        };
        let places = NamedSubject::places(&self.subjects, subject, |(named, _)| named);
        let mut entries = self.subjects[places].iter();
        entries.any(|(named, until)| named.is(identity) && lasts(*until, now))
    }

    /// How many there are of each kind.
    pub(super) fn in_words(&self) -> Vec<String> {
        let counts = [
            (
                self.v4.listed() + self.v6.listed(),
                "range of addresses",
                "ranges of addresses",
            ),
            (self.subjects.len(), "subject", "subjects"),
        ];
        let present = counts.into_iter().filter(|(count, ..)| *count > 0);
        present
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
            .collect()
    }

    /// Whether every address of `network` is listed for ever.
    pub(crate) fn hold_network(&self, network: IpNet) -> bool {
        let until = match canonical_network(network) {
            IpNet::V4(network) => self.v4.until_for_all(of_v4(network)),
            IpNet::V6(network) => self.v6.until_for_all(of_v6(network)),
        };
        until == Some(FOREVER)
    }
}

fn lasts(until: Timestamp, now: Timestamp) -> bool {
    now < until || until == FOREVER
}

/// Each subject once, with its latest moment.
fn longest(mut subjects: Vec<(NamedSubject, Timestamp)>) -> Vec<(NamedSubject, Timestamp)> {
    subjects
        .sort_unstable_by(|(one, until), (other, other_until)| one.cmp(other).then(other_until.cmp(until)));
    subjects.dedup_by(|(later, _), (earlier, _)| later == earlier);
    subjects
}
