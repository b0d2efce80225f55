//! Evaluation: no panics, no recursion beyond the depth that was checked, no more work than there is fuel for.

mod calculate;
mod function;

use ipnet::IpNet;
use regex::Regex;
use smallvec::SmallVec;

use super::code::{Comparison, Loop, LoopKind, Node};
use super::fuel::Fuel;
use super::map::Map;
use super::scope::Scope;
use super::value::{List, Value};
use super::variables::Variable;
use super::{ExpressionFault, Text};
use crate::address::{canonical, covers};

pub(super) type Outcome<'v> = Result<Value<'v>, ExpressionFault>;

/// The value of `node` for the request in `scope`, with no more work than there is `fuel` for.
pub(super) fn evaluate<'v>(node: &'v Node, scope: &'v Scope<'v>, fuel: &mut Fuel) -> Outcome<'v> {
    let mut machine = Machine {
        scope,
        locals: SmallVec::new(),
        fuel,
    };
    machine.value(node)
}

struct Machine<'v, 'f> {
    scope: &'v Scope<'v>,
    /// The items that comprehensions are at, the innermost last.
    locals: SmallVec<[Value<'v>; 2]>,
    fuel: &'f mut Fuel,
}

impl<'v> Machine<'v, '_> {
    fn value(&mut self, node: &'v Node) -> Outcome<'v> {
        self.fuel.spend(1)?;
        match node {
            Node::Literal(literal) => Ok(borrowed(literal)),
            Node::Variable(variable) => self.variable(*variable)?.ok_or(ExpressionFault::Absent),
            Node::Local(place) => self.locals.get(*place).cloned().ok_or(ExpressionFault::Absent),
            Node::Select(of, name) => self.field(of, name)?.ok_or(ExpressionFault::Absent),
            Node::Has(of, name) => self.has(of, name).map(Value::Bool),
            Node::HasVariable(variable) => Ok(Value::Bool(self.variable(*variable)?.is_some())),
            Node::Index(of) => self.index(of),
            Node::Not(of) => Ok(Value::Bool(!self.bool(of)?)),
            Node::Negate(of) => calculate::negated(self.value(of)?),
            Node::And(of) => self.and(of).map(Value::Bool),
            Node::Or(of) => self.or(of).map(Value::Bool),
            Node::If(of) => self.conditional(of),
            Node::Compare(comparison, of) => self.compare(*comparison, of).map(Value::Bool),
            Node::Calculate(operator, of) => {
                let [a, b] = self.both(of)?;
                calculate::calculated(*operator, a, b, self.fuel)
            }
            Node::In(of) => self.contained(of).map(Value::Bool),
            Node::Call(function, arguments) => self.call(*function, arguments),
            Node::Matches(of, regex) => self.matches(of, regex).map(Value::Bool),
            Node::InNetworks(of, networks) => self.in_networks(of, networks).map(Value::Bool),
            Node::List(items) => {
                let items: Result<Vec<_>, _> = items.iter().map(|item| self.value(item)).collect();
                Ok(Value::List(List::Made(items?.into())))
            }
            Node::Map(entries) => self.map(entries),
            Node::Loop(own) => self.comprehension(own),
        }
    }

    fn bool(&mut self, node: &'v Node) -> Result<bool, ExpressionFault> {
        self.value(node)?.bool()
    }

    fn text(&mut self, node: &'v Node) -> Result<Text<'v>, ExpressionFault> {
        self.value(node)?.text()
    }

    fn both(&mut self, of: &'v [Node; 2]) -> Result<[Value<'v>; 2], ExpressionFault> {
        let [a, b] = of;
        Ok([self.value(a)?, self.value(b)?])
    }

    fn variable(&mut self, variable: Variable) -> Result<Option<Value<'v>>, ExpressionFault> {
        self.scope.value(variable, self.fuel)
    }

    fn field(&mut self, of: &'v Node, name: &'v str) -> Result<Option<Value<'v>>, ExpressionFault> {
        let map = self.value(of)?;
        self.get(map, &Value::borrowed(name))
    }

    fn get(&mut self, of: Value<'v>, key: &Value<'v>) -> Result<Option<Value<'v>>, ExpressionFault> {
        match of {
            Value::Map(map) => map.get(key, self.fuel),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    /// False, too, if what it would be a field of is a variable that this request does not have.
    fn has(&mut self, of: &'v Node, name: &'v str) -> Result<bool, ExpressionFault> {
        if let Node::Variable(variable) = of {
            let Some(map) = self.variable(*variable)? else {
                return Ok(false);
            };
            return Ok(self.get(map, &Value::borrowed(name))?.is_some());
        }
        Ok(self.field(of, name)?.is_some())
    }

    fn index(&mut self, of: &'v [Node; 2]) -> Outcome<'v> {
        let [of, place] = self.both(of)?;
        match (of, &place) {
            (Value::Map(map), key) => map.get(key, self.fuel)?.ok_or(ExpressionFault::Absent),
            (Value::List(list), place) => {
                let place = usize::try_from(place.place()?).ok();
                let item = place.and_then(|place| list.get(place));
                item.ok_or(ExpressionFault::NoSuchPlace)
            }
            _ => Err(ExpressionFault::WrongType),
        }
    }

    /// False if either side is, whatever is wrong with the other.
    fn and(&mut self, [a, b]: &'v [Node; 2]) -> Result<bool, ExpressionFault> {
        match self.bool(a) {
            Ok(false) => Ok(false),
            Ok(true) => self.bool(b),
            Err(fault) => match self.bool(b) {
                Ok(false) => Ok(false),
                _ => Err(fault),
            },
        }
    }

    /// True if either side is, whatever is wrong with the other.
    fn or(&mut self, [a, b]: &'v [Node; 2]) -> Result<bool, ExpressionFault> {
        match self.bool(a) {
            Ok(true) => Ok(true),
            Ok(false) => self.bool(b),
            Err(fault) => match self.bool(b) {
                Ok(true) => Ok(true),
                _ => Err(fault),
            },
        }
    }

    fn conditional(&mut self, [condition, then, otherwise]: &'v [Node; 3]) -> Outcome<'v> {
        if self.bool(condition)? {
            self.value(then)
        } else {
            self.value(otherwise)
        }
    }

    fn compare(&mut self, comparison: Comparison, of: &'v [Node; 2]) -> Result<bool, ExpressionFault> {
        let [a, b] = self.both(of)?;
        match comparison {
            Comparison::Equal => return a.equals(&b, self.fuel),
            Comparison::NotEqual => return a.equals(&b, self.fuel).map(|equal| !equal),
            _ => {}
        }
        let Some(order) = a.compare(&b, self.fuel)? else {
            return Ok(false);
        };
        Ok(match comparison {
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual | Comparison::Equal | Comparison::NotEqual => order.is_ge(),
        })
    }

    fn contained(&mut self, of: &'v [Node; 2]) -> Result<bool, ExpressionFault> {
        let [value, of] = self.both(of)?;
        match of {
            Value::Map(map) => Ok(map.get(&value, self.fuel)?.is_some()),
            Value::List(list) => {
                for item in list.iter() {
                    if item.equals(&value, self.fuel)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Err(ExpressionFault::WrongType),
        }
    }

    fn matches(&mut self, of: &'v Node, regex: &Regex) -> Result<bool, ExpressionFault> {
        let text = self.text(of)?;
        // The slowest thing there is, byte by byte.
        self.fuel.spend(text.len())?;
        Ok(regex.is_match(&text))
    }

    fn in_networks(&mut self, of: &'v Node, networks: &[IpNet]) -> Result<bool, ExpressionFault> {
        self.fuel.spend(networks.len() / 8)?;
        let address = match (of, self.scope) {
            (Node::Variable(Variable::ClientIp), Scope::Request(scope)) => scope.request.client,
            (other, _) => self
                .text(other)?
                .parse()
                .map_err(|_| ExpressionFault::Conversion)?,
        };
        Ok(covers(networks, canonical(address)))
    }

    fn map(&mut self, entries: &'v [(Node, Node)]) -> Outcome<'v> {
        let mut made: Vec<(Value<'v>, Value<'v>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let (key, value) = (self.value(key)?, self.value(value)?);
            if !matches!(
                key,
                Value::Text(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_)
            ) {
                return Err(ExpressionFault::WrongType);
            }
            for (earlier, _) in &made {
                if earlier.equals(&key, self.fuel)? {
                    return Err(ExpressionFault::WrongType);
                }
            }
            made.push((key, value));
        }
        Ok(Value::Map(Map::Made(made.into())))
    }

    fn comprehension(&mut self, own: &'v Loop) -> Outcome<'v> {
        let items = match self.value(&own.over)? {
            Value::List(list) => list,
            Value::Map(map) => map.keys(self.fuel)?,
            _ => return Err(ExpressionFault::WrongType),
        };
        let place = self.locals.len();
        self.locals.push(Value::Null);
        let outcome = match &own.kind {
            LoopKind::All => self.until(own, &items, place, false),
            LoopKind::Exists => self.until(own, &items, place, true),
            LoopKind::ExistsOne => self.exists_one(own, &items, place),
            LoopKind::Collect { guard } => self.collect(own, guard.as_ref(), &items, place),
        };
        self.locals.truncate(place);
        outcome
    }

    /// Whether the body is `decisive` for an item. If it is for none, one that failed counts.
    fn until(&mut self, own: &'v Loop, items: &List<'v>, place: usize, decisive: bool) -> Outcome<'v> {
        let mut failed = None;
        for item in items.iter() {
            self.locals[place] = item;
            match self.bool(&own.body) {
                Ok(held) if held == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(ExpressionFault::TooMuchWork) => return Err(ExpressionFault::TooMuchWork),
                Err(fault) => failed = Some(fault),
            }
        }
        failed.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn exists_one(&mut self, own: &'v Loop, items: &List<'v>, place: usize) -> Outcome<'v> {
        let mut count = 0_usize;
        for item in items.iter() {
            self.locals[place] = item;
            count += usize::from(self.bool(&own.body)?);
        }
        Ok(Value::Bool(count == 1))
    }

    fn collect(
        &mut self,
        own: &'v Loop,
        guard: Option<&'v Node>,
        items: &List<'v>,
        place: usize,
    ) -> Outcome<'v> {
        let mut made = Vec::new();
        for item in items.iter() {
            self.locals[place] = item;
            if let Some(guard) = guard
                && !self.bool(guard)?
            {
                continue;
            }
            made.push(self.value(&own.body)?);
        }
        Ok(Value::List(List::Made(made.into())))
    }
}

/// A literal, without a copy of its text.
fn borrowed<'v>(literal: &'v Value<'static>) -> Value<'v> {
    match literal {
        Value::Text(text) => Value::borrowed(text),
        other => other.clone(),
    }
}
