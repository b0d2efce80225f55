//! A policy file, counters and a clock that moves only when told.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Version};
use tidegate_core::{Decisions, HoldId, Key, KeyHasher, Table, TableSize, Timestamp};
use tidegate_policy::{Body, Config, Course, Identity, PolicyFile, Request, Standing, compile};

/// Friday, 27 November 2026, noon in UTC.
const FRIDAY_NOON: u64 = 1_795_780_800_000_000_000;

/// One of the examples, at work.
pub(crate) struct Play {
    config: Config,
    table: Table,
    now: Timestamp,
    requests: u64,
}

/// A request to play.
#[derive(Clone)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    query: Option<&'static str>,
    headers: HeaderMap,
    body: String,
    peer: IpAddr,
    identity: Identity,
}

/// What became of a request.
pub(crate) struct Told {
    /// How long it was held back, if it passed.
    pub(crate) waited: Duration,
    refusal: Option<Response<Bytes>>,
    slots: Vec<Key>,
    hold: HoldId,
}

impl Play {
    /// The example of that name, at noon of a Friday, with nothing counted.
    pub(crate) fn example(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let file = PolicyFile { name, text: &text };
        let compiled =
            compile(file, &KeyHasher::new([7; 16])).unwrap_or_else(|problems| panic!("{problems}"));
        Self {
            config: compiled.config,
            table: Table::new(TableSize {
                bucket_bytes: 1 << 16,
                ledger_bytes: 1 << 20,
            }),
            now: Timestamp::from_nanos(FRIDAY_NOON),
            requests: 0,
        }
    }

    /// Time goes by.
    pub(crate) fn after(&mut self, span: Duration) {
        self.now = self.now.saturating_add(span);
    }

    /// What becomes of `ask` now, in the steps of the gateway.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Told {
        self.requests += 1;
        let hold = HoldId(self.requests);
        let bare = Request {
            method: &ask.method,
            version: Version::HTTP_11,
            host: "shop.example",
            path: &ask.path,
            query: ask.query,
            headers: &ask.headers,
            client: self.config.gateway.client(ask.peer, &ask.headers),
            tls: None,
            body: &Body::UNREAD,
        };
        let policies = &self.config.policies;
        if self.config.access.standing(bare.client, &ask.identity, self.now) == Standing::Denied {
            return Told::refused(self.config.answers.refuse_access(&bare));
        }
        let body = match policies.needs_body(&bare, self.now) {
            _ if ask.body.is_empty() => Body::EMPTY,
            None => Body::UNREAD,
            Some(need) if ask.body.len() > need.max_bytes => Body::TOO_LARGE,
            Some(_) => Body::whole(Bytes::copy_from_slice(ask.body.as_bytes())),
        };
        let request = Request { body: &body, ..bare };
        let plan = policies.plan(&request, &ask.identity, hold, self.now);
        let decisions = match plan.charges.as_slice() {
            [] => Decisions::default(),
            charges => self.table.charge(charges, self.now),
        };
        let verdict = plan.conclude(Ok(&decisions));
        if let Some(refusal) = self.config.answers.refuse(&verdict, &request, self.now) {
            return Told::refused(refusal);
        }
        let slots = plan.charges.iter().filter(|charge| charge.limit.ttl().is_some());
        Told {
            waited: match verdict.course {
                Course::Delay(delay) => delay,
                Course::Pass | Course::Reject(_) => Duration::ZERO,
            },
            refusal: None,
            slots: slots.map(|charge| charge.key).collect(),
            hold,
        }
    }

    /// The statuses of `count` requests, one right after the other.
    pub(crate) fn statuses(&mut self, count: usize, ask: &Ask) -> Vec<u16> {
        (0..count).map(|_| self.ask(ask).status()).collect()
    }

    /// How many of `count` requests pass.
    pub(crate) fn passed(&mut self, count: usize, ask: &Ask) -> usize {
        let statuses = self.statuses(count, ask);
        statuses.iter().filter(|status| **status == 200).count()
    }

    /// The request that `told` is about has been answered.
    pub(crate) fn ended(&self, told: &Told) {
        for slot in &told.slots {
            self.table.release(*slot, told.hold, self.now);
        }
    }
}

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: None,
            headers: HeaderMap::new(),
            body: String::new(),
            peer: IpAddr::from([203, 0, 113, 1]),
            identity: Identity::Anonymous,
        }
    }

    /// The same over a connection from `address`.
    pub(crate) fn from(mut self, address: &str) -> Self {
        self.peer = address.parse().unwrap();
        self
    }

    /// The same with an API key of `subject`.
    pub(crate) fn by(mut self, subject: &str, tier: Option<&str>) -> Self {
        self.identity = Identity::of_api_key(subject, tier.map(Into::into));
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap();
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    pub(crate) fn query(mut self, query: &'static str) -> Self {
        self.query = Some(query);
        self
    }

    pub(crate) fn json(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self.with("content-type", "application/json")
    }
}

impl Told {
    fn refused(refusal: Response<Bytes>) -> Self {
        Self {
            waited: Duration::ZERO,
            refusal: Some(refusal),
            slots: Vec::new(),
            hold: HoldId::default(),
        }
    }

    /// 200 for a request that goes on to the origin.
    pub(crate) fn status(&self) -> u16 {
        self.refusal
            .as_ref()
            .map_or(200, |refusal| refusal.status().as_u16())
    }

    /// The seconds of `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        let value = self.refusal.as_ref()?.headers().get(RETRY_AFTER)?;
        value.to_str().ok()?.parse().ok()
    }

    /// What a refused client reads.
    pub(crate) fn text(&self) -> &str {
        let body = self.refusal.as_ref().map_or(&b""[..], |refusal| refusal.body());
        std::str::from_utf8(body).unwrap()
    }
}
