//! Questions up to what they would charge, without I/O: what the fuzz target asks.

use bytes::Bytes;
use http::Version;
use http::header::HOST;
use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{Body, DescriptorCall, Identity, PolicySet, Request};

use super::call::{Call, descriptor};
use super::protojson;
use super::question::{Asked, Described, Question, Questions};
use super::report::Report;

/// The most bytes of a body that are looked at.
const MOST_BODY_BYTES: usize = 1024;

/// How many limits each check in `bytes` would charge by `policies`, or what is wrong with them, by their places.
///
/// # Errors
/// If `bytes` are no question.
pub fn charges_of_question(bytes: &[u8], policies: &PolicySet) -> Result<Vec<usize>, Vec<(String, String)>> {
    let mut report = Report::default();
    let questions = Questions::read(bytes, &mut report);
    match questions.filter(|_| report.is_empty()) {
        None => Err(report.into_problems()),
        Some(Questions::One(question)) => Ok(vec![charges(&question, policies)]),
        Some(Questions::Several(questions)) => Ok(questions
            .iter()
            .map(|question| charges(question, policies))
            .collect()),
    }
}

/// How many descriptors the call in `bytes`, as envoyproxy/ratelimit takes it, has, or what is wrong with it.
///
/// # Errors
/// If `bytes` are no call.
pub fn descriptors_of_call(bytes: &[u8]) -> Result<usize, Vec<(String, String)>> {
    let mut report = Report::default();
    match protojson::read(bytes, &mut report).filter(|_| report.is_empty()) {
        None => Err(report.into_problems()),
        Some(call) => Ok(call.descriptors.len()),
    }
}

fn charges(question: &Question, policies: &PolicySet) -> usize {
    match &question.asked {
        Asked::Request(described) => of_request(described, policies),
        Asked::Call(call) => of_call(call, policies),
    }
}

fn of_request(described: &Described, policies: &PolicySet) -> usize {
    let (request, fields) = (&described.request, described.request.headers());
    let body = match request.body() {
        None => Body::UNREAD,
        Some(body) if body.len() > MOST_BODY_BYTES => Body::TOO_LARGE,
        Some(body) => Body::whole(Bytes::clone(body)),
    };
    let asked = Request {
        method: request.method(),
        version: Version::HTTP_11,
        host: fields
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default(),
        path: request.uri().path(),
        query: request.uri().query(),
        headers: fields,
        client: described.client,
        tls: described.tls.as_ref(),
        body: &body,
    };
    let plan = policies.plan(&asked, &Identity::Anonymous, HoldId(1), Timestamp::EPOCH);
    plan.charges.len()
}

fn of_call(call: &Call, policies: &PolicySet) -> usize {
    let descriptors: Vec<_> = call.descriptors.iter().map(descriptor).collect();
    let asked = DescriptorCall {
        domain: &call.domain,
        descriptors: &descriptors,
        hits: call.hits,
    };
    let planned = policies.plan_descriptors(&asked, HoldId(1), Timestamp::EPOCH);
    planned.plan.charges.len()
}
