//! HTTP of proxies that ask with a sub-request: whether the request that it describes may pass.
//!
//! The path says who asks, and so where the described request is found. Never is one thing looked for in two places: what a proxy does
//! not write into one of them, its client may.

mod dialect;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use tidegate_policy::{Liking, Tls};
use tidegate_store::Store;

use super::Unseen;
use crate::gateway::{ResponseBody, Session};
use crate::live::Live;
use crate::pipeline::{Admission, Caller};
use crate::record::Record;
use dialect::{Denial, Dialect};

/// The status that is meant, where a proxy must be told another.
const MEANT: HeaderName = HeaderName::from_static("x-tidegate-status");

/// Answers a sub-request.
pub(crate) async fn answer<S: Store, B>(
    session: &Session<S>,
    live: &Live,
    request: Request<B>,
    record: &mut Record,
) -> Response<ResponseBody> {
    let liking = Liking::of(request.method(), request.headers());
    match ask(session, live, request, record).await {
        Ok(response) => response,
        Err(misasked) => {
            record.refused(misasked.word());
            misasked.response(&liking)
        }
    }
    .map(ResponseBody::whole)
}

async fn ask<S: Store, B>(
    session: &Session<S>,
    live: &Live,
    request: Request<B>,
    record: &mut Record,
) -> Result<Response<Bytes>, Misasked> {
    let (head, _) = request.into_parts();
    let dialect = Dialect::at(head.uri.path()).ok_or(Misasked::Path)?;
    let client = live.config.gateway.client_behind(session.peer, &head.headers);
    let mut described = dialect.described(head)?;
    let tls = dialect.is_secure(described.headers()).then(Tls::default);
    let caller = Caller {
        client: client.ok_or(Misasked::Client)?,
        tls: tls.as_ref(),
        door: &Unseen,
    };
    let worker = &session.worker;
    let hold = worker.next_hold();
    let admission = worker
        .pipeline
        .admit(live, &mut described, caller, hold, record, &worker.tokens);
    match admission.await {
        Admission::Forwarded(admitted, _) => {
            let mut response = Response::new(Bytes::new());
            admitted.tell_origin(response.headers_mut());
            admitted.mark(response.headers_mut());
            Ok(response)
        }
        Admission::Answered(response) => Ok(dialect.denial.of(response)),
        Admission::Crowded(_) | Admission::Unread(_) => Err(Misasked::Crowded),
    }
}

impl Denial {
    /// The answer to a proxy, for the `response` that its client is to get.
    fn of(self, mut response: Response<Bytes>) -> Response<Bytes> {
        let meant = response.status();
        if self == Self::As403 && meant != StatusCode::FORBIDDEN && meant != StatusCode::UNAUTHORIZED {
            *response.status_mut() = StatusCode::FORBIDDEN;
            response
                .headers_mut()
                .insert(MEANT, HeaderValue::from(meant.as_u16()));
        }
        response
    }
}

/// A sub-request that describes no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misasked {
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
    /// Too many requests wait for their leaky bucket.
    Crowded,
}

impl Misasked {
    /// What bodies, the access log and metrics call it in `error`.
    fn word(self) -> &'static str {
        self.told().1
    }

    fn response(self, liking: &Liking) -> Response<Bytes> {
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
                "Ask /forward-auth or /auth-request.",
            ),
            Self::Client => (
                bad,
                "client_not_named",
                "The forwarded field names no client: let the proxy write it.",
            ),
            Self::Method => (
                bad,
                "method_not_named",
                "The field with the method is missing or wrong: let the proxy write it.",
            ),
            Self::Target => (
                bad,
                "target_not_named",
                "The field with the path is missing or wrong: let the proxy write it.",
            ),
            Self::Twice => (
                bad,
                "described_twice",
                "A field that describes the request came twice: let the proxy replace it.",
            ),
            Self::Crowded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "too_many_waiting",
                "Too many requests are waiting for their turn.",
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
