//! Keys that clients choose freely: whoever writes another value each time has a new counter each time.

use tidegate_core::Mode;

use super::expression::is_expression;
use crate::config::{IdentitySettings, KeyPlace, Treatment, Trust};
use crate::document::matching::{MatchText, WantedText};
use crate::document::node::Spanned;
use crate::document::policy::PolicyText;
use crate::document::report::{Report, quoted};

/// Warns of each policy that counts by a header field of the client's own while nothing else bounds its requests.
///
/// Where proxies are trusted, they may be who writes the field. Bodies, cookies and parameters are the origin's own affair:
/// to count sign-ins by account is right, though clients choose the account.
pub(super) fn warn(
    policies: &[PolicyText],
    identity: &IdentitySettings,
    trust: &Trust,
    report: &mut Report<'_>,
) {
    if *trust != Trust::Nobody {
        return;
    }
    for policy in policies
        .iter()
        .filter(|policy| enforces(policy) && policy.matching.call.is_none())
    {
        let Some((part, name)) = free_header(policy, identity) else {
            continue;
        };
        if policies.iter().any(|other| bounds(other, policy)) {
            continue;
        }
        let message = format!(
            "clients can write whatever they like into {}, and have a new counter each time",
            quoted(&name)
        );
        let cure = "add a policy that counts the same requests by `client.ip` or `identity` alone; if a proxy sets the field, name the proxy in `gateway.trusted_proxies`";
        report.warning(part.at, message, cure);
    }
}

fn enforces(policy: &PolicyText) -> bool {
    policy
        .mode
        .as_ref()
        .is_none_or(|mode| mode.value == Mode::Enforce)
}

/// The first part of the key that is a header field with any value the client likes, and the field's name.
fn free_header<'p>(
    policy: &'p PolicyText,
    identity: &IdentitySettings,
) -> Option<(&'p Spanned<String>, String)> {
    policy.key.iter().flatten().find_map(|part| {
        let name = part.value.strip_prefix("header.")?.to_ascii_lowercase();
        let is_free = !is_expression(&part.value)
            && !is_one_of_few(&name, &policy.matching)
            && !has_known_keys(&name, identity);
        is_free.then_some((part, name))
    })
}

/// Whether requests only match with one of the values that are written down.
fn is_one_of_few(name: &str, matching: &MatchText) -> bool {
    matching.headers.iter().any(|field| {
        field.name.value.eq_ignore_ascii_case(name) && matches!(field.wanted, WantedText::OneOf(_))
    })
}

/// Whether the field carries API keys, and unknown ones are turned away.
fn has_known_keys(name: &str, identity: &IdentitySettings) -> bool {
    let holds_key = |place: &KeyPlace| matches!(place, KeyPlace::Header(header) if header.as_str() == name);
    identity.api_key.as_ref().is_some_and(|settings| {
        settings.on_unknown == Treatment::Reject && settings.places.iter().any(holds_key)
    })
}

/// Whether `other` counts every request of `policy`, by nothing that clients choose.
fn bounds(other: &PolicyText, policy: &PolicyText) -> bool {
    let is_proven = |part: &Spanned<String>| part.value == "identity" || part.value.starts_with("client.ip");
    enforces(other)
        && other.matching.call.is_none()
        && other.when.is_none()
        && other.schedule.is_none()
        && other.key.iter().flatten().all(is_proven)
        && covers(&other.matching, &policy.matching)
}

/// Whether what matches `inner` surely matches `outer`.
fn covers(outer: &MatchText, inner: &MatchText) -> bool {
    let MatchText {
        headers,
        query,
        cookies,
        body,
        ..
    } = outer;
    let asks_no_more = [headers, query, cookies, body]
        .into_iter()
        .all(|fields| fields.is_empty());
    let same = |outer: &str, inner: &str| outer == inner;
    asks_no_more
        && any_covers(&outer.method, &inner.method, same)
        && any_covers(&outer.host, &inner.host, same)
        && any_covers(&outer.path, &inner.path, path_covers)
}

/// Whether each of `inner` is covered by one of `outer`; where nothing is written, everything matches.
fn any_covers(
    outer: &[Spanned<String>],
    inner: &[Spanned<String>],
    covers: impl Fn(&str, &str) -> bool,
) -> bool {
    let is_covered = |inner: &Spanned<String>| outer.iter().any(|outer| covers(&outer.value, &inner.value));
    outer.is_empty() || (!inner.is_empty() && inner.iter().all(is_covered))
}

fn path_covers(outer: &str, inner: &str) -> bool {
    let below = outer
        .strip_suffix("**")
        .is_some_and(|folder| folder.ends_with('/') && inner.starts_with(folder));
    below || outer == inner
}
