//! The body of a request, as far as policies look at it.
//!
//! Origins differ in how they read a body. Where two of them could read two things, a policy sees neither: [`Seen::Unclear`].

pub(crate) mod form;
pub(crate) mod graphql;
pub(crate) mod json;
pub(crate) mod media;

use std::borrow::Cow;
use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;

/// The body of a request, as far as it was read for policies.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Body {
    /// It was not looked at: no policy that may match asks for it, or it is of a kind that none can read.
    #[default]
    Unread,
    /// There is none.
    Empty,
    /// It is longer than what policies look at.
    TooLarge,
    /// All of it.
    Whole(Content),
}

/// All of a body, decoded from its framing and nothing else.
#[derive(Clone, Debug)]
pub struct Content {
    bytes: Bytes,
    /// Made for the first expression that asks.
    document: OnceLock<Option<Value>>,
    /// The same for forms.
    fields: OnceLock<Vec<(String, String)>>,
}

impl Body {
    /// A body that was not looked at.
    pub const UNREAD: Self = Self::Unread;
    /// No body.
    pub const EMPTY: Self = Self::Empty;
    /// A body that is longer than what policies look at.
    pub const TOO_LARGE: Self = Self::TooLarge;

    /// The whole body.
    pub fn whole(bytes: Bytes) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        Self::Whole(Content {
            bytes,
            document: OnceLock::new(),
            fields: OnceLock::new(),
        })
    }

    /// How many bytes it has, as far as that is known.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Unread | Self::TooLarge => None,
            Self::Empty => Some(0),
            Self::Whole(content) => Some(content.bytes.len()),
        }
    }
}

impl Content {
    /// The body as JSON.
    pub(super) fn document(&self) -> Option<&Value> {
        let document = self.document.get_or_init(|| json::document(self.text()?));
        document.as_ref()
    }

    /// The clear fields of the body as a form.
    pub(super) fn fields(&self) -> &[(String, String)] {
        let clear = || self.text().map(form::clear_fields).unwrap_or_default();
        self.fields.get_or_init(clear)
    }

    /// The body as text, if it is UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }
}

/// What a place in a body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen<'b> {
    /// This value.
    Value(Scalar<'b>),
    /// Nothing: every reader agrees that there is no value here.
    Absent,
    /// Something that two readers may read in two ways, or that was not read.
    Unclear,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar<'b> {
    pub(crate) kind: Kind,
    /// Its one spelling: of a text the text itself, of a number its value, `true` or `false`.
    pub(crate) text: Cow<'b, str>,
}

/// Of which kind a value is. A text of digits is not the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Bool,
}

impl<'b> Scalar<'b> {
    pub(crate) fn text(text: impl Into<Cow<'b, str>>) -> Self {
        Self {
            kind: Kind::Text,
            text: text.into(),
        }
    }

    pub(crate) fn number(text: String) -> Self {
        Self {
            kind: Kind::Number,
            text: text.into(),
        }
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self {
            kind: Kind::Bool,
            text: if value { "true" } else { "false" }.into(),
        }
    }
}

/// Whether some readers take `one` and `other` for the same name: those of Go and .NET look away from case.
fn same_name(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    folded(one).eq(folded(other))
}

/// `name` without case. By way of capitals, because `ſ` has the capital of `s`.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_case_only_are_the_same() {
        for (one, other) in [
            ("user", "USER"),
            ("key", "\u{212a}ey"),
            ("user", "u\u{17f}er"),
            ("größe", "GRÖßE"),
        ] {
            assert!(same_name(one, other), "{one} {other}");
        }
        assert!(!same_name("user", "users"));
        assert!(!same_name("user", "usér"));
    }

    #[test]
    fn no_bytes_are_no_body() {
        assert!(matches!(Body::whole(Bytes::new()), Body::Empty));
        assert_eq!(Body::whole(Bytes::from_static(b"12")).len(), Some(2));
    }
}
