//! The body of a request, as far as policies look at it.

/// The body of a request, as far as it was read for policies.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Body {
    /// It was not looked at: no policy that may match asks for it.
    #[default]
    Unread,
}

impl Body {
    /// A body that was not looked at.
    pub const UNREAD: Self = Self::Unread;
}
