//! Operators: what they take and give.

use cel::common::ast::{CallExpr, operators};
use cel::parser::Expression as Tree;

use super::{Checker, Typed};
use crate::expression::code::{Comparison, Node, Operator};
use crate::expression::types::Type;

impl Checker<'_> {
    /// The call of an operator. None if `call` is none, or if it is wrong, which is told apart by the outer Option.
    pub(super) fn operator(&mut self, id: u64, call: &CallExpr) -> Option<Option<Typed>> {
        let typed = match (call.func_name.as_str(), &call.args[..]) {
            (operators::LOGICAL_NOT, [of]) => self.not(of),
            (operators::NEGATE, [of]) => self.negate(id, of),
            (operators::LOGICAL_AND, [a, b]) => self.logical(a, b, Node::And),
            (operators::LOGICAL_OR, [a, b]) => self.logical(a, b, Node::Or),
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                self.conditional(id, condition, then, otherwise)
            }
            (operators::INDEX, [of, place]) => self.index(id, of, place),
            (operators::IN, [value, of]) => self.contained(id, value, of),
            (name, [a, b]) => match (comparison(name), arithmetic(name)) {
                (Some((comparison, sign)), _) => self.comparison(id, comparison, sign, [a, b]),
                (None, Some((operator, sign))) => self.calculation(id, operator, sign, [a, b]),
                (None, None) => return None,
            },
            _ => return None,
        };
        Some(typed)
    }

    fn not(&mut self, of: &Tree) -> Option<Typed> {
        let of = self.condition(of)?;
        Some(Typed::new(Type::Bool, Node::Not(Box::new(of))))
    }

    fn negate(&mut self, id: u64, of: &Tree) -> Option<Typed> {
        let of = self.node(of)?;
        if !of.of_type.may_be_one_of(&[Type::Int, Type::Double]) {
            let message = format!("`-` takes int or double, and this is of type {}", of.of_type);
            return self.refuse(id, message, "convert it: `-int(…)`");
        }
        Some(Typed::new(of.of_type, Node::Negate(Box::new(of.node))))
    }

    fn logical(&mut self, a: &Tree, b: &Tree, node: impl Fn(Box<[Node; 2]>) -> Node) -> Option<Typed> {
        let (a, b) = (self.condition(a), self.condition(b));
        Some(Typed::new(Type::Bool, node(Box::new([a?, b?]))))
    }

    fn conditional(&mut self, id: u64, condition: &Tree, then: &Tree, otherwise: &Tree) -> Option<Typed> {
        let condition = self.condition(condition);
        let (then, otherwise) = (self.node(then), self.node(otherwise));
        let (condition, then, otherwise) = (condition?, then?, otherwise?);
        let message = format!(
            "both sides of `:` are of one type, and these are {} and {}",
            then.of_type, otherwise.of_type
        );
        let Some(of_type) = then.of_type.join(otherwise.of_type) else {
            return self.refuse(id, message, "convert one of them: `string(…)`, `int(…)`");
        };
        let node = Node::If(Box::new([condition, then.node, otherwise.node]));
        Some(Typed::new(of_type, node))
    }

    fn index(&mut self, id: u64, of: &Tree, place: &Tree) -> Option<Typed> {
        let (of, typed_place) = (self.node(of), self.node(place));
        let (of, typed_place) = (of?, typed_place?);
        let (of_type, wanted) = match of.of_type {
            Type::Dyn => (Type::Dyn, None),
            Type::List(item) => (*item, Some(Type::Int)),
            Type::Map(key, value) => (*value, Some(*key)),
            other => {
                let message = format!("a value of type {other} has no places");
                return self.refuse(id, message, "`[…]` is for lists and maps");
            }
        };
        if let Some(wanted) = wanted.filter(|wanted| !typed_place.of_type.is_comparable_to(wanted)) {
            let message = format!("this is asked for by {wanted}, not by {}", typed_place.of_type);
            return self.refuse(place.id, message, format!("write a value of type {wanted}"));
        }
        if let Node::Literal(crate::expression::Value::Text(name)) = &typed_place.node {
            self.header_name(place.id, &of.node, name)?;
        }
        let node = Node::Index(Box::new([of.node, typed_place.node]));
        Some(Typed::new(of_type, node))
    }

    fn contained(&mut self, id: u64, value: &Tree, of: &Tree) -> Option<Typed> {
        let (typed_value, of) = (self.node(value), self.node(of));
        let (typed_value, of) = (typed_value?, of?);
        let item = match of.of_type {
            Type::Dyn => Type::Dyn,
            Type::List(item) => *item,
            Type::Map(key, _) => *key,
            Type::Text => {
                let message = "`in` takes a list or a map, and this is of type string";
                return self.refuse(id, message, "write `text.contains(part)`");
            }
            other => {
                let message = format!("`in` takes a list or a map, and this is of type {other}");
                return self.refuse(id, message, "write `value in [a, b]`");
            }
        };
        if !typed_value.of_type.is_comparable_to(&item) {
            let message = format!("a value of type {} is never among {item}", typed_value.of_type);
            return self.refuse(id, message, "convert one of them: `string(…)`, `int(…)`");
        }
        if let Node::Literal(crate::expression::Value::Text(name)) = &typed_value.node {
            self.header_name(value.id, &of.node, name)?;
        }
        let node = Node::In(Box::new([typed_value.node, of.node]));
        Some(Typed::new(Type::Bool, node))
    }

    fn comparison(&mut self, id: u64, comparison: Comparison, sign: &str, of: [&Tree; 2]) -> Option<Typed> {
        let [a, b] = of.map(|tree| self.node(tree));
        let (a, b) = (a?, b?);
        if !a.of_type.is_comparable_to(&b.of_type) {
            let message = format!("`{sign}` between {} and {} is never right", a.of_type, b.of_type);
            return self.refuse(id, message, "convert one of them: `string(…)`, `int(…)`");
        }
        let is_ordered = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let ordered = [Type::Bool, Type::Int, Type::Uint, Type::Double, Type::Text];
        if is_ordered && !(a.of_type.may_be_one_of(&ordered) && b.of_type.may_be_one_of(&ordered)) {
            let message = format!("values of type {} have no order", a.of_type);
            return self.refuse(id, message, "compare numbers or strings");
        }
        let node = Node::Compare(comparison, Box::new([a.node, b.node]));
        Some(Typed::new(Type::Bool, node))
    }

    fn calculation(&mut self, id: u64, operator: Operator, sign: &str, of: [&Tree; 2]) -> Option<Typed> {
        let [a, b] = of.map(|tree| self.node(tree));
        let (a, b) = (a?, b?);
        let takes = |of_type: &Type| match operator {
            Operator::Add => {
                let simple = [Type::Int, Type::Uint, Type::Double, Type::Text];
                of_type.may_be_one_of(&simple) || matches!(of_type, Type::List(_))
            }
            Operator::Remainder => of_type.may_be_one_of(&[Type::Int, Type::Uint]),
            _ => of_type.may_be_one_of(&[Type::Int, Type::Uint, Type::Double]),
        };
        let message = format!("`{sign}` does not take {} and {}", a.of_type, b.of_type);
        let cure = match (&a.of_type, &b.of_type) {
            (Type::Text, _) | (_, Type::Text) if operator == Operator::Add => {
                "convert it: `\"a\" + string(1)`"
            }
            _ => "write two numbers of one type: `1 + int(…)`, `1.0 + double(…)`",
        };
        let both_are_taken = takes(&a.of_type) && takes(&b.of_type);
        let Some(of_type) = a.of_type.join(b.of_type).filter(|_| both_are_taken) else {
            return self.refuse(id, message, cure);
        };
        let node = Node::Calculate(operator, Box::new([a.node, b.node]));
        Some(Typed::new(of_type, node))
    }
}

fn comparison(name: &str) -> Option<(Comparison, &'static str)> {
    Some(match name {
        operators::EQUALS => (Comparison::Equal, "=="),
        operators::NOT_EQUALS => (Comparison::NotEqual, "!="),
        operators::LESS => (Comparison::Less, "<"),
        operators::LESS_EQUALS => (Comparison::LessOrEqual, "<="),
        operators::GREATER => (Comparison::Greater, ">"),
        operators::GREATER_EQUALS => (Comparison::GreaterOrEqual, ">="),
        _ => return None,
    })
}

fn arithmetic(name: &str) -> Option<(Operator, &'static str)> {
    Some(match name {
        operators::ADD => (Operator::Add, "+"),
        operators::SUBSTRACT => (Operator::Subtract, "-"),
        operators::MULTIPLY => (Operator::Multiply, "*"),
        operators::DIVIDE => (Operator::Divide, "/"),
        operators::MODULO => (Operator::Remainder, "%"),
        _ => return None,
    })
}
