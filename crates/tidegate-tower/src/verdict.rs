//! What the service is told.

use http::HeaderMap;

/// What was decided about a request that reached the service, in its extensions. Its fields `X-Tidegate-…` say more: whom the request stands for, and which
/// limit in shadow mode would have refused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How it came to pass.
    pub course: Course,
    /// What the limit with the least left still holds; none if no limit was asked.
    pub remaining: Option<u64>,
    /// Whether nobody could decide, and it passed for that.
    pub failed: bool,
}

/// How a request came to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Its limits let it.
    Pass,
    /// Only since a policy in shadow mode refuses nothing.
    Shadow,
    /// After it had waited for its turn.
    Delay,
}

impl Verdict {
    /// What the fields of a request say, once those that its client wrote are gone.
    pub(crate) fn told(fields: &HeaderMap) -> Self {
        let text = |name| fields.get(name).and_then(|value| value.to_str().ok());
        Self {
            course: match text("x-tidegate-verdict") {
                Some("shadow") => Course::Shadow,
                Some("delay") => Course::Delay,
                _ => Course::Pass,
            },
            remaining: text("x-tidegate-remaining").and_then(|value| value.parse().ok()),
            failed: fields.contains_key("x-tidegate-failure"),
        }
    }
}
