//! The types that expressions are checked by.

use std::fmt;

/// The type of a value, as far as it is known when a file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Known when a request comes: what tokens and bodies hold.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
}

impl Type {
    pub(super) fn list(of: Type) -> Self {
        Self::List(Box::new(of))
    }

    pub(super) fn map(key: Type, value: Type) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// Texts by text.
    pub(super) fn texts() -> Self {
        Self::map(Self::Text, Self::Text)
    }

    /// Whether a value of this type may be what `wanted` takes.
    pub(super) fn may_be(&self, wanted: &Type) -> bool {
        match (self, wanted) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(own), Self::List(wanted)) => own.may_be(wanted),
            (Self::Map(key, value), Self::Map(wanted_key, wanted_value)) => {
                key.may_be(wanted_key) && value.may_be(wanted_value)
            }
            (own, wanted) => own == wanted,
        }
    }

    pub(super) fn may_be_one_of(&self, wanted: &[Type]) -> bool {
        wanted.iter().any(|wanted| self.may_be(wanted))
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether `==` and `<` make sense between the two: numbers of all kinds can be compared.
    pub(super) fn is_comparable_to(&self, other: &Type) -> bool {
        self.may_be(other) || (self.is_number() && other.is_number())
    }

    /// The one type that both are of: what a list holds, or what `? :` gives. None if there is none.
    pub(super) fn join(self, other: Type) -> Option<Type> {
        match (self, other) {
            (own, other) if own == other => Some(own),
            (Self::Dyn, _) | (_, Self::Dyn) => Some(Self::Dyn),
            (Self::List(own), Self::List(other)) => Some(Self::list(own.join(*other)?)),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Some(Self::map(key.join(*other_key)?, value.join(*other_value)?))
            }
            _ => None,
        }
    }
}

/// As CEL calls it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::List(of) => write!(f, "list<{of}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
        }
    }
}
