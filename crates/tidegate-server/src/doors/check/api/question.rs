//! What is asked, from its JSON.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request};
use serde_json::Value;
use tidegate_policy::Tls;
use tidegate_store::Store;

use super::call::Call;
use super::fields::fields;
use super::report::{Members, Report};
use crate::gateway::Session;
use crate::live::Live;

/// The most checks of one question.
pub(super) const MOST_CHECKS: usize = 100;

/// One check, or a list of them, each decided by itself.
pub(super) enum Questions {
    One(Box<Question>),
    Several(Vec<Question>),
}

/// One check.
pub(super) struct Question {
    pub(super) asked: Asked,
    /// Nothing is spent.
    pub(super) peek: bool,
}

/// What is asked about.
pub(super) enum Asked {
    Request(Box<Described>),
    Call(Call),
}

/// A request as it is described.
pub(super) struct Described {
    /// Its body is there if it was described too.
    pub(super) request: Request<Option<Bytes>>,
    pub(super) client: IpAddr,
    pub(super) tls: Option<Tls>,
}

impl Questions {
    /// What `bytes` ask. None, and problems, if that is not clear.
    pub(super) fn read(bytes: &[u8], report: &mut Report) -> Option<Self> {
        let document: Value = match serde_json::from_slice(bytes) {
            Ok(document) => document,
            Err(error) => {
                report.add("", format!("is no JSON: {error}"));
                return None;
            }
        };
        if document.get("checks").is_none() {
            return Some(Self::One(Box::new(Question::read(&document, "", report)?)));
        }
        let mut members = Members::of(&document, "", report)?;
        let checks = members.list("checks", MOST_CHECKS, report).unwrap_or_default();
        members.end(report);
        let read = |(index, check)| Question::read(check, &format!("checks[{index}]"), report);
        Some(Self::Several(
            checks.iter().enumerate().filter_map(read).collect(),
        ))
    }

    /// The same, with heads in the one form that a gateway understands.
    pub(super) fn normalized<S: Store>(self, session: &Session<S>, live: &Live, report: &mut Report) -> Self {
        let mut normalize = |question: &mut Question, path: &str| {
            let Asked::Request(described) = &mut question.asked else {
                return;
            };
            let request = &mut described.request;
            if !request.headers().contains_key(HOST)
                && let Ok(host) = HeaderValue::from_str(live.fleet.default_host().as_str())
            {
                request.headers_mut().insert(HOST, host);
            }
            if let Err(fault) = session.normalize(live, request) {
                report.add(path, format!("no gateway takes this request: {}", fault.error()));
            }
        };
        match self {
            Self::One(mut question) => {
                normalize(&mut question, "request");
                Self::One(question)
            }
            Self::Several(mut questions) => {
                for (index, question) in questions.iter_mut().enumerate() {
                    normalize(question, &format!("checks[{index}].request"));
                }
                Self::Several(questions)
            }
        }
    }
}

impl Question {
    fn read(value: &Value, path: &str, report: &mut Report) -> Option<Self> {
        let mut members = Members::of(value, path, report)?;
        let request = members.take("request");
        let is_call = members.take("domain").is_some();
        let peek = members.switch("peek", report);
        let place = members.path("request");
        let asked = match request {
            Some(_) if is_call => {
                report.add(&place, "stands beside `domain`: ask about one of them");
                None
            }
            Some(request) => Described::read(request, &place, report).map(|read| Asked::Request(read.into())),
            None if is_call => Call::read(&mut members, report).map(Asked::Call),
            None => {
                report.add(&place, "is missing: describe the request that is asked about, or write `domain` and `descriptors`");
                None
            }
        };
        members.end(report);
        Some(Self { asked: asked?, peek })
    }
}

impl Described {
    fn read(value: &Value, path: &str, report: &mut Report) -> Option<Self> {
        let mut members = Members::of(value, path, report)?;
        let method = method(&mut members, report);
        let target = target(&mut members, report);
        let client = client(&mut members, report);
        let tls = tls(&mut members, report);
        let host = host(&mut members, report);
        let place = members.path("headers");
        let headers = members
            .take("headers")
            .map_or_else(HeaderMap::new, |headers| fields(headers, &place, report));
        let body = members
            .text("body", report)
            .map(|text| Bytes::from(text.to_owned()));
        members.end(report);
        let mut request = Request::new(body);
        *request.method_mut() = method?;
        *request.uri_mut() = target?.into();
        *request.headers_mut() = headers;
        if let Some(host) = host {
            request.headers_mut().insert(HOST, host);
        }
        Some(Self {
            request,
            client: client?,
            tls,
        })
    }
}

fn method(members: &mut Members<'_>, report: &mut Report) -> Option<Method> {
    let text = members.needed_text("method", report)?;
    let method = Method::from_bytes(text.as_bytes()).ok();
    if method.is_none() {
        report.add(
            &members.path("method"),
            "is no method: write `GET`, `POST` or another",
        );
    }
    method
}

fn target(members: &mut Members<'_>, report: &mut Report) -> Option<PathAndQuery> {
    let text = members.needed_text("path", report)?;
    let target = text
        .starts_with('/')
        .then(|| PathAndQuery::try_from(text).ok())
        .flatten();
    if target.is_none() {
        report.add(
            &members.path("path"),
            "is no path: begin with `/`, keep the query, and leave it percent-encoded",
        );
    }
    target
}

fn client(members: &mut Members<'_>, report: &mut Report) -> Option<IpAddr> {
    let text = members.needed_text("client", report)?;
    let client = text.parse().ok();
    if client.is_none() {
        report.add(
            &members.path("client"),
            "is no address: write one such as `192.0.2.1`",
        );
    }
    client.map(|client: IpAddr| client.to_canonical())
}

fn tls(members: &mut Members<'_>, report: &mut Report) -> Option<Tls> {
    match members.text("scheme", report)? {
        "https" => Some(Tls::default()),
        "http" => None,
        _ => {
            report.add(&members.path("scheme"), "write `http` or `https`");
            None
        }
    }
}

fn host(members: &mut Members<'_>, report: &mut Report) -> Option<HeaderValue> {
    let text = members.text("host", report)?;
    let host = HeaderValue::from_str(text).ok();
    if host.is_none() {
        report.add(
            &members.path("host"),
            "is no host: write a name, or name and port",
        );
    }
    host
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn problems(question: &Value) -> Vec<(String, String)> {
        let mut report = Report::default();
        Questions::read(question.to_string().as_bytes(), &mut report);
        report.into_problems()
    }

    /// JSON made of the words that questions are made of, in places where they may not be.
    fn twisted() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z/:. \\x00-\\x7f]{0,8}".prop_map(Value::from),
            Just(json!("192.0.2.1")),
        ];
        let name = prop_oneof![
            Just("request"),
            Just("checks"),
            Just("peek"),
            Just("method"),
            Just("path"),
            Just("client"),
            Just("headers"),
            Just("host"),
            Just("scheme"),
            Just("body"),
            Just("domain"),
            Just("descriptors"),
            Just("entries"),
            Just("key"),
            Just("hits"),
        ];
        leaf.prop_recursive(4, 64, 8, move |inner| {
            let members = prop::collection::hash_map(name.clone(), inner.clone(), 0..8);
            let object = members.prop_map(|members| {
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            });
            prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::from), object]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_asked_is_understood_or_complained_about(question in twisted()) {
            let mut report = Report::default();
            let read = Questions::read(question.to_string().as_bytes(), &mut report);
            prop_assert!(read.is_some() || !report.is_empty(), "{question}");
        }

        #[test]
        fn any_bytes_are_understood_or_complained_about(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut report = Report::default();
            let read = Questions::read(&bytes, &mut report);
            prop_assert!(read.is_some() || !report.is_empty());
        }
    }

    #[test]
    fn a_mapped_address_is_the_address_that_it_maps() {
        let question = json!({ "request": { "method": "GET", "path": "/", "client": "::ffff:192.0.2.1" } });
        let Some(Questions::One(one)) =
            Questions::read(question.to_string().as_bytes(), &mut Report::default())
        else {
            panic!("one question");
        };
        let Asked::Request(described) = one.asked else {
            panic!("about a request");
        };
        assert_eq!(described.client.to_string(), "192.0.2.1");
    }

    #[test]
    fn a_member_that_is_null_is_not_there() {
        let question = json!({ "peek": null, "request": { "method": "GET", "path": "/", "client": "192.0.2.1", "body": null } });
        assert_eq!(problems(&question), []);
        let question = json!({ "request": { "method": null, "path": "/", "client": "192.0.2.1" } });
        assert_eq!(problems(&question)[0].0, "request.method");
    }

    #[test]
    fn a_call_without_descriptors_is_complained_about() {
        let missing = problems(&json!({ "domain": "shop" }));
        assert_eq!(missing[0].0, "descriptors");
    }

    #[test]
    fn there_is_an_end_to_complaints() {
        let checks: Vec<Value> = (0..MOST_CHECKS).map(|_| json!({})).collect();
        assert_eq!(problems(&json!({ "checks": checks })).len(), 20);
    }
}
