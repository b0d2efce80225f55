//! What `match` means.

use http::Method;

use super::body;
use super::identity::{cookie_name, header_name};
use crate::document::matching::{FieldText, MatchText, WantedText};
use crate::document::node::Spanned;
use crate::document::report::{Report, quoted};
use crate::set::conditions::{Conditions, Wanted};
use crate::set::host::{HostFault, HostPattern};
use crate::set::path::{MAX_PATTERN_BYTES, MAX_SEGMENTS, PathPattern, PatternFault};

pub(super) fn hosts(texts: &[Spanned<String>], report: &mut Report<'_>) -> Vec<HostPattern> {
    let mut hosts = Vec::new();
    for text in texts {
        match HostPattern::parse(&text.value) {
            Ok(host) if hosts.contains(&host) => twice(text, report),
            Ok(host) => hosts.push(host),
            Err(fault) => {
                let message = format!("{} is not a host", quoted(&text.value));
                report.error(text.at, message, host_cure(fault));
            }
        }
    }
    hosts
}

pub(super) fn paths(texts: &[Spanned<String>], report: &mut Report<'_>) -> Vec<PathPattern> {
    let mut paths = Vec::new();
    for text in texts {
        match PathPattern::parse(&text.value) {
            Ok(path) if paths.contains(&path) => twice(text, report),
            Ok(path) => paths.push(path),
            Err(fault) => {
                let message = format!("{} is not a path pattern", quoted(&text.value));
                report.error(text.at, message, path_cure(fault));
            }
        }
    }
    paths
}

pub(super) fn conditions(text: &MatchText, report: &mut Report<'_>) -> Conditions {
    let mut headers = Vec::new();
    for FieldText { name, wanted: value } in &text.headers {
        if let Some(name) = header_name(&name.value, name.at, report) {
            headers.push((name, wanted(value)));
        }
    }
    let mut cookies = Vec::new();
    for FieldText { name, wanted: value } in &text.cookies {
        if let Some(name) = cookie_name(&name.value, name.at, report) {
            cookies.push((name, wanted(value)));
        }
    }
    let mut body = Vec::new();
    for FieldText { name, wanted: value } in &text.body {
        if let Some(part) = body::part(&name.value, name.at, report) {
            body.push((part, wanted(value)));
        }
    }
    let query = text.query.iter();
    Conditions {
        methods: methods(&text.method, report),
        headers,
        query: query
            .map(|field| (field.name.value.clone(), wanted(&field.wanted)))
            .collect(),
        cookies,
        body,
    }
}

fn methods(texts: &[Spanned<String>], report: &mut Report<'_>) -> Vec<Method> {
    let mut methods = Vec::new();
    for text in texts {
        match Method::from_bytes(text.value.as_bytes()) {
            Ok(_) if text.value.bytes().any(|byte| byte.is_ascii_lowercase()) => {
                let message = format!(
                    "{} matches no request: methods are case-sensitive",
                    quoted(&text.value)
                );
                report.error(
                    text.at,
                    message,
                    format!("write `{}`", text.value.to_ascii_uppercase()),
                );
            }
            Ok(method) if methods.contains(&method) => twice(text, report),
            Ok(method) => methods.push(method),
            Err(_) => {
                let message = format!("{} cannot be a method", quoted(&text.value));
                report.error(text.at, message, "write such as `GET`, or `[POST, PUT]`");
            }
        }
    }
    methods
}

fn wanted(text: &WantedText) -> Wanted {
    match text {
        WantedText::OneOf(values) => Wanted::OneOf(values.clone()),
        WantedText::Prefix(prefix) => Wanted::Prefix(prefix.clone()),
        WantedText::Present => Wanted::Present,
        WantedText::Absent => Wanted::Absent,
    }
}

fn twice(text: &Spanned<String>, report: &mut Report<'_>) {
    report.warning(
        text.at,
        format!("{} is written twice", quoted(&text.value)),
        "keep one of them",
    );
}

fn host_cure(fault: HostFault) -> &'static str {
    match fault {
        HostFault::Port => "write the name alone, without scheme and port: `api.example.com`",
        HostFault::Wildcard => {
            "a `*` stands at the beginning, before a dot: `*.example.com`; no `host` at all means any"
        }
        HostFault::NoHost => "write a name such as `api.example.com`",
    }
}

fn path_cure(fault: PatternFault) -> String {
    match fault {
        PatternFault::NoSlash => "begin it with `/`".to_owned(),
        PatternFault::TooLong => {
            format!("write at most {MAX_SEGMENTS} segments and {MAX_PATTERN_BYTES} bytes")
        }
        PatternFault::Query => "write the path alone, and what the query must hold under `query`".to_owned(),
        PatternFault::Encoded => {
            "write the characters that are meant, decoded, and no `\\` or `;`".to_owned()
        }
        PatternFault::DotOrEmptySegment => "remove `//`, `.` and `..`".to_owned(),
        PatternFault::RestNotLast => "`**` stands at the end only; `*` stands for one segment".to_owned(),
        PatternFault::PartOfSegment => {
            "`*` and `{name}` stand for a whole segment: `/files/*` or `/users/{id}`".to_owned()
        }
        PatternFault::BadName => "name a segment with letters, digits, `_` and `-`: `{id}`".to_owned(),
        PatternFault::NameTwice => "give each segment a name of its own".to_owned(),
    }
}
