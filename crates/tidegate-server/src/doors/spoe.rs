//! HAProxy's Stream Processing Offload Protocol, version 2.0, as in its doc/SPOE.txt.
//!
//! HAProxy describes a request by a message, and is told what was decided by variables, which its rules read. What its rules do when it
//! hears nothing is its own business; here, nothing is said of a request that was not decided.

pub(crate) mod data;
pub(crate) mod frame;
pub(crate) mod message;
mod variables;

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use tidegate_policy::{Body, Door, Liking, Tls};
use tidegate_store::Store;

use crate::gateway::{self, Raw, Worker};
use crate::pipeline::{Admission, Caller, Held, NotRead, ReadAhead};
use crate::record::Record;
use data::Malformed;
use frame::{Agreed, Decoded, Fault, Frame, MAX_FRAME_BYTES, Name, agree, decode};
use message::{Misasked, Refused, Told, find};
use variables::Variables;

/// The most messages of one connection that are being decided at a time. More wait in HAProxy.
const MOST_AT_ONCE: usize = 128;

/// Why nothing is decided that HAProxy would not wait for.
const OVERLOADED: &str = "overloaded";

/// Serves one connection of the HAProxy at `peer`. `inbox` is what was read of it already.
pub(crate) async fn serve<S: Store>(mut raw: Raw<S>, mut inbox: BytesMut, peer: IpAddr) {
    let ended = talk(&mut raw, &mut inbox, peer).await;
    let Some(fault) = ended else {
        return;
    };
    let mut farewell = Vec::new();
    fault.disconnect(&mut farewell);
    if raw.send(&farewell).await {
        raw.close().await;
    }
}

/// Why the connection is to be ended by this side; None if there is nobody to tell.
async fn talk<S: Store>(raw: &mut Raw<S>, inbox: &mut BytesMut, peer: IpAddr) -> Option<Fault> {
    let agreed = match greeted(raw, inbox).await? {
        Ok(agreed) => agreed,
        Err(fault) => return Some(fault),
    };
    let mut greeting = Vec::new();
    agreed.greet(&mut greeting);
    if !raw.send(&greeting).await {
        return None;
    }
    if agreed.is_health_check {
        return None;
    }
    let mut deciding = FuturesUnordered::new();
    let mut answers = Vec::new();
    loop {
        let mut end = None;
        while end.is_none() && deciding.len() < MOST_AT_ONCE {
            let (asked, length) = match heard(inbox, agreed.most) {
                Ok(Some(heard)) => heard,
                Ok(None) => break,
                Err(fault) => {
                    end = Some(fault);
                    break;
                }
            };
            inbox.advance(length);
            deciding.extend(asked.map(|(name, asked)| decide(raw, peer, asked, (name, agreed.most))));
        }
        let is_full = deciding.len() == MOST_AT_ONCE;
        let goes_on = tokio::select! {
            biased;
            Some(answer) = deciding.next() => {
                answers.extend_from_slice(&answer);
                true
            }
            goes_on = raw.read(inbox), if !is_full && end.is_none() => goes_on,
            else => true,
        };
        // All that are there already go out together.
        while let Some(Some(answer)) = deciding.next().now_or_never() {
            answers.extend_from_slice(&answer);
        }
        if !goes_on || (raw.should_end() && deciding.is_empty()) {
            end = end.or(Some(Fault::Normal));
        }
        if end.is_some() {
            while let Some(answer) = deciding.next().await {
                answers.extend_from_slice(&answer);
            }
        }
        if !answers.is_empty() && !raw.send(&answers).await {
            return None;
        }
        if end.is_some() {
            return end;
        }
        answers.clear();
    }
}

/// What is heard: the name of a message and what it asks, and the bytes that it takes.
type Heard = (Option<(Name, Option<Asked>)>, usize);

/// The next frame in `inbox`, if it is there. An error is why the connection ends, be it in order.
fn heard(inbox: &BytesMut, most: usize) -> Result<Option<Heard>, Fault> {
    match decode(inbox, most) {
        Decoded::Frame(Frame::Notify(name, payload), length) => {
            let told = find(payload).map_err(|Malformed| Fault::Invalid)?;
            let asked = told.map(|told| Asked::of(&told));
            Ok(Some((Some((name, asked)), length)))
        }
        Decoded::Frame(Frame::Unknown, length) => Ok(Some((None, length))),
        Decoded::Frame(Frame::Disconnect, _) => Err(Fault::Normal),
        Decoded::Frame(Frame::Hello(_), _) => Err(Fault::Invalid),
        Decoded::Wrong(fault) => Err(fault),
        Decoded::Unfinished => Ok(None),
    }
}

/// What is agreed on in the greeting, or why nothing is; None if there is nobody to agree with.
async fn greeted<S: Store>(raw: &mut Raw<S>, inbox: &mut BytesMut) -> Option<Result<Agreed, Fault>> {
    loop {
        match decode(inbox, MAX_FRAME_BYTES) {
            Decoded::Frame(Frame::Hello(greeting), length) => {
                let agreed = agree(greeting);
                inbox.advance(length);
                return Some(agreed);
            }
            Decoded::Frame(Frame::Disconnect, _) => return Some(Err(Fault::Normal)),
            Decoded::Frame(Frame::Notify(..) | Frame::Unknown, _) => return Some(Err(Fault::Invalid)),
            Decoded::Wrong(fault) => return Some(Err(fault)),
            Decoded::Unfinished => {}
        }
        if !raw.read(inbox).await {
            return None;
        }
    }
}

/// What a message asks.
struct Asked {
    request: Result<Request<Option<Bytes>>, Misasked>,
    source: Option<IpAddr>,
    is_secure: bool,
}

impl Asked {
    fn of(told: &Told<'_>) -> Self {
        Self {
            request: told.request(),
            source: told.source,
            is_secure: told.is_secure,
        }
    }
}

/// The frame that answers the frame `name`, of at most `most` bytes. Without a message of ours there is nothing to say.
fn decide<S: Store>(
    raw: &Raw<S>,
    peer: IpAddr,
    asked: Option<Asked>,
    (name, most): (Name, usize),
) -> impl Future<Output = Vec<u8>> + use<S> {
    let (worker, busy) = (raw.worker.clone(), raw.begin());
    async move {
        let _busy = busy;
        let mut variables = Variables::new(most);
        if let Some(asked) = asked {
            answer(&worker, peer, asked, &mut variables).await;
        }
        variables.acknowledge(name)
    }
}

async fn answer<S: Store>(worker: &Rc<Worker<S>>, peer: IpAddr, asked: Asked, variables: &mut Variables) {
    worker.books.counts().door_requests.one(Door::Spoe.name());
    let mut record = Record::begun(&worker.books);
    let status = match admit(worker, peer, asked, &mut record, variables).await {
        Ok(status) => status,
        Err(word) => {
            record.refused(word);
            variables.text("error", word.as_bytes());
            StatusCode::BAD_REQUEST
        }
    };
    record.answered(status);
    record.completed();
}

/// The status that the client is to get, or would from here; an error if nothing could be decided.
async fn admit<S: Store>(
    worker: &Rc<Worker<S>>,
    peer: IpAddr,
    asked: Asked,
    record: &mut Record,
    variables: &mut Variables,
) -> Result<StatusCode, &'static str> {
    let mut request = match asked.request {
        Ok(request) => request,
        Err(Misasked::Method) => return Err("method_not_named"),
        Err(Misasked::Target) => return Err("target_not_named"),
        Err(Misasked::Refused(refused)) => return Ok(refuse(refused, record, variables)),
    };
    record.saw(&request, peer, None);
    if worker.pressure.is_too_high(record.started()) {
        return Err(OVERLOADED);
    }
    let source = asked.source.ok_or("client_not_named")?;
    let live = worker.live();
    let tls = asked.is_secure.then(Tls::default);
    let caller = Caller {
        client: live.config.gateway.client(source, request.headers()),
        tls: tls.as_ref(),
        door: &Sent,
    };
    let hold = worker.next_hold();
    let admission = worker
        .pipeline
        .admit(&live, &mut request, caller, hold, record, &worker.tokens);
    match admission.await {
        Admission::Forwarded(admitted, _) => {
            let (mut client, mut origin) = (HeaderMap::new(), HeaderMap::new());
            admitted.mark(&mut client);
            admitted.tell_origin(&mut origin);
            variables.text("verdict", b"pass");
            variables.fields("client.", &client);
            variables.fields("origin.", &origin);
            Ok(StatusCode::OK)
        }
        Admission::Answered(response) => {
            reject(&response, variables);
            Ok(response.status())
        }
        Admission::Crowded(_) | Admission::Unread(_) => Err("too_many_waiting"),
    }
}

/// Tells of what the gateway answers to such a request.
fn refuse(refused: Refused, record: &mut Record, variables: &mut Variables) -> StatusCode {
    let fault = match refused {
        Refused::Target => gateway::Fault::Target,
        Refused::Fields => gateway::Fault::TooManyFields,
    };
    record.refused(fault.error());
    // Nobody knows what the client likes: its fields may be what is wrong.
    let response = fault.in_words(&Liking::of(&Method::GET, &HeaderMap::new()));
    reject(&response, variables);
    response.status()
}

/// Tells of the response that the client is to get.
fn reject(response: &Response<Bytes>, variables: &mut Variables) {
    let fields = response.headers();
    variables.text("verdict", b"reject");
    variables.status(response.status());
    for (name, field) in [("retry_after", RETRY_AFTER), ("content_type", CONTENT_TYPE)] {
        if let Some(value) = fields.get(field) {
            variables.text(name, value.as_bytes());
        }
    }
    variables.fields("client.", fields);
    variables.text("body", &on_one_line(response.body()));
}

/// A body without line ends: HAProxy would write them as `%0A`.
fn on_one_line(body: &[u8]) -> Vec<u8> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let bytes = body.trim_ascii_end().iter();
    bytes
        .map(|byte| if is_end(byte) { b' ' } else { *byte })
        .collect()
}

/// Bodies as far as HAProxy sent them.
struct Sent;

impl ReadAhead for Sent {
    type Incoming = Option<Bytes>;
    type Early = std::convert::Infallible;

    fn is_empty(&self, body: &Option<Bytes>) -> bool {
        body.as_ref().is_some_and(Bytes::is_empty)
    }

    /// What is held is bounded already, by frames and by how many are decided at a time.
    async fn read(
        &self,
        body: &mut Option<Bytes>,
        most: usize,
        _held: &Arc<Held>,
    ) -> Result<(Body, Option<Self::Early>), NotRead> {
        let body = match body.take() {
            None => Body::UNREAD,
            Some(bytes) if bytes.len() > most => Body::TOO_LARGE,
            Some(bytes) => Body::whole(bytes),
        };
        Ok((body, None))
    }
}
