//! One request, from its head to the head of its response.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use tidegate_store::Store;
use tokio::net::TcpStream;

use super::body::{Gate, OnBreak, RequestBody, ResponseBody};
use super::client::{Client, InFlight};
use super::fault::Fault;
use super::fields::{self, Origin};
use super::forward::{Answer, Wait, forward};
use super::framing;
use super::upgrade::Tunnel;
use super::worker::Worker;
use crate::pipeline::{Admission, Admitted, Hold};

/// What all requests of one client connection share.
pub(crate) struct Door<S> {
    pub(crate) worker: Rc<Worker<S>>,
    pub(crate) client: Rc<Client>,
    pub(crate) peer: IpAddr,
    pub(crate) origin: Origin,
}

impl<S: Store> Door<S> {
    /// Answers `request`.
    pub(crate) async fn answer(self: Rc<Self>, request: Request<Incoming>) -> Response<ResponseBody> {
        let in_flight = self.client.begin();
        let on_break = match request.version() {
            Version::HTTP_10 | Version::HTTP_09 => OnBreak::Reset,
            _ => OnBreak::Close,
        };
        let (mut head, body) = request.into_parts();
        let response = match self.check(&mut head, &body) {
            Ok(()) => self.decide(head, body).await,
            Err(fault) => Reply::Response(fault.response()),
        };
        match response {
            Reply::Response(response) => response.map(|body| body.carrying(in_flight, on_break)),
            Reply::Switch(head, switched) => {
                self.client.tunnel.replace(Some(switched.tunnel(in_flight)));
                head.map(|()| ResponseBody::nothing())
            }
        }
    }

    fn check(&self, head: &mut Parts, body: &Incoming) -> Result<(), Fault> {
        let settings = &self.worker.settings;
        framing::normalize(head, &settings.bounds, settings.upstream.authority())?;
        if body.size_hint().lower() > settings.bounds.body_bytes {
            return Err(Fault::RequestBodyTooLong);
        }
        Ok(())
    }

    /// Asks the pipeline, then the upstream.
    async fn decide(&self, head: Parts, body: Incoming) -> Reply {
        let hold = self.worker.next_hold();
        let mut admitted = match self.worker.pipeline.admit(&head, self.peer, hold).await {
            Admission::Answered(response) => return Reply::Response(response.map(ResponseBody::whole)),
            Admission::Crowded(admitted) => return failed(Fault::Crowded, &admitted),
            Admission::Forwarded(admitted) => admitted,
        };
        match self.forward(head, body, &admitted).await {
            Ok(Answer::Response(mut response)) => {
                let status = response.status();
                fields::strip_response(status, response.headers_mut());
                self.add_via(response.headers_mut());
                admitted.mark(response.headers_mut());
                let hold = admitted.hold.take();
                Reply::Response(response.map(|body| ResponseBody::upstream(body).holding(hold)))
            }
            Ok(Answer::Switched(mut head, upstream, early)) => {
                let status = head.status();
                if let Some(upgrade) = fields::strip_response(status, head.headers_mut()) {
                    fields::set_upgrade(head.headers_mut(), upgrade);
                }
                self.add_via(head.headers_mut());
                admitted.mark(head.headers_mut());
                let hold = admitted.hold.take();
                Reply::Switch(
                    head,
                    Switched {
                        upstream,
                        early,
                        hold,
                    },
                )
            }
            Err(fault) => failed(fault, &admitted),
        }
    }

    async fn forward(
        &self,
        mut head: Parts,
        body: Incoming,
        admitted: &Admitted<'_>,
    ) -> Result<Answer, Fault> {
        let settings = &self.worker.settings;
        let deadline = self.worker.deadlines.deadline();
        let (body, progress) = if body.is_end_stream() {
            (RequestBody::EMPTY, None)
        } else {
            let most = settings.bounds.body_bytes;
            let (body, progress) = RequestBody::streaming(body, most, deadline.clone(), &settings.timeouts);
            (body, Some(progress))
        };
        self.readdress(&mut head, &body);
        admitted.tell_origin(&mut head.headers);
        let request = self.gated(Request::from_parts(head, body));
        let wait = Wait {
            deadline: &deadline,
            timeouts: &settings.timeouts,
            progress: progress.as_deref(),
        };
        forward(&self.worker.pool, request, wait).await
    }

    /// Makes the client's request ours: hop-by-hop fields off, fields about the client on, the body's length said once.
    fn readdress(&self, head: &mut Parts, body: &RequestBody) {
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
        fields::set_forwarded(&mut head.headers, &self.origin);
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

    fn add_via(&self, headers: &mut HeaderMap) {
        if let Some(pseudonym) = &self.worker.settings.via {
            fields::add_via(headers, pseudonym);
        }
    }
}

/// What a client is sent.
enum Reply {
    Response(Response<ResponseBody>),
    Switch(Response<()>, Switched),
}

/// The upstream's half of an upgraded connection.
struct Switched {
    upstream: TcpStream,
    early: Bytes,
    hold: Option<Hold>,
}

impl Switched {
    fn tunnel(self, in_flight: InFlight) -> Tunnel {
        let Self {
            upstream,
            early,
            hold,
        } = self;
        Tunnel {
            upstream,
            early,
            in_flight,
            hold,
        }
    }
}

/// The response to an admitted request that the upstream did not answer.
fn failed(fault: Fault, admitted: &Admitted<'_>) -> Reply {
    let mut response = fault.response();
    admitted.mark(response.headers_mut());
    Reply::Response(response)
}
