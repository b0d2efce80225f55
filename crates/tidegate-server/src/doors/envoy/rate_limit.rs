//! `RateLimitService/ShouldRateLimit`.

use std::time::Duration;

use bytes::Bytes;
use smallvec::SmallVec;
use tidegate_core::{Limit, Rate};
use tidegate_policy::{Descriptor, DescriptorCall, Entry, PolicyLimit};
use tidegate_store::Store;
use tonic::Status;

use super::told::told;
use super::wire::Written;
use super::wire::rate_limit::{Entry as WireEntry, RateLimitDescriptor, RateLimitRequest};
use crate::gateway::Session;
use crate::live::Live;
use crate::record::Record;

/// The most descriptors of one call.
pub(crate) const MOST_DESCRIPTORS: usize = 64;

/// The most entries of one descriptor.
pub(crate) const MOST_ENTRIES: usize = 16;

/// The longest domain, key or value.
pub(crate) const MOST_TEXT_BYTES: usize = 4096;

/// What a limit of a call is called.
const BROUGHT: &str = "envoy";

/// Decides about one call.
pub(crate) async fn decide<S: Store>(
    session: &Session<S>,
    live: &Live,
    asked: RateLimitRequest,
    record: &mut Record,
) -> Result<Written, Status> {
    let domain = text(&asked.domain)?;
    if domain.is_empty() {
        return Err(Status::invalid_argument("the domain is empty"));
    }
    if asked.descriptors.is_empty() {
        return Err(Status::invalid_argument("there is no descriptor"));
    }
    if asked.descriptors.len() > MOST_DESCRIPTORS {
        return Err(Status::resource_exhausted(format!(
            "a call has at most {MOST_DESCRIPTORS} descriptors"
        )));
    }
    let of_call = (asked.hits_addend > 0).then(|| u64::from(asked.hits_addend));
    let brought = asked.descriptors.iter().map(limit);
    let brought = brought.collect::<Result<SmallVec<[_; 1]>, _>>()?;
    let descriptors = asked.descriptors.iter().zip(&brought);
    let descriptors = descriptors.map(|(descriptor, limit)| {
        let hits = hits(descriptor, of_call);
        let limit = limit.as_ref();
        entries(descriptor).map(|entries| Descriptor { entries, hits, limit })
    });
    let descriptors = descriptors.collect::<Result<Descriptors<'_>, _>>()?;
    let worker = &session.worker;
    let (spending, giving_back) = parted(&asked.descriptors, descriptors);
    let only_gives_back = asked
        .descriptors
        .iter()
        .all(|descriptor| descriptor.is_negative_hits);
    let call = DescriptorCall {
        domain,
        descriptors: &spending,
        // Then policies about the whole call look.
        hits: if only_gives_back { Some(0) } else { of_call },
    };
    if !live.config.policies.knows_domain(domain) {
        worker.books.unknown_domain(domain);
    }
    let (pipeline, hold) = (&worker.pipeline, worker.next_hold());
    let decided = match &giving_back {
        None => pipeline.admit_call(live, &call, hold, record).await,
        Some(descriptors) => {
            let given_back = DescriptorCall {
                domain,
                descriptors,
                hits: of_call,
            };
            let both = (&given_back, &call);
            // Boxed like everything rare.
            Box::pin(pipeline.refund_and_admit_call(live, both, hold, record)).await
        }
    };
    let Some(decided) = decided else {
        record.refused("too_many_waiting");
        return Err(Status::unavailable("too many calls wait for their turn"));
    };
    told(live, &decided, spending.len())
}

/// What a call spends, where descriptors that give back only look; and what it gives back, if anything, where the others say nothing.
fn parted<'t>(
    asked: &[RateLimitDescriptor],
    descriptors: Descriptors<'t>,
) -> (Descriptors<'t>, Option<Descriptors<'t>>) {
    if !asked.iter().any(|descriptor| descriptor.is_negative_hits) {
        return (descriptors, None);
    }
    let (mut spending, mut giving_back) = (descriptors.clone(), descriptors);
    for ((asked, spends), gives_back) in asked.iter().zip(&mut spending).zip(&mut giving_back) {
        if asked.is_negative_hits {
            spends.hits = Some(0);
        } else {
            gives_back.entries.clear();
        }
    }
    (spending, Some(giving_back))
}

/// The descriptors of a call.
type Descriptors<'t> = SmallVec<[Descriptor<'t>; 2]>;

/// The text in a message.
fn text(bytes: &Bytes) -> Result<&str, Status> {
    if bytes.len() > MOST_TEXT_BYTES {
        return Err(Status::resource_exhausted(format!(
            "a domain, key or value has at most {MOST_TEXT_BYTES} bytes"
        )));
    }
    std::str::from_utf8(bytes).map_err(|_| Status::invalid_argument("a domain, key or value is no text"))
}

fn entries(descriptor: &RateLimitDescriptor) -> Result<SmallVec<[Entry<'_>; 4]>, Status> {
    if descriptor.entries.is_empty() {
        return Err(Status::invalid_argument("a descriptor has no entry"));
    }
    if descriptor.entries.len() > MOST_ENTRIES {
        let told = format!("a descriptor has at most {MOST_ENTRIES} entries");
        return Err(Status::resource_exhausted(told));
    }
    descriptor.entries.iter().map(entry).collect()
}

fn entry(entry: &WireEntry) -> Result<Entry<'_>, Status> {
    if entry.key.is_empty() {
        return Err(Status::invalid_argument("an entry has no key"));
    }
    Ok(Entry {
        key: text(&entry.key)?,
        value: text(&entry.value)?,
    })
}

/// The limit that a call brings along. Where it allows nothing at all, it is one that no hit fits into; see [`hits`].
fn limit(descriptor: &RateLimitDescriptor) -> Result<Option<PolicyLimit>, Status> {
    let Some(brought) = &descriptor.limit else {
        return Ok(None);
    };
    let window = window_of(brought.unit)
        .ok_or_else(|| Status::invalid_argument("the unit of a limit is not known"))?;
    let rate = Rate::new(u64::from(brought.requests_per_unit.max(1)), window);
    let rate = rate.map_err(|error| Status::invalid_argument(error.to_string()))?;
    Ok(Some(PolicyLimit::new(BROUGHT, Limit::fixed_window(rate))))
}

/// What a descriptor costs, if it or its call says so.
fn hits(descriptor: &RateLimitDescriptor, of_call: Option<u64>) -> Option<u64> {
    let hits = descriptor.hits_addend.map(|hits| hits.value).or(of_call);
    match &descriptor.limit {
        Some(limit) if limit.requests_per_unit == 0 && hits != Some(0) => Some(u64::MAX),
        _ => hits,
    }
}

/// The window of a unit of `envoy.type.v3.RateLimitUnit`, which has no week. A month has 30 days and a year 365, as in Envoy's own service.
fn window_of(unit: i32) -> Option<Duration> {
    let days = match unit {
        1 => return Some(Duration::from_secs(1)),
        2 => return Some(Duration::from_secs(60)),
        3 => return Some(Duration::from_secs(3600)),
        4 => 1,
        5 => 30,
        6 => 365,
        _ => return None,
    };
    Some(Duration::from_secs(days * 86_400))
}
