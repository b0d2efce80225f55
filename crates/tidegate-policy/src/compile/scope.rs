//! Which requests a policy speaks about and what it counts them by, in words.

use super::expression::is_expression;
use super::schedule;
use crate::document::descriptor::{CallText, LevelText};
use crate::document::matching::{FieldText, MatchText, WantedText};
use crate::document::node::Spanned;
use crate::document::policy::{CostText, OnMissing, PolicyText};

/// Which requests match: `POST /login on a.test`.
pub(super) fn requests(matching: &MatchText) -> String {
    let mut words: Vec<String> = [&matching.method, &matching.path]
        .into_iter()
        .filter(|texts| !texts.is_empty())
        .map(|texts| any_of(texts))
        .collect();
    if words.is_empty() {
        words.push("any request".to_owned());
    }
    if !matching.host.is_empty() {
        words.push(format!("on {}", any_of(&matching.host)));
    }
    for (kind, fields) in [
        ("header", &matching.headers),
        ("query", &matching.query),
        ("cookie", &matching.cookies),
        ("body", &matching.body),
    ] {
        words.extend(fields.iter().map(|field| condition(kind, field)));
    }
    words.join(" ")
}

/// Which calls of the rate limit service match: `descriptors generic_key = api, remote_address of the domain shop`.
fn calls(call: &CallText) -> String {
    let domain = call.domain.as_ref().map_or("", |domain| &domain.value);
    let Some(descriptor) = &call.descriptor else {
        return format!("calls of the domain {domain}");
    };
    let level = |level: &LevelText| match &level.value {
        Some(value) => format!("{} = {}", level.key.value, value.value),
        None => level.key.value.clone(),
    };
    let levels: Vec<String> = descriptor.levels.iter().map(level).collect();
    format!("descriptors {} of the domain {domain}", levels.join(", "))
}

/// What the policy in `text` counts by, in words.
fn counted(text: &PolicyText) -> String {
    if text.unlimited.is_some() {
        return ", unlimited".to_owned();
    }
    let key = text.key.iter().flatten().map(|part| part.value.as_str());
    let key: Vec<String> = key
        .map(|part| match is_expression(part) {
            true => format!("`{}`", one_line(part)),
            false => part.to_owned(),
        })
        .collect();
    match &text.matching.call {
        Some(call) if key.is_empty() && call.descriptor.is_none() => ", counted together".to_owned(),
        Some(_) if key.is_empty() => ", counted by descriptor".to_owned(),
        _ => format!(", counted by {}", key.join(" and ")),
    }
}

/// The scope of the policy in `text`: `POST /login, counted by client.ip`.
pub(super) fn in_words(text: &PolicyText) -> String {
    let subject = text
        .matching
        .call
        .as_ref()
        .map_or_else(|| requests(&text.matching), calls);
    let condition = text
        .when
        .as_ref()
        .map_or_else(String::new, |when| format!(" when `{}`", one_line(&when.value)));
    let counted = counted(text);
    let cost = match &text.cost {
        Some(CostText::Computed(cost)) => format!(", costs `{}`", one_line(&cost.value)),
        Some(CostText::Fixed(_)) | None => String::new(),
    };
    let missing = match text.on_missing.as_ref().map(|said| said.value) {
        None | Some(OnMissing::Deny) => "",
        Some(OnMissing::Skip) => " where it has that",
        Some(OnMissing::Fallback) => ", else by address",
    };
    let when = text.schedule.as_ref().map_or_else(String::new, |spans| {
        format!(", only {}", schedule::in_words(spans))
    });
    let replaced = match text.replaces.is_empty() {
        true => String::new(),
        false => format!(", in place of {}", all_of(&text.replaces)),
    };
    format!("{subject}{condition}{counted}{missing}{cost}{replaced}{when}")
}

/// An expression without its line breaks.
fn one_line(expression: &str) -> String {
    expression.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn any_of(texts: &[Spanned<String>]) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
    texts.join(" or ")
}

fn all_of(texts: &[Spanned<String>]) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
    texts.join(" and ")
}

fn condition(kind: &str, field: &FieldText) -> String {
    let name = &field.name.value;
    match &field.wanted {
        WantedText::OneOf(values) => format!("with {kind} {name} = {}", values.join(" or ")),
        WantedText::Prefix(prefix) => format!("with {kind} {name} = {prefix}…"),
        WantedText::Present => format!("with {kind} {name}"),
        WantedText::Absent => format!("without {kind} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::KeyHasher;

    use crate::{PolicyFile, compile};

    fn scope(of: &str) -> String {
        let limit = "limit: { quota: 1, window: 1s }";
        let others =
            ["b", "c"].map(|name| format!("  - {{ name: {name}, match: {{ domain: shop }}, {limit} }}\n"));
        let text = format!("policies:\n  - {{ name: a, {limit}, {of} }}\n{}", others.concat());
        let file = PolicyFile {
            name: "a.yaml",
            text: &text,
        };
        let compiled =
            compile(file, &KeyHasher::new([0; 16])).unwrap_or_else(|problems| panic!("{problems}"));
        compiled.config.policies.policies()[0].scope.to_string()
    }

    #[test]
    fn a_policy_says_which_requests_it_speaks_about_and_what_it_counts_them_by() {
        for (of, words) in [
            ("key: [client.ip]", "any request, counted by client.ip"),
            (
                "match: { method: POST, path: /login }, key: [client.ip]",
                "POST /login, counted by client.ip",
            ),
            (
                "match: { method: [GET, HEAD], path: [/a, '/b/**'], host: a.test }, key: [client.ip, host]",
                "GET or HEAD /a or /b/** on a.test, counted by client.ip and host",
            ),
            (
                "match: { headers: { x-plan: [a, b], x-c: { prefix: d } } }, key: [header.x-plan], on_missing: skip",
                "any request with header x-plan = a or b with header x-c = d…, counted by header.x-plan where it has that",
            ),
            (
                "key: [header.x-tenant], on_missing: fallback",
                "any request, counted by header.x-tenant, else by address",
            ),
            (
                "match: { domain: shop, descriptor: [{ generic_key: 'api*' }, remote_address] }",
                "descriptors generic_key = api*, remote_address of the domain shop, counted by descriptor",
            ),
            (
                "match: { domain: shop }, when: 'size(descriptors) > 1', key: ['descriptors[0].user'], on_missing: skip",
                "calls of the domain shop when `size(descriptors) > 1`, counted by `descriptors[0].user` where it has that",
            ),
            (
                "match: { domain: shop }",
                "calls of the domain shop, counted together",
            ),
            (
                "key: [client.ip], schedule: [{ days: [tue, mon], hours: '08:00-18:00', time_zone: Europe/Berlin }, { days: sat }]",
                "any request, counted by client.ip, only mon, tue 08:00-18:00 (Europe/Berlin) or sat (UTC)",
            ),
        ] {
            assert_eq!(scope(of), words);
        }
    }

    #[test]
    fn what_is_unlimited_is_not_said_to_be_counted() {
        let text =
            "policies: [{ name: a, match: { domain: shop, descriptor: [{ user: x }] }, limit: unlimited }]";
        let compiled = compile(PolicyFile { name: "a.yaml", text }, &KeyHasher::new([0; 16])).unwrap();
        let policy = &compiled.config.policies.policies()[0];
        assert_eq!(
            &*policy.scope,
            "descriptors user = x of the domain shop, unlimited"
        );
        assert!(policy.is_unlimited());
    }
}
