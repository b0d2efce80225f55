//! Functions: what they take and give.

use std::net::IpAddr;

use cel::common::ast::{CallExpr, Expr};
use cel::parser::Expression as Tree;
use ipnet::IpNet;
use regex::{Regex, RegexBuilder};

use super::{Checker, Typed};
use crate::document::report::{nearest, quoted};
use crate::expression::Value;
use crate::expression::code::{Function, Node};
use crate::expression::types::Type;

/// The most bytes that a regular expression may take when it is compiled.
pub(crate) const MAX_REGEX_BYTES: usize = 64 * 1024;

/// The most networks of one `cidr`.
pub(crate) const MAX_NETWORKS: usize = 256;

/// Every name that can be called.
const FUNCTIONS: [&str; 18] = [
    "has",
    "all",
    "exists",
    "exists_one",
    "filter",
    "map",
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "lowerAscii",
    "upperAscii",
    "string",
    "int",
    "uint",
    "double",
    "cidr",
];

impl Checker<'_> {
    pub(super) fn call(&mut self, id: u64, call: &CallExpr) -> Option<Typed> {
        if let Some(typed) = self.operator(id, call) {
            return typed;
        }
        let target = call.target.as_deref();
        match (call.func_name.as_str(), target, &call.args[..]) {
            ("contains", Some(target), [text]) if is_cidr(target) => self.in_networks(target, text),
            ("matches", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
                self.matches(text, pattern)
            }
            ("size", Some(of), []) | ("size", None, [of]) => self.size(id, of),
            ("contains", Some(a), [b]) => self.texts(id, Function::Contains, Type::Bool, &[a, b]),
            ("startsWith", Some(a), [b]) => self.texts(id, Function::StartsWith, Type::Bool, &[a, b]),
            ("endsWith", Some(a), [b]) => self.texts(id, Function::EndsWith, Type::Bool, &[a, b]),
            ("lowerAscii", Some(of), []) => self.texts(id, Function::LowerAscii, Type::Text, &[of]),
            ("upperAscii", Some(of), []) => self.texts(id, Function::UpperAscii, Type::Text, &[of]),
            ("string", None, [of]) => self.conversion(id, Function::ToText, Type::Text, of),
            ("int", None, [of]) => self.conversion(id, Function::ToInt, Type::Int, of),
            ("uint", None, [of]) => self.conversion(id, Function::ToUint, Type::Uint, of),
            ("double", None, [of]) => self.conversion(id, Function::ToDouble, Type::Double, of),
            (name, _, _) => self.no_function(id, name),
        }
    }

    fn no_function(&mut self, id: u64, name: &str) -> Option<Typed> {
        if let Some(form) = form(name) {
            let message = format!("{} is not called like this", quoted(name));
            return self.refuse(id, message, format!("write `{form}`"));
        }
        let message = format!("there is no function {}", quoted(name));
        let cure = match nearest(name, FUNCTIONS) {
            Some(known) => format!("did you mean `{}`?", form(known).unwrap_or(known)),
            None => format!("there are {}", FUNCTIONS.join(", ")),
        };
        self.refuse(id, message, cure)
    }

    fn size(&mut self, id: u64, of: &Tree) -> Option<Typed> {
        let of = self.node(of)?;
        if !matches!(of.of_type, Type::Dyn | Type::Text | Type::List(_) | Type::Map(..)) {
            let message = format!("a value of type {} has no size", of.of_type);
            return self.refuse(id, message, "write a string, a list or a map");
        }
        Some(Typed::new(
            Type::Int,
            Node::Call(Function::Size, [of.node].into()),
        ))
    }

    /// A function that takes texts only.
    fn texts(&mut self, id: u64, function: Function, gives: Type, of: &[&Tree]) -> Option<Typed> {
        let typed: Vec<Option<Typed>> = of.iter().map(|tree| self.node(tree)).collect();
        let typed: Vec<Typed> = typed.into_iter().collect::<Option<_>>()?;
        if let Some(other) = typed.iter().find(|typed| !typed.of_type.may_be(&Type::Text)) {
            let message = format!(
                "this takes strings, and one of these is of type {}",
                other.of_type
            );
            return self.refuse(id, message, "convert it: `string(…)`");
        }
        let nodes = typed.into_iter().map(|typed| typed.node).collect();
        Some(Typed::new(gives, Node::Call(function, nodes)))
    }

    fn conversion(&mut self, id: u64, function: Function, gives: Type, of: &Tree) -> Option<Typed> {
        let of = self.node(of)?;
        let numbers = [Type::Int, Type::Uint, Type::Double, Type::Text];
        let takes_bool = function == Function::ToText && of.of_type == Type::Bool;
        if !takes_bool && !of.of_type.may_be_one_of(&numbers) {
            let message = format!("a value of type {} cannot become {gives}", of.of_type);
            return self.refuse(id, message, "write a number or a string");
        }
        Some(Typed::new(gives, Node::Call(function, [of.node].into())))
    }

    fn matches(&mut self, text: &Tree, pattern: &Tree) -> Option<Typed> {
        let typed_text = self.node(text)?;
        if !typed_text.of_type.may_be(&Type::Text) {
            let message = format!(
                "`matches` takes a string, and this is of type {}",
                typed_text.of_type
            );
            return self.refuse(text.id, message, "convert it: `string(…)`");
        }
        let Some(literal) = literal_text(self.node(pattern)?.node) else {
            let message = "a regular expression is written out, so that it is compiled once";
            return self.refuse(
                pattern.id,
                message,
                "write it in quotes: `request.path.matches(\"^/v[0-9]+/\")`",
            );
        };
        match compiled(&literal) {
            Ok(regex) => {
                let node = Node::Matches(Box::new(typed_text.node), regex);
                Some(Typed::new(Type::Bool, node))
            }
            Err(regex::Error::CompiledTooBig(_)) => {
                let message = format!(
                    "this regular expression takes more than {} KiB",
                    MAX_REGEX_BYTES / 1024
                );
                self.refuse(
                    pattern.id,
                    message,
                    "use fewer and smaller repetitions, and `[0-9]` for `\\d`",
                )
            }
            Err(error) => {
                // The last line of the crate's text says what, those before show where.
                let text = error.to_string();
                let reason = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ");
                let message = format!("this is no regular expression: {reason}");
                self.refuse(
                    pattern.id,
                    message,
                    "write it as in RE2, without look-around and back references",
                )
            }
        }
    }

    /// `cidr(networks).contains(text)`
    fn in_networks(&mut self, cidr: &Tree, text: &Tree) -> Option<Typed> {
        let networks = self.networks(cidr);
        let typed_text = self.node(text)?;
        if !typed_text.of_type.may_be(&Type::Text) {
            let message = format!(
                "an address is a string, and this is of type {}",
                typed_text.of_type
            );
            return self.refuse(text.id, message, "write `client.ip`");
        }
        let node = Node::InNetworks(Box::new(typed_text.node), networks?.into());
        Some(Typed::new(Type::Bool, node))
    }

    fn networks(&mut self, cidr: &Tree) -> Option<Vec<IpNet>> {
        let cure = "write `cidr(\"10.0.0.0/8\")`, or a list of networks";
        let Expr::Call(CallExpr { args, .. }) = &cidr.expr else {
            return None;
        };
        let texts: &[Tree] = match &args[..] {
            [
                Tree {
                    expr: Expr::List(list),
                    ..
                },
            ] => &list.elements,
            texts => texts,
        };
        if texts.is_empty() || texts.len() > MAX_NETWORKS {
            let message = format!("`cidr` takes 1 to {MAX_NETWORKS} networks");
            return self.refuse(cidr.id, message, cure);
        }
        let mut networks = Vec::new();
        for text in texts {
            let literal = literal_text(self.node(text)?.node);
            match literal.as_deref().map(network) {
                Some(Some(network)) => networks.push(network),
                Some(None) => self.complain(text.id, "this is no network", cure),
                None => self.complain(text.id, "networks are written out", cure),
            }
        }
        Some(networks)
    }
}

/// How what is called `name` is called.
fn form(name: &str) -> Option<&'static str> {
    Some(match name {
        "has" => "has(claims.plan)",
        "all" => "list.all(x, x > 1)",
        "exists" => "list.exists(x, x > 1)",
        "exists_one" => "list.exists_one(x, x > 1)",
        "filter" => "list.filter(x, x > 1)",
        "map" => "list.map(x, x + 1)",
        "size" => "size(list)",
        "contains" => "text.contains(\"a\")",
        "startsWith" => "text.startsWith(\"a\")",
        "endsWith" => "text.endsWith(\"a\")",
        "matches" => "text.matches(\"^a\")",
        "lowerAscii" => "text.lowerAscii()",
        "upperAscii" => "text.upperAscii()",
        "string" => "string(value)",
        "int" => "int(value)",
        "uint" => "uint(value)",
        "double" => "double(value)",
        "cidr" => "cidr(\"10.0.0.0/8\").contains(client.ip)",
        _ => return None,
    })
}

fn is_cidr(tree: &Tree) -> bool {
    matches!(&tree.expr, Expr::Call(call) if call.func_name == "cidr" && call.target.is_none())
}

fn literal_text(node: Node) -> Option<String> {
    match node {
        Node::Literal(Value::Text(text)) => Some(text.to_string()),
        _ => None,
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(4 * MAX_REGEX_BYTES)
        .nest_limit(32)
        .build()
}

/// A network, or an address for itself alone.
fn network(text: &str) -> Option<IpNet> {
    let network = text.parse::<IpNet>().ok();
    network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}
