//! One request, from its head to the head of its response.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use tidegate_core::Timestamp;
use tidegate_policy::{Door, ForwardedField, Liking, RequestIds, Tls};
use tidegate_store::Store;

use super::body::{Early, Gate, OnBreak, Pace, Progress, Reader, RequestBody, ResponseBody, UpstreamBody};
use super::client::Client;
use super::deadline::Deadline;
use super::fault::Fault;
use super::fields::{self, Claims, Origin};
use super::forward::{Answer, Failed, Switched, Wait, forward};
use super::framing;
use super::request_id::{self, X_REQUEST_ID};
use super::settings::Settings;
use super::upgrade::Tunnel;
use super::worker::Worker;
use crate::doors::{check, envoy};
use crate::live::Live;
use crate::pipeline::{Admission, Admitted, Caller, host};
use crate::record::Record;
use crate::tls::TlsListeners;

/// What all requests of one client connection share.
pub(crate) struct Session<S> {
    pub(crate) worker: Rc<Worker<S>>,
    pub(crate) client: Rc<Client>,
    /// What is spoken on it.
    pub(crate) door: Door,
    pub(crate) peer: IpAddr,
    /// The TLS it is spoken over.
    pub(crate) tls: Option<Rc<Tls>>,
    /// Which of the settings' listeners it came to.
    pub(crate) listener: usize,
    /// All listeners, if one of them lets nobody in without a certificate.
    pub(crate) guard: Option<Arc<TlsListeners>>,
    pub(crate) origin: Origin,
}

impl<S: Store> Session<S> {
    /// Answers `request`.
    pub(crate) async fn answer(
        self: Rc<Self>,
        mut request: Request<Incoming>,
    ) -> Result<Response<ResponseBody>, Infallible> {
        let in_flight = self.client.begin();
        let version = request.version();
        let last = self.client.has_had_enough();
        let mut record = Record::begun(&self.worker.books);
        let on_break = match version {
            Version::HTTP_10 | Version::HTTP_09 => OnBreak::Reset,
            _ => OnBreak::Close,
        };
        if self.door != Door::Gateway {
            self.worker.books.counts().door_requests.one(self.door.name());
        }
        let live = self.worker.live();
        let checked = self
            .keeps_up(&request, record.started())
            .and_then(|()| self.check(&live, &mut request))
            .and_then(|()| self.seat(&live, version));
        let liking = Liking::of(request.method(), request.headers());
        let id = self.id(request.headers_mut());
        record.saw(&request, self.peer, id.as_ref());
        if let Some(version) = self.tls.as_ref().and_then(|tls| tls.version) {
            record.came_over(version);
        }
        let mut response = match (checked, self.door) {
            (Err(fault), _) => failed(fault, None, &liking, &mut record),
            (Ok(()), Door::Check) => check::answer(&self, &live, request, &mut record).await,
            (Ok(()), Door::Envoy) => envoy::answer(&self, &live, request, &mut record).await,
            (Ok(()), _) => self.ask(&live, request, &liking, &mut record).await,
        };
        if last && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        if let Some(id) = id {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        record.answered(response.status());
        let record = self.handed_on(&response, record);
        Ok(response.map(|body| body.carrying(in_flight, record, on_break)))
    }

    /// Asks the policies and then the upstream.
    async fn ask(
        &self,
        live: &Live,
        mut request: Request<Incoming>,
        liking: &Liking,
        record: &mut Record,
    ) -> Response<ResponseBody> {
        let hold = self.worker.next_hold();
        let reader = self.reader();
        let caller = Caller {
            client: live.config.gateway.client(self.peer, request.headers()),
            tls: self.tls.as_deref(),
            door: &reader,
        };
        let Worker { pipeline, tokens, .. } = &*self.worker;
        let admission = pipeline.admit(live, &mut request, caller, hold, record, tokens);
        let (mut admitted, early) = match admission.await {
            Admission::Answered(response) => return response.map(ResponseBody::whole),
            Admission::Crowded(admitted) => return failed(Fault::Crowded, admitted.as_ref(), liking, record),
            Admission::Unread(not_read) => return failed(Fault::from(not_read), None, liking, record),
            Admission::Forwarded(admitted, early) => (admitted, early),
        };
        let upstreams = self.worker.upstreams(live);
        let (members, host) = match upstreams.target(live, &request, self.peer) {
            Ok(target) => target,
            Err(fault) => return failed(fault, Some(&admitted), liking, record),
        };
        let deadline = self.worker.deadlines.deadline();
        let (request, progress) = self.outgoing((request, early), &admitted, &deadline);
        record.uploads(progress.as_ref());
        let wait = Wait {
            deadline: &deadline,
            timeouts: &self.worker.settings.timeouts,
            progress: progress.as_deref(),
            host,
            begun: Cell::new(false),
        };
        match forward(members, request, &wait).await {
            Ok(Answer::Response(response)) => {
                record.upstream_answered(response.status());
                self.returned(response, &mut admitted)
            }
            Ok(Answer::Switched(head, switched)) => {
                record.upstream_answered(head.status());
                self.switched(head, &mut admitted, switched)
            }
            Err(Failed { fault, index }) => {
                if fault.is_upstream() {
                    record.upstream_failed(fault.error(), members.blame(index));
                    unanswered(fault, Some(&admitted), liking)
                } else {
                    failed(fault, Some(&admitted), liking, record)
                }
            }
        }
    }

    /// The request's id, if it is to have one.
    fn id(&self, headers: &mut HeaderMap) -> Option<HeaderValue> {
        match self.worker.settings.request_ids {
            RequestIds::On if self.door == Door::Gateway => {
                Some(request_id::settle(headers, || self.worker.books.random()))
            }
            RequestIds::On | RequestIds::Off => None,
        }
    }

    /// A tunnel goes on after its response, and its record goes with it.
    fn handed_on(&self, response: &Response<ResponseBody>, record: Box<Record>) -> Option<Box<Record>> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(tunnel) = &mut *self.client.tunnel.borrow_mut()
        {
            tunnel.record = Some(record);
            return None;
        }
        Some(record)
    }

    /// Refuses what a proxy would not wait for. Whoever asks whether this process is well is told always.
    fn keeps_up(&self, request: &Request<Incoming>, now: Timestamp) -> Result<(), Fault> {
        let is_refused = self.door != Door::Gateway
            && self.worker.pressure.is_too_high(now)
            && ![envoy::HEALTH, check::HEALTH].contains(&request.uri().path());
        if is_refused {
            Err(Fault::Overloaded)
        } else {
            Ok(())
        }
    }

    /// A place for each request of an HTTP/2 connection beside its first, which the connection has itself. Without that, one address could
    /// have many times what its connections allow, and all connections to the upstream.
    fn seat(&self, live: &Live, version: Version) -> Result<(), Fault> {
        let is_bounded = version == Version::HTTP_2 && self.door == Door::Gateway && !live.trusts(self.peer);
        if is_bounded && !self.client.has_seats(|| self.worker.common.crowd.seat(self.peer)) {
            return Err(Fault::TooManyAtOnce);
        }
        Ok(())
    }

    /// Brings the head of `request` into the one form that is understood.
    pub(crate) fn normalize<B>(&self, live: &Live, request: &mut Request<B>) -> Result<(), Fault> {
        framing::normalize(request, &self.worker.settings.bounds, live.fleet.default_host())
    }

    /// What reads bodies for policies.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            deadlines: &self.worker.deadlines,
            settings: &self.worker.settings,
        }
    }

    fn check(&self, live: &Live, request: &mut Request<Incoming>) -> Result<(), Fault> {
        let settings = &self.worker.settings;
        self.normalize(live, request)?;
        if request.body().size_hint().lower() > settings.bounds.body_bytes {
            return Err(Fault::RequestBodyTooLong);
        }
        if let Some(listeners) = &self.guard
            && listeners.is_misdirected(self.listener, host(request.headers()))
        {
            return Err(Fault::Misdirected);
        }
        Ok(())
    }

    /// The request as it goes on: hop-by-hop fields off, fields about the client and the verdict on, its body's length said once.
    fn outgoing(
        &self,
        (request, early): (Request<Incoming>, Option<Early>),
        admitted: &Admitted<'_>,
        deadline: &Deadline,
    ) -> (Request<RequestBody>, Option<Rc<Progress>>) {
        let settings = &self.worker.settings;
        let (mut head, body) = request.into_parts();
        if let Some(keys) = &admitted.live.identifier.api_keys {
            keys.strip(&mut head.headers, &mut head.uri);
        }
        if early.is_some() {
            // Its client was told to go on when the body was read.
            head.headers.remove(EXPECT);
        }
        let (body, progress) = if early.is_none() && body.is_end_stream() {
            (RequestBody::EMPTY, None)
        } else {
            let most = settings.bounds.body_bytes;
            let (body, progress) =
                RequestBody::streaming((early, body), most, deadline.clone(), &settings.timeouts);
            (body.at(self.pace()), Some(progress))
        };
        let claims = if admitted.live.trusts(self.peer) {
            Claims::Believed
        } else {
            Claims::Refused
        };
        let field = admitted.live.config.gateway.forwarded_field;
        self.readdress(&mut head, &body, (claims, field));
        admitted.tell_origin(&mut head.headers);
        (self.gated(Request::from_parts(head, body)), progress)
    }

    /// How fast a body has to come.
    fn pace(&self) -> Option<Pace> {
        let Settings { bounds, timeouts, .. } = &*self.worker.settings;
        let pace = || Pace::new(&self.worker.deadlines, timeouts.body_grace, bounds.body_rate);
        (bounds.body_rate > 0).then(pace)
    }

    /// The response as it goes back.
    fn returned(
        &self,
        mut response: Response<UpstreamBody>,
        admitted: &mut Admitted<'_>,
    ) -> Response<ResponseBody> {
        let status = response.status();
        fields::strip_response(status, response.headers_mut());
        self.add_via(response.headers_mut());
        admitted.mark(response.headers_mut());
        let hold = admitted.hold.take();
        response.map(|body| ResponseBody::upstream(body).holding(hold))
    }

    fn readdress(&self, head: &mut Parts, body: &RequestBody, (claims, field): (Claims, ForwardedField)) {
        if head.version == Version::HTTP_2 {
            fields::join_cookies(&mut head.headers);
        }
        let upgrade = fields::strip_request(&mut head.headers);
        if let Some(upgrade) = upgrade.filter(|_| body.is_empty() && head.version == Version::HTTP_11) {
            fields::set_upgrade(&mut head.headers, upgrade);
        }
        if head.version != Version::HTTP_11 || body.is_empty() {
            head.headers.remove(EXPECT);
        }
        head.version = Version::HTTP_11;
        fields::set_forwarded(&mut head.headers, &self.origin, claims, field);
        self.add_via(&mut head.headers);
        if body.size_hint().exact().is_none() {
            // Said by name, because hyper takes a GET without it for one without a body.
            head.headers.remove(CONTENT_LENGTH);
            head.headers
                .insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }

    /// Carries `Expect: 100-continue` on to the upstream and holds the body back until it agrees.
    fn gated(&self, request: Request<RequestBody>) -> Request<RequestBody> {
        if !request.headers().contains_key(EXPECT) {
            return request;
        }
        let (gate, open) = Gate::closed(self.worker.deadlines.deadline());
        let mut request = request.map(|body| body.behind(gate));
        // Read on the thread that sets it; see `Gate::poll`.
        hyper::ext::on_informational(&mut request, move |response| {
            if response.status() == StatusCode::CONTINUE {
                open.store(true, Ordering::Relaxed);
            }
        });
        request
    }

    /// The switch of protocols as it goes back. The upstream's half of the tunnel is left for the connection to find.
    fn switched(
        &self,
        mut head: Response<()>,
        admitted: &mut Admitted<'_>,
        switched: Switched,
    ) -> Response<ResponseBody> {
        let status = head.status();
        if let Some(upgrade) = fields::strip_response(status, head.headers_mut()) {
            fields::set_upgrade(head.headers_mut(), upgrade);
        }
        self.add_via(head.headers_mut());
        admitted.mark(head.headers_mut());
        self.client.tunnel.replace(Some(Tunnel {
            upstream: switched.stream,
            early: switched.early,
            turn: switched.turn,
            in_flight: self.client.begin(),
            hold: admitted.hold.take(),
            record: None,
        }));
        head.map(|()| ResponseBody::nothing())
    }

    fn add_via(&self, headers: &mut HeaderMap) {
        if let Some(pseudonym) = &self.worker.settings.via {
            fields::add_via(headers, pseudonym);
        }
    }
}

/// The response to a request that went to no upstream, or broke off on the way there.
fn failed(
    fault: Fault,
    admitted: Option<&Admitted<'_>>,
    liking: &Liking,
    record: &mut Record,
) -> Response<ResponseBody> {
    record.refused(fault.error());
    unanswered(fault, admitted, liking)
}

/// The response to a request that the upstream did not answer.
fn unanswered(fault: Fault, admitted: Option<&Admitted<'_>>, liking: &Liking) -> Response<ResponseBody> {
    let mut response = fault.response(liking);
    if let Some(admitted) = admitted {
        admitted.mark(response.headers_mut());
    }
    response
}
