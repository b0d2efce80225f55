//! What clients are told of a limit, ready-made at load.

/// The texts of one limit that do not change from request to request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {}
