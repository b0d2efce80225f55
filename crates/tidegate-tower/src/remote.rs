//! Limits that a Tidegate service decides about.

use std::net::IpAddr;
#[cfg(feature = "local")]
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use tidegate_client::{Answer, Check, Client, Error};

use crate::unable::Unable;
use crate::{Decide, Decided, Passed, RateLimit};
#[cfg(feature = "local")]
use crate::{Limiter, NoStore};

/// Our request fields begin so; what a client sends under such a name is dropped.
const RESERVED: &[u8] = b"x-tidegate-";
const VERDICT: HeaderName = HeaderName::from_static("x-tidegate-verdict");
const FAILURE: HeaderName = HeaderName::from_static("x-tidegate-failure");

/// Asks a Tidegate service.
///
/// The service believes whom [`RateLimit::peer`] finds: behind proxies that has to be the client, not the last of them. Header fields go along, bodies do not. A
/// slot of a `concurrency` limit is given back with the answer.
#[derive(Clone, Debug)]
pub struct Remote {
    client: Client,
    instead: Instead,
}

/// Who decides while the service does not answer.
#[derive(Clone, Debug)]
enum Instead {
    /// One word for all requests.
    Always(OnFailure),
    /// The same policies, in this process.
    #[cfg(feature = "local")]
    Limiter(Arc<Limiter<NoStore>>),
}

/// What happens to requests while the service does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They pass, and both sides are told by `X-Tidegate-Failure`.
    #[default]
    Allow,
    /// They get 503 `limiter_failed`, or `UNAVAILABLE`.
    Deny,
}

impl RateLimit<Remote> {
    /// Limits by what the service of `client` says. While it does not answer, requests pass.
    pub fn remote(client: Client) -> Self {
        Self::new(Remote::new(client))
    }
}

impl Remote {
    /// Asks the service of `client`. While it does not answer, requests pass.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            instead: Instead::Always(OnFailure::default()),
        }
    }

    /// What happens to requests while the service does not answer.
    #[must_use]
    pub fn on_failure(self, on_failure: OnFailure) -> Self {
        Self {
            instead: Instead::Always(on_failure),
            ..self
        }
    }

    /// While the service does not answer, `limiter` decides: the same policies, with counters of this process. [`crate::Builder::build_alone`] makes it. Both sides are
    /// told by `X-Tidegate-Failure`.
    #[cfg(feature = "local")]
    #[must_use]
    pub fn falling_back_to(self, limiter: Limiter<NoStore>) -> Self {
        Self {
            instead: Instead::Limiter(Arc::new(limiter)),
            ..self
        }
    }

    #[cfg_attr(
        not(feature = "local"),
        expect(unused_variables, reason = "only a limiter wants to know whose request it is")
    )]
    async fn decide_without<'d>(&'d self, error: &Error, request: &mut Parts, client: IpAddr) -> Decided<'d> {
        // Whoever can write a request that the service does not understand must not pass for that.
        if let Error::Unclear { .. } = error {
            return Decided::Answered(Unable::Unreadable.answer(request));
        }
        let reason = HeaderValue::from_static(reason(error));
        let decided = match &self.instead {
            Instead::Always(OnFailure::Deny) => return Decided::Answered(Unable::Failed.answer(request)),
            Instead::Always(OnFailure::Allow) => {
                request.headers.insert(VERDICT, HeaderValue::from_static("pass"));
                passed(HeaderMap::new())
            }
            #[cfg(feature = "local")]
            Instead::Limiter(limiter) => limiter.decide_about(request, client).await,
        };
        match decided {
            Decided::Answered(mut response) => {
                response.headers_mut().insert(FAILURE, reason);
                Decided::Answered(response)
            }
            Decided::Passed(passed) => {
                request.headers.insert(FAILURE, reason.clone());
                Decided::Passed(Passed {
                    mark: Box::new(move |fields| {
                        (passed.mark)(fields);
                        fields.insert(FAILURE, reason);
                    }),
                    ..passed
                })
            }
        }
    }
}

impl Decide for Remote {
    async fn decide<'d>(&'d self, request: &mut Parts, peer: IpAddr) -> Decided<'d> {
        strip(&mut request.headers);
        match self.client.check(&Check::of_head(request, peer)).await {
            Ok(answer) if answer.allowed => {
                // Later values take the place of earlier ones of that name.
                for (name, value) in &answer.origin_fields {
                    request.headers.insert(name, value.clone());
                }
                passed(answer.client_fields)
            }
            Ok(answer) => Decided::Answered(response(answer)),
            Err(error) => self.decide_without(&error, request, peer).await,
        }
    }
}

fn passed(client_fields: HeaderMap) -> Decided<'static> {
    Decided::Passed(Passed {
        mark: Box::new(move |fields| mark(fields, client_fields)),
        hold: None,
    })
}

/// Adds what the client is told. A service that limits too may have written lists of its limits: they go on.
fn mark(fields: &mut HeaderMap, ours: HeaderMap) {
    for (name, value) in &ours {
        if name.as_str().starts_with("ratelimit") {
            fields.append(name, value.clone());
        } else {
            fields.insert(name, value.clone());
        }
    }
}

fn response(answer: Answer) -> Response<Bytes> {
    let mut response = Response::new(answer.body.unwrap_or_default().into());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    *response.headers_mut() = answer.client_fields;
    // The server counts for itself.
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
}

/// Removes what the client sent under our names, in any spelling: CGI and its heirs cannot tell `_` from `-`.
fn strip(fields: &mut HeaderMap) {
    let is_reserved = |name: &&HeaderName| {
        let start = name.as_str().bytes().take(RESERVED.len());
        start
            .map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'-' })
            .eq(RESERVED.iter().copied())
    };
    let sent: Vec<HeaderName> = fields.keys().filter(is_reserved).cloned().collect();
    for name in sent {
        fields.remove(name);
    }
}

fn reason(error: &Error) -> &'static str {
    match error {
        Error::Timeout => "timeout",
        Error::Garbled(_) => "garbled",
        _ => "unavailable",
    }
}
