//! Calls of the rate limit service, described in JSON.

use http::{HeaderMap, Response};
use serde_json::{Value, json};
use smallvec::SmallVec;
use tidegate_core::Mode;
use tidegate_policy::{Course, Descriptor, DescriptorCall, Entry};
use tidegate_store::Store;

use super::answer::{allowed, refused};
use super::given::{Told, limit};
use super::order::{Turn, keys};
use super::report::{Members, Report};
use super::too_many;
use crate::doors::envoy::{MOST_DESCRIPTORS, MOST_ENTRIES, MOST_TEXT_BYTES, refusal};
use crate::gateway::{Fault, Session};
use crate::live::Live;
use crate::pipeline::CallDecided;
use crate::record::Record;

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) domain: String,
    pub(super) descriptors: Vec<Said>,
    pub(super) hits: Option<u64>,
}

/// A descriptor.
#[derive(Debug)]
pub(super) struct Said {
    entries: Vec<(String, String)>,
    hits: Option<u64>,
}

impl Call {
    /// The call that `members` describe.
    pub(super) fn read(members: &mut Members<'_>, report: &mut Report) -> Option<Self> {
        let domain = text(members, "domain", report);
        let place = members.path("descriptors");
        let hits = members.number("hits", report);
        let descriptors = members
            .list("descriptors", MOST_DESCRIPTORS, report)
            .unwrap_or_default();
        if descriptors.is_empty() {
            report.add(&place, "write a descriptor at least");
        }
        let read = |(index, said)| Said::read(said, &format!("{place}[{index}]"), report);
        let descriptors = descriptors.iter().enumerate().filter_map(read).collect();
        Some(Self {
            domain: domain?,
            descriptors,
            hits,
        })
    }
}

impl Said {
    fn read(value: &Value, path: &str, report: &mut Report) -> Option<Self> {
        let mut members = Members::of(value, path, report)?;
        let hits = members.number("hits", report);
        let place = members.path("entries");
        let entries = members.list("entries", MOST_ENTRIES, report).unwrap_or_default();
        if entries.is_empty() {
            report.add(&place, "write an entry at least: `{\"key\": …, \"value\": …}`");
        }
        members.end(report);
        let read = |(index, said)| entry(said, &format!("{place}[{index}]"), report);
        Some(Self {
            entries: entries.iter().enumerate().filter_map(read).collect(),
            hits,
        })
    }
}

fn entry(value: &Value, path: &str, report: &mut Report) -> Option<(String, String)> {
    let mut members = Members::of(value, path, report)?;
    let key = text(&mut members, "key", report);
    let value = members.text("value", report).unwrap_or_default().to_owned();
    if value.len() > MOST_TEXT_BYTES {
        report.add(&members.path("value"), too_long());
    }
    members.end(report);
    Some((key?, value))
}

/// A text that has to be there, and is not empty.
fn text(members: &mut Members<'_>, name: &'static str, report: &mut Report) -> Option<String> {
    let text = members.needed_text(name, report)?;
    if text.is_empty() || text.len() > MOST_TEXT_BYTES {
        report.add(&members.path(name), too_long());
        return None;
    }
    Some(text.to_owned())
}

fn too_long() -> String {
    format!("write a text of {MOST_TEXT_BYTES} bytes at most, that is not empty")
}

/// What is decided about `call`, spent or only looked at.
pub(super) async fn decide<S: Store>(
    session: &Session<S>,
    live: &Live,
    (call, peek): (Call, bool),
    turn: Option<Turn<'_>>,
    record: &mut Record,
) -> Value {
    let descriptors: SmallVec<[Descriptor<'_>; 4]> = call.descriptors.iter().map(descriptor).collect();
    let asked = DescriptorCall {
        domain: &call.domain,
        descriptors: &descriptors,
        hits: call.hits,
    };
    let worker = &session.worker;
    if !live.config.policies.knows_domain(asked.domain) {
        worker.books.unknown_domain(asked.domain);
    }
    let (pipeline, hold) = (&worker.pipeline, worker.next_hold());
    if let Some(turn) = &turn {
        let planned = live
            .config
            .policies
            .plan_descriptors(&asked, hold, record.started());
        turn.wait(keys(&planned.plan)).await;
    }
    let decided = if peek {
        Some(pipeline.look_at_call(live, &asked, hold, record.started()).await)
    } else {
        pipeline.admit_call(live, &asked, hold, record).await
    };
    match decided {
        Some(decided) => told(live, &decided),
        None => too_many(record, Fault::Crowded),
    }
}

pub(super) fn descriptor(said: &Said) -> Descriptor<'_> {
    let entries = said.entries.iter().map(|(key, value)| Entry { key, value });
    Descriptor {
        entries: entries.collect(),
        hits: said.hits,
        limit: None,
    }
}

fn told(live: &Live, decided: &CallDecided<'_>) -> Value {
    let told = Told {
        limits: limits(decided),
        ..Told::of(&decided.verdict)
    };
    let mut answer = if let Course::Reject(_) = decided.verdict.course {
        let response: Response<_> = refusal(live, decided);
        refused(&response, None, told)
    } else {
        let mut client = HeaderMap::new();
        live.config
            .answers
            .mark(&decided.verdict, decided.now, &mut client);
        allowed(&client, None, told)
    };
    if !decided.planned.unlimited.is_empty() {
        answer["unlimited"] = json!(decided.planned.unlimited.as_slice());
    }
    answer
}

/// What each enforced limit said, and of which descriptor. Nothing of the descriptor where it limits the whole call.
fn limits(decided: &CallDecided<'_>) -> Vec<Value> {
    let plan = &decided.planned.plan;
    let charges = plan
        .charges
        .iter()
        .zip(&plan.sources)
        .zip(&decided.planned.places);
    let mut limits = Vec::new();
    for (((charge, source), place), decision) in charges.zip(decided.answer.decisions()) {
        let (Mode::Enforce, Some(decision)) = (charge.mode, decision) else {
            continue;
        };
        let mut said = limit(source, &decision);
        if let Some(place) = place {
            said["descriptor"] = (*place).into();
        }
        limits.push(said);
    }
    limits
}
