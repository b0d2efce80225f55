//! No limiter: what the measuring itself costs.

use std::hint::black_box;

use super::{Limiter, Name};

/// Looks at the key and lets everything pass.
pub(crate) struct Null;

impl Limiter for Null {
    #[inline]
    fn allows(&self, name: &Name) -> bool {
        !black_box(&name.text).is_empty()
    }
}
