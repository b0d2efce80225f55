//! What a policy counts by: the parts of a key, and the key they make.

use std::borrow::Cow;
use std::net::IpAddr;

use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::Value as Json;
use smallvec::SmallVec;
use tidegate_core::{Key, KeyBuilder, KeyHasher};

use super::body::BodyPart;
use super::{host, parts};
use crate::document::policy::OnMissing;
use crate::expression::{CallScope, Expression, RequestScope, Scope, Text, Value as Computed};
use crate::identity::text_of;
use crate::request::body::{Kind, Seen};
use crate::{AddressPart, ClaimPath, Entry, ExpressionFault, Identity, NamedSubject, Prefixes, Request};

/// What a policy counts by.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) parts: Vec<Part>,
    /// What happens when a request lacks a part.
    pub(crate) on_missing: OnMissing,
}

/// One part of a key.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// As the file writes it: `header.x-tenant`.
    pub(crate) text: String,
    pub(crate) from: From,
}

/// Where a part comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum From {
    ClientIp,
    /// The client's address, by prefixes of this part's own.
    ClientNetwork(Prefixes),
    /// The subject, or for nobody in particular the client's address.
    Identity,
    Method,
    Host,
    Header(HeaderName),
    Cookie(String),
    Query(String),
    Body(BodyPart),
    /// What the token of the request claims.
    Claim(ClaimPath),
    /// For each path pattern of the policy, the segment that has the name.
    Path(Vec<usize>),
    Expression(Expression),
    /// Of a call, the entries of the descriptor that was matched.
    Descriptor,
    /// The value of one of them, by its place.
    DescriptorEntry(usize),
}

/// Where a request was found to match.
#[derive(Clone, Copy)]
pub(crate) struct Found<'v> {
    /// The place of the pattern in the policy.
    pub(crate) pattern: usize,
    /// The path, as it was read when it matched.
    pub(crate) segments: &'v [Cow<'v, [u8]>],
}

/// The values of a request that one key is made of.
pub(crate) type Values<'v> = SmallVec<[Value<'v>; 4]>;

/// One value, and of which kind it is: an address that stands in for a missing header is not a header of the same bytes.
pub(crate) struct Value<'v> {
    kind: u8,
    bytes: Bytes<'v>,
}

enum Bytes<'v> {
    Text(Cow<'v, [u8]>),
    Address(AddressPart),
    /// Of what a token says: a subject or a claim, which mean something only together with who says it.
    OfIssuer {
        issuer: &'v str,
        text: Cow<'v, str>,
    },
    /// Keys and values, and how many.
    Entries {
        count: [u8; 8],
        entries: &'v [Entry<'v>],
    },
}

/// Kinds of values. They are hashed, so a number once given keeps its meaning.
mod kind {
    pub(super) const ADDRESS: u8 = 1;
    pub(super) const SUBJECT: u8 = 2;
    pub(super) const ANONYMOUS: u8 = 3;
    pub(super) const METHOD: u8 = 4;
    pub(super) const HOST: u8 = 5;
    pub(super) const HEADER: u8 = 6;
    pub(super) const COOKIE: u8 = 7;
    pub(super) const QUERY: u8 = 8;
    pub(super) const PATH: u8 = 9;
    pub(super) const FALLBACK: u8 = 10;
    pub(super) const BODY_TEXT: u8 = 11;
    pub(super) const BODY_NUMBER: u8 = 12;
    pub(super) const BODY_BOOL: u8 = 13;
    pub(super) const TOKEN_SUBJECT: u8 = 14;
    pub(super) const CLAIMED_TEXT: u8 = 15;
    pub(super) const CLAIMED_NUMBER: u8 = 16;
    pub(super) const CLAIMED_BOOL: u8 = 17;
    pub(super) const COMPUTED_TEXT: u8 = 20;
    pub(super) const COMPUTED_WHOLE: u8 = 21;
    pub(super) const COMPUTED_BOOL: u8 = 22;
    pub(super) const DESCRIPTOR: u8 = 23;
    pub(super) const DESCRIPTOR_ENTRY: u8 = 24;

    /// All of them, so that no two are the same.
    #[cfg(test)]
    pub(super) const ALL: [u8; 22] = [
        ADDRESS,
        SUBJECT,
        ANONYMOUS,
        METHOD,
        HOST,
        HEADER,
        COOKIE,
        QUERY,
        PATH,
        FALLBACK,
        BODY_TEXT,
        BODY_NUMBER,
        BODY_BOOL,
        TOKEN_SUBJECT,
        CLAIMED_TEXT,
        CLAIMED_NUMBER,
        CLAIMED_BOOL,
        COMPUTED_TEXT,
        COMPUTED_WHOLE,
        COMPUTED_BOOL,
        DESCRIPTOR,
        DESCRIPTOR_ENTRY,
    ];
}

impl Recipe {
    /// The parts that are computed.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match &part.from {
            From::Expression(expression) => Some(expression),
            _ => None,
        })
    }

    /// Whether a part is computed.
    pub(crate) fn has_expressions(&self) -> bool {
        self.expressions().next().is_some()
    }

    /// Every part that a request lacks.
    pub(crate) fn lacking(&self, scope: &Scope<'_>, found: Found<'_>, prefixes: Prefixes) -> Vec<&Part> {
        let lacks = |part: &&Part| {
            let value = self.value(part, scope, found, prefixes, &mut SmallVec::new());
            value.is_none()
        };
        self.parts.iter().filter(lacks).collect()
    }

    /// The value of one of its parts, or what stands for it where it is missing.
    #[inline]
    fn value<'set: 'v, 'v>(
        &self,
        part: &'set Part,
        scope: &'v Scope<'v>,
        found: Found<'v>,
        prefixes: Prefixes,
        failed: &mut SmallVec<[ExpressionFault; 1]>,
    ) -> Option<Value<'v>> {
        let value = match (&part.from, scope) {
            (From::Expression(expression), _) => Value::computed(expression, scope).unwrap_or_else(|fault| {
                if fault != ExpressionFault::Absent {
                    failed.push(fault);
                }
                None
            }),
            (from, Scope::Request(scope)) => from.value(scope.request, scope.identity, found, prefixes),
            (from, Scope::Call(scope)) => from.told(scope),
        };
        let Scope::Request(RequestScope { request, .. }) = scope else {
            return value;
        };
        let falls_back = self.on_missing == OnMissing::Fallback;
        value.or_else(|| falls_back.then(|| Value::address(kind::FALLBACK, request.client, prefixes)))
    }

    /// The values of a request, or the first part it lacks. What expressions failed for goes to `failed`: a part that merely is
    /// not there is no failure.
    pub(crate) fn values<'set: 'v, 'v>(
        &'set self,
        scope: &'v Scope<'v>,
        found: Found<'v>,
        prefixes: Prefixes,
        failed: &mut SmallVec<[ExpressionFault; 1]>,
    ) -> Result<Values<'v>, &'set Part> {
        let mut values = Values::new();
        for part in &self.parts {
            match self.value(part, scope, found, prefixes, failed) {
                Some(value) => values.push(value),
                None => return Err(part),
            }
        }
        Ok(values)
    }

    /// The beginning of the keys of one limit: all that is known before any request comes.
    ///
    /// Whose limits they are is part of it: limits that take turns on one counter each forgive what only the other still counts, so a subject
    /// with keys of two tiers would get far more than both. The algorithm is part of it because each keeps state of its own kind;
    /// the numbers are not: a changed quota goes on with the old counter.
    pub(crate) fn beginning(&self, hasher: &KeyHasher, of: Counter<'_>) -> KeyBuilder {
        let mut key = hasher.start();
        // Of all that a key without parts counts.
        key.subject(&[of.policy.as_bytes()]);
        key.part(&of.limit_index.to_le_bytes());
        key.part(of.algorithm.as_bytes());
        let (kind, names) = of.whose.parts();
        key.part(&[kind]);
        for name in names.into_iter().flatten() {
            key.part(name.as_bytes());
        }
        // As wide on every machine: a 32-bit Worker names the same counters.
        key.part(&(self.parts.len() as u64).to_le_bytes());
        for part in &self.parts {
            key.part(part.text.as_bytes());
        }
        key
    }
}

/// What counters of one limit are told apart from those of others by.
#[derive(Clone, Copy)]
pub(crate) struct Counter<'a> {
    pub(crate) policy: &'a str,
    pub(crate) limit_index: u64,
    pub(crate) algorithm: &'static str,
    pub(crate) whose: Whose<'a>,
}

/// Whose the limits are: everybody's, those of a tier, or those of one override.
#[derive(Clone, Copy)]
pub(crate) enum Whose<'a> {
    Own,
    Tier(&'a str),
    Named(&'a NamedSubject),
}

impl<'a> Whose<'a> {
    /// The kind and the names that it has, as keys have them. They are hashed, so a number once given keeps its meaning.
    fn parts(self) -> (u8, [Option<&'a str>; 2]) {
        match self {
            Self::Own => (0, [Some(""), None]),
            Self::Tier(tier) => (1, [Some(tier), None]),
            Self::Named(named) => {
                let kind = if named.issuer.is_none() { 2 } else { 3 };
                (kind, [Some(&named.subject), named.issuer.as_deref()])
            }
        }
    }
}

/// The key that begins with `beginning` and goes on with `values`. The first of them is the subject, whatever its kind: an address
/// that stands in for nobody's identity is kept where the address is.
pub(crate) fn finish(beginning: &KeyBuilder, values: &Values<'_>) -> Key {
    let mut key = beginning.clone();
    if let Some((first, rest)) = values.split_first() {
        key.part(&[first.kind]);
        first.bytes.with_parts(|parts| key.subject(parts));
        for value in rest {
            key.part(&[value.kind]);
            value
                .bytes
                .with_parts(|parts| parts.iter().for_each(|part| key.part(part)));
        }
    }
    key.finish()
}

impl Bytes<'_> {
    /// The kind of a value says how many parts it has.
    #[inline]
    fn with_parts(&self, add: impl FnOnce(&[&[u8]])) {
        match self {
            Self::Text(text) => add(&[text]),
            Self::Address(address) => add(&[address.as_ref()]),
            Self::OfIssuer { issuer, text } => add(&[issuer.as_bytes(), text.as_bytes()]),
            Self::Entries { count, entries } => {
                let texts = entries.iter().flat_map(|entry| [entry.key, entry.value]);
                let parts = texts.map(str::as_bytes);
                let parts: SmallVec<[&[u8]; 9]> = std::iter::once(&count[..]).chain(parts).collect();
                add(&parts);
            }
        }
    }
}

impl From {
    fn value<'v>(
        &self,
        request: &Request<'v>,
        identity: &'v Identity,
        found: Found<'v>,
        prefixes: Prefixes,
    ) -> Option<Value<'v>> {
        match self {
            Self::ClientIp => Some(Value::address(kind::ADDRESS, request.client, prefixes)),
            Self::ClientNetwork(prefixes) => Some(Value::address(kind::ADDRESS, request.client, *prefixes)),
            Self::Identity => Some(match identity {
                Identity::Known {
                    subject,
                    issuer: None,
                    ..
                } => Value::text(kind::SUBJECT, subject.as_bytes()),
                Identity::Known {
                    subject,
                    issuer: Some(issuer),
                    ..
                } => Value {
                    kind: kind::TOKEN_SUBJECT,
                    bytes: Bytes::OfIssuer {
                        issuer,
                        text: Cow::Borrowed(subject),
                    },
                },
                Identity::Anonymous => Value::address(kind::ANONYMOUS, request.client, prefixes),
            }),
            Self::Method => Some(Value::text(kind::METHOD, request.method.as_str().as_bytes())),
            Self::Host => {
                let host = into_bytes(host::normal(request.host));
                (!host.is_empty()).then(|| Value::text(kind::HOST, host))
            }
            Self::Header(name) => {
                let value = parts::only(request.headers.get_all(name).iter())?.as_bytes();
                let value = if name == AUTHORIZATION {
                    parts::credentials(value)
                } else {
                    value
                };
                Some(Value::text(kind::HEADER, value))
            }
            Self::Cookie(name) => parts::only(parts::decoded_cookies(request.headers, name))
                .map(|value| Value::text(kind::COOKIE, value)),
            Self::Query(name) => {
                parts::only(parts::query(request.query, name)).map(|value| Value::text(kind::QUERY, value))
            }
            Self::Body(part) => match part.look(request) {
                Seen::Value(value) if !value.text.is_empty() => {
                    let kind = match value.kind {
                        Kind::Text => kind::BODY_TEXT,
                        Kind::Number => kind::BODY_NUMBER,
                        Kind::Bool => kind::BODY_BOOL,
                    };
                    Some(Value::text(kind, into_bytes(value.text)))
                }
                Seen::Value(_) | Seen::Absent | Seen::Unclear => None,
            },
            Self::Claim(name) => claimed(name, identity),
            Self::Path(places) => {
                let place = *places.get(found.pattern)?;
                let segment = found.segments.get(place)?;
                Some(Value::text(kind::PATH, &**segment))
            }
            // Computed by the recipe, which knows what to do with faults.
            Self::Expression(_) => None,
            // Of calls.
            Self::Descriptor | Self::DescriptorEntry(_) => None,
        }
    }

    /// Its value in a call. An empty one is a value like others.
    fn told<'v>(&self, scope: &CallScope<'v>) -> Option<Value<'v>> {
        let entries = scope.descriptor?;
        match self {
            Self::Descriptor => Some(Value::entries(entries)),
            Self::DescriptorEntry(place) => {
                let entry = entries.get(*place)?;
                Some(Value::text(kind::DESCRIPTOR_ENTRY, entry.value.as_bytes()))
            }
            _ => None,
        }
    }
}

/// What the token of `identity` says under `name`, if that can be a key: a text, a number, true or false.
fn claimed<'v>(name: &ClaimPath, identity: &'v Identity) -> Option<Value<'v>> {
    let Identity::Known {
        issuer: Some(issuer),
        claims: Some(claims),
        ..
    } = identity
    else {
        return None;
    };
    let value = name.of(claims)?;
    let text = text_of(value)?;
    let bytes = Bytes::OfIssuer { issuer, text };
    let kind = match value {
        Json::Number(_) => kind::CLAIMED_NUMBER,
        Json::Bool(_) => kind::CLAIMED_BOOL,
        _ => kind::CLAIMED_TEXT,
    };
    Some(Value { kind, bytes })
}

impl<'v> Value<'v> {
    /// The value for people.
    pub(crate) fn shown(&self) -> String {
        match &self.bytes {
            Bytes::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Bytes::Address(address) => address.to_string(),
            Bytes::OfIssuer { issuer, text } => format!("{text} of {issuer}"),
            Bytes::Entries { entries, .. } => {
                let entries = entries
                    .iter()
                    .map(|entry| format!("{}={}", entry.key, entry.value));
                entries.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// What `expression` says. None if that is an empty text of a request, as with any other part. Whole numbers of both kinds are one: what
    /// is equal shares a counter.
    fn computed(expression: &'v Expression, scope: &'v Scope<'v>) -> Result<Option<Self>, ExpressionFault> {
        Ok(Some(match expression.evaluate(scope)? {
            Computed::Text(text) if text.is_empty() && matches!(scope, Scope::Request(_)) => return Ok(None),
            Computed::Text(Text::Borrowed(text)) => Self::text(kind::COMPUTED_TEXT, text.as_bytes()),
            Computed::Text(Text::Made(text)) => Self::text(kind::COMPUTED_TEXT, text.as_bytes().to_vec()),
            Computed::Int(value) => Self::whole(i128::from(value)),
            Computed::Uint(value) => Self::whole(i128::from(value)),
            Computed::Bool(value) => Self::text(kind::COMPUTED_BOOL, vec![u8::from(value)]),
            _ => return Err(ExpressionFault::WrongType),
        }))
    }

    /// All that a descriptor says.
    pub(super) fn entries(entries: &'v [Entry<'v>]) -> Self {
        // As wide on every machine.
        let count = (entries.len() as u64).to_le_bytes();
        let bytes = Bytes::Entries { count, entries };
        let kind = kind::DESCRIPTOR;
        Self { kind, bytes }
    }

    fn whole(value: i128) -> Self {
        Self::text(kind::COMPUTED_WHOLE, value.to_le_bytes().to_vec())
    }

    fn text(kind: u8, text: impl Into<Cow<'v, [u8]>>) -> Self {
        let bytes = Bytes::Text(text.into());
        Self { kind, bytes }
    }

    /// As far as one client reaches.
    fn address(kind: u8, address: IpAddr, prefixes: Prefixes) -> Self {
        let bytes = Bytes::Address(AddressPart::new(address, prefixes));
        Self { kind, bytes }
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn no_two_kinds_of_values_have_the_same_number() {
        let different: std::collections::HashSet<u8> = kind::ALL.into_iter().collect();
        assert_eq!(different.len(), kind::ALL.len());
    }
}
