//! Types are checked when the file is read, and what was checked becomes steps.

mod call;
mod operator;

use std::ops::Range;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators};
use cel::parser::Expression as Tree;

use super::About;
use super::code::{Loop, LoopKind, Node};
use super::parse::{Complaint, Places};
use super::types::Type;
use super::value::Value;
use super::variables::{Named, Object, Variable};
use crate::document::report::{any_of, nearest, quoted};

/// The most steps of an expression.
pub(crate) const MAX_NODES: usize = 512;

/// The deepest tree. Long chains of `+` and `.` are deep, too.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many comprehensions may stand inside each other.
pub(crate) const MAX_LOOPS: usize = 2;

/// A step and the type of its value.
pub(super) struct Typed {
    pub(super) of_type: Type,
    pub(super) node: Node,
}

impl Typed {
    fn new(of_type: Type, node: Node) -> Self {
        Self { of_type, node }
    }
}

/// The steps of `tree`, whose text is `source`.
pub(super) fn check(tree: &Tree, source: &str, about: About) -> Result<Typed, Vec<Complaint>> {
    let mut checker = Checker {
        source,
        about,
        places: None,
        complaints: Vec::new(),
        locals: Vec::new(),
        nodes: 0,
        depth: 0,
    };
    match checker.node(tree) {
        Some(typed) if checker.complaints.is_empty() => Ok(typed),
        _ => Err(checker.complaints),
    }
}

/// Something that is being checked. What is wrong is complained about once; steps around it are None.
struct Checker<'s> {
    source: &'s str,
    about: About,
    /// Made for the first complaint.
    places: Option<Places<'s>>,
    complaints: Vec<Complaint>,
    /// The names that comprehensions have for their items, the innermost last.
    locals: Vec<(String, Type)>,
    nodes: usize,
    depth: usize,
}

impl Checker<'_> {
    fn node(&mut self, tree: &Tree) -> Option<Typed> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || self.depth == MAX_DEPTH {
            if self.complaints.is_empty() {
                let message = "this expression is too long or too deep";
                self.complain(tree.id, message, "write a shorter one, or several policies");
            }
            return None;
        }
        self.depth += 1;
        let typed = self.checked(tree);
        self.depth -= 1;
        typed
    }

    fn checked(&mut self, tree: &Tree) -> Option<Typed> {
        match &tree.expr {
            Expr::Literal(literal) => self.literal(tree.id, literal),
            Expr::Ident(name) => self.identifier(tree.id, name),
            Expr::Select(select) => self.select(tree, select),
            Expr::Call(call) => self.call(tree.id, call),
            Expr::Comprehension(comprehension) => self.comprehension(tree.id, comprehension),
            Expr::List(list) => self.list(tree.id, &list.elements),
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some((&entry.key, &entry.value)),
                    EntryExpr::StructField(_) => None,
                });
                self.map(tree.id, entries)
            }
            Expr::Struct(_) => {
                self.refuse(tree.id, "there are no messages here", "write a map: `{\"a\": 1}`")
            }
            Expr::Unspecified => self.refuse(
                tree.id,
                "something is missing here",
                "write a value, such as `1` or `\"a\"`",
            ),
        }
    }

    fn literal(&mut self, id: u64, literal: &LiteralValue) -> Option<Typed> {
        let (of_type, value) = match literal {
            LiteralValue::Null => (Type::Null, Value::Null),
            LiteralValue::Boolean(value) => (Type::Bool, Value::Bool(*value.inner())),
            LiteralValue::Int(value) => (Type::Int, Value::Int(*value.inner())),
            LiteralValue::UInt(value) => (Type::Uint, Value::Uint(*value.inner())),
            LiteralValue::Double(value) => (Type::Double, Value::Double(*value.inner())),
            LiteralValue::String(value) => (Type::Text, Value::made(value.inner())),
            LiteralValue::Bytes(_) => {
                return self.refuse(id, "bytes are not used here", "write a string, without `b`");
            }
        };
        Some(Typed::new(of_type, Node::Literal(value)))
    }

    fn identifier(&mut self, id: u64, name: &str) -> Option<Typed> {
        let local = self.locals.iter().rposition(|(own, _)| own == name);
        if let Some(local) = local {
            return Some(Typed::new(self.locals[local].1.clone(), Node::Local(local)));
        }
        match self.about.root().field(name) {
            Some(Named::Variable(variable)) => Some(named(variable)),
            Some(Named::Object(object)) => self.bare_object(id, object),
            None => self.unknown(id, name),
        }
    }

    fn bare_object(&mut self, id: u64, object: &Object) -> Option<Typed> {
        let message = format!("`{}` is no value of its own", object.name);
        let names: Vec<String> = object
            .names()
            .map(|name| format!("{}.{name}", object.name))
            .collect();
        let cure = format!("write {}", any_of(names.iter().map(String::as_str)));
        self.refuse(id, message, cure)
    }

    fn unknown(&mut self, id: u64, name: &str) -> Option<Typed> {
        let at = self.place(id);
        let message = format!("{} is not known here", quoted(name));
        let locals = self.locals.iter().map(|(name, _)| name.as_str());
        let root = self.about.root();
        let mut known: Vec<&str> = root.names().collect();
        known.extend(locals);
        let hyphenated = hyphenated(self.source, &at);
        if hyphenated.is_none()
            && let Some((message, cure)) = self.about.told_elsewhere(name)
        {
            self.complaints.push(Complaint::new(at, message, cure));
            return None;
        }
        let cure = if let Some((map, name)) = hyphenated {
            format!("a name with `-` goes in brackets: `{map}[\"{name}\"]`")
        } else if let Some(full) = full_name(root, name) {
            format!("did you mean `{full}`?")
        } else if let Some(known) = nearest(name, known) {
            format!("did you mean `{known}`?")
        } else {
            format!("write {}, or a string in quotes", any_of(root.names()))
        };
        self.complaints.push(Complaint::new(at, message, cure));
        None
    }

    fn select(&mut self, tree: &Tree, select: &SelectExpr) -> Option<Typed> {
        let field = select.field.as_str();
        if let Some(object) = self.object(&select.operand) {
            return match object.field(field) {
                Some(Named::Variable(variable)) if select.test => {
                    Some(Typed::new(Type::Bool, Node::HasVariable(variable)))
                }
                Some(Named::Variable(variable)) => Some(named(variable)),
                Some(Named::Object(_)) if select.test => {
                    Some(Typed::new(Type::Bool, Node::Literal(Value::Bool(true))))
                }
                Some(Named::Object(object)) => self.bare_object(tree.id, object),
                None => self.no_field(tree.id, object, field),
            };
        }
        let operand = self.node(&select.operand)?;
        let of_type = match operand.of_type {
            Type::Dyn => Type::Dyn,
            Type::Map(key, value) if key.may_be(&Type::Text) => *value,
            other => {
                let message = format!("a value of type {other} has no field {}", quoted(field));
                return self.refuse(
                    tree.id,
                    message,
                    "fields are of maps: `body.json.name`, `claims.plan`",
                );
            }
        };
        self.header_name(tree.id, &operand.node, field)?;
        let (operand, field) = (Box::new(operand.node), field.into());
        Some(if select.test {
            Typed::new(Type::Bool, Node::Has(operand, field))
        } else {
            Typed::new(of_type, Node::Select(operand, field))
        })
    }

    /// The object that `tree` names, if it names one: `request`, `body.graphql`.
    fn object(&self, tree: &Tree) -> Option<&'static Object> {
        let found = match &tree.expr {
            Expr::Ident(name) if !self.locals.iter().any(|(own, _)| own == name) => {
                self.about.root().field(name)
            }
            Expr::Select(select) if !select.test => self.object(&select.operand)?.field(&select.field),
            _ => None,
        };
        match found? {
            Named::Object(object) => Some(object),
            Named::Variable(_) => None,
        }
    }

    fn no_field(&mut self, id: u64, object: &Object, field: &str) -> Option<Typed> {
        let message = format!("`{}` has no field {}", object.name, quoted(field));
        let cure = match nearest(field, object.names()) {
            Some(known) => format!("did you mean `{}.{known}`?", object.name),
            None => format!("write {}", any_of(object.names())),
        };
        self.refuse(id, message, cure)
    }

    /// Complains about a header field's name that no request has: here they are in lower case.
    fn header_name(&mut self, id: u64, map: &Node, name: &str) -> Option<()> {
        let of_headers = matches!(map, Node::Variable(Variable::RequestHeaders));
        if of_headers && name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            let message = format!(
                "{} is never there: header fields are named in lower case",
                quoted(name)
            );
            let cure = format!("write `request.headers[\"{}\"]`", name.to_ascii_lowercase());
            return self.refuse(id, message, cure);
        }
        Some(())
    }

    fn list(&mut self, id: u64, elements: &[Tree]) -> Option<Typed> {
        let typed: Vec<Option<Typed>> = elements.iter().map(|element| self.node(element)).collect();
        let typed: Vec<Typed> = typed.into_iter().collect::<Option<_>>()?;
        let (types, nodes): (Vec<Type>, Vec<Node>) =
            typed.into_iter().map(|typed| (typed.of_type, typed.node)).unzip();
        let of_type = self.one_type(id, types, "a list")?;
        Some(Typed::new(Type::list(of_type), Node::List(nodes.into())))
    }

    fn map<'t>(&mut self, id: u64, entries: impl Iterator<Item = (&'t Tree, &'t Tree)>) -> Option<Typed> {
        let (mut keys, mut values, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_right = true;
        for (key, value) in entries {
            let (Some(key), Some(value)) = (self.node(key), self.node(value)) else {
                is_right = false;
                continue;
            };
            if !key
                .of_type
                .may_be_one_of(&[Type::Text, Type::Int, Type::Uint, Type::Bool])
            {
                let message = format!("a value of type {} cannot be a key", key.of_type);
                self.refuse::<()>(id, message, "write a string: `{\"a\": 1}`");
                is_right = false;
            }
            keys.push(key.of_type);
            values.push(value.of_type);
            nodes.push((key.node, value.node));
        }
        let key = self.one_type(id, keys, "the keys of a map")?;
        let value = self.one_type(id, values, "the values of a map")?;
        is_right.then(|| Typed::new(Type::map(key, value), Node::Map(nodes.into())))
    }

    /// The type that all of `types` are of.
    fn one_type(&mut self, id: u64, types: Vec<Type>, what: &str) -> Option<Type> {
        let mut types = types.into_iter();
        let mut all = types.next().unwrap_or(Type::Dyn);
        for next in types {
            let message = format!("{what} of one type, and these are {all} and {next}");
            let Some(both) = all.join(next) else {
                return self.refuse(id, message, "write values of one type");
            };
            all = both;
        }
        Some(all)
    }

    /// What the crate's macros make of `list.all(x, …)` and the others, read back.
    fn comprehension(&mut self, id: u64, tree: &ComprehensionExpr) -> Option<Typed> {
        let over = self.node(&tree.iter_range)?;
        if self.locals.len() == MAX_LOOPS {
            let message =
                format!("at most {MAX_LOOPS} of `all`, `exists`, `map` and `filter` stand inside each other");
            return self.refuse(id, message, "write a simpler expression");
        }
        let item = match over.of_type {
            Type::Dyn => Type::Dyn,
            Type::List(of) => *of,
            Type::Map(key, _) => *key,
            other => {
                let message = format!("a value of type {other} has no items");
                return self.refuse(id, message, "write a list, or a map for its keys");
            }
        };
        self.locals.push((tree.iter_var.clone(), item));
        let body = self.loop_body(id, tree);
        self.locals.pop();
        let (of_type, body, kind) = body?;
        let over = over.node;
        Some(Typed::new(
            of_type,
            Node::Loop(Box::new(Loop { over, body, kind })),
        ))
    }

    fn loop_body(&mut self, id: u64, tree: &ComprehensionExpr) -> Option<(Type, Node, LoopKind)> {
        let step = match &tree.loop_step.expr {
            Expr::Call(step) => step,
            _ => {
                return self.refuse(
                    id,
                    "this macro is not used here",
                    "write `all`, `exists`, `map` or `filter`",
                );
            }
        };
        let (kind, condition) = match (step.func_name.as_str(), &step.args[..]) {
            (operators::LOGICAL_AND, [_, condition]) => (LoopKind::All, condition),
            (operators::LOGICAL_OR, [_, condition]) => (LoopKind::Exists, condition),
            (operators::CONDITIONAL, [condition, then, _]) => match appended(then) {
                Some(item) => {
                    let guard = self.condition(condition);
                    let item = self.node(item)?;
                    let guard = Some(guard?);
                    return Some((Type::list(item.of_type), item.node, LoopKind::Collect { guard }));
                }
                None => (LoopKind::ExistsOne, condition),
            },
            (operators::ADD, _) => {
                let item = self.node(appended(&tree.loop_step)?)?;
                let kind = LoopKind::Collect { guard: None };
                return Some((Type::list(item.of_type), item.node, kind));
            }
            _ => {
                return self.refuse(
                    id,
                    "this macro is not used here",
                    "write `all`, `exists`, `map` or `filter`",
                );
            }
        };
        let condition = self.condition(condition)?;
        Some((Type::Bool, condition, kind))
    }

    /// `tree`, which must be true or false.
    fn condition(&mut self, tree: &Tree) -> Option<Node> {
        let typed = self.node(tree)?;
        if !typed.of_type.may_be(&Type::Bool) {
            let message = format!(
                "a condition is of type bool, and this is of type {}",
                typed.of_type
            );
            return self.refuse(tree.id, message, "compare it with something: `… == 1`");
        }
        Some(typed.node)
    }

    fn place(&mut self, id: u64) -> Range<usize> {
        let places = self.places.get_or_insert_with(|| Places::of(self.source));
        places.of_node(id)
    }

    fn complain(&mut self, id: u64, message: impl Into<String>, cure: impl Into<String>) {
        let at = self.place(id);
        self.complaints.push(Complaint::new(at, message, cure));
    }

    fn refuse<T>(&mut self, id: u64, message: impl Into<String>, cure: impl Into<String>) -> Option<T> {
        self.complain(id, message, cure);
        None
    }
}

fn named(variable: Variable) -> Typed {
    Typed::new(variable.of_type(), Node::Variable(variable))
}

/// The item that `@result + [item]` appends.
fn appended(tree: &Tree) -> Option<&Tree> {
    match &tree.expr {
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == operators::ADD => match &args[..] {
            [result, items] => match (&result.expr, &items.expr) {
                (Expr::Ident(name), Expr::List(items)) if name == "@result" => items.elements.first(),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// What `name` may be short for: `method` for `request.method`, and what the plain parts of keys are called.
fn full_name(root: &Object, name: &str) -> Option<String> {
    let field = match name {
        "header" => "headers",
        "cookie" => "cookies",
        name => name,
    };
    let object = root.fields.iter().find_map(|(_, named)| match named {
        Named::Object(object) => object.field(field).map(|_| object.name),
        Named::Variable(_) => None,
    });
    object.map(|object| format!("{object}.{field}"))
}

/// The map and the name, where the word at `at` is the end of something like `request.headers.user-agent`.
fn hyphenated<'s>(source: &'s str, at: &Range<usize>) -> Option<(&'s str, String)> {
    let before = source.get(..at.start)?.strip_suffix('-')?;
    let start = before
        .rfind(|char: char| !(char.is_ascii_alphanumeric() || "_.-".contains(char)))
        .map_or(0, |place| place + 1);
    let (map, first) = before[start..].rsplit_once('.')?;
    Some((map, format!("{first}-{}", &source[at.clone()])))
}
