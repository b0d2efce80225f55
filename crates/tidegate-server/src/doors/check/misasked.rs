//! Sub-requests that describe nothing: their proxy has to be set up in another way.

use bytes::Bytes;
use http::{Response, StatusCode};
use tidegate_policy::Liking;

/// A sub-request that describes no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misasked {
    /// Nothing is asked at its path.
    Path,
    /// It does not say whose request it is.
    Client,
    /// It does not say the method.
    Method,
    /// It does not say the path.
    Target,
    /// It says something twice.
    Twice,
}

impl Misasked {
    /// What bodies, the access log and metrics call it in `error`.
    pub(super) fn word(self) -> &'static str {
        self.told().1
    }

    /// The answer to the proxy.
    pub(super) fn response(self, liking: &Liking) -> Response<Bytes> {
        let (status, error, detail) = self.told();
        let title = status.canonical_reason().unwrap_or_default();
        let code = status.as_u16();
        let document = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{code},"error":"{error}","detail":"{detail}","message":"{detail}"}}"#
        );
        liking.tell(status, document.into())
    }

    fn told(self) -> (StatusCode, &'static str, &'static str) {
        let bad = StatusCode::BAD_REQUEST;
        match self {
            Self::Path => (
                StatusCode::NOT_FOUND,
                "unknown_check",
                "Ask /forward-auth, /auth-request or /ext-authz/ with the path behind it.",
            ),
            Self::Client => (
                bad,
                "client_not_named",
                "The forwarded field names no client: let the proxy write it.",
            ),
            Self::Method => (
                bad,
                "method_not_named",
                "The field with the method is missing: let the proxy write it.",
            ),
            Self::Target => (
                bad,
                "target_not_named",
                "The field with the path is missing: let the proxy write it.",
            ),
            Self::Twice => (
                bad,
                "described_twice",
                "A field that describes the request came twice: let the proxy replace it.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Misasked;
    use crate::doors::FAULTS;

    #[test]
    fn what_is_answered_to_a_bad_question_is_counted() {
        use Misasked::{Client, Method, Path, Target, Twice};
        for misasked in [Path, Client, Method, Target, Twice] {
            assert!(FAULTS.contains(&misasked.word()), "{misasked:?}");
        }
    }
}
