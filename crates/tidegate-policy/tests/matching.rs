//! The index finds what asking every policy one by one would find.

mod common;

use common::{Asked, names};
use proptest::prelude::*;

/// A policy as the naive matcher knows it.
#[derive(Clone, Debug)]
struct Rule {
    methods: Vec<&'static str>,
    hosts: Vec<&'static str>,
    paths: Vec<String>,
    header: Option<Value>,
    query: Option<Value>,
    cookie: Option<Value>,
}

#[derive(Clone, Debug)]
enum Value {
    OneOf(Vec<&'static str>),
    Prefix(&'static str),
    Present(bool),
}

impl Rule {
    fn yaml(&self, name: &str) -> String {
        let mut matching = Vec::new();
        if !self.methods.is_empty() {
            matching.push(format!("method: [{}]", self.methods.join(", ")));
        }
        for (field, texts) in [
            ("host", self.hosts.iter().map(|host| host.to_string()).collect()),
            ("path", self.paths.clone()),
        ] {
            if !texts.is_empty() {
                let texts: Vec<_> = texts.iter().map(|text: &String| format!("{text:?}")).collect();
                matching.push(format!("{field}: [{}]", texts.join(", ")));
            }
        }
        for (field, name, value) in [
            ("headers", "x-kind", &self.header),
            ("query", "kind", &self.query),
            ("cookies", "kind", &self.cookie),
        ] {
            if let Some(value) = value {
                matching.push(format!("{field}: {{ {name}: {} }}", value.yaml()));
            }
        }
        let matching = matching.join(", ");
        format!(
            "  - {{ name: {name}, match: {{ {matching} }}, key: [method], limit: {{ quota: 1, window: 1s }} }}\n"
        )
    }

    fn matches(&self, asked: &Asked) -> bool {
        let bare = asked
            .host
            .split_once(':')
            .map_or(asked.host.as_str(), |(name, _)| name)
            .to_lowercase();
        let bare = bare.trim_end_matches('.');
        let host_fits = |host: &&str| match host.strip_prefix("*.") {
            Some(parent) => bare.ends_with(&format!(".{parent}")),
            None => bare == *host,
        };
        (self.methods.is_empty() || self.methods.contains(&asked.method.as_str()))
            && (self.hosts.is_empty() || self.hosts.iter().any(host_fits))
            && (self.paths.is_empty() || self.paths.iter().any(|pattern| path_fits(pattern, &asked.path)))
            && fits(&self.header, &asked.headers)
            && fits(&self.query, &asked.query)
            && fits(&self.cookie, &asked.cookies)
    }
}

impl Value {
    fn yaml(&self) -> String {
        match self {
            Self::OneOf(values) => format!("[{}]", values.join(", ")),
            Self::Prefix(prefix) => format!("{{ prefix: {prefix} }}"),
            Self::Present(present) => format!("{{ present: {present} }}"),
        }
    }
}

fn fits(wanted: &Option<Value>, values: &[&str]) -> bool {
    match wanted {
        None => true,
        Some(Value::OneOf(wanted)) => values.iter().any(|value| wanted.contains(value)),
        Some(Value::Prefix(prefix)) => values.iter().any(|value| value.starts_with(prefix)),
        Some(Value::Present(present)) => values.is_empty() != *present,
    }
}

fn path_fits(pattern: &str, path: &str) -> bool {
    fn rest_fits(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            (["**"], _) | ([], []) => true,
            ([first, pattern @ ..], [segment, path @ ..]) => {
                let is_any = *first == "*" || first.starts_with('{');
                (is_any || first == segment) && rest_fits(pattern, path)
            }
            _ => false,
        }
    }
    let segments = |text| -> Vec<&str> {
        str::split(text, '/')
            .filter(|segment| !segment.is_empty())
            .collect()
    };
    rest_fits(&segments(pattern), &segments(path))
}

fn value() -> impl Strategy<Value = Option<Value>> {
    let words = || prop::sample::select(vec!["a", "ab", "b", "abc"]);
    prop_oneof![
        6 => Just(None),
        2 => prop::collection::vec(words(), 1..3).prop_map(|values| Some(Value::OneOf(values))),
        1 => words().prop_map(|prefix| Some(Value::Prefix(prefix))),
        1 => any::<bool>().prop_map(|present| Some(Value::Present(present))),
    ]
}

fn segment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "login"])
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop_oneof![4 => segment().prop_map(str::to_owned), 1 => Just("*".to_owned()), 1 => Just("{id}".to_owned())];
    let ending = prop_oneof![Just(""), Just("/"), Just("/**")];
    (prop::collection::vec(part, 0..4), ending).prop_map(|(parts, ending)| {
        let mut seen = false;
        let parts: Vec<_> = parts
            .into_iter()
            .map(|part| {
                if part == "{id}" && std::mem::replace(&mut seen, true) {
                    "*".to_owned()
                } else {
                    part
                }
            })
            .collect();
        let text = format!("/{}{ending}", parts.join("/"));
        text.replace("//", "/")
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let methods = prop::collection::vec(prop::sample::select(vec!["GET", "POST"]), 0..2);
    let hosts = prop::sample::select(vec!["a.com", "x.a.com", "b.com", "*.a.com", "*.x.a.com", "*.com"]);
    (
        methods,
        prop::collection::vec(hosts, 0..3),
        prop::collection::vec(pattern(), 0..3),
        value(),
        value(),
        value(),
    )
        .prop_map(|(methods, hosts, paths, header, query, cookie)| Rule {
            methods,
            hosts,
            paths,
            header,
            query,
            cookie,
        })
}

fn asked() -> impl Strategy<Value = Asked> {
    let method = prop::sample::select(vec!["GET", "POST", "PUT"]);
    let host = prop::sample::select(vec![
        "a.com",
        "X.a.com:8080",
        "y.x.a.com.",
        "b.com",
        "c.org",
        "",
        "com",
        "..a.com",
    ]);
    let path = (prop::collection::vec(segment(), 0..5), any::<bool>()).prop_map(|(parts, slash)| {
        let end = if slash && !parts.is_empty() { "/" } else { "" };
        format!("/{}{end}", parts.join("/"))
    });
    let values = || prop::collection::vec(prop::sample::select(vec!["a", "ab", "b", "abc", "z"]), 0..3);
    (method, host, path, values(), values(), values()).prop_map(
        |(method, host, path, headers, query, cookies)| Asked {
            method: method.to_owned(),
            host: host.to_owned(),
            path,
            headers,
            query,
            cookies,
            ..Asked::default()
        },
    )
}

/// Spells `path` in another way that some origin reads the same; `choices` says how.
fn disguise(path: &str, choices: &[u8]) -> String {
    let mut disguised = String::new();
    for (place, byte) in path.bytes().enumerate() {
        match (choices[place % choices.len()] % 6, byte) {
            (0, b'/') => disguised.push_str("//"),
            (1, b'/') => disguised.push_str("/./"),
            (2, b'/') => disguised.push_str("/x/../"),
            (3, b'/') if place > 0 => disguised.push_str(";v=1/"),
            (0, byte) => disguised += &format!("%{byte:02x}"),
            (4, byte) => disguised.push(char::from(byte.to_ascii_uppercase())),
            (1, byte) if byte != b'/' => disguised += &format!("%{byte:02X}"),
            _ => disguised.push(char::from(byte)),
        }
    }
    disguised
}

#[test]
fn the_case_of_a_path_dodges_no_policy_and_names_no_second_one() {
    let set = common::set(
        "policies:
  - { name: p, match: { path: /Api/login }, key: [method], limit: { quota: 1, window: 1s } }
",
    );
    for path in ["/api/login", "/Api/login", "/API/LOGIN", "/api/%4cogin"] {
        let asked = Asked {
            path: path.to_owned(),
            ..Asked::default()
        };
        assert_eq!(names(&set, &asked), ["p"], "{path}");
    }
}

proptest! {
    #[test]
    fn the_index_finds_exactly_what_asking_each_policy_finds(
        rules in prop::collection::vec(rule(), 1..12),
        requests in prop::collection::vec(asked(), 1..20),
    ) {
        let yaml: String = rules.iter().enumerate().map(|(number, rule)| rule.yaml(&format!("p{number}"))).collect();
        let set = common::set(&format!("policies:\n{yaml}"));
        for asked in requests {
            let naive: Vec<String> = rules
                .iter()
                .enumerate()
                .filter(|(_, rule)| rule.matches(&asked))
                .map(|(number, _)| format!("p{number}"))
                .collect();
            prop_assert_eq!(names(&set, &asked), naive, "{:?}", asked);
        }
    }

    #[test]
    fn no_spelling_of_a_path_dodges_a_policy(
        rules in prop::collection::vec(rule(), 1..8),
        asked in asked(),
        choices in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let yaml: String = rules.iter().enumerate().map(|(number, rule)| rule.yaml(&format!("p{number}"))).collect();
        let set = common::set(&format!("policies:\n{yaml}"));
        let plain = names(&set, &asked);
        let disguised = Asked { path: disguise(&asked.path, &choices), ..asked.clone() };
        let found = names(&set, &disguised);
        for name in plain {
            prop_assert!(found.contains(&name), "{} is dodged by {} ({})", name, disguised.path, asked.path);
        }
    }
}
