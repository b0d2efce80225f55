//! Bodies, as far as a proxy sends them.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use tidegate_policy::Body;

use crate::pipeline::{Held, NotRead, ReadAhead};

/// How much of a request's body its proxy sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// All of it.
    All,
    /// Its beginning.
    Part,
    /// Nothing, and there may be one.
    Nothing,
}

impl ReadAhead for Sent {
    type Incoming = Bytes;
    type Early = Infallible;

    fn is_empty(&self, body: &Bytes) -> bool {
        *self == Self::All && body.is_empty()
    }

    async fn read(
        &self,
        body: &mut Bytes,
        most: usize,
        _held: &Arc<Held>,
    ) -> Result<(Body, Option<Infallible>), NotRead> {
        let body = match self {
            Self::Nothing => Body::UNREAD,
            Self::All if body.len() <= most => Body::whole(body.clone()),
            Self::All | Self::Part => Body::TOO_LARGE,
        };
        Ok((body, None))
    }
}
