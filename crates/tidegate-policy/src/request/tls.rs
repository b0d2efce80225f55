//! The TLS connection of a request.

/// What is known of the TLS connection that a request came over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tls {
    /// The name of the server that the client asked for.
    pub server_name: Option<Box<str>>,
}
