//! Counts that differ in one label, whose words are fixed.

use tidegate_policy::ERRORS;

use super::count::Count;
use crate::doors::FAULTS;

/// The most words of a family.
const MOST_WORDS: usize = 64;

/// What a word counts under that is in no list.
pub(crate) const OTHER: &str = "other";

/// One count for each of a list of words.
#[derive(Debug)]
pub(crate) struct Family {
    words: &'static [&'static str],
    /// In the order of the words; the one behind them is for every other word.
    counts: [Count; MOST_WORDS + 1],
}

impl Family {
    pub(crate) fn of(words: &'static [&'static str]) -> Self {
        Self {
            words: &words[..words.len().min(MOST_WORDS)],
            counts: std::array::from_fn(|_| Count::default()),
        }
    }

    /// Counts one `word`. The words at the front of the list are found soonest.
    #[inline]
    pub(crate) fn one(&self, word: &str) {
        let index = self.words.iter().position(|known| *known == word);
        self.counts[index.unwrap_or(self.words.len())].one();
    }

    /// How often `word` was counted; for [`OTHER`], every word that is not in the list.
    pub(crate) fn get(&self, word: &str) -> u64 {
        let index = self.words.iter().position(|known| *known == word);
        self.counts[index.unwrap_or(self.words.len())].get()
    }
}

/// What became of requests; `none` of those that ended before it was decided.
pub(crate) const VERDICTS: &[&str] = &["pass", "reject", "shadow", "delay", "none"];

/// Statuses by their first digit; `none` of requests whose client left before there was one.
pub(crate) const CLASSES: &[&str] = &["2xx", "4xx", "3xx", "5xx", "1xx", "none"];

/// Why requests were answered here, by `error` of their answer: what policies refuse, and what the gateway itself does.
pub(crate) const REFUSALS: &[&str] = &ALL_REFUSALS;

const OWN_REFUSALS: [&str; 21] = [
    "too_many_waiting",
    "too_many_at_once",
    "bad_request",
    "request_timeout",
    "connect_refused",
    "bad_target",
    "target_too_long",
    "bad_host",
    "misdirected",
    "too_many_fields",
    "padded_field",
    "bad_field",
    "bad_framing",
    "unknown_transfer_coding",
    "unknown_expectation",
    "request_body_broken",
    "request_body_timeout",
    "request_body_too_long",
    "too_many_bodies",
    "no_route",
    "overloaded",
];

const ALL_REFUSALS: [&str; ERRORS.len() + OWN_REFUSALS.len() + FAULTS.len()] = {
    let mut all = [""; ERRORS.len() + OWN_REFUSALS.len() + FAULTS.len()];
    let (policies, own) = all.split_at_mut(ERRORS.len());
    let (gateway, doors) = own.split_at_mut(OWN_REFUSALS.len());
    policies.copy_from_slice(ERRORS);
    gateway.copy_from_slice(&OWN_REFUSALS);
    doors.copy_from_slice(&FAULTS);
    all
};

/// Doors whose requests count as requests, too.
pub(crate) const ASKING_DOORS: &[&str] = &["envoy", "check", "spoe"];

/// What went wrong with the upstream.
pub(crate) const UPSTREAM_FAILURES: &[&str] = &[
    "upstream_unreachable",
    "upstream_tls_failed",
    "upstream_connect_timeout",
    "upstream_closed",
    "upstream_bad_response",
    "upstream_response_timeout",
    "upstream_busy",
    "upstream_body_broken",
    "upstream_body_stalled",
];

/// Why the store could not decide.
pub(crate) const STORE_FAILURES: &[&str] = &["timeout", "unavailable", "garbled"];

/// The class of `status`; 0 is none.
pub(crate) fn class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_list_of_words_is_longer_than_a_family_takes() {
        for words in [VERDICTS, CLASSES, REFUSALS, UPSTREAM_FAILURES, STORE_FAILURES] {
            assert!(words.len() <= MOST_WORDS, "{words:?}");
        }
    }

    #[test]
    fn what_is_in_no_list_counts_as_other() {
        let family = Family::of(STORE_FAILURES);
        family.one("timeout");
        family.one("what a client wrote");
        assert_eq!((family.get("timeout"), family.get(OTHER)), (1, 1));
    }
}
