//! Functions.

use super::{Machine, Outcome};
use crate::expression::ExpressionFault;
use crate::expression::code::{Function, Node};
use crate::expression::value::{Text, Value, saturated};

impl<'v> Machine<'v, '_> {
    pub(super) fn call(&mut self, function: Function, arguments: &'v [Node]) -> Outcome<'v> {
        match (function, arguments) {
            (Function::Size, [of]) => self.size(of),
            (Function::Contains, [a, b]) => self.search(a, b, |a, b| a.contains(b)),
            (Function::StartsWith, [a, b]) => self.search(a, b, |a, b| a.starts_with(b)),
            (Function::EndsWith, [a, b]) => self.search(a, b, |a, b| a.ends_with(b)),
            (Function::LowerAscii, [of]) => self.made(of, str::to_ascii_lowercase),
            (Function::UpperAscii, [of]) => self.made(of, str::to_ascii_uppercase),
            (Function::ToText, [of]) => to_text(self.value(of)?),
            (Function::ToInt, [of]) => self.number(of).and_then(to_int),
            (Function::ToUint, [of]) => self.number(of).and_then(to_uint),
            (Function::ToDouble, [of]) => self.number(of).and_then(to_double),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    fn size(&mut self, of: &'v Node) -> Outcome<'v> {
        let size = match self.value(of)? {
            Value::Text(text) => {
                self.fuel.spend_bytes(text.len())?;
                text.chars().count()
            }
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(self.fuel)?,
            _ => return Err(ExpressionFault::WrongType),
        };
        i64::try_from(size)
            .map(Value::Int)
            .map_err(|_| ExpressionFault::Arithmetic)
    }

    fn search(&mut self, a: &'v Node, b: &'v Node, found: impl Fn(&str, &str) -> bool) -> Outcome<'v> {
        let (a, b) = (self.text(a)?, self.text(b)?);
        self.fuel.spend_bytes(a.len().saturating_add(b.len()))?;
        Ok(Value::Bool(found(&a, &b)))
    }

    fn made(&mut self, of: &'v Node, make: impl Fn(&str) -> String) -> Outcome<'v> {
        let text = self.text(of)?;
        self.fuel.make_bytes(text.len())?;
        Ok(Value::made(make(&text)))
    }

    /// Something to convert. A text is paid for byte by byte: reading a long fraction exactly is slow.
    fn number(&mut self, of: &'v Node) -> Outcome<'v> {
        let value = self.value(of)?;
        if let Value::Text(text) = &value {
            self.fuel.spend(text.len())?;
        }
        Ok(value)
    }
}

fn to_text(value: Value<'_>) -> Outcome<'_> {
    Ok(match value {
        Value::Text(text) => Value::Text(text),
        Value::Bool(true) => Value::borrowed("true"),
        Value::Bool(false) => Value::borrowed("false"),
        Value::Int(value) => Value::made(value.to_string()),
        Value::Uint(value) => Value::made(value.to_string()),
        Value::Double(value) => Value::made(value.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) => return Err(ExpressionFault::WrongType),
    })
}

fn to_int(value: Value<'_>) -> Outcome<'_> {
    let int = match value {
        Value::Int(value) => Some(value),
        Value::Uint(value) => i64::try_from(value).ok(),
        // Neither bound is an int: at both, numbers beyond it have been rounded to it.
        Value::Double(value) if value <= i64::MIN as f64 => None,
        Value::Double(value) => whole(value).and_then(|value| i64::try_from(value).ok()),
        Value::Text(text) => return parsed(&text).map(Value::Int),
        _ => return Err(ExpressionFault::WrongType),
    };
    int.map(Value::Int).ok_or(ExpressionFault::Arithmetic)
}

fn to_uint(value: Value<'_>) -> Outcome<'_> {
    let uint = match value {
        Value::Uint(value) => Some(value),
        Value::Int(value) => u64::try_from(value).ok(),
        Value::Double(value) => whole(value).and_then(|value| u64::try_from(value).ok()),
        Value::Text(text) => return parsed(&text).map(Value::Uint),
        _ => return Err(ExpressionFault::WrongType),
    };
    uint.map(Value::Uint).ok_or(ExpressionFault::Arithmetic)
}

fn to_double(value: Value<'_>) -> Outcome<'_> {
    Ok(Value::Double(match value {
        Value::Double(value) => value,
        Value::Int(value) => value as f64,
        Value::Uint(value) => value as f64,
        Value::Text(text) => return parsed(&text).map(Value::Double),
        _ => return Err(ExpressionFault::WrongType),
    }))
}

/// `value` without its fraction.
fn whole(value: f64) -> Option<i128> {
    value.is_finite().then(|| saturated(value))
}

fn parsed<T: std::str::FromStr>(text: &Text<'_>) -> Result<T, ExpressionFault> {
    text.parse().map_err(|_| ExpressionFault::Conversion)
}
