//! What `key` means.

use super::expression::{expression, is_expression};
use super::identity::{claim, cookie_name, header_name, judge_ipv6_prefix};
use super::{body, call};
use crate::Prefixes;
use crate::document::identity::IdentityText;
use crate::document::node::Spanned;
use crate::document::policy::{OnMissing, PolicyText};
use crate::document::report::{Report, nearest, quoted};
use crate::expression::{About, Use};
use crate::set::key::{From, Part, Recipe};
use crate::set::path::PathPattern;

/// The most parts of a key.
pub(super) const MAX_PARTS: usize = 16;

/// What parts look like, for cures.
const PARTS: &str = "a part is `client.ip`, `client.ip/48`, `identity`, `method`, `host`, `header.<name>`, `cookie.<name>`, `query.<name>`, `path.<name>`, `claims.<name>` or `body.json.<path>`";

/// Header fields in which proxies tell the client's address, and clients tell what they like.
const ADDRESS_HEADERS: [&str; 9] = [
    "x-forwarded-for",
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "x-original-forwarded-for",
];

pub(super) fn recipe(
    text: &PolicyText,
    paths: &[PathPattern],
    identity: &IdentityText,
    report: &mut Report<'_>,
) -> Option<Recipe> {
    let beyond = text.key.as_ref().and_then(|texts| texts.get(MAX_PARTS));
    if let Some(first_beyond) = beyond {
        let message = format!("a key has at most {MAX_PARTS} parts");
        report.error(first_beyond.at, message, "remove some");
    }
    let parts = match &text.matching.call {
        Some(call) => call::parts(text, call, report)?,
        None => parts(text, paths, identity, report)?,
    };
    let all_are_right = text.key.as_ref().is_none_or(|texts| parts.len() == texts.len());
    if let Some(on_missing) = &text.on_missing
        && all_are_right
        && text.unlimited.is_none()
        && !parts.iter().any(|part| part.from.may_be_missing())
    {
        let message = "`on_missing` says nothing here: every request has every part of this key";
        report.warning(on_missing.at, message, "remove it");
    }
    Some(Recipe {
        parts,
        on_missing: text
            .on_missing
            .as_ref()
            .map_or(OnMissing::default(), |on_missing| on_missing.value),
    })
}

fn parts(
    text: &PolicyText,
    paths: &[PathPattern],
    identity: &IdentityText,
    report: &mut Report<'_>,
) -> Option<Vec<Part>> {
    let texts = text.key.as_ref()?;
    let matching = &text.matching;
    let some_are_wrong = matching.path_is_wrong || !matching.path.is_empty();
    let paths = if paths.is_empty() && some_are_wrong {
        Paths::Unknown
    } else {
        Paths::Known(paths)
    };
    let mut parts: Vec<Part> = Vec::new();
    for text in texts {
        let Some(part) = part(text, paths, report) else {
            continue;
        };
        warn_if_twice(&parts, &part, text, report);
        if part.from == From::Identity && !identity.proves {
            let message = "nobody has an identity here: this counts by the client's address";
            report.warning(
                text.at,
                message,
                "add `identity: { api_key: … }` or `identity: { jwt: … }`, or write `client.ip`",
            );
        }
        if matches!(part.from, From::Claim(_)) && !identity.has_jwt {
            let message = "no request has claims here: they come with tokens";
            report.warning(
                text.at,
                message,
                "add `identity: { jwt: … }`, or remove this part",
            );
        }
        parts.push(part);
    }
    Some(parts)
}

/// Warns of a part that `earlier` ones have already.
pub(super) fn warn_if_twice(earlier: &[Part], part: &Part, text: &Spanned<String>, report: &mut Report<'_>) {
    if earlier.iter().any(|earlier| earlier.from == part.from) {
        let message = format!("{} is written twice", quoted(&text.value));
        report.warning(text.at, message, "keep one of them");
    }
}

fn part(text: &Spanned<String>, paths: Paths<'_>, report: &mut Report<'_>) -> Option<Part> {
    if is_expression(&text.value) {
        let expression = expression(text, About::Requests, Use::KeyPart, report)?;
        return Some(Part {
            text: text.value.clone(),
            from: From::Expression(expression),
        });
    }
    let from = match text.value.split_once('.') {
        None => match text.value.as_str() {
            "identity" => Some(From::Identity),
            "method" => Some(From::Method),
            "host" => Some(From::Host),
            _ => None,
        },
        Some(("client", "ip")) => Some(From::ClientIp),
        Some(("client", rest)) if rest.starts_with("ip/") => {
            Some(From::ClientNetwork(prefixes(text, &rest["ip/".len()..], report)?))
        }
        Some((_, "")) => None,
        Some(("header", name)) => Some(header(text, name, report)?),
        Some(("cookie", name)) => Some(From::Cookie(cookie_name(name, text.at, report)?)),
        Some(("query", name)) => Some(From::Query(name.to_owned())),
        Some(("body", part)) => Some(From::Body(body::part(part, text.at, report)?)),
        Some(("path", name)) => Some(path(text, name, paths, report)?),
        Some(("claims", name)) => {
            let name = Spanned {
                value: name.to_owned(),
                at: text.at,
            };
            Some(From::Claim(claim(&name, report)?))
        }
        Some(_) => None,
    };
    match from {
        // A header's name is spelt in one way in keys, or a change of case would begin new counters.
        Some(From::Header(name)) => Some(Part {
            text: format!("header.{name}"),
            from: From::Header(name),
        }),
        Some(from) => Some(Part {
            text: text.value.clone(),
            from,
        }),
        None => {
            unknown(text, report);
            None
        }
    }
}

fn header(text: &Spanned<String>, name: &str, report: &mut Report<'_>) -> Option<From> {
    let name = header_name(name, text.at, report)?;
    if ADDRESS_HEADERS.contains(&name.as_str()) {
        let message =
            format!("clients can write whatever they like into `{name}`, and have a new counter each time");
        let cure = "write `client.ip`, and name your proxies in `gateway.trusted_proxies`";
        report.error(text.at, message, cure);
    }
    Some(From::Header(name))
}

/// `48`, of IPv6, or `24/48`, of IPv4 and IPv6.
fn prefixes(text: &Spanned<String>, written: &str, report: &mut Report<'_>) -> Option<Prefixes> {
    let (v4, v6) = written.split_once('/').unwrap_or(("32", written));
    let bits = |text: &str, most: u8| text.parse().ok().filter(|bits| (1..=most).contains(bits));
    let (Some(v4), Some(v6)) = (bits(v4, 32), bits(v6, 128)) else {
        let message = format!("{} says no prefix", quoted(&text.value));
        let cure = "write `client.ip/48`, which counts IPv6 by 48 bits, or `client.ip/24/48`, which counts IPv4 by 24";
        report.error(text.at, message, cure);
        return None;
    };
    judge_ipv6_prefix(v6, text.at, report);
    Some(Prefixes { v4, v6 })
}

/// The path patterns of a policy.
#[derive(Clone, Copy)]
enum Paths<'p> {
    /// Those that are right.
    Known(&'p [PathPattern]),
    /// None of them is right, which has been reported: any name may stand in them.
    Unknown,
}

fn path(text: &Spanned<String>, name: &str, paths: Paths<'_>, report: &mut Report<'_>) -> Option<From> {
    let Paths::Known(paths) = paths else {
        return None;
    };
    let places: Option<Vec<usize>> = paths.iter().map(|path| path.named(name)).collect();
    let places = places.filter(|places| !places.is_empty());
    if places.is_none() {
        let segment = quoted(&format!("{{{name}}}"));
        let message = format!("not every path pattern of this policy has a segment {segment}");
        let cure = format!("name it in each: `match: {{ path: /users/{{{name}}}/** }}`");
        report.error(text.at, message, cure);
    }
    places.map(From::Path)
}

fn unknown(text: &Spanned<String>, report: &mut Report<'_>) {
    let message = format!("{} cannot be part of a key", quoted(&text.value));
    let (first, rest) = text.value.split_once('.').unwrap_or((&text.value, ""));
    let known = ["client.ip", "identity", "method", "host"];
    let cure = match nearest(&text.value, known) {
        _ if matches!(first, "descriptor" | "descriptors" | "domain") => {
            "calls of the rate limit service have that: add `match: { domain: …, descriptor: … }`".to_owned()
        }
        Some(known) => format!("did you mean `{known}`?"),
        None => match nearest(first, ["header", "cookie", "query", "path", "claims", "body"]) {
            Some(kind) if rest.is_empty() => format!("say which one: `{kind}.<name>`"),
            Some(kind) => format!("did you mean {}?", quoted(&format!("{kind}.{rest}"))),
            None => PARTS.to_owned(),
        },
    };
    report.error(text.at, message, cure);
}

impl From {
    fn may_be_missing(&self) -> bool {
        match self {
            Self::ClientIp
            | Self::ClientNetwork(_)
            | Self::Identity
            | Self::Method
            | Self::Path(_)
            | Self::Descriptor
            | Self::DescriptorEntry(_) => false,
            Self::Host
            | Self::Header(_)
            | Self::Cookie(_)
            | Self::Query(_)
            | Self::Body(_)
            | Self::Claim(_)
            | Self::Expression(_) => true,
        }
    }
}
