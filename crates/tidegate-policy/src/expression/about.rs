//! What an expression is about, and so what it can name.

use super::variables::{OF_CALLS, OF_DESCRIPTORS, OF_REQUESTS, Object};
use crate::document::report::quoted;

/// What an expression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// HTTP requests.
    Requests,
    /// Calls of the rate limit service, whatever their descriptors.
    Calls,
    /// Calls of which one descriptor was matched.
    Descriptors,
}

impl About {
    /// Everything that can be named.
    pub(super) fn root(self) -> &'static Object {
        match self {
            Self::Requests => &OF_REQUESTS,
            Self::Calls => &OF_CALLS,
            Self::Descriptors => &OF_DESCRIPTORS,
        }
    }

    /// Why `name`, which is known elsewhere, is not known here, and the cure.
    pub(super) fn told_elsewhere(self, name: &str) -> Option<(String, &'static str)> {
        let of_requests = OF_REQUESTS.field(name).is_some();
        let of_calls = OF_DESCRIPTORS.field(name).is_some();
        let shown = quoted(name);
        Some(match self {
            Self::Requests if of_calls => (
                format!("{shown} is of calls of the rate limit service, and this policy is about requests"),
                "add `match: { domain: … }`, or write `request`, `client` or another part of requests",
            ),
            Self::Calls | Self::Descriptors if of_requests => (
                format!("{shown} is of requests, and this policy is about calls of the rate limit service"),
                "write what the caller tells: `descriptors[0][\"key\"]`",
            ),
            Self::Calls if of_calls => (
                format!("{shown} is the one that was matched, and this policy is about whole calls"),
                "write `descriptors[0]`, or add `match.descriptor`",
            ),
            Self::Requests | Self::Calls | Self::Descriptors => return None,
        })
    }
}
