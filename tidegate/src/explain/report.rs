//! What the policies make of a request, for people and for machines.

use std::cell::RefCell;
use std::fmt::Write;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, StatusCode, Version};
use serde_json::{Value, json};
use tidegate_core::{Decisions, HoldId, Mode, Outcome, Table, TableSize, Timestamp};
use tidegate_policy::{
    Body, Choice, Consistency, Course, Explained, Forwarding, Identity, IdentityRefusal, Judging, KeyFault,
    Match, NoStoredKeys, Plan, Request, Standing, Terms, TokenCache, in_words,
};
use tidegate_server::live::Live;

use super::asked::Asked;
use crate::words::RouteInWords;

/// Counters of nobody: as large as a table can be small.
const FRESH: TableSize = TableSize {
    bucket_bytes: 1 << 16,
    ledger_bytes: 1 << 16,
};

/// What the policies make of a request.
pub(crate) struct Report {
    request: String,
    client: String,
    identity: String,
    standing: &'static str,
    policies: Vec<Told>,
    verdict: String,
    /// Where it goes, if it passes and the file says that.
    route: Option<String>,
    status: Option<StatusCode>,
    fields: HeaderMap,
}

/// What is told of one policy.
struct Told {
    name: String,
    scope: String,
    shadow: bool,
    consistency: Consistency,
    /// None if it matches; else the first reason why not.
    reason: Option<String>,
    key: Vec<(String, String)>,
    limits: Vec<ToldLimit>,
}

struct ToldLimit {
    label: String,
    words: String,
    terms: String,
    cost: u64,
    outcome: String,
    remaining: u64,
}

impl Report {
    pub(crate) fn new(asked: &Asked, peer: IpAddr, live: &Live, now: Timestamp) -> Result<Self, String> {
        let config = &live.config;
        let client = config.gateway.client(peer, &asked.headers);
        let body = if asked.body.is_empty() {
            Body::EMPTY
        } else {
            Body::whole(Bytes::copy_from_slice(&asked.body))
        };
        let host = asked.headers.get(HOST).and_then(|host| host.to_str().ok());
        let request = Request {
            method: &asked.method,
            version: Version::HTTP_11,
            host: host.unwrap_or_default(),
            path: match asked.uri.path() {
                "*" => "/",
                path => path,
            },
            query: asked.uri.query(),
            headers: &asked.headers,
            client,
            tls: None,
            body: &body,
        };
        let mut report = Self {
            request: format!("{} {}", asked.method, asked.uri),
            client: if client == peer {
                format!("{client}, who opened the connection")
            } else {
                format!("{client}, as {peer} may tell by its forwarded field")
            },
            identity: String::new(),
            standing: "not listed",
            policies: Vec::new(),
            verdict: String::new(),
            route: None,
            status: None,
            fields: HeaderMap::new(),
        };
        report.decide(&request, live, now);
        if report.status.is_none() {
            report.route = route(&request, &config.forwarding);
        }
        Ok(report)
    }

    fn decide(&mut self, request: &Request<'_>, live: &Live, now: Timestamp) {
        let config = &live.config;
        if config.access.denies_address(request.client, now) {
            self.identity = "not looked at".to_owned();
            return self.deny(config.answers.refuse_access(request));
        }
        let cache = RefCell::new(TokenCache::default());
        let judging = Judging {
            now,
            keys: &live.token_keys,
            cache: &cache,
            stored: &NoStoredKeys,
        };
        let identity = match live.identifier.identify(request, &judging) {
            Ok(identity) => identity,
            Err(refusal) => {
                self.identity = match &refusal {
                    IdentityRefusal::ApiKey(refusal) => match refusal.fault {
                        KeyFault::Missing => "no API key",
                        KeyFault::Unknown => "an unknown API key",
                        KeyFault::Revoked => "a revoked API key",
                        KeyFault::Unanswered(_) => {
                            "an API key that only the store can know, which is not asked"
                        }
                    },
                    IdentityRefusal::Token(fault) => fault.word(),
                }
                .to_owned();
                let response = config.answers.refuse_identity(&refusal, request);
                return self.answered("refused for its credential", response);
            }
        };
        self.identity = match &identity {
            Identity::Anonymous => "nobody in particular".to_owned(),
            Identity::Known {
                subject, tier: None, ..
            } => format!("{subject}, without a tier"),
            Identity::Known {
                subject,
                tier: Some(tier),
                ..
            } => format!("{subject}, tier {tier}"),
        };
        match config.access.standing(request.client, &identity, now) {
            Standing::Denied => return self.deny(config.answers.refuse_access(request)),
            Standing::Allowed => {
                self.standing = "allowed: no policy counts it";
                self.verdict = "passes".to_owned();
                return;
            }
            Standing::Unlisted => {}
        }
        let plan = config.policies.plan(request, &identity, HoldId(0), now);
        let decisions = match plan.charges.is_empty() {
            true => Decisions::default(),
            false => Table::new(FRESH).charge(&plan.charges, now),
        };
        let explained = config.policies.explain(request, &identity, now);
        self.policies = explained.iter().map(|one| told(one, &plan, &decisions)).collect();
        let verdict = plan.conclude(Ok(&decisions));
        match config.answers.refuse(&verdict, request, now) {
            Some(response) => self.answered("refused", response),
            None => {
                self.verdict = match verdict.course {
                    Course::Delay(delay) => format!("passes, {} ms later", delay.as_millis()),
                    _ => "passes".to_owned(),
                };
                config.answers.mark(&verdict, now, &mut self.fields);
            }
        }
    }

    fn deny(&mut self, response: http::Response<Bytes>) {
        self.standing = "denied";
        self.answered("refused by `access`", response);
    }

    fn answered(&mut self, verdict: &str, response: http::Response<Bytes>) {
        let (head, _) = response.into_parts();
        self.verdict = format!("{verdict}, {}", head.status);
        self.status = Some(head.status);
        self.fields = head.headers;
    }

    fn matching(&self) -> impl Iterator<Item = &Told> {
        self.policies.iter().filter(|policy| policy.reason.is_none())
    }

    /// One line, for lists of requests.
    pub(crate) fn line(&self) -> String {
        let names: Vec<&str> = self.matching().map(|policy| policy.name.as_str()).collect();
        let names = if names.is_empty() {
            "no policy".to_owned()
        } else {
            names.join(", ")
        };
        format!("{}: {} ({names})", self.request, self.verdict)
    }

    /// For people. `all`: also the policies that do not match.
    pub(crate) fn text(&self, all: bool) -> String {
        let mut out = format!("{}\n", self.request);
        for (name, value) in [
            ("client", self.client.as_str()),
            ("identity", &self.identity),
            ("access", self.standing),
            ("verdict", &self.verdict),
        ] {
            let _ = writeln!(out, "  {name:<9} {value}");
        }
        if let Some(route) = &self.route {
            let _ = writeln!(out, "  route     {route}");
        }
        for (name, value) in &self.fields {
            let _ = writeln!(
                out,
                "            {name}: {}",
                String::from_utf8_lossy(value.as_bytes())
            );
        }
        self.matching().for_each(|policy| policy.write(&mut out));
        let others: Vec<&Told> = self
            .policies
            .iter()
            .filter(|policy| policy.reason.is_some())
            .collect();
        if all && !others.is_empty() {
            out.push_str("\nDo not match:\n");
            for policy in others {
                let _ = writeln!(
                    out,
                    "  {}: {}",
                    policy.name,
                    policy.reason.as_deref().unwrap_or_default()
                );
            }
        } else if !others.is_empty() {
            let _ = writeln!(out, "\nDo not match: {} (`--all` says why)", others.len());
        }
        out.push_str("\nCounted as the first request of all. Nothing was spent, and nobody was asked.\n");
        out
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let fields: Vec<Value> = self
            .fields
            .iter()
            .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
            .collect();
        json!({
            "request": self.request,
            "client": self.client,
            "identity": self.identity,
            "access": self.standing,
            "verdict": self.verdict,
            "route": self.route,
            "status": self.status.map(|status| status.as_u16()),
            "fields": fields,
            "policies": self.policies.iter().map(Told::json).collect::<Vec<_>>(),
        })
    }
}

/// Which route `request` takes, and to which upstream. None if the file names neither.
fn route(request: &Request<'_>, forwarding: &Forwarding) -> Option<String> {
    match (forwarding.routes.choose(request), forwarding.default_upstream()) {
        (Choice::Route(route), _) => Some(RouteInWords(forwarding, route).to_string()),
        (Choice::Rest, Some(upstream)) if forwarding.routes.is_empty() => Some(format!("to {upstream}")),
        (Choice::Rest, Some(upstream)) => Some(format!("none of the routes, so to {upstream}")),
        (Choice::Rest, None) if forwarding.is_empty() => None,
        (Choice::Rest, None) => Some("none of the routes, so 404".to_owned()),
        (Choice::Ambiguous, _) => Some("its path can be read in too many ways, so 400".to_owned()),
    }
}

fn told(explained: &Explained<'_>, plan: &Plan<'_>, decisions: &Decisions) -> Told {
    let policy = explained.policy;
    let (reason, key) = match &explained.outcome {
        Match::Yes(parts) => (
            None,
            parts
                .iter()
                .map(|part| (part.part.clone(), part.value.clone()))
                .collect(),
        ),
        Match::Lacking(parts) => {
            let missing = |part: &String| (part.clone(), "missing".to_owned());
            (None, parts.iter().map(missing).collect())
        }
        Match::No(reason) => (Some(reason.clone()), Vec::new()),
    };
    let mut limits = Vec::new();
    for ((charge, source), decision) in plan.charges.iter().zip(&plan.sources).zip(&decisions.each) {
        if !std::ptr::eq(source.policy, policy) {
            continue;
        }
        limits.push(ToldLimit {
            label: source.limit.label.to_string(),
            words: in_words(&source.limit.limit),
            terms: match source.terms {
                Terms::Own => String::new(),
                Terms::Tier(tier) => format!("tier {tier}"),
                Terms::Override(special) => format!("override of {}", special.whose),
            },
            cost: charge.cost.units(),
            outcome: outcome(decision.outcome),
            remaining: decision.remaining,
        });
    }
    Told {
        name: policy.name.to_string(),
        scope: policy.scope.to_string(),
        shadow: policy.mode == Mode::Shadow,
        consistency: policy.consistency,
        reason,
        key,
        limits,
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Allow { delay } if delay.is_zero() => "passes".to_owned(),
        Outcome::Allow { delay } => format!("passes, {} ms later", delay.as_millis()),
        Outcome::Deny { retry_after } => format!("refused for {} ms", retry_after.as_millis()),
        Outcome::Never => "refused: it costs more than the limit ever holds".to_owned(),
    }
}

impl Told {
    fn write(&self, out: &mut String) {
        let shadow = if self.shadow { " (only rehearsed)" } else { "" };
        let _ = writeln!(out, "\n{}: {}{shadow}", self.name, self.scope);
        for (part, value) in &self.key {
            let _ = writeln!(out, "  key       {part} = {value}");
        }
        if self.consistency == Consistency::Strict && !self.limits.is_empty() {
            let _ = writeln!(out, "  counted   by all instances together");
        }
        for limit in &self.limits {
            let terms = if limit.terms.is_empty() {
                String::new()
            } else {
                format!(" ({})", limit.terms)
            };
            let _ = writeln!(out, "  limit     {}{terms}", limit.words);
            let _ = writeln!(
                out,
                "  costs     {}: {}, {} left",
                limit.cost, limit.outcome, limit.remaining
            );
        }
    }

    fn json(&self) -> Value {
        let key: Vec<Value> = self
            .key
            .iter()
            .map(|(part, value)| json!({ "part": part, "value": value }))
            .collect();
        let limits: Vec<Value> = self
            .limits
            .iter()
            .map(|limit| {
                json!({
                    "limit": limit.label, "words": limit.words, "terms": limit.terms,
                    "cost": limit.cost, "outcome": limit.outcome, "remaining": limit.remaining,
                })
            })
            .collect();
        json!({
            "policy": self.name, "scope": self.scope, "shadow": self.shadow,
            "consistency": self.consistency.name(), "matches": self.reason.is_none(),
            "reason": self.reason, "key": key, "limits": limits,
        })
    }
}
