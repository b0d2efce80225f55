//! What programs ask in JSON: the same decisions, with all that is known about them.

mod answer;
mod call;
mod fields;
mod given;
mod order;
mod planned;
mod protojson;
mod question;
mod report;

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tidegate_policy::Liking;
use tidegate_store::Store;

use crate::gateway::{Fault, ResponseBody, Session};
use crate::live::Live;
use crate::pipeline::{Admission, Caller, ReadAhead as _};
use crate::record::Record;
use answer::{allowed, refused};
use given::Given;
use order::{Order, Turn};
use question::{Asked, Described, Question, Questions};
use report::Report;

pub use planned::{charges_of_question, descriptors_of_call};

/// Where one question, or several, are asked.
const CHECK: &str = "/v1/check";
/// Where calls of the rate limit service are asked, as envoyproxy/ratelimit takes them.
const PROTOJSON: &str = "/json";
/// Where it is written what they look like.
const OPENAPI: &str = "/v1/openapi.json";
const DOCUMENT: &str = include_str!("../../../../../docs/openapi.json");

/// The most bytes of a question.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;

/// What bodies, the access log and metrics call a question that is not clear.
const BAD_QUESTION: &str = "bad_question";

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Whether `path` belongs to the API.
pub(super) fn is_at(path: &str) -> bool {
    matches!(path, CHECK | PROTOJSON | OPENAPI)
}

/// Answers what is asked at one of its paths.
pub(super) async fn answer<S: Store>(
    session: &Session<S>,
    live: &Live,
    mut request: Request<Incoming>,
    record: &mut Record,
) -> Response<ResponseBody> {
    let expected = match request.uri().path() {
        OPENAPI => Method::GET,
        _ => Method::POST,
    };
    if *request.method() != expected {
        record.refused(BAD_QUESTION);
        let mut response = problem(
            StatusCode::METHOD_NOT_ALLOWED,
            &[(String::new(), format!("use {expected}"))],
        );
        let allow = HeaderValue::from_str(expected.as_str()).unwrap_or(JSON);
        response.headers_mut().insert(ALLOW, allow);
        return response;
    }
    if expected == Method::GET {
        return respond(StatusCode::OK, Bytes::from_static(DOCUMENT.as_bytes()));
    }
    let told = match read(session, &mut request).await {
        Ok(bytes) if request.uri().path() == PROTOJSON => {
            return protojson::answer(session, live, &bytes, record).await;
        }
        Ok(bytes) => ask(session, live, &bytes, record).await,
        Err(fault) => {
            record.refused(fault.error());
            return fault.response(&Liking::of(request.method(), request.headers()));
        }
    };
    match told {
        Ok(document) => respond(StatusCode::OK, document.to_string().into()),
        Err(report) => {
            record.refused(BAD_QUESTION);
            problem(StatusCode::BAD_REQUEST, &report.into_problems())
        }
    }
}

/// The whole of a question.
async fn read<S: Store>(session: &Session<S>, request: &mut Request<Incoming>) -> Result<Bytes, Fault> {
    let held = session.worker.pipeline.bodies();
    let (_, early) = session
        .reader()
        .read(request.body_mut(), MOST_BYTES, held)
        .await?;
    let bytes = early.map(crate::gateway::Early::into_bytes);
    match bytes {
        Some(bytes) if bytes.len() <= MOST_BYTES => Ok(bytes),
        _ => Err(Fault::RequestBodyTooLong),
    }
}

async fn ask<S: Store>(
    session: &Session<S>,
    live: &Live,
    bytes: &[u8],
    record: &mut Record,
) -> Result<Value, Report> {
    let mut report = Report::default();
    let questions = Questions::read(bytes, &mut report);
    let questions = questions.map(|questions| questions.normalized(session, live, &mut report));
    let Some(questions) = questions.filter(|_| report.is_empty()) else {
        return Err(report);
    };
    match questions {
        Questions::One(question) => Ok(decide(session, live, *question, None, record).await),
        Questions::Several(questions) => Ok(decide_all(session, live, questions, record).await),
    }
}

/// All decisions, as if one was made after the other.
async fn decide_all<S: Store>(
    session: &Session<S>,
    live: &Live,
    questions: Vec<Question>,
    record: &mut Record,
) -> Value {
    let order = Order::of(questions.len());
    let decisions = questions.into_iter().enumerate().map(|(index, question)| {
        let (turn, mut part) = (Some(order.turn(index)), record.part());
        async move {
            let decided = decide(session, live, question, turn, &mut part).await;
            (decided, part)
        }
    });
    let mut results = Vec::new();
    for (decided, part) in join_all(decisions.collect::<Vec<_>>()).await {
        results.push(decided);
        record.join(part);
    }
    json!({ "results": results })
}

/// One decision, spent or only looked at.
async fn decide<S: Store>(
    session: &Session<S>,
    live: &Live,
    Question { asked, peek }: Question,
    turn: Option<Turn<'_>>,
    record: &mut Record,
) -> Value {
    let Described {
        mut request,
        client,
        tls,
    } = match asked {
        Asked::Request(described) => *described,
        Asked::Call(call) => return call::decide(session, live, (call, peek), turn, record).await,
    };
    let given = Given::new(peek, turn);
    let caller = Caller {
        client,
        tls: tls.as_ref(),
        door: &given,
    };
    let worker = &session.worker;
    let hold = worker.next_hold();
    let admission = worker
        .pipeline
        .admit(live, &mut request, caller, hold, record, &worker.tokens);
    match admission.await {
        Admission::Forwarded(admitted, _) => {
            let (mut client, mut origin) = (HeaderMap::new(), HeaderMap::new());
            admitted.mark(&mut client);
            admitted.tell_origin(&mut origin);
            allowed(&client, Some(&origin), given.into_told())
        }
        Admission::Answered(response) => refused(&response, record.refusal(), given.into_told()),
        Admission::Crowded(_) => too_many(record, Fault::Crowded),
        Admission::Unread(not_read) => too_many(record, not_read.into()),
    }
}

/// What is not decided, because too much else is.
fn too_many(record: &mut Record, fault: Fault) -> Value {
    record.refused(fault.error());
    json!({ "allowed": false, "status": 503, "error": fault.error() })
}

fn respond(status: StatusCode, text: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// What is wrong with a question, all of it.
fn problem(status: StatusCode, problems: &[(String, String)]) -> Response<ResponseBody> {
    let problems: Vec<_> = problems
        .iter()
        .map(|(path, problem)| json!({ "path": path, "problem": problem }))
        .collect();
    let document = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "error": BAD_QUESTION,
        "problems": problems,
    });
    let mut response = respond(status, document.to_string().into());
    let problem = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, problem);
    response
}
