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
    Body, Config, Course, Identity, Plan, Request, Standing, StoreFailure, Tls, Verdict, tell_origin,
};
use tidegate_store::{Store, StoreError};

use crate::clock::Clock;
use crate::live::{Live, Stage, View};

pub(crate) use hold::Hold;

/// Decides about requests: what the policies ask, charged to the store `S`. It lives as long as the process; the policies are what is
/// live when a request begins.
#[derive(Debug)]
pub struct Pipeline<S> {
    clock: Clock,
    stage: Stage,
    store: Arc<S>,
    waiting: AtomicUsize,
}

/// Requests that wait for their leaky bucket at one time, in the whole process. More are answered with 503.
pub const MOST_WAITING: usize = 10_000;

/// Who sends a request.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'c> {
    /// Who opened the connection.
    pub(crate) peer: IpAddr,
    /// The TLS it is spoken over.
    pub(crate) tls: Option<&'c Tls>,
}

/// What becomes of a request.
pub(crate) enum Admission<'l> {
    /// It is answered here.
    Answered(Response<Bytes>),
    /// It goes on to the upstream.
    Forwarded(Admitted<'l>),
    /// It should wait, but too many do.
    Crowded(Admitted<'l>),
}

/// What is known about a request that was let through.
pub(crate) struct Admitted<'l> {
    /// What was live when it began, and is for it to the end.
    pub(crate) live: &'l Live,
    verdict: Verdict<'l>,
    identity: Identity,
    now: Timestamp,
    /// Its slots under concurrency limits, until it has ended.
    pub(crate) hold: Option<Hold>,
}

impl<S: Store> Pipeline<S> {
    /// A pipeline that decides by what is on `stage`.
    pub fn new(stage: Stage, store: S, clock: Clock) -> Self {
        Self {
            clock,
            stage,
            store: Arc::new(store),
            waiting: AtomicUsize::new(0),
        }
    }

    /// A thread's view of what is live.
    pub(crate) fn view(&self) -> View {
        View::of(&self.stage)
    }

    /// Decides by `live` about one request of `caller`, and waits if a limit says so. `hold` names its slots.
    pub(crate) async fn admit<'l, B>(
        &self,
        live: &'l Live,
        request: &http::Request<B>,
        caller: Caller<'_>,
        hold: HoldId,
    ) -> Admission<'l> {
        let now = self.clock.now();
        let Config {
            gateway,
            access,
            answers,
            policies,
            ..
        } = &live.config;
        let request = view(
            request,
            caller.tls,
            gateway.trust.client(caller.peer, request.headers()),
        );
        if access.denies_address(request.client, now) {
            return Admission::Answered(answers.refuse_access(&request));
        }
        let identity = match live.api_keys.as_ref().map(|keys| keys.identify(&request)) {
            None => Identity::Anonymous,
            Some(Ok(identity)) => identity,
            Some(Err(refusal)) => return Admission::Answered(answers.refuse_key(&refusal, &request)),
        };
        let plan = match access.standing(request.client, &identity, now) {
            Standing::Denied => return Admission::Answered(answers.refuse_access(&request)),
            Standing::Allowed => Plan::default(),
            Standing::Unlisted => policies.plan(&request, &identity, hold, now),
        };
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
        if let Some(response) = answers.refuse(&verdict, &request, now) {
            return Admission::Answered(response);
        }
        let course = verdict.course;
        let admitted = Admitted {
            live,
            verdict,
            identity,
            now,
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
        self.live.config.answers.mark(&self.verdict, self.now, fields);
    }
}

/// The request as policies see it. `*`, the target of `OPTIONS` that means the whole server, counts as its root.
fn view<'r, B>(request: &'r http::Request<B>, tls: Option<&'r Tls>, client: IpAddr) -> Request<'r> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let path = request.uri().path();
    Request {
        method: request.method(),
        host: host.unwrap_or_default(),
        path: if path == "*" { "/" } else { path },
        query: request.uri().query(),
        headers: request.headers(),
        client,
        tls,
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
