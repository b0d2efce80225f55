//! What is known about a request once it has ended: counted, and written down if somebody wants to read it.
//!
//! A record begins with the head of a request and is carried by whatever answers it; dropping it ends it. So every way in which a
//! request can end counts once and is written once.

mod books;
mod complaints;

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode};
use tidegate_core::Timestamp;
use tidegate_policy::{Course, Identity, Plan, TlsVersion, Verdict};

use crate::access_log::Line;
use crate::gateway::Progress;
use crate::live::Live;
use crate::metrics::{Answered, DECISIONS, DURATIONS, class};
use crate::pipeline::Answer;

pub(crate) use books::Books;
pub(crate) use complaints::Blame;

/// The status that stands for a client who left before there was one, as nginx has it.
const LEFT: u16 = 499;

/// What is said of requests whose head did not come, or was none.
pub(crate) const UNREAD: [&str; 2] = ["request_timeout", "bad_request"];

/// One request, from its head to the end of its response.
pub(crate) struct Record {
    books: Rc<Books>,
    started: Timestamp,
    /// `none` until it is decided.
    verdict: &'static str,
    /// 0 until there is one.
    status: u16,
    /// Why it was answered here.
    refusal: Option<&'static str>,
    /// What went wrong with the upstream.
    failure: Option<&'static str>,
    /// The request's body on its way, if it has one.
    upload: Option<Rc<Progress>>,
    /// Bytes of bodies, from the client and to it.
    pub(crate) received: u64,
    pub(crate) sent: u64,
    ended: Ended,
    /// Its response has no body, whatever its fields say.
    head_only: bool,
    /// None if nobody reads of it.
    line: Option<Box<Line>>,
    /// It is a part of another: what it decides counts, and it is no request itself.
    is_part: bool,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was handed to the client's connection.
    Complete,
    /// The client's connection ended first: it left, was too slow, or the time to drain was over.
    Cut,
    /// The upstream's body broke off.
    Upstream,
}

impl Ended {
    /// The word in the access log.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Cut => "cut",
            Self::Upstream => "upstream",
        }
    }
}

impl Record {
    /// A request whose head is here.
    pub(crate) fn begun(books: &Rc<Books>) -> Box<Self> {
        books.counts().in_flight.one();
        Box::new(Self::undecided(books, books.now()))
    }

    /// One of several decisions that are asked for in this request, at the same time as others.
    pub(crate) fn part(&self) -> Self {
        let mut part = Self::undecided(&self.books, self.started);
        part.line = self.line.clone();
        part.is_part = true;
        part
    }

    fn undecided(books: &Rc<Books>, started: Timestamp) -> Self {
        Self {
            books: books.clone(),
            started,
            verdict: "none",
            status: 0,
            refusal: None,
            failure: None,
            upload: None,
            received: 0,
            sent: 0,
            ended: Ended::Cut,
            head_only: false,
            line: None,
            is_part: false,
        }
    }

    /// Takes over what was decided in `part`, as if that came after everything before.
    pub(crate) fn join(&mut self, mut part: Self) {
        if part.verdict != "none" {
            self.verdict = part.verdict;
        }
        self.refusal = part.refusal.or(self.refusal);
        if part.line.is_some() {
            self.line = part.line.take();
        }
    }

    /// A request whose head was no request, or did not come: answered with `status` on the connection of `peer`.
    pub(crate) fn unread(books: &Rc<Books>, peer: IpAddr, status: StatusCode) {
        let mut record = Self::begun(books);
        record.line = books.line().map(|()| Box::new(Line::of(peer)));
        record.refused(match status {
            StatusCode::REQUEST_TIMEOUT => UNREAD[0],
            _ => UNREAD[1],
        });
        record.answered(status);
        record.completed();
    }

    /// When its head was here.
    pub(crate) fn started(&self) -> Timestamp {
        self.started
    }

    /// Keeps what the access log wants to know of `request`.
    pub(crate) fn saw<B>(&mut self, request: &Request<B>, peer: IpAddr, id: Option<&HeaderValue>) {
        self.head_only = request.method() == Method::HEAD;
        if self.books.line().is_some() {
            self.line = Some(Box::new(Line::about(request, peer, id)));
        }
    }

    /// It came over TLS.
    pub(crate) fn came_over(&mut self, version: TlsVersion) {
        if let Some(line) = &mut self.line {
            line.tls = Some(version);
        }
    }

    /// Whose request it is, behind all proxies that are believed.
    pub(crate) fn is_from(&mut self, client: IpAddr) {
        if let Some(line) = &mut self.line {
            line.client = client;
        }
    }

    /// Whom the client is known as.
    pub(crate) fn identified(&mut self, identity: &Identity) {
        if let Some(line) = &mut self.line {
            line.identify(identity);
        }
    }

    /// What was decided about it. Counts what each limit said.
    pub(crate) fn decided(&mut self, live: &Live, plan: &Plan<'_>, answer: &Answer, verdict: &Verdict<'_>) {
        let taken = self.since();
        let counts = self.books.counts();
        counts.decisions.record(&DECISIONS, taken);
        for ((charge, source), decision) in plan.charges.iter().zip(&plan.sources).zip(answer.decisions()) {
            if let Some(decision) = decision {
                let answered = Answered::of(decision.outcome, charge.mode);
                live.meters().count(self.books.worker(), source, answered);
            }
        }
        for failure in &plan.failures {
            live.meters().count_failure(failure);
        }
        if let Some(failure) = verdict.failure {
            counts.store_failures.one(failure.name());
            live.meters().count_degraded(&plan.sources, failure);
        }
        self.verdict = verdict.word();
        match verdict.course {
            Course::Reject(reason) => self.refused(reason.word()),
            Course::Delay(delay) => counts.delays.record(&DURATIONS, delay),
            Course::Pass => {}
        }
        if let Some(line) = &mut self.line {
            line.decision = Some(taken);
            line.explain(plan, verdict);
        }
    }

    /// It is answered here, for what `error` says.
    pub(crate) fn refused(&mut self, error: &'static str) {
        self.books.counts().refusals.one(error);
        self.refusal = Some(error);
    }

    /// Why it is answered here, as far as that is known.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        self.refusal
    }

    /// It was not let in to be asked about limits, for what `error` says.
    pub(crate) fn rejected(&mut self, error: &'static str) {
        self.verdict = "reject";
        self.refused(error);
    }

    /// Its body is on its way.
    pub(crate) fn uploads(&mut self, body: Option<&Rc<Progress>>) {
        self.upload = body.cloned();
    }

    /// The upstream's response begins.
    pub(crate) fn upstream_answered(&mut self, status: StatusCode) {
        let counts = self.books.counts();
        counts.upstream_responses.one(class(status.as_u16()));
        self.upstream_time();
    }

    /// The upstream failed it.
    pub(crate) fn upstream_failed(&mut self, error: &'static str, blame: Blame<'_>) {
        self.books.upstream_failed(error, blame);
        self.failure = Some(error);
        self.upstream_time();
    }

    /// The upstream's body broke off.
    pub(crate) fn upstream_broke(&mut self, error: &'static str, blame: Blame<'_>) {
        self.books.upstream_failed(error, blame);
        self.failure = Some(error);
        self.ended = Ended::Upstream;
    }

    /// A response begins.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        self.status = status.as_u16();
    }

    /// The response is through.
    pub(crate) fn completed(&mut self) {
        if self.ended == Ended::Cut {
            self.ended = Ended::Complete;
        }
    }

    fn upstream_time(&mut self) {
        if self.line.is_some() {
            let taken = self.since();
            if let Some(line) = &mut self.line {
                line.upstream = Some(taken);
            }
        }
    }

    fn since(&self) -> Duration {
        let nanos = self
            .books
            .now()
            .as_nanos()
            .saturating_sub(self.started.as_nanos());
        Duration::from_nanos(nanos)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.is_part {
            return;
        }
        let taken = self.since();
        self.received += self.upload.as_ref().map_or(0, |upload| upload.received());
        let counts = self.books.counts();
        counts.in_flight.one_less();
        counts.requests.one(self.verdict);
        counts.responses.one(class(self.status));
        counts.durations.record(&DURATIONS, taken);
        counts.received.add(self.received);
        counts.sent.add(self.sent);
        if self.head_only && self.status != 0 {
            self.completed();
        }
        let Some(mut line) = self.line.take() else {
            return;
        };
        line.started = self.started;
        line.duration = taken;
        line.status = if self.status == 0 { LEFT } else { self.status };
        line.verdict = self.verdict;
        line.error = self.refusal.or(self.failure);
        line.upstream_error = self.failure;
        line.bytes = (self.received, self.sent);
        line.ended = self.ended.word();
        self.books.write(&line);
    }
}
