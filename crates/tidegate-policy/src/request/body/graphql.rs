//! Which operation a GraphQL request runs: of a JSON or form body, of a document alone, or of the query string.

mod document;

use std::borrow::Cow;

use super::media::Media;
use super::{Body, Scalar, Seen, form, json};
use crate::Request;

/// What a GraphQL request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graphql {
    /// How many requests it holds: more than one in a batch.
    pub operations: usize,
    /// The operation that runs, unless it is a batch.
    pub operation: Option<Operation>,
}

/// A GraphQL operation that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// None if it has no name.
    pub name: Option<String>,
    /// `query`, `mutation` or `subscription`.
    pub kind: &'static str,
}

/// Why nobody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAsked {
    /// It is no GraphQL request.
    Nothing,
    /// Two origins may run two things.
    Unclear,
}

/// What `request` asks for.
///
/// Where both the query string and a body may say it, origins differ in which they follow.
pub(crate) fn asked(request: &Request<'_>) -> Result<Graphql, NotAsked> {
    let in_query = ["query", "operationName"]
        .iter()
        .any(|name| form::pick(request.query.unwrap_or_default(), name) != Seen::Absent);
    match (request.body, in_query) {
        (Body::Empty, false) => Err(NotAsked::Nothing),
        (Body::Empty, true) => single(
            from_query(request, "query")?,
            from_query(request, "operationName")?,
        ),
        (Body::Whole(content), false) => {
            let text = content.text().ok_or(NotAsked::Unclear)?;
            match Media::of(request.headers) {
                Some(Media::Json) => from_json(text),
                Some(Media::Form) => single(
                    value(form::pick(text, "query"))?,
                    value(form::pick(text, "operationName"))?,
                ),
                Some(Media::Graphql) => single(Some(text.into()), None),
                None => Err(NotAsked::Unclear),
            }
        }
        _ => Err(NotAsked::Unclear),
    }
}

fn from_json(text: &str) -> Result<Graphql, NotAsked> {
    let member = |path: &[&str]| value(json::pick(text, path));
    match json::array_len(text) {
        None => single(member(&["query"])?, member(&["operationName"])?),
        Some(0) => Err(NotAsked::Unclear),
        Some(1) => single(member(&["0", "query"])?, member(&["0", "operationName"])?),
        Some(operations) => Ok(Graphql {
            operations,
            operation: None,
        }),
    }
}

fn from_query<'q>(request: &Request<'q>, name: &str) -> Result<Option<Cow<'q, str>>, NotAsked> {
    value(form::pick(request.query.unwrap_or_default(), name))
}

fn value(seen: Seen<'_>) -> Result<Option<Cow<'_, str>>, NotAsked> {
    match seen {
        Seen::Value(Scalar { text, .. }) => Ok(Some(text)),
        Seen::Absent => Ok(None),
        Seen::Unclear => Err(NotAsked::Unclear),
    }
}

/// The one that `name` chooses in `document`, or its only one. Without a document (a persisted query) the origin alone knows.
fn single(document: Option<Cow<'_, str>>, name: Option<Cow<'_, str>>) -> Result<Graphql, NotAsked> {
    let document = document.ok_or(NotAsked::Unclear)?;
    let operations = document::operations(&document).ok_or(NotAsked::Unclear)?;
    let chosen = match name.as_deref() {
        // Some origins take an empty name for none.
        None | Some("") => only(operations.iter()),
        Some(name) => only(operations.iter().filter(|operation| operation.name == Some(name))),
    };
    let chosen = chosen.ok_or(NotAsked::Unclear)?;
    Ok(Graphql {
        operations: 1,
        operation: Some(Operation {
            name: chosen.name.map(str::to_owned),
            kind: chosen.kind.word(),
        }),
    })
}

fn only<T>(mut of: impl Iterator<Item = T>) -> Option<T> {
    let first = of.next()?;
    of.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;

    use super::*;
    use crate::fixture::{fields, get};

    fn seen(media: &str, body: &'static str, query: Option<&str>) -> Result<Graphql, NotAsked> {
        let headers = if media.is_empty() {
            HeaderMap::new()
        } else {
            fields(&[("content-type", media)])
        };
        let body = Body::whole(Bytes::from_static(body.as_bytes()));
        asked(&Request {
            query,
            body: &body,
            ..get(&headers)
        })
    }

    fn json(body: &'static str) -> Result<Graphql, NotAsked> {
        seen("application/json", body, None)
    }

    fn one(name: &str, kind: &'static str) -> Result<Graphql, NotAsked> {
        Ok(Graphql {
            operations: 1,
            operation: Some(Operation {
                name: (!name.is_empty()).then(|| name.to_owned()),
                kind,
            }),
        })
    }

    #[test]
    fn the_operation_is_the_only_one_or_the_one_that_is_named() {
        assert_eq!(json(r#"{"query":"query A { a }"}"#), one("A", "query"));
        assert_eq!(json(r#"{"query":"{ a }"}"#), one("", "query"));
        let two = r#"{"query":"query A { a } mutation B { b }","operationName":"B"}"#;
        assert_eq!(json(two), one("B", "mutation"));
        assert_eq!(json(r#"[{"query":"mutation B { b }"}]"#), one("B", "mutation"));
        assert_eq!(
            json(r#"{"query":"query A { a }","operationName":""}"#),
            one("A", "query")
        );
        assert_eq!(
            seen("application/graphql", "query A { a }", None),
            one("A", "query")
        );
        let form = "query=query+A+%7Ba%7D&x=1";
        assert_eq!(
            seen("application/x-www-form-urlencoded", form, None),
            one("A", "query")
        );
        assert_eq!(seen("", "", Some("query=query%20A%20%7Ba%7D")), one("A", "query"));
    }

    #[test]
    fn what_two_origins_may_run_differently_is_unclear() {
        for body in [
            r#"{"query":"query A { a } query B { b }"}"#,
            r#"{"query":"query A { a }","operationName":"B"}"#,
            r#"{"query":"query A { a } mutation A { a }","operationName":"A"}"#,
            r#"{"query":"query A { a }","query":"mutation B { b }"}"#,
            r#"{"operationName":"A","extensions":{"persistedQuery":{}}}"#,
            "[]",
            "[{",
            "{}",
        ] {
            assert_eq!(json(body), Err(NotAsked::Unclear), "{body}");
        }
        let body = r#"{"query":"query A { a }"}"#;
        for query in ["query=mutation%20B%7Bb%7D", "operationName=B"] {
            let both = seen("application/json", body, Some(query));
            assert_eq!(both, Err(NotAsked::Unclear), "{query}");
        }
        assert_eq!(seen("text/plain", body, None), Err(NotAsked::Unclear));
        assert_eq!(
            seen("", "", Some("query=%7Ba%7D&query=%7Bb%7D")),
            Err(NotAsked::Unclear)
        );
    }

    #[test]
    fn a_batch_is_counted() {
        let batch = json(r#"[{"query":"{a}"},{"query":"{b}"},{}]"#);
        let expected = Graphql {
            operations: 3,
            operation: None,
        };
        assert_eq!(batch, Ok(expected));
    }

    #[test]
    fn a_request_without_a_body_and_a_query_asks_for_nothing() {
        assert_eq!(seen("", "", Some("page=2")), Err(NotAsked::Nothing));
    }
}
