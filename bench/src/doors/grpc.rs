//! Calls over gRPC: messages written by hand, so that the client costs as little as it can.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

use super::Told;
use super::case::Draw;

/// The status of a call that is shed.
const UNAVAILABLE: &str = "14";

/// Which service.
#[derive(Clone, Copy)]
pub(crate) enum Service {
    /// Envoy's rate limit service.
    RateLimit { descriptors: u64 },
    /// That of throttlecrab.
    Throttle,
}

/// Calls `service` on so many connections, each with so many calls at a time.
pub(crate) async fn ask(
    service: Service,
    port: u16,
    (connections, calls): (u64, u64),
    keys: u64,
    lasts: Duration,
) -> anyhow::Result<Told> {
    let local = LocalSet::new();
    local
        .run_until(async {
            let mut tasks = Vec::new();
            let begun = Instant::now();
            for connection in 0..connections {
                let stream = TcpStream::connect(("127.0.0.1", port)).await?;
                stream.set_nodelay(true)?;
                let (client, driven) = h2::client::handshake(stream).await?;
                spawn_local(driven);
                for call in 0..calls {
                    let draw = Draw::new(connection * calls + call + 1, keys);
                    tasks.push(spawn_local(caller(
                        service,
                        port,
                        client.clone(),
                        draw,
                        (begun, lasts),
                    )));
                }
            }
            let mut told = Told::default();
            for task in tasks {
                told.nanos.extend(task.await??);
            }
            told.took = begun.elapsed();
            Ok(told)
        })
        .await
}

async fn caller(
    service: Service,
    port: u16,
    client: SendRequest<Bytes>,
    mut draw: Draw,
    (begun, lasts): (Instant, Duration),
) -> anyhow::Result<Vec<u32>> {
    let uri: http::Uri = format!("http://127.0.0.1:{port}{}", service.path()).parse()?;
    let mut nanos = Vec::new();
    let mut client = client;
    let mut asked = Instant::now();
    while asked.duration_since(begun) < lasts {
        let request = Request::post(uri.clone())
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())?;
        client = client.ready().await?;
        let (response, mut body) = client.send_request(request, false)?;
        body.send_data(service.message(&mut draw), true)?;
        let response = response.await?;
        ensure!(response.status() == 200, "{}", response.status());
        let (head, mut body) = response.into_parts();
        while let Some(bytes) = body.data().await {
            let length = bytes?.len();
            body.flow_control().release_capacity(length)?;
        }
        let trailers = body.trailers().await?;
        let fields: &HeaderMap = trailers.as_ref().unwrap_or(&head.headers);
        let status = fields.get("grpc-status").context("a status")?;
        if status == UNAVAILABLE {
            // The server has too much to do, and says so at once. That is no answer.
            asked = Instant::now();
            continue;
        }
        ensure!(
            status == "0",
            "gRPC status {status:?} {:?}",
            fields.get("grpc-message")
        );
        let now = Instant::now();
        nanos.push(u32::try_from(now.duration_since(asked).as_nanos()).unwrap_or(u32::MAX));
        asked = now;
    }
    Ok(nanos)
}

impl Service {
    const fn path(self) -> &'static str {
        match self {
            Self::RateLimit { .. } => "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
            Self::Throttle => "/throttlecrab.RateLimiter/Throttle",
        }
    }

    /// A message with its prefix of five bytes.
    fn message(self, draw: &mut Draw) -> Bytes {
        let mut message = BytesMut::with_capacity(64);
        match self {
            Self::RateLimit { descriptors } => {
                text(&mut message, 1, b"bench");
                for place in 0..descriptors {
                    let (mut entry, mut descriptor) = (BytesMut::new(), BytesMut::new());
                    text(&mut entry, 1, format!("api_key_{place}").as_bytes());
                    text(&mut entry, 2, format!("{:016}", draw.next()).as_bytes());
                    text(&mut descriptor, 1, &entry);
                    text(&mut message, 2, &descriptor);
                }
                number(&mut message, 3, 1);
            }
            Self::Throttle => {
                text(&mut message, 1, format!("{:016}", draw.next()).as_bytes());
                for (tag, value) in [(2, 1_000_000), (3, 1_000_000), (4, 60), (5, 1)] {
                    number(&mut message, tag, value);
                }
            }
        }
        let mut framed = BytesMut::with_capacity(message.len() + 5);
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
        framed.extend_from_slice(&message);
        framed.freeze()
    }
}

/// A field of bytes, fewer than 128.
fn text(message: &mut BytesMut, tag: u8, bytes: &[u8]) {
    message.put_u8(tag << 3 | 2);
    message.put_u8(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
    message.extend_from_slice(bytes);
}

fn number(message: &mut BytesMut, tag: u8, mut value: u64) {
    message.put_u8(tag << 3);
    while value >= 128 {
        message.put_u8(value as u8 | 128);
        value >>= 7;
    }
    message.put_u8(value as u8);
}
