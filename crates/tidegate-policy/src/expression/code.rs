//! What an expression does, after it was checked.

use ipnet::IpNet;
use regex::Regex;

use super::value::Value;
use super::variables::Variable;

/// A step of an expression, with the steps it needs first.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Literal(Value<'static>),
    Variable(Variable),
    /// What a comprehension is at, by how many comprehensions stand around it.
    Local(usize),
    /// `a.b`, of a map.
    Select(Box<Node>, Box<str>),
    /// `has(a.b)`, of a map.
    Has(Box<Node>, Box<str>),
    /// `has(identity.subject)`.
    HasVariable(Variable),
    /// `a[b]`
    Index(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Compare(Comparison, Box<[Node; 2]>),
    Calculate(Operator, Box<[Node; 2]>),
    /// `a in b`
    In(Box<[Node; 2]>),
    Call(Function, Box<[Node]>),
    Matches(Box<Node>, Regex),
    InNetworks(Box<Node>, Box<[IpNet]>),
    List(Box<[Node]>),
    Map(Box<[(Node, Node)]>),
    Loop(Box<Loop>),
}

/// `==` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// `+` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// What can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    LowerAscii,
    UpperAscii,
    ToText,
    ToInt,
    ToUint,
    ToDouble,
}

/// A comprehension.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) over: Node,
    pub(super) body: Node,
    pub(super) kind: LoopKind,
}

/// What a comprehension makes of its items.
#[derive(Clone, Debug)]
pub(super) enum LoopKind {
    /// Whether the body holds for all.
    All,
    /// Whether it holds for one or more.
    Exists,
    /// Whether it holds for exactly one.
    ExistsOne,
    /// The body's value for each item that the guard holds for.
    Collect {
        /// None: for every item.
        guard: Option<Node>,
    },
}

impl Node {
    /// Calls `found` with this node and every node below.
    pub(super) fn walk(&self, found: &mut impl FnMut(&Node)) {
        found(self);
        match self {
            Self::Literal(_) | Self::Variable(_) | Self::Local(_) | Self::HasVariable(_) => {}
            Self::Select(of, _)
            | Self::Has(of, _)
            | Self::Not(of)
            | Self::Negate(of)
            | Self::Matches(of, _)
            | Self::InNetworks(of, _) => of.walk(found),
            Self::Index(of)
            | Self::And(of)
            | Self::Or(of)
            | Self::Compare(_, of)
            | Self::Calculate(_, of)
            | Self::In(of) => of.iter().for_each(|node| node.walk(found)),
            Self::If(of) => of.iter().for_each(|node| node.walk(found)),
            Self::Call(_, of) | Self::List(of) => of.iter().for_each(|node| node.walk(found)),
            Self::Map(entries) => entries.iter().for_each(|(key, value)| {
                key.walk(found);
                value.walk(found);
            }),
            Self::Loop(own) => {
                own.over.walk(found);
                own.body.walk(found);
                if let LoopKind::Collect { guard: Some(guard) } = &own.kind {
                    guard.walk(found);
                }
            }
        }
    }
}
