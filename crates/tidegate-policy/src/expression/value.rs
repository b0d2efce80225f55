//! Values that expressions work with, borrowed from the request where that is possible.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

use super::ExpressionFault;
use super::fuel::Fuel;
use super::map::Map;
use crate::Entry;

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'v>),
    List(List<'v>),
    Map(Map<'v>),
}

/// A text, borrowed from the request or the expression, or made.
#[derive(Clone, Debug)]
pub(crate) enum Text<'v> {
    Borrowed(&'v str),
    Made(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

/// A list, borrowed from a body or token, or made.
#[derive(Clone, Debug)]
pub(crate) enum List<'v> {
    Json(&'v [Json]),
    /// The entries of each descriptor of a call.
    Descriptors(&'v [&'v [Entry<'v>]]),
    Made(Arc<[Value<'v>]>),
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Descriptors(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<Value<'v>> {
        match self {
            Self::Json(items) => items.get(place).map(Value::of_json),
            Self::Descriptors(items) => items.get(place).map(|entries| Value::Map(Map::Entries(entries))),
            Self::Made(items) => items.get(place).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

impl<'v> Value<'v> {
    pub(super) fn borrowed(text: &'v str) -> Self {
        Self::Text(Text::Borrowed(text))
    }

    pub(super) fn made(text: impl Into<Arc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    /// What JSON holds. Whole numbers are int, above its range uint; others are double.
    pub(super) fn of_json(json: &'v Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => {
                let int = number.as_i64().map(Self::Int);
                let uint = || number.as_u64().map(Self::Uint);
                int.or_else(uint)
                    .unwrap_or_else(|| Self::Double(number.as_f64().unwrap_or(f64::NAN)))
            }
            Json::String(text) => Self::borrowed(text),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(fields) => Self::Map(Map::Json(fields)),
        }
    }

    pub(super) fn bool(&self) -> Result<bool, ExpressionFault> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    pub(super) fn text(self) -> Result<Text<'v>, ExpressionFault> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    /// The place in a list that it stands for: any number without a fraction.
    pub(super) fn place(&self) -> Result<i128, ExpressionFault> {
        match self {
            Self::Double(value) if value.fract() == 0.0 => Ok(saturated(*value)),
            other => other.whole().ok_or(ExpressionFault::WrongType),
        }
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// Whether both are the same, numbers by what they stand for: `1 == 1u` and `1 == 1.0`.
    pub(super) fn equals(&self, other: &Value<'v>, fuel: &mut Fuel) -> Result<bool, ExpressionFault> {
        fuel.spend(1)?;
        Ok(match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(own), Self::Bool(other)) => own == other,
            (Self::Text(own), Self::Text(other)) => {
                fuel.spend_bytes(own.len().min(other.len()))?;
                **own == **other
            }
            (Self::List(own), Self::List(other)) => {
                if own.len() != other.len() {
                    return Ok(false);
                }
                for (own, other) in own.iter().zip(other.iter()) {
                    if !own.equals(&other, fuel)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Self::Map(own), Self::Map(other)) => own.equals(other, fuel)?,
            (own, other) => compare_numbers(own, other) == Some(Ordering::Equal),
        })
    }

    /// Which comes first. None if neither does: NaN stands before and after nothing.
    pub(super) fn compare(
        &self,
        other: &Value<'v>,
        fuel: &mut Fuel,
    ) -> Result<Option<Ordering>, ExpressionFault> {
        match (self, other) {
            (Self::Bool(own), Self::Bool(other)) => Ok(Some(own.cmp(other))),
            (Self::Text(own), Self::Text(other)) => {
                fuel.spend_bytes(own.len().min(other.len()))?;
                Ok(Some((**own).cmp(&**other)))
            }
            (own, other) if own.is_number() && other.is_number() => Ok(compare_numbers(own, other)),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Uint(_) | Self::Double(_))
    }
}

fn compare_numbers(own: &Value<'_>, other: &Value<'_>) -> Option<Ordering> {
    match (own, other) {
        (Value::Double(own), Value::Double(other)) => own.partial_cmp(other),
        (Value::Double(own), other) => compare_whole(other.whole()?, *own).map(Ordering::reverse),
        (own, Value::Double(other)) => compare_whole(own.whole()?, *other),
        (own, other) => Some(own.whole()?.cmp(&other.whole()?)),
    }
}

/// `whole`, of 65 bits at most, beside `double`, exactly.
fn compare_whole(whole: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    let below = double.floor();
    let order = whole.cmp(&saturated(below));
    let has_fraction = double.is_finite() && double > below;
    Some(if order == Ordering::Equal && has_fraction {
        Ordering::Less
    } else {
        order
    })
}

/// `double` without its fraction. What needs more than 127 bits is cut to them, and still larger than any int or uint.
#[allow(
    clippy::cast_possible_truncation,
    reason = "dropping the fraction is the purpose; `as` saturates"
)]
pub(super) fn saturated(double: f64) -> i128 {
    double as i128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_fractions_are_compared_exactly() {
        for (whole, double, order) in [
            (1, 1.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (i128::from(i64::MAX), 9_223_372_036_854_775_808.0, Ordering::Less),
            (i128::from(u64::MAX), 18_446_744_073_709_551_616.0, Ordering::Less),
            (0, f64::INFINITY, Ordering::Less),
            (0, f64::NEG_INFINITY, Ordering::Greater),
        ] {
            assert_eq!(compare_whole(whole, double), Some(order), "{whole} and {double}");
        }
        assert_eq!(compare_whole(0, f64::NAN), None);
    }
}
