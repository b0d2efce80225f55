//! One request, from its head to the head of its response.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::body::{Body, Incoming};
use tokio::net::TcpStream;

use super::body::{Gate, OnBreak, RequestBody, ResponseBody};
use super::client::{Client, InFlight};
use super::fault::Fault;
use super::fields::{self, Origin};
use super::forward::{Answer, Wait, forward};
use super::framing;
use super::upgrade::Tunnel;
use super::worker::Worker;
use crate::pipeline::Admission;

/// What all requests of one client connection share.
pub(crate) struct Door {
    pub(crate) worker: Rc<Worker>,
    pub(crate) client: Rc<Client>,
    pub(crate) peer: IpAddr,
    pub(crate) origin: Origin,
}

impl Door {
    /// Answers `request`.
    pub(crate) async fn answer(self: Rc<Self>, request: Request<Incoming>) -> Response<ResponseBody> {
        let in_flight = self.client.begin();
        let on_break = match request.version() {
            Version::HTTP_10 | Version::HTTP_09 => OnBreak::Reset,
            _ => OnBreak::Close,
        };
        match self.try_answer(request).await {
            Ok(Answer::Response(response)) => {
                response.map(|body| ResponseBody::upstream(body).carrying(in_flight, on_break))
            }
            Ok(Answer::Switched(head, upstream, early)) => self.switch(head, upstream, early, in_flight),
            Err(fault) => fault.response().map(|body| body.carrying(in_flight, on_break)),
        }
    }

    async fn try_answer(&self, request: Request<Incoming>) -> Result<Answer, Fault> {
        let settings = &self.worker.settings;
        let (mut head, body) = request.into_parts();
        framing::normalize(&mut head, &settings.bounds, settings.upstream.host())?;
        let Admission::Pass = self.worker.pipeline.admit(&head, self.peer).await;
        self.forward(head, body).await
    }

    async fn forward(&self, mut head: Parts, body: Incoming) -> Result<Answer, Fault> {
        let timeouts = &self.worker.settings.timeouts;
        let deadline = self.worker.deadlines.deadline();
        let (body, progress) = if body.is_end_stream() {
            (RequestBody::EMPTY, None)
        } else {
            let (body, progress) =
                RequestBody::streaming(body, deadline.clone(), timeouts.body, timeouts.response);
            (body, Some(progress))
        };
        self.readdress(&mut head, &body);
        let request = self.gated(Request::from_parts(head, body));
        let wait = Wait {
            deadline: &deadline,
            timeouts,
            progress: progress.as_deref(),
        };
        let mut answer = forward(&self.worker.pool, request, wait).await?;
        if let Answer::Response(response) = &mut answer {
            let status = response.status();
            fields::strip_response(status, response.headers_mut());
            self.add_via(response.headers_mut());
        }
        Ok(answer)
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

    /// Passes a switch of protocols on, and leaves the other half of the tunnel for the connection to find.
    fn switch(
        &self,
        mut head: Response<()>,
        upstream: TcpStream,
        early: Bytes,
        in_flight: InFlight,
    ) -> Response<ResponseBody> {
        let status = head.status();
        if let Some(upgrade) = fields::strip_response(status, head.headers_mut()) {
            fields::set_upgrade(head.headers_mut(), upgrade);
        }
        self.add_via(head.headers_mut());
        self.client.tunnel.replace(Some(Tunnel {
            upstream,
            early,
            in_flight,
        }));
        head.map(|()| ResponseBody::nothing())
    }

    fn add_via(&self, headers: &mut HeaderMap) {
        if let Some(pseudonym) = &self.worker.settings.via {
            fields::add_via(headers, pseudonym);
        }
    }
}
