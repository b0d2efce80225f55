//! What happens to a request before it is forwarded, in order: now, who is it, match, charge, conclude.

mod hold;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Response};
use tidegate_core::{Decisions, HoldId, Timestamp};
use tidegate_policy::{
    Answers, ApiKeys, Body, Config, Course, Identity, PolicySet, Request, StoreFailure, Trust, Verdict,
    tell_origin,
};
use tidegate_store::{Store, StoreError};

use crate::clock::Clock;

pub(crate) use hold::Hold;

/// Decides about requests: what the policies ask, charged to the store `S`.
#[derive(Debug)]
pub struct Pipeline<S> {
    clock: Clock,
    trust: Trust,
    api_keys: Option<ApiKeys>,
    policies: PolicySet,
    answers: Answers,
    store: Arc<S>,
    waiting: AtomicUsize,
}

/// Requests that wait for their leaky bucket at one time, in the whole process. More are answered with 503.
pub const MOST_WAITING: usize = 10_000;

/// What becomes of a request.
pub(crate) enum Admission<'p> {
    /// It is answered here.
    Answered(Response<Bytes>),
    /// It goes on to the upstream.
    Forwarded(Admitted<'p>),
    /// It should wait, but too many do.
    Crowded(Admitted<'p>),
}

/// What is known about a request that was let through.
pub(crate) struct Admitted<'p> {
    verdict: Verdict<'p>,
    identity: Identity,
    now: Timestamp,
    answers: &'p Answers,
    /// Its slots under concurrency limits, until it has ended.
    pub(crate) hold: Option<Hold>,
}

impl<S: Store> Pipeline<S> {
    /// The pipeline of `config`. Its gateway settings are the gateway's, not looked at here except for whom it trusts.
    pub fn new(config: Config, api_keys: Option<ApiKeys>, store: S, clock: Clock) -> Self {
        Self {
            clock,
            trust: config.gateway.trust,
            api_keys,
            policies: config.policies,
            answers: config.answers,
            store: Arc::new(store),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether the socket's peer is believed about who came before it.
    pub(crate) fn trusts(&self, peer: IpAddr) -> bool {
        self.trust.believes(peer)
    }

    /// Decides about one request that came from `peer`, and waits if a limit says so. `hold` names its slots.
    pub(crate) async fn admit<B>(
        &self,
        request: &http::Request<B>,
        peer: IpAddr,
        hold: HoldId,
    ) -> Admission<'_> {
        let now = self.clock.now();
        let request = view(request, self.trust.client(peer, request.headers()));
        let identity = match self.api_keys.as_ref().map(|keys| keys.identify(&request)) {
            None => Identity::Anonymous,
            Some(Ok(identity)) => identity,
            Some(Err(refusal)) => return Admission::Answered(self.answers.refuse_key(&refusal, &request)),
        };
        let plan = self.policies.plan(&request, &identity, hold, now);
        // Made before the store is asked: a client that leaves meanwhile may have taken its slots already.
        let mut slots = Hold::of(&plan, hold, &self.store, &self.clock);
        let verdict = if plan.charges.is_empty() {
            plan.conclude(Ok(&Decisions::default()))
        } else {
            match self.store.charge(&plan.charges, now).await {
                Ok(decisions) => {
                    slots = slots.filter(|_| decisions.charged);
                    plan.conclude(Ok(&decisions))
                }
                Err(error) => plan.conclude(Err(failure(error))),
            }
        };
        if let Some(response) = self.answers.refuse(&verdict, &request, now) {
            return Admission::Answered(response);
        }
        let course = verdict.course;
        let admitted = Admitted {
            verdict,
            identity,
            now,
            answers: &self.answers,
            hold: slots,
        };
        match course {
            // Boxed like everything rare, so that the future of a usual request stays small: it is copied into place.
            Course::Delay(delay) if !Box::pin(self.wait(delay)).await => Admission::Crowded(admitted),
            Course::Pass | Course::Delay(_) | Course::Reject(_) => Admission::Forwarded(admitted),
        }
    }

    /// Holds the request back for `delay`; false if too many are held back already. Dropping the future ends the wait.
    async fn wait(&self, delay: Duration) -> bool {
        let Some(_place) = Place::taken(&self.waiting, MOST_WAITING) else {
            return false;
        };
        tokio::time::sleep(delay).await;
        true
    }
}

impl Admitted<'_> {
    /// Tells the origin what was decided.
    pub(crate) fn tell_origin(&self, fields: &mut HeaderMap) {
        tell_origin(&self.verdict, &self.identity, fields);
    }

    /// Tells the client of its limits.
    pub(crate) fn mark(&self, fields: &mut HeaderMap) {
        self.answers.mark(&self.verdict, self.now, fields);
    }
}

/// The request as policies see it. `*`, the target of `OPTIONS` that means the whole server, counts as its root.
fn view<B>(request: &http::Request<B>, client: IpAddr) -> Request<'_> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let path = request.uri().path();
    Request {
        method: request.method(),
        host: host.unwrap_or_default(),
        path: if path == "*" { "/" } else { path },
        query: request.uri().query(),
        headers: request.headers(),
        client,
        tls: None,
        body: &Body::UNREAD,
    }
}

fn failure(error: StoreError) -> StoreFailure {
    match error {
        StoreError::Timeout => StoreFailure::Timeout,
        _ => StoreFailure::Unavailable,
    }
}

/// One of a bounded number of places.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn taken(places: &'a AtomicUsize, most: usize) -> Option<Self> {
        // A count and nothing else; no memory is handed over with it.
        let before = places.fetch_add(1, Ordering::Relaxed);
        let place = Self(places);
        (before < most).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let places = AtomicUsize::new(0);
        let one = Place::taken(&places, 2);
        let two = Place::taken(&places, 2);
        assert!(one.is_some() && two.is_some());
        assert!(Place::taken(&places, 2).is_none());
        drop(one);
        assert!(Place::taken(&places, 2).is_some());
    }
}
