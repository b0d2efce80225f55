//! Bodies that proxies send along, or keep to themselves.

use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use hyper::body::{Body as _, Incoming};
use tidegate_policy::Body;

use crate::gateway::{Early, Reader};
use crate::pipeline::{Held, NotRead, ReadAhead};

/// By which Envoy says that it sent the beginning of a body.
const IS_PART: HeaderName = HeaderName::from_static("x-envoy-auth-partial-body");

/// A request may have a body; what there is of it came with the question.
pub(crate) struct Sent<'s> {
    reader: Reader<'s>,
    is_part: bool,
}

impl<'s> Sent<'s> {
    /// What came with these fields.
    pub(crate) fn with(fields: &HeaderMap, reader: Reader<'s>) -> Self {
        let is_part = fields.get(IS_PART).is_some_and(|part| part == "true");
        Self { reader, is_part }
    }
}

impl ReadAhead for Sent<'_> {
    type Incoming = Incoming;
    type Early = Early;

    fn is_empty(&self, _: &Incoming) -> bool {
        // Most proxies keep it.
        false
    }

    async fn read(
        &self,
        body: &mut Incoming,
        most: usize,
        held: &Arc<Held>,
    ) -> Result<(Body, Option<Early>), NotRead> {
        if body.is_end_stream() {
            return Ok((Body::UNREAD, None));
        }
        if self.is_part {
            return Ok((Body::TOO_LARGE, None));
        }
        self.reader.read(body, most, held).await
    }
}
