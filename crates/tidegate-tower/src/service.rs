//! The service that the layer makes.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::layer::Peer;
use crate::unable::Unable;
use crate::{Decide, Decided, LimitedBody, Verdict};

/// A service whose requests are limited.
pub struct RateLimited<D, S> {
    pub(crate) inner: S,
    pub(crate) decider: Arc<D>,
    pub(crate) peer: Peer,
}

impl<D, S, B, R> Service<Request<B>> for RateLimited<D, S>
where
    D: Decide,
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: Body<Data = Bytes>,
{
    type Response = Response<LimitedBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that is ready takes the request.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let decider = self.decider.clone();
        let (mut head, body) = request.into_parts();
        let Some(peer) = (self.peer)(&head) else {
            let answer = Unable::ClientUnknown.answer(&head);
            return Box::pin(async move { Ok(answer.map(LimitedBody::answered)) });
        };
        Box::pin(async move {
            let passed = match decider.decide(&mut head, peer).await {
                Decided::Answered(response) => return Ok(response.map(LimitedBody::answered)),
                Decided::Passed(passed) => passed,
            };
            let told = Verdict::told(&head.headers);
            head.extensions.insert(told);
            let mut response = inner.call(Request::from_parts(head, body)).await?;
            (passed.mark)(response.headers_mut());
            Ok(response.map(|body| LimitedBody::passed(body, passed.hold)))
        })
    }
}

impl<D, S: Clone> Clone for RateLimited<D, S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            decider: self.decider.clone(),
            peer: self.peer.clone(),
        }
    }
}

impl<D: fmt::Debug, S: fmt::Debug> fmt::Debug for RateLimited<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimited")
            .field("inner", &self.inner)
            .field("decider", &self.decider)
            .finish_non_exhaustive()
    }
}
