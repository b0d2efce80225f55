//! Limits that this process decides about by itself, in the same steps as a gateway: now, who is it, match, charge, conclude.

mod build;
mod error;
mod nowhere;

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::{Response, header};
use tidegate_clock::Clock;
use tidegate_core::{HoldId, Timestamp};
use tidegate_counters::{Counters, Hold as Slots};
use tidegate_policy::{
    Body, Config, Course, Identifier, Identity, Judging, KeySets, KeySource, NoStoredKeys, Plan, Request,
    Standing, TokenCache, Verdict, tell_origin,
};
use tidegate_store::{Memory, Store, Turns};

use crate::unable::Unable;
use crate::{Decide, Decided, Hold, Passed, RateLimit};

pub use build::Builder;
pub use error::BuildError;
pub use nowhere::NoStore;

/// Decides by policies, with counters in this process's memory and in the store `S`.
///
/// It counts as a gateway does that has the same file: policies that are `strict` in the store, those that are `local` in memory. While the store cannot decide,
/// each policy does what its `on_store_failure` says, and `local` means counters of this process with its `local_share`.
#[derive(Debug)]
pub struct Limiter<S = Memory> {
    config: Config,
    identifier: Identifier,
    token_keys: FixedKeys,
    /// What was found out about earlier tokens.
    tokens: Mutex<RefCell<TokenCache>>,
    counters: Arc<Counters<S>>,
    clock: Clock,
    turns: Turns,
    holds: AtomicU64,
}

impl RateLimit<Limiter> {
    /// Limits by the policies that `text` says, as a policy file would, with counters in this process's memory.
    ///
    /// # Errors
    /// [`BuildError`]: everything that is wrong with the text, or what it needs beyond it. A [`Builder`] takes that.
    pub fn from_yaml(text: &str) -> Result<Self, BuildError> {
        Ok(Self::new(Builder::from_yaml(text)?.build()?))
    }
}

impl<S: Store> Decide for Limiter<S> {
    async fn decide<'d>(&'d self, request: &mut Parts, peer: IpAddr) -> Decided<'d> {
        let client = self.config.gateway.client(peer, &request.headers);
        self.decide_about(request, client).await
    }
}

/// The answer to whom nobody knows or wants. Boxed like everything rare.
type Refused = Box<Response<Bytes>>;

/// What a request asks of the store, and who made it.
struct Planned<'set> {
    plan: Plan<'set>,
    identity: Identity,
}

impl<S: Store> Limiter<S> {
    /// Decides about a request of `client`, whatever forwarded fields say.
    pub(crate) async fn decide_about<'d>(&'d self, request: &mut Parts, client: IpAddr) -> Decided<'d> {
        let now = self.clock.now();
        let hold = HoldId(self.holds.fetch_add(1, Ordering::Relaxed));
        let Planned { plan, identity } = match self.plan(&view(request, client), hold, now) {
            Ok(planned) => planned,
            Err(response) => return Decided::Answered(*response),
        };
        // Made before the store is asked: a client that leaves meanwhile may have taken its slots already.
        let mut slots = Slots::of(&plan, hold, &self.counters, &self.clock);
        let asking = self.counters.ask(&plan, &self.turns, now, &self.clock);
        let Some((answer, place)) = asking.await else {
            slots.and_then(Slots::forget);
            return Decided::Answered(Unable::Crowded.answer(request));
        };
        if !answer.holds(&plan) {
            slots = slots.and_then(Slots::forget);
        }
        let verdict = answer.conclude(&plan);
        if let Some(response) = self.config.answers.refuse(&verdict, &view(request, client), now) {
            return Decided::Answered(response);
        }
        if let Course::Delay(delay) = verdict.course {
            let Some(place) = place else {
                return Decided::Answered(Unable::Crowded.answer(request));
            };
            place.wait(delay).await;
        }
        self.tell_service(&verdict, &identity, request);
        Decided::Passed(Passed {
            mark: Box::new(move |fields| self.config.answers.mark(&verdict, now, fields)),
            hold: slots.map(|slots| Hold::new(move || drop(slots))),
        })
    }

    /// What `request` asks of the store, or the answer to whom nobody knows or wants.
    fn plan(&self, request: &Request<'_>, hold: HoldId, now: Timestamp) -> Result<Planned<'_>, Refused> {
        let Config {
            access,
            answers,
            policies,
            ..
        } = &self.config;
        if access.denies_address(request.client, now) {
            return Err(answers.refuse_access(request).into());
        }
        let identity = self.identify(request, now)?;
        let plan = match access.standing(request.client, &identity, now) {
            Standing::Denied => return Err(answers.refuse_access(request).into()),
            Standing::Allowed => Plan::default(),
            Standing::Unlisted => policies.plan(request, &identity, hold, now),
        };
        Ok(Planned { plan, identity })
    }

    fn identify(&self, request: &Request<'_>, now: Timestamp) -> Result<Identity, Refused> {
        // Nobody waits for what another thread finds out: who cannot look finds out by itself.
        let known = self.tokens.try_lock();
        let own = RefCell::default();
        let judging = Judging {
            now,
            keys: &self.token_keys,
            cache: known.as_deref().unwrap_or(&own),
            stored: &NoStoredKeys,
        };
        let identified = self.identifier.identify(request, &judging);
        identified.map_err(|refusal| self.config.answers.refuse_identity(&refusal, request).into())
    }

    fn tell_service(&self, verdict: &Verdict<'_>, identity: &Identity, request: &mut Parts) {
        if let Some(keys) = &self.identifier.api_keys {
            keys.strip(&mut request.headers, &mut request.uri);
        }
        tell_origin(verdict, identity, &mut request.headers);
    }
}

/// Keys of tokens that stay as they are.
#[derive(Debug)]
struct FixedKeys(Arc<KeySets>);

impl KeySource for FixedKeys {
    fn key_sets(&self) -> Arc<KeySets> {
        self.0.clone()
    }

    fn lacks_key(&self, _issuer_index: usize) {}
}

/// The request as policies see it. `*`, the target of `OPTIONS` that means the whole server, counts as its root.
fn view(request: &Parts, client: IpAddr) -> Request<'_> {
    let path = request.uri.path();
    let host = || request.headers.get(header::HOST)?.to_str().ok();
    let authority = request.uri.authority().map(|authority| authority.as_str());
    Request {
        method: &request.method,
        version: request.version,
        host: authority.or_else(host).unwrap_or_default(),
        path: if path == "*" || path.is_empty() { "/" } else { path },
        query: request.uri.query(),
        headers: &request.headers,
        client,
        tls: None,
        body: &Body::UNREAD,
    }
}
