//! Several policy files as one.

use super::node::{Node, Spanned, Value};
use super::report::{Report, quoted};

/// Fields whose values follow each other from file to file.
const FOLLOWING: [&str; 4] = ["policies", "routes", "upstreams", "access"];

/// What `earlier` files and a `later` one say together.
pub(crate) fn joined(earlier: Option<Node>, later: Node, report: &mut Report<'_>) -> Node {
    let Some(mut earlier) = earlier else {
        return later;
    };
    match (&mut earlier.value, later.value) {
        // A file of comments says nothing.
        (_, Value::Nothing) => earlier,
        (Value::Nothing, value) => Node { value, at: later.at },
        (Value::Map(fields), Value::Map(more)) => {
            for (name, node) in more {
                add(fields, name, node, report);
            }
            earlier
        }
        (Value::Map(_), other) => {
            let message = format!("a policy file is a mapping, and this is {}", other.kind());
            report.error(
                later.at,
                message,
                "move files that are no policy files to another folder",
            );
            earlier
        }
        // Already an error of its own.
        (Value::Text(_) | Value::List(_), _) => earlier,
    }
}

type Fields = Vec<(Spanned<String>, Node)>;

fn add(fields: &mut Fields, name: Spanned<String>, node: Node, report: &mut Report<'_>) {
    let Some((first, known)) = fields.iter_mut().find(|(known, _)| known.value == name.value) else {
        fields.push((name, node));
        return;
    };
    if !FOLLOWING.contains(&&*name.value) {
        return twice(&name, first, report);
    }
    match (&mut known.value, node.value) {
        (Value::List(items), Value::List(more)) => items.extend(more),
        (Value::Map(fields), Value::Map(more)) if name.value == "access" => {
            more.into_iter()
                .for_each(|(list, entries)| extend(fields, list, entries));
        }
        (Value::Map(fields), Value::Map(more)) => {
            for (name, node) in more {
                match fields.iter().find(|(known, _)| known.value == name.value) {
                    Some((first, _)) => twice(&name, first, report),
                    None => fields.push((name, node)),
                }
            }
        }
        (_, Value::Nothing) => {}
        (known @ Value::Nothing, value) => *known = value,
        (known, other) => {
            let message = format!(
                "{} is {} here and {} in {}",
                quoted(&name.value),
                other.kind(),
                known.kind(),
                report.line_in_words(first.at)
            );
            report.error(name.at, message, "write it in the same way in all files");
        }
    }
}

/// One list of `access` goes on: each file writes one entry or a list of them.
fn extend(lists: &mut Fields, name: Spanned<String>, entries: Node) {
    let Some((_, known)) = lists.iter_mut().find(|(known, _)| known.value == name.value) else {
        lists.push((name, entries));
        return;
    };
    let at = known.at;
    let mut items = items(std::mem::replace(&mut known.value, Value::Nothing), at);
    items.extend(self::items(entries.value, entries.at));
    known.value = Value::List(items);
}

fn items(value: Value, at: super::node::Place) -> Vec<Node> {
    match value {
        Value::List(items) => items,
        Value::Nothing => Vec::new(),
        value => vec![Node { value, at }],
    }
}

fn twice(name: &Spanned<String>, first: &Spanned<String>, report: &mut Report<'_>) {
    let place = report.line_in_words(first.at);
    let message = format!("{} is written in {place} too", quoted(&name.value));
    report.error(name.at, message, "keep one of them");
}

#[cfg(test)]
mod tests {
    use tidegate_core::KeyHasher;

    use crate::{Compiled, PolicyFile, Problems, compile_all};

    fn together(texts: &[&str]) -> Result<Compiled, Problems> {
        let names = ["a.yaml", "b.yaml", "c.yaml"];
        let files: Vec<PolicyFile<'_>> = names
            .iter()
            .zip(texts)
            .map(|(name, text)| PolicyFile { name, text })
            .collect();
        compile_all(files[0], &files[1..], &KeyHasher::new([0; 16]))
    }

    fn policy(name: &str) -> String {
        format!("policies: [{{ name: {name}, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}]\n")
    }

    #[test]
    fn policies_routes_upstreams_and_lists_of_all_files_follow_each_other() {
        let one = policy("one")
            + "access: { deny: 192.0.2.1 }\n\
               upstreams: { x: { servers: [\"http://127.0.0.1:1\"] } }\n\
               routes: [{ match: { path: /x }, upstream: x }]\n";
        let two = policy("two")
            + "access: { deny: [192.0.2.9], allow: 192.0.2.3 }\n\
               upstreams: { y: { servers: [\"http://127.0.0.1:2\"] } }\n\
               routes: [{ match: { path: /y }, upstream: y }]\n";
        let config = together(&[&one, "# nothing\n", &two]).unwrap().config;
        let names: Vec<&str> = config
            .policies
            .policies()
            .iter()
            .map(|policy| &*policy.name)
            .collect();
        assert_eq!(names, ["one", "two"]);
        let upstreams = config.forwarding.upstreams.iter();
        assert_eq!(
            upstreams.map(|upstream| &*upstream.name).collect::<Vec<_>>(),
            ["x", "y"]
        );
        let routes = config.forwarding.routes.iter();
        assert_eq!(
            routes.map(|route| &*route.scope).collect::<Vec<_>>(),
            ["/x", "/y"]
        );
        let words = config.access.in_words();
        assert_eq!(
            words,
            [
                "denies 2 ranges of addresses",
                "allows, uncounted, 1 range of addresses"
            ]
        );
    }

    #[test]
    fn problems_carry_the_name_of_their_own_file_and_lines_of_their_own() {
        let bad = format!("# first\n{}", policy("x").replace("quota", "qouta"));
        let problems = together(&[&policy("a"), &bad]).unwrap_err().to_string();
        assert!(problems.starts_with("b.yaml:2:"), "{problems}");
        assert!(problems.contains("\n  2 | policies: [{ name: x"), "{problems}");
        let broken = together(&[&policy("a"), "policies: [\n"])
            .unwrap_err()
            .to_string();
        assert!(broken.contains("b.yaml:"), "{broken}");
    }

    #[test]
    fn what_may_stand_in_one_file_only_is_complained_of_with_both_places() {
        for (one, two, said) in [
            (
                "store: memory\n",
                "\nstore: memory\n",
                "b.yaml:2:1: error: `store` is written in line 1 of a.yaml too",
            ),
            (
                "upstreams: { x: { servers: [\"http://127.0.0.1:1\"] } }\n",
                "upstreams: { x: { servers: [\"http://127.0.0.1:2\"] } }\n",
                "b.yaml:1:14: error: `x` is written in line 1 of a.yaml too",
            ),
            (
                "policies: []\n",
                "policies: { a: b }\n",
                "`policies` is a mapping here and a list in line 1 of a.yaml",
            ),
            (
                "policies: []\n",
                "- a\n",
                "a policy file is a mapping, and this is a list",
            ),
        ] {
            let problems = together(&[one, two]).unwrap_err().to_string();
            assert!(problems.contains(said), "{problems}");
        }
        let one = policy("same");
        let problems = together(&[&one, &one]).unwrap_err().to_string();
        assert!(problems.starts_with("b.yaml:1:"), "{problems}");
    }
}
