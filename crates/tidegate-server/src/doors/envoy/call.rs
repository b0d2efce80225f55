//! One unary gRPC call, from its framed message to the status behind the answer.

use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::Either;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, Response, Version};
use hyper::body::Incoming;
use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec};
use tonic::server::{Grpc, UnaryService};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// The longest message that is read.
pub(super) const MOST_MESSAGE_BYTES: usize = 64 * 1024;

/// The longest message that describes a request. It may carry a body.
pub(super) const MOST_CHECK_BYTES: usize = 2 * 1024 * 1024;

/// The longest that a call may take which does not say how long it may, or says longer.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Room for a usual message. The buffer grows if that does not do.
const USUAL_MESSAGE_BYTES: usize = 512;

/// Whether `request` is a gRPC call at all.
pub(super) fn is_call<B>(request: &Request<B>) -> bool {
    let media_type = request.headers().get(CONTENT_TYPE);
    let is_grpc = media_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
    is_grpc && request.version() == Version::HTTP_2
}

/// Calls `serve` with the message of `request`, which has at most `most_bytes`, and answers with what it returns.
pub(super) async fn unary<Q, A, F>(
    request: Request<Incoming>,
    most_bytes: usize,
    serve: impl FnOnce(Q) -> F,
) -> Response<tonic::body::Body>
where
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Future<Output = Result<tonic::Response<A>, Status>>,
{
    let mut grpc = Grpc::new(Messages(PhantomData)).max_decoding_message_size(most_bytes);
    grpc.unary(Once(Some(serve), PhantomData), request).await
}

/// Gives `answering` as long as the fields of its call say.
pub(super) async fn in_time<T>(allowed: Duration, answering: impl Future<Output = T>) -> Option<T> {
    let mut answering = pin!(answering);
    // Most are answered at once, and need no timer.
    let mut context = Context::from_waker(Waker::noop());
    if let Poll::Ready(answer) = answering.as_mut().poll(&mut context) {
        return Some(answer);
    }
    tokio::time::timeout(allowed, answering).await.ok()
}

/// How long the call with these fields may take.
pub(super) fn time_allowed(fields: &HeaderMap) -> Duration {
    let said = fields
        .get("grpc-timeout")
        .and_then(|value| timeout(value.as_bytes()));
    said.unwrap_or(MOST_TIME).min(MOST_TIME)
}

/// `20m`, twenty milliseconds: up to eight digits and a unit.
fn timeout(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(number * 3600)),
        b'M' => Some(Duration::from_secs(number * 60)),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// Something that serves one call, as tonic takes it.
struct Once<S, Q>(Option<S>, PhantomData<Q>);

impl<S, Q, A, F> UnaryService<Q> for Once<S, Q>
where
    S: FnOnce(Q) -> F,
    F: Future<Output = Result<tonic::Response<A>, Status>>,
{
    type Response = A;
    type Future = Either<F, Ready<F::Output>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        match self.0.take() {
            Some(serve) => Either::Left(serve(request.into_inner())),
            None => Either::Right(ready(Err(Status::internal("a call is answered once")))),
        }
    }
}

/// Messages in buffers of their usual size.
struct Messages<Q, A>(PhantomData<(Q, A)>);

impl<Q, A> Messages<Q, A> {
    fn buffers() -> BufferSettings {
        BufferSettings::new(USUAL_MESSAGE_BYTES, MOST_MESSAGE_BYTES)
    }
}

impl<Q: Message + Default + 'static, A: Message + 'static> Codec for Messages<Q, A> {
    type Encode = A;
    type Decode = Q;
    type Encoder = ProstEncoder<A>;
    type Decoder = ProstDecoder<Q>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<A, Q>::raw_encoder(Self::buffers())
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<A, Q>::raw_decoder(Self::buffers())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn allowed(said: &'static str) -> Duration {
        let mut fields = HeaderMap::new();
        fields.insert("grpc-timeout", HeaderValue::from_static(said));
        time_allowed(&fields)
    }

    #[test]
    fn a_call_says_how_long_it_may_take() {
        for (said, meant) in [
            ("20m", Duration::from_millis(20)),
            ("1S", Duration::from_secs(1)),
            ("99999999u", Duration::from_secs(60)),
            ("5000000n", Duration::from_millis(5)),
            ("250u", Duration::from_micros(250)),
            ("99999999H", MOST_TIME),
            ("2M", MOST_TIME),
            ("0m", Duration::ZERO),
        ] {
            assert_eq!(allowed(said), meant, "{said}");
        }
        assert_eq!(time_allowed(&HeaderMap::new()), MOST_TIME);
    }

    #[test]
    fn what_is_no_time_is_not_heard() {
        for said in ["", "m", "20", "-1m", "1.5S", "20 m", "123456789m", "20x", "+1S"] {
            assert_eq!(allowed(said), MOST_TIME, "{said}");
        }
    }
}
