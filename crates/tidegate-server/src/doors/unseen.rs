//! Bodies that a proxy keeps to itself.

use std::convert::Infallible;
use std::sync::Arc;

use tidegate_policy::Body;

use crate::pipeline::{Held, NotRead, ReadAhead};

/// A request may have a body, and nobody here sees it: what policies ask of it is not there.
pub(crate) struct Unseen;

impl ReadAhead for Unseen {
    type Incoming = ();
    type Early = Infallible;

    fn is_empty(&self, (): &()) -> bool {
        false
    }

    async fn read(
        &self,
        (): &mut (),
        _most: usize,
        _held: &Arc<Held>,
    ) -> Result<(Body, Option<Infallible>), NotRead> {
        Ok((Body::UNREAD, None))
    }
}
