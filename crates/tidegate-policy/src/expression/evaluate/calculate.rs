//! Arithmetic: checked, between values of one type.

use super::Outcome;
use crate::expression::ExpressionFault;
use crate::expression::code::Operator;
use crate::expression::fuel::Fuel;
use crate::expression::value::{List, Value};

pub(super) fn negated(of: Value<'_>) -> Outcome<'_> {
    match of {
        Value::Int(value) => value
            .checked_neg()
            .map(Value::Int)
            .ok_or(ExpressionFault::Arithmetic),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => Err(ExpressionFault::WrongType),
    }
}

pub(super) fn calculated<'v>(operator: Operator, a: Value<'v>, b: Value<'v>, fuel: &mut Fuel) -> Outcome<'v> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => {
            let value = match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::Divide => a.checked_div(b),
                Operator::Remainder => a.checked_rem(b),
            };
            value.map(Value::Int).ok_or(ExpressionFault::Arithmetic)
        }
        (Value::Uint(a), Value::Uint(b)) => {
            let value = match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::Divide => a.checked_div(b),
                Operator::Remainder => a.checked_rem(b),
            };
            value.map(Value::Uint).ok_or(ExpressionFault::Arithmetic)
        }
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::Remainder => return Err(ExpressionFault::WrongType),
        })),
        (Value::Text(a), Value::Text(b)) if operator == Operator::Add => {
            fuel.make_bytes(a.len().saturating_add(b.len()))?;
            Ok(Value::made(format!("{}{}", &*a, &*b)))
        }
        (Value::List(a), Value::List(b)) if operator == Operator::Add => {
            fuel.spend(a.len().saturating_add(b.len()))?;
            let both: Vec<Value<'v>> = a.iter().chain(b.iter()).collect();
            Ok(Value::List(List::Made(both.into())))
        }
        _ => Err(ExpressionFault::WrongType),
    }
}
