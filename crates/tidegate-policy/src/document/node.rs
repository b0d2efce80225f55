//! YAML as a tree in which everything knows its place.
//!
//! Built on parser events, not on serde: serde stops at its first error, and here every error is to come at once. All
//! scalars stay the text that was written, so that a header value of `1.0` or `007` is never taken for a number.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::report::{Report, quoted};
use crate::PolicyFile;

/// The longest policy file, in bytes.
pub(crate) const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// The deepest nesting of lists and mappings. A policy needs seven.
pub(crate) const MAX_DEPTH: usize = 24;

/// The most fields of one mapping.
pub(crate) const MAX_FIELDS: usize = 1000;

/// The most values in a file, copies made by aliases included.
pub(crate) const MAX_NODES: usize = 500_000;

/// The most bytes of text that aliases copy, all together.
pub(crate) const MAX_COPIED_BYTES: usize = MAX_FILE_BYTES;

/// Where something begins, from 1, and how many characters of its line it takes. Lines of several files are counted on from one to the
/// next; the report knows which file a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) width: usize,
}

impl Place {
    /// The beginning of a file.
    pub const START: Self = Self {
        line: 1,
        column: 1,
        width: 1,
    };

    /// What sorts places as they follow each other.
    pub fn order(self) -> (usize, usize) {
        (self.line, self.column)
    }

    fn of(span: Span, lines_before: usize) -> Self {
        let one_line = span.start.line() == span.end.line();
        Self {
            line: lines_before + span.start.line().max(1),
            column: span.start.col() + 1,
            width: if one_line { span.len().max(1) } else { 1 },
        }
    }
}

/// Something written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub at: Place,
}

/// A value and where it was written.
pub type Node = Spanned<Value>;

/// A value of YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Nothing,
    /// A scalar, as written, without its quotes.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<(Spanned<String>, Node)>),
}

impl Value {
    /// What messages call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }

    /// How many values it holds, itself included, and how many bytes of text.
    fn size(&self) -> Size {
        match self {
            Self::Nothing => Size { nodes: 1, bytes: 0 },
            Self::Text(text) => Size {
                nodes: 1,
                bytes: text.len(),
            },
            Self::List(items) => {
                let sizes = items.iter().map(|item| item.value.size());
                sizes.fold(Size { nodes: 1, bytes: 0 }, Size::plus)
            }
            Self::Map(entries) => {
                let sizes = entries.iter().map(|(key, node)| {
                    let key = Size {
                        nodes: 1,
                        bytes: key.value.len(),
                    };
                    key.plus(node.value.size())
                });
                sizes.fold(Size { nodes: 1, bytes: 0 }, Size::plus)
            }
        }
    }
}

/// How much of a tree there is.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// The tree of the one document in `text`. None, after an error in `report`, if there is none to be had.
pub(crate) fn parse(text: &str, report: &mut Report<'_>) -> Option<Node> {
    parse_behind(text, 0, report)
}

/// The trees of `files`, which `report` is of. One is missing, after an error, where there is none to be had.
pub fn parse_all(files: &[PolicyFile<'_>], report: &mut Report<'_>) -> Vec<Node> {
    let mut roots = Vec::new();
    let mut lines_before = 0;
    for file in files {
        roots.extend(parse_behind(file.text, lines_before, report));
        lines_before += file.text.lines().count() + 1;
    }
    roots
}

/// The same of a file that comes behind others, which have so many lines.
pub(crate) fn parse_behind(text: &str, lines_before: usize, report: &mut Report<'_>) -> Option<Node> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_FILE_BYTES / (1024 * 1024));
        let start = Place {
            line: lines_before + 1,
            ..Place::START
        };
        report.error(start, message, "split the policies over several instances");
        return None;
    }
    // The tree's own bound comes first, and says it better.
    let options = granit_parser::options! {
        flow_nesting_limit: 2 * MAX_DEPTH,
        block_nesting_limit: 2 * MAX_DEPTH,
    };
    let mut tree = Tree::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = match next {
            Ok(next) => next,
            Err(error) => {
                let at = Place {
                    line: lines_before + error.marker().line().max(1),
                    column: error.marker().col() + 1,
                    width: 1,
                };
                let cure = "write it as YAML: two spaces per level, `name: value`, texts with special characters in quotes";
                report.error(at, format!("this is not YAML: {}", error.info()), cure);
                return None;
            }
        };
        if let Err(refused) = tree.take(event, Place::of(span, lines_before), report) {
            report.error(Place::of(span, lines_before), refused.message, refused.cure);
            return None;
        }
    }
    tree.root
}

/// Why the tree cannot be built any further.
struct Refused {
    message: String,
    cure: &'static str,
}

fn refuse<T>(message: impl Into<String>, cure: &'static str) -> Result<T, Refused> {
    let message = message.into();
    Err(Refused { message, cure })
}

/// A tree in the making.
#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    spent: Spent,
}

/// A list or mapping whose end has not come yet.
struct Open {
    node: Node,
    /// The key whose value comes next, in a mapping.
    key: Option<Spanned<String>>,
    anchor: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>, at: Place, report: &mut Report<'_>) -> Result<(), Refused> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                no_tag(tag.is_some())?;
                let plain = style == ScalarStyle::Plain;
                let value = if plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
                    Value::Nothing
                } else {
                    Value::Text(text.into_owned())
                };
                self.add(Node { value, at }, anchor, report)
            }
            Event::SequenceStart(_, anchor, tag) => {
                no_tag(tag.is_some())?;
                self.open(Value::List(Vec::new()), at, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                no_tag(tag.is_some())?;
                self.open(Value::Map(Vec::new()), at, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.add(open.node, open.anchor, report),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let node = self.copy(anchor)?;
                self.add(node, 0, report)
            }
            Event::DocumentStart(..) if self.root.is_some() => refuse(
                "a second document begins here",
                "remove the line `---` and what follows",
            ),
            _ => Ok(()),
        }
    }

    fn open(&mut self, value: Value, at: Place, anchor: usize) -> Result<(), Refused> {
        if self.open.len() >= MAX_DEPTH {
            return refuse(
                "this is nested too deeply",
                "a policy file needs at most seven levels",
            );
        }
        let node = Node { value, at };
        self.open.push(Open {
            node,
            key: None,
            anchor,
        });
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize, report: &mut Report<'_>) -> Result<(), Refused> {
        self.spent.add(1)?;
        if anchor > 0 {
            self.spent.add(node.value.size().nodes)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => {
                let repeated = entries.iter().any(|(earlier, _)| earlier.value == key.value);
                if repeated {
                    let message = format!("{} is written twice in one mapping", quoted(&key.value));
                    report.error(key.at, message, "keep one of them");
                } else if entries.len() == MAX_FIELDS {
                    return refuse(
                        format!("a mapping has at most {MAX_FIELDS} fields"),
                        "write fewer",
                    );
                } else {
                    entries.push((key, node));
                }
            }
            (Value::Map(_), None) => open.key = Some(as_key(node)?),
            (Value::Nothing | Value::Text(_), _) => {}
        }
        Ok(())
    }

    /// What the anchor numbered `anchor` stands at.
    fn copy(&mut self, anchor: usize) -> Result<Node, Refused> {
        let Some(node) = self.anchors.get(&anchor) else {
            return refuse("this alias stands inside its own anchor", "write the value out");
        };
        let size = node.value.size();
        self.spent.copied_bytes += size.bytes;
        self.spent.add(size.nodes)?;
        Ok(node.clone())
    }
}

/// How much of what a file may hold was met so far.
#[derive(Default)]
struct Spent {
    nodes: usize,
    copied_bytes: usize,
}

impl Spent {
    fn add(&mut self, nodes: usize) -> Result<(), Refused> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return refuse(
                format!("the file has more than {MAX_NODES} values"),
                "write fewer, and use aliases sparingly: each one is a copy",
            );
        }
        if self.copied_bytes > MAX_COPIED_BYTES {
            let mebibytes = MAX_COPIED_BYTES / (1024 * 1024);
            return refuse(
                format!("aliases copy more than {mebibytes} MiB of text"),
                "write shorter texts, or fewer aliases: each one is a copy",
            );
        }
        Ok(())
    }
}

fn as_key(node: Node) -> Result<Spanned<String>, Refused> {
    let at = node.at;
    match node.value {
        Value::Text(value) => Ok(Spanned { value, at }),
        other => {
            let message = format!("a field's name is a word, and this is {}", other.kind());
            refuse(message, "write `name: value`")
        }
    }
}

fn no_tag(tagged: bool) -> Result<(), Refused> {
    if tagged {
        return refuse(
            "YAML tags are not used here",
            "remove the word that begins with `!`",
        );
    }
    Ok(())
}
