//! One unary gRPC call: the message it brings, and its answer with the status behind it.
//!
//! Reading and writing are our own, since all there is to them is a prefix of five bytes, and what a general server keeps for streams of
//! messages costs more than a decision does. Statuses are those of `tonic`.

mod framed;
mod time;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Request, Response, Version};
use http_body_util::BodyExt;
use hyper::body::Body;
use prost::Message;
use tonic::Status;

use super::wire::Written;
use crate::gateway::ResponseBody;
use framed::Framed;

pub(super) use time::{in_time, time_allowed};

/// The longest message that is read.
pub(super) const MOST_MESSAGE_BYTES: usize = 64 * 1024;

/// The longest message that describes a request. It may carry a body.
pub(super) const MOST_CHECK_BYTES: usize = 2 * 1024 * 1024;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPTED_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Whether `request` is a gRPC call at all.
pub(super) fn is_call<B>(request: &Request<B>) -> bool {
    let media_type = request.headers().get(CONTENT_TYPE);
    let is_grpc = media_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
    is_grpc && request.version() == Version::HTTP_2
}

/// The message of `request`, which has at most `most` bytes.
pub(super) async fn message<Q, B>(request: Request<B>, most: usize) -> Result<Q, Status>
where
    Q: Message + Default,
    B: Body<Data = Bytes> + Unpin,
{
    let encoding = request.headers().get(ENCODING);
    if encoding.is_some_and(|encoding| encoding != IDENTITY) {
        let mut status = Status::unimplemented("messages are not compressed here");
        let fields = status.metadata_mut().as_mut();
        fields.insert(ACCEPTED_ENCODING, IDENTITY);
        return Err(status);
    }
    let bytes = whole(request.into_body(), most).await?;
    Q::decode(bytes)
        .map_err(|error| Status::internal(format!("this is not the message of this method: {error}")))
}

/// The bytes of the one message in `body`.
async fn whole<B>(mut body: B, most: usize) -> Result<Bytes, Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut read = Framed::Nothing;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Status::cancelled("the call broke off"))?;
        // Trailers of a client mean nothing.
        if let Ok(data) = frame.into_data() {
            read = read.with(data, most)?;
        }
        if body.is_end_stream() {
            break;
        }
    }
    read.message()
}

/// The answer of a call that went well.
pub(super) fn reply(message: Written) -> Response<ResponseBody> {
    answer(ResponseBody::message(message.framed()))
}

/// The answer of a call that goes well: `first`, and another message as soon as it is known whether there is one.
pub(super) fn replies(
    first: Written,
    following: impl Future<Output = Option<Written>> + 'static,
) -> Response<ResponseBody> {
    let following = async { following.await.map(Written::framed) };
    answer(ResponseBody::messages(first.framed(), following))
}

fn answer(body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// The answer of a call that did not.
pub(super) fn error(status: Status) -> Response<ResponseBody> {
    status.into_http::<()>().map(|()| ResponseBody::nothing())
}
