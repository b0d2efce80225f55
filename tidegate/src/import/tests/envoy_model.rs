//! What a file of envoyproxy/ratelimit means, decided as slowly and plainly as can be, with one difference: a refused call spends nothing.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::replay::{Asked, Call};

/// A descriptor of the file.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) key: &'static str,
    pub(super) value: Option<&'static str>,
    pub(super) limit: Option<Limit>,
    pub(super) is_shadow: bool,
    pub(super) shares: bool,
    pub(super) nodes: Vec<Node>,
}

/// A limit of the file.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// None: unlimited.
    pub(super) rule: Option<(u64, Unit)>,
    pub(super) name: Option<&'static str>,
    pub(super) replaces: Vec<&'static str>,
}

/// A unit as it is written, and in milliseconds.
pub(super) type Unit = (&'static str, u64);

impl Node {
    /// As the file writes it.
    pub(super) fn as_json(&self) -> Value {
        let mut node =
            json!({ "key": self.key, "shadow_mode": self.is_shadow, "descriptors": as_json(&self.nodes) });
        if let Some(value) = self.value {
            node["value"] = json!(value);
        }
        if self.shares {
            node["share_threshold"] = json!(true);
        }
        if let Some(limit) = &self.limit {
            node["rate_limit"] = limit.as_json();
        }
        node
    }

    fn joined(&self) -> String {
        self.value
            .map_or(self.key.to_owned(), |value| format!("{}_{value}", self.key))
    }
}

impl Limit {
    fn as_json(&self) -> Value {
        let replaces: Vec<Value> = self.replaces.iter().map(|name| json!({ "name": name })).collect();
        let mut limit = match self.rule {
            None => json!({ "unlimited": true }),
            Some((requests, (unit, _))) => json!({ "requests_per_unit": requests, "unit": unit }),
        };
        limit["name"] = json!(self.name);
        limit["replaces"] = json!(replaces);
        limit
    }
}

/// As the file writes them.
pub(super) fn as_json(nodes: &[Node]) -> Vec<Value> {
    nodes.iter().map(Node::as_json).collect()
}

/// Counters by what they count and the window's beginning.
pub(super) struct Model<'n> {
    pub(super) nodes: &'n [Node],
    counts: HashMap<(Vec<String>, u64), u64>,
}

/// A limit that speaks about a descriptor of a call.
struct Spoken<'n> {
    limit: &'n Limit,
    is_shadow: bool,
    /// What is counted.
    counted: Vec<String>,
    hits: u64,
}

impl<'n> Model<'n> {
    pub(super) fn of(nodes: &'n [Node]) -> Self {
        Self {
            nodes,
            counts: HashMap::new(),
        }
    }

    /// Whether `call` passes.
    pub(super) fn passes(&mut self, call: &Call) -> bool {
        let spoken = call
            .descriptors
            .iter()
            .filter_map(|asked| self.find(asked, call.hits));
        let spoken: Vec<Spoken<'_>> = spoken.collect();
        let replaced: Vec<&str> = spoken
            .iter()
            .flat_map(|spoken| spoken.limit.replaces.clone())
            .collect();
        let mut spent: HashMap<(Vec<String>, u64), u64> = HashMap::new();
        let mut passes = true;
        for spoken in spoken {
            let is_replaced = spoken.limit.name.is_some_and(|name| replaced.contains(&name));
            let Some((quota, (_, unit_ms))) = spoken.limit.rule.filter(|_| !is_replaced) else {
                continue;
            };
            let counter = (spoken.counted, call.at_ms / unit_ms);
            let earlier = self.counts.get(&counter).unwrap_or(&0) + spent.get(&counter).unwrap_or(&0);
            if spoken.hits == 0 || earlier + spoken.hits <= quota {
                *spent.entry(counter).or_default() += spoken.hits;
            } else if !spoken.is_shadow {
                passes = false;
            }
        }
        if passes {
            for (counter, hits) in spent {
                *self.counts.entry(counter).or_default() += hits;
            }
        }
        passes
    }

    /// Level by level: the exact value, else the first pattern, else the bare key; a limit counts only at the last entry.
    fn find(&self, asked: &Asked, hits: Option<u64>) -> Option<Spoken<'n>> {
        let mut nodes = self.nodes;
        let mut counted = Vec::new();
        let mut found = None;
        for (key, value) in &asked.entries {
            let wanted = format!("{key}_{value}");
            let exact = nodes.iter().find(|node| node.joined() == wanted);
            let like =
                |node: &&Node| node.value.is_some() && matches(node.joined().as_bytes(), wanted.as_bytes());
            let node = exact
                .or_else(|| nodes.iter().find(like))
                .or_else(|| nodes.iter().find(|node| node.joined() == *key))?;
            counted.push(if node.shares { node.joined() } else { wanted });
            nodes = &node.nodes;
            found = Some(node);
        }
        let node = found?;
        Some(Spoken {
            limit: node.limit.as_ref()?,
            is_shadow: node.is_shadow,
            counted,
            hits: asked.hits.or(hits).unwrap_or(1),
        })
    }
}

/// Whether `text` is like `pattern`, in which `*` stands for any run.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skipped| matches(rest, &text[skipped..])),
        Some((byte, rest)) => text
            .split_first()
            .is_some_and(|(own, text)| own == byte && matches(rest, text)),
    }
}
