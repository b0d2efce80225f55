//! envoyproxy/ratelimit's look-up, written down as slowly as it is described, beside the set's.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{LIMIT, charged, set};

/// What a policy says of one entry: the key, and the value if one is written.
type Level = (&'static str, Option<&'static str>);

/// One place of the configuration.
#[derive(Default)]
struct Place {
    limits: Vec<String>,
    below: HashMap<String, Place>,
    /// Those names below that have a `*`, in the order of the file.
    wildcards: Vec<String>,
}

fn name((key, value): &Level) -> String {
    value.map_or_else(|| (*key).to_owned(), |value| format!("{key}_{value}"))
}

fn configured(paths: &[Vec<Level>]) -> Place {
    let mut root = Place::default();
    for (number, path) in paths.iter().enumerate() {
        let mut place = &mut root;
        for level in path {
            let name = name(level);
            if name.contains('*') && !place.wildcards.contains(&name) {
                place.wildcards.push(name.clone());
            }
            place = place.below.entry(name).or_default();
        }
        place.limits.push(format!("p{number}"));
    }
    root
}

/// Whether `text` is `pattern` with each `*` as some run of characters, by trying every run.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(first) else {
        return false;
    };
    (0..=text.len()).any(|skipped| is_like(rest, &text[skipped..]))
}

/// The limits that hold for a descriptor.
fn looked_up<'p>(root: &'p Place, entries: &[(&str, &str)]) -> &'p [String] {
    let mut place = root;
    for (number, (key, value)) in entries.iter().enumerate() {
        let full = format!("{key}_{value}");
        let wildcard = place.wildcards.iter().find(|wildcard| is_like(wildcard, &full));
        let exact = place.below.get(&full);
        let next = exact
            .or_else(|| place.below.get(wildcard?))
            .or_else(|| place.below.get(*key));
        let Some(next) = next else {
            return &[];
        };
        if number == entries.len() - 1 {
            return &next.limits;
        }
        place = next;
    }
    &[]
}

fn level() -> impl Strategy<Value = Level> {
    let values = &["x", "y", "xy", "x*", "*y", "*", "x*y", "*x*"];
    let value = prop::option::weighted(0.8, prop::sample::select(&values[..]));
    (prop::sample::select(&["a", "b"][..]), value)
}

fn entry() -> impl Strategy<Value = (&'static str, &'static str)> {
    let values = &["", "x", "y", "xy", "xxy", "yx", "x*", "*", "z"];
    (
        prop::sample::select(&["a", "a", "b", "c"][..]),
        prop::sample::select(&values[..]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn policies_are_found_as_envoyproxy_ratelimit_finds_limits(
        paths in prop::collection::vec(prop::collection::vec(level(), 1..4), 1..12),
        descriptors in prop::collection::vec(prop::collection::vec(entry(), 0..5), 16),
    ) {
        let item = |(key, value): &Level| match value {
            Some(value) => format!("{{ {key}: '{value}' }}"),
            None => (*key).to_owned(),
        };
        let policies = paths.iter().enumerate().map(|(number, path)| {
            let items: Vec<String> = path.iter().map(item).collect();
            let items = items.join(", ");
            format!("  - {{ name: p{number}, match: {{ domain: shop, descriptor: [{items}] }}, {LIMIT} }}\n")
        });
        let set = set(&format!("policies:\n{}", policies.collect::<String>()));
        let root = configured(&paths);
        for entries in &descriptors {
            prop_assert_eq!(charged(&set, entries), looked_up(&root, entries), "{:?}", entries);
        }
    }
}
