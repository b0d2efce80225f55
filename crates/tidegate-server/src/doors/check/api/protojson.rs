//! `POST /json`, as envoyproxy/ratelimit has it: a call of the rate limit service in the JSON of its protocol.

mod told;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use prost::Message;
use serde_json::Value;
use tidegate_store::Store;
use tonic::Status;

use super::BAD_QUESTION;
use super::report::{Members, Report};
use crate::doors::envoy::messages::{
    Entry, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, RateLimitResponse,
};
use crate::doors::envoy::{MOST_DESCRIPTORS, MOST_ENTRIES, UInt64Value, decide};
use crate::gateway::{ResponseBody, Session};
use crate::live::Live;
use crate::record::Record;
use told::told;

/// Units by their names; their places are their numbers.
const UNITS: [&str; 8] = [
    "UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK",
];

/// Answers the call in `bytes`: 200, 429 if it is over a limit, 400 if it is none, 500 if nobody can tell.
pub(super) async fn answer<S: Store>(
    session: &Session<S>,
    live: &Live,
    bytes: &[u8],
    record: &mut Record,
) -> Response<ResponseBody> {
    let mut report = Report::default();
    let asked = read(bytes, &mut report).filter(|_| report.is_empty());
    let Some(asked) = asked else {
        record.refused(BAD_QUESTION);
        let problems = report.into_problems().into_iter();
        let lines: Vec<String> = problems
            .map(|(path, problem)| format!("{path}: {problem}\n"))
            .collect();
        return plain(StatusCode::BAD_REQUEST, lines.concat());
    };
    match decide(session, live, asked, record).await {
        Ok(decided) => match RateLimitResponse::decode(decided.bytes_of_message()) {
            Ok(decided) => told(&decided),
            Err(error) => failed(&Status::internal(error.to_string())),
        },
        Err(status) => {
            record.refused(BAD_QUESTION);
            failed(&status)
        }
    }
}

fn failed(status: &Status) -> Response<ResponseBody> {
    let code = match status.code() {
        tonic::Code::InvalidArgument | tonic::Code::ResourceExhausted => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    plain(code, format!("{}\n", status.message()))
}

fn plain(status: StatusCode, text: String) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text.into()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// The member that is called one or the other: JSON of this protocol takes both.
fn either<'v>(members: &mut Members<'v>, names: [&'static str; 2]) -> Option<&'v Value> {
    let [camel, snake] = names.map(|name| members.take(name));
    camel.or(snake)
}

/// A whole number, which may be written as a text.
fn number<N: TryFrom<u64>>(value: &Value, path: &str, report: &mut Report) -> Option<N> {
    let written = value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    let number = written.and_then(|number| N::try_from(number).ok());
    if number.is_none() {
        report.add(path, "write a whole number");
    }
    number
}

/// The call in `bytes`. What is wrong with it is reported.
pub(super) fn read(bytes: &[u8], report: &mut Report) -> Option<RateLimitRequest> {
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(error) => {
            report.add("", format!("is no JSON: {error}"));
            return None;
        }
    };
    let mut members = Members::of(&document, "", report)?;
    let domain = members.text("domain", report).unwrap_or_default();
    let said = members
        .list("descriptors", MOST_DESCRIPTORS, report)
        .unwrap_or_default();
    let hits = either(&mut members, ["hitsAddend", "hits_addend"]);
    let hits_addend = hits
        .and_then(|hits| number(hits, "hitsAddend", report))
        .unwrap_or_default();
    members.end(report);
    let descriptor = |(index, said)| descriptor(said, &format!("descriptors[{index}]"), report);
    Some(RateLimitRequest {
        domain: Bytes::from(domain.to_owned()),
        descriptors: said.iter().enumerate().filter_map(descriptor).collect(),
        hits_addend,
    })
}

fn descriptor(value: &Value, path: &str, report: &mut Report) -> Option<RateLimitDescriptor> {
    let mut members = Members::of(value, path, report)?;
    let said = members.list("entries", MOST_ENTRIES, report).unwrap_or_default();
    let limit = members
        .take("limit")
        .and_then(|limit| brought(limit, &members.path("limit"), report));
    let hits = either(&mut members, ["hitsAddend", "hits_addend"]);
    let hits = hits.and_then(|hits| number(hits, &members.path("hitsAddend"), report));
    let gives_back = match either(&mut members, ["isNegativeHits", "is_negative_hits"]) {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(_) => {
            report.add(&members.path("isNegativeHits"), "write true or false");
            false
        }
    };
    members.end(report);
    let entry = |(index, said)| entry(said, &format!("{path}.entries[{index}]"), report);
    Some(RateLimitDescriptor {
        entries: said.iter().enumerate().filter_map(entry).collect(),
        limit,
        hits_addend: hits.map(|value| UInt64Value { value }),
        is_negative_hits: gives_back,
    })
}

fn entry(value: &Value, path: &str, report: &mut Report) -> Option<Entry> {
    let mut members = Members::of(value, path, report)?;
    let [key, value] = ["key", "value"].map(|name| members.text(name, report).unwrap_or_default());
    members.end(report);
    Some(Entry {
        key: Bytes::from(key.to_owned()),
        value: Bytes::from(value.to_owned()),
    })
}

fn brought(value: &Value, path: &str, report: &mut Report) -> Option<RateLimitOverride> {
    let mut members = Members::of(value, path, report)?;
    let requests = either(&mut members, ["requestsPerUnit", "requests_per_unit"]);
    let requests_per_unit = requests
        .and_then(|requests| number(requests, &members.path("requestsPerUnit"), report))
        .unwrap_or_default();
    let unit = members.take("unit").map_or(Some(0), |unit| match unit.as_str() {
        Some(name) => UNITS.iter().position(|unit| *unit == name),
        None => unit.as_u64().and_then(|unit| usize::try_from(unit).ok()),
    });
    let unit = unit.and_then(|unit| i32::try_from(unit).ok());
    if unit.is_none() {
        report.add(
            &members.path("unit"),
            "write `SECOND`, `MINUTE`, `HOUR`, `DAY`, `MONTH` or `YEAR`",
        );
    }
    members.end(report);
    Some(RateLimitOverride {
        requests_per_unit,
        unit: unit?,
    })
}
