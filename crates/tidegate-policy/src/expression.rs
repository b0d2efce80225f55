//! Expressions in policies: CEL, checked when the file is read, evaluated within bounds.
//!
//! The `cel` crate parses. Types are checked here, because it has no checker. Values are computed here, too, because its
//! interpreter cannot be told when to stop, and it compiles regular expressions at each call. A test holds the two
//! interpreters against each other.

mod about;
mod check;
mod code;
mod evaluate;
mod fault;
mod fuel;
mod map;
mod parse;
mod scope;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod variables;

use std::sync::Arc;

pub(crate) use about::About;
pub use fault::ExpressionFault;
pub(crate) use fuel::Fuel;
pub(crate) use parse::Complaint;
pub(crate) use scope::{CallScope, RequestScope, Scope};
pub(crate) use value::{Text, Value};

use crate::set::body::Reads;
use code::Node;
use types::Type;
use variables::Variable;

/// What the value of an expression is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// `when`: a bool.
    Condition,
    /// `cost`: int or uint.
    Cost,
    /// A part of a key: string, int, uint or bool.
    KeyPart,
}

/// An expression without errors.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    source: Arc<str>,
    node: Arc<Node>,
    reads: Reads,
}

impl Expression {
    /// The expression `source`, which is about such things, and whose value is for `used_as`.
    pub(crate) fn compile(source: &str, about: About, used_as: Use) -> Result<Self, Vec<Complaint>> {
        let tree = parse::parse(source).map_err(|complaint| vec![complaint])?;
        let typed = check::check(&tree, source, about)?;
        if !used_as.takes(&typed.of_type) {
            let (what, cure) = used_as.wants();
            let message = format!("{what}, and this expression is of type {}", typed.of_type);
            return Err(vec![Complaint::new(0..source.len(), message, cure)]);
        }
        if let (Use::Cost, Node::Literal(Value::Int(..0))) = (used_as, &typed.node) {
            return Err(vec![Complaint::new(
                0..source.len(),
                "a cost is at least 0",
                "write a larger number",
            )]);
        }
        let mut reads = Reads::default();
        typed.node.walk(&mut |node| {
            if let Node::Variable(variable) | Node::HasVariable(variable) = node {
                variable.add_to(&mut reads);
            }
        });
        Ok(Self {
            source: source.into(),
            node: Arc::new(typed.node),
            reads,
        })
    }

    /// Its value for one request.
    pub(crate) fn evaluate<'v>(&'v self, scope: &'v Scope<'v>) -> Result<Value<'v>, ExpressionFault> {
        evaluate::evaluate(&self.node, scope, &mut Fuel::new())
    }

    /// Which forms of body it looks at.
    pub(crate) fn reads(&self) -> Reads {
        self.reads
    }

    /// Whether it looks at `identity.tier`.
    pub(crate) fn looks_at_tiers(&self) -> bool {
        let mut looks = false;
        self.node.walk(&mut |node| {
            looks |= matches!(
                node,
                Node::Variable(Variable::IdentityTier) | Node::HasVariable(Variable::IdentityTier)
            );
        });
        looks
    }

    /// Whether `when` holds. All readings of one request share its `fuel`.
    pub(crate) fn holds(&self, scope: &Scope<'_>, fuel: &mut Fuel) -> Result<bool, ExpressionFault> {
        evaluate::evaluate(&self.node, scope, fuel)?.bool()
    }

    /// What a request costs: at least 0, which only looks.
    pub(crate) fn cost(&self, scope: &Scope<'_>) -> Result<u64, ExpressionFault> {
        match self.evaluate(scope)? {
            Value::Int(cost) => u64::try_from(cost).map_err(|_| ExpressionFault::NegativeCost),
            Value::Uint(cost) => Ok(cost),
            _ => Err(ExpressionFault::WrongType),
        }
    }
}

/// Two that are written alike are one.
impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Expression {}

impl Use {
    fn takes(self, of_type: &Type) -> bool {
        of_type.may_be_one_of(match self {
            Self::Condition => &[Type::Bool],
            Self::Cost => &[Type::Int, Type::Uint],
            Self::KeyPart => &[Type::Text, Type::Int, Type::Uint, Type::Bool],
        })
    }

    fn wants(self) -> (&'static str, &'static str) {
        match self {
            Self::Condition => (
                "`when` is true or false",
                "compare with something: `request.method == \"POST\"`",
            ),
            Self::Cost => (
                "`cost` is an int or uint",
                "write whole numbers, or convert: `int(…)`",
            ),
            Self::KeyPart => (
                "a part of a key is a string, int, uint or bool",
                "write what tells clients apart, or convert: `string(…)`",
            ),
        }
    }
}
