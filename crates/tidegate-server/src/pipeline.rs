//! What happens to a request before it is forwarded, in order: now, who is it, match, charge, conclude.

mod ahead;
mod descriptors;
mod look;

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Response};
use tidegate_core::{HoldId, Timestamp};
use tidegate_policy::{
    Body, Config, Course, Identity, IdentityRefusal, Judging, Plan, Request, Standing, Tls, TokenCache,
    Verdict, tell_origin,
};
use tidegate_store::{MOST_WAITING, Place, Store, Turns};

use crate::clock::Clock;
use crate::counters::Counters;
use crate::key_lookups::{KeyLookups, Lately};
use crate::live::{Live, Stage, View};
use crate::record::Record;

pub(crate) use crate::counters::{Answer, Hold};
pub(crate) use ahead::{Held, NotRead, ReadAhead, Share};
pub(crate) use descriptors::CallDecided;

/// Decides about requests: what the policies ask, charged to counters of this process and of the shared store `S`. It lives as long as the process; the policies are what is
/// live when a request begins.
#[derive(Debug)]
pub struct Pipeline<S> {
    clock: Clock,
    stage: Stage,
    counters: Arc<Counters<S>>,
    turns: Turns,
    bodies: Arc<Held>,
    key_lookups: Option<KeyLookups>,
}

/// Who sends a request.
pub(crate) struct Caller<'c, D> {
    /// Its address, behind all proxies that are believed.
    pub(crate) client: IpAddr,
    /// The TLS it is spoken over.
    pub(crate) tls: Option<&'c Tls>,
    /// Who reads its body, if a policy looks at it.
    pub(crate) door: &'c D,
}

/// What becomes of a request.
pub(crate) enum Admission<'l, E> {
    /// It is answered here.
    Answered(Response<Bytes>),
    /// It goes on to the upstream.
    Forwarded(Admitted<'l>, Option<E>),
    /// It should wait, but too many do. What was decided is there only if somebody else spent what it had found.
    Crowded(Option<Admitted<'l>>),
    /// A policy looks at its body, and that cannot be read.
    Unread(NotRead),
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
    pub fn new(stage: Stage, counters: Counters<S>, clock: Clock) -> Self {
        Self {
            clock,
            stage,
            counters: Arc::new(counters),
            turns: Turns::new(MOST_WAITING),
            bodies: Arc::default(),
            key_lookups: None,
        }
    }

    /// The same, which asks `lookups` for API keys that are not in the file.
    #[must_use]
    pub fn with_key_lookups(self, lookups: Option<KeyLookups>) -> Self {
        Self {
            key_lookups: lookups,
            ..self
        }
    }

    /// Who is asked for API keys that are not in the file.
    pub(crate) fn key_lookups(&self) -> Option<&KeyLookups> {
        self.key_lookups.as_ref()
    }

    /// What says what time it is.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What is live.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Where counters are kept.
    pub fn counters(&self) -> &Arc<Counters<S>> {
        &self.counters
    }

    /// What is held of bodies.
    pub(crate) fn bodies(&self) -> &Arc<Held> {
        &self.bodies
    }

    /// Requests that wait for their leaky bucket.
    pub(crate) fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    /// A thread's view of what is live.
    pub(crate) fn view(&self) -> View {
        View::of(&self.stage)
    }

    /// Decides by `live` about one request of `caller`, and waits if a limit says so. `hold` names its slots; `record` keeps what was
    /// decided; `tokens` is what the thread knows of earlier tokens.
    pub(crate) async fn admit<'l, D: ReadAhead>(
        &self,
        live: &'l Live,
        request: &mut http::Request<D::Incoming>,
        caller: Caller<'_, D>,
        hold: HoldId,
        record: &mut Record,
        tokens: &RefCell<TokenCache>,
    ) -> Admission<'l, D::Early> {
        let mut now = record.started();
        let Config {
            access,
            answers,
            policies,
            ..
        } = &live.config;
        let client = caller.client;
        let bare = view(request, caller.tls, client);
        record.is_from(client);
        if access.denies_address(client, now) {
            record.rejected("access_denied");
            return Admission::Answered(answers.refuse_access(&bare));
        }
        let stored = live.identifier.stored_keys();
        let judging = Judging {
            now,
            keys: &live.token_keys,
            cache: tokens,
            stored: &Lately::of(self.key_lookups.as_ref(), stored),
        };
        let mut identified = live.identifier.identify(&bare, &judging);
        if let (Err(refusal), Some(lookups), Some(settings)) = (&identified, &self.key_lookups, stored)
            && let Some(digest) = refusal.unanswered()
        {
            // Boxed like everything rare.
            let told = Box::pin(lookups.ask(digest, settings, &self.clock)).await;
            now = self.clock.now();
            let stored = &told;
            identified = live.identifier.identify(
                &bare,
                &Judging {
                    now,
                    stored,
                    ..judging
                },
            );
        }
        let identity = match identified {
            Ok(identity) => identity,
            Err(refusal) => {
                record.rejected(match refusal {
                    IdentityRefusal::ApiKey(refusal) => refusal.fault.word(),
                    IdentityRefusal::Token(fault) => fault.word(),
                });
                return Admission::Answered(answers.refuse_identity(&refusal, &bare));
            }
        };
        record.identified(&identity);
        let standing = access.standing(client, &identity, now);
        let (mut body, mut early) = (Body::UNREAD, None);
        if standing == Standing::Unlisted {
            if caller.door.is_empty(request.body()) {
                body = Body::EMPTY;
            } else if let Some(need) = policies.needs_body(&bare, now) {
                // Boxed like everything rare.
                let reading = Box::pin(caller.door.read(request.body_mut(), need.max_bytes, &self.bodies));
                match reading.await {
                    Ok(read) => (body, early) = read,
                    Err(not_read) => return Admission::Unread(not_read),
                }
                // That took as long as the client liked. Counted as of its beginning, the request would be forgotten too early.
                now = self.clock.now();
            }
        }
        let request = Request {
            body: &body,
            ..view(request, caller.tls, client)
        };
        let plan = match standing {
            Standing::Denied => {
                record.rejected("access_denied");
                return Admission::Answered(answers.refuse_access(&request));
            }
            Standing::Allowed => Plan::default(),
            Standing::Unlisted => policies.plan(&request, &identity, hold, now),
        };
        if let Some(turn) = caller.door.turn(&plan) {
            turn.await;
        }
        if caller.door.only_looks() {
            let verdict = Box::pin(self.look(&plan, now)).await.conclude(&plan);
            caller.door.decided(&verdict);
            if let Some(response) = answers.refuse(&verdict, &request, now) {
                return Admission::Answered(response);
            }
            let admitted = Admitted {
                live,
                verdict,
                identity,
                now,
                hold: None,
            };
            return Admission::Forwarded(admitted, early);
        }
        // Made before the store is asked: a client that leaves meanwhile may have taken its slots already.
        let mut slots = Hold::of(&plan, hold, &self.counters, &self.clock);
        let Some((answer, place)) = self.charge(&plan, now).await else {
            slots.and_then(Hold::forget);
            return Admission::Crowded(None);
        };
        if !answer.holds(&plan) {
            slots = slots.and_then(Hold::forget);
        }
        let verdict = answer.conclude(&plan);
        record.decided(live, &plan, &answer, &verdict);
        caller.door.decided(&verdict);
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
        match (course, place) {
            (Course::Delay(delay), Some(place)) => {
                // Boxed like everything rare, so that the future of a usual request stays small: it is copied into place.
                Box::pin(place.wait(delay)).await;
                Admission::Forwarded(admitted, early)
            }
            (Course::Delay(_), None) => Admission::Crowded(Some(admitted)),
            (Course::Pass | Course::Reject(_), _) => Admission::Forwarded(admitted, early),
        }
    }

    /// Asks the counters. None if the request would have to wait and there is no place to: then nothing was spent.
    #[inline]
    async fn charge(&self, plan: &Plan<'_>, now: Timestamp) -> Option<(Answer, Option<Place<'_>>)> {
        self.counters.ask(plan, &self.turns, now, &self.clock).await
    }
}

impl<'l> Admitted<'l> {
    /// What was decided about it.
    pub(crate) fn verdict(&self) -> &Verdict<'l> {
        &self.verdict
    }

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
pub(crate) fn view<'r, B>(
    request: &'r http::Request<B>,
    tls: Option<&'r Tls>,
    client: IpAddr,
) -> Request<'r> {
    let path = request.uri().path();
    Request {
        method: request.method(),
        version: request.version(),
        host: host(request.headers()),
        path: if path == "*" { "/" } else { path },
        query: request.uri().query(),
        headers: request.headers(),
        client,
        tls,
        body: &Body::UNREAD,
    }
}

/// `Host` as sent; empty if it is missing or no text.
pub(crate) fn host(fields: &HeaderMap) -> &str {
    let host = fields.get(HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or_default()
}
