//! The door for Envoy, asked as Envoy asks: gRPC over HTTP/2, each message written by the numbers of its fields.

mod auth;
mod limits;
mod refused;
mod store;
mod wire;

use std::time::Duration;

use bytes::Bytes;
use h2::client::{SendRequest, handshake};
use http::{HeaderMap, Request};
use tidegate_core::Timestamp;
use tidegate_policy::Door;
use tidegate_server::clock::{Clock, ManualClock};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::bed::{Bed, PATIENCE};
use wire::{Fields, Message};

const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A door for Envoy, and the clock by which it decides.
fn door(policies: &str) -> (Bed, ManualClock) {
    let time = ManualClock::starting_at(Timestamp::from_nanos(1_800_000_000_000_000_000));
    let bed = Bed::limited(policies, "[]", Clock::manual(time.clone()), at_the_door);
    (bed, time)
}

fn at_the_door(settings: &mut tidegate_server::gateway::Settings) {
    settings.listen[0].door = Door::Envoy;
}

/// What came back of a call.
struct Reply {
    /// The message; none if there was an error.
    message: Option<Fields>,
    /// `grpc-status` and `grpc-message`.
    status: (u32, String),
}

impl Reply {
    /// The message of a call that went well.
    fn ok(self) -> Fields {
        assert_eq!(self.status, (0, String::new()));
        self.message.expect("a call that went well has a message")
    }
}

/// Envoy, as far as one connection goes.
struct Envoy {
    runtime: Runtime,
    calls: SendRequest<Bytes>,
}

impl Envoy {
    fn at(bed: &Bed) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (calls, connection) = runtime.block_on(async {
            let stream = TcpStream::connect(bed.address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            handshake(stream).await.unwrap()
        });
        runtime.spawn(connection);
        Self { runtime, calls }
    }

    fn call(&mut self, path: &str, message: &Message) -> Reply {
        self.send(path, &[], framed(message.bytes()))
    }

    /// Sends `body` with these fields beside the usual ones.
    fn send(&mut self, path: &str, more: &[(&'static str, &'static str)], body: Vec<u8>) -> Reply {
        self.send_pieces(path, more, vec![body.into()])
    }

    /// The same in so many frames.
    fn send_pieces(
        &mut self,
        path: &str,
        more: &[(&'static str, &'static str)],
        pieces: Vec<Bytes>,
    ) -> Reply {
        let mut request = Request::post(format!("http://tidegate{path}"))
            .header("te", "trailers")
            .header("content-type", "application/grpc");
        for (name, value) in more {
            request = request.header(*name, *value);
        }
        let (answer, mut upload) = self.calls.send_request(request.body(()).unwrap(), false).unwrap();
        let last = pieces.len() - 1;
        for (place, piece) in pieces.into_iter().enumerate() {
            // Whoever is refused at once is not listened to.
            let _ = upload.send_data(piece, place == last);
        }
        let received = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, async {
                let response = answer.await.unwrap();
                let (head, mut body) = response.into_parts();
                assert_eq!(head.status, 200);
                let mut bytes = Vec::new();
                while let Some(chunk) = body.data().await {
                    let chunk = chunk.unwrap();
                    body.flow_control().release_capacity(chunk.len()).unwrap();
                    bytes.extend_from_slice(&chunk);
                }
                (head.headers, bytes, body.trailers().await.unwrap())
            })
            .await
            .expect("the call is answered")
        });
        reply(received)
    }
}

fn reply((head, bytes, trailers): (HeaderMap, Vec<u8>, Option<HeaderMap>)) -> Reply {
    assert_eq!(head["content-type"], "application/grpc");
    let last = trailers.unwrap_or(head);
    let text = |name: &str| last.get(name).map_or("", |value| value.to_str().unwrap());
    let message = (!bytes.is_empty()).then(|| {
        let length = u32::from_be_bytes(bytes[1..5].try_into().unwrap());
        assert_eq!((bytes[0], length as usize), (0, bytes.len() - 5));
        wire::read(&bytes[5..])
    });
    Reply {
        message,
        status: (
            text("grpc-status").parse().unwrap(),
            text("grpc-message").replace("%20", " "),
        ),
    }
}

/// `message` as it lies in a gRPC body.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// A descriptor of these entries.
fn descriptor(entries: &[(&str, &str)]) -> Message {
    entries.iter().fold(Message::new(), |descriptor, (key, value)| {
        descriptor.with_message(1, &Message::new().with_text(1, key).with_text(2, value))
    })
}

/// A call to `domain` with these descriptors.
fn call(domain: &str, descriptors: &[Message]) -> Message {
    let call = Message::new().with_text(1, domain);
    descriptors
        .iter()
        .fold(call, |call, descriptor| call.with_message(2, descriptor))
}

/// `overall_code`: whether a call may pass.
const OK: u64 = 1;
const OVER_LIMIT: u64 = 2;

/// The fields that the client is to be told, by their names.
fn header<'f>(reply: &'f Fields, name: &str) -> Option<&'f str> {
    let headers = reply.messages(3);
    let mut found = headers.into_iter().filter(|header| header.text(1) == name);
    let value = found.next().map(|header| header.text(2));
    assert!(found.next().is_none(), "{name} comes twice");
    value
}

const SECOND: Duration = Duration::from_secs(1);
