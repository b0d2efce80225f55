//! Subjects as lists and overrides name them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::{Identity, Subject};

/// Whoever proves to be a subject, or only those of whom one issuer of tokens says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamedSubject {
    /// What they are called.
    pub subject: Subject,
    /// Who has to say so; none for anybody, API keys included.
    pub issuer: Option<Arc<str>>,
}

impl NamedSubject {
    /// Where in `sorted` those of `subject` are: the one of any issuer first.
    pub(crate) fn places<T>(sorted: &[T], subject: &str, named: impl Fn(&T) -> &Self) -> Range<usize> {
        let begin = sorted.partition_point(|item| *named(item).subject < *subject);
        let same = sorted[begin..].partition_point(|item| *named(item).subject == *subject);
        begin..begin + same
    }

    /// Whether `identity` is meant.
    pub(crate) fn is(&self, identity: &Identity) -> bool {
        let Identity::Known { subject, issuer, .. } = identity else {
            return false;
        };
        self.subject == *subject && (self.issuer.is_none() || self.issuer == *issuer)
    }
}

/// `ann`, or `ann of https://login.example.com`.
impl fmt::Display for NamedSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.subject)?;
        match &self.issuer {
            Some(issuer) => write!(f, " of {issuer}"),
            None => Ok(()),
        }
    }
}
