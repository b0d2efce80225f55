//! What a policy wants of a request besides host and path.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, Method};

use super::body::BodyPart;
use super::parts;
use crate::Request;
use crate::request::body::Seen;

/// What a policy wants of a request besides host and path. All of it must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// One of these; any if there are none.
    pub(crate) methods: Vec<Method>,
    pub(crate) headers: Vec<(HeaderName, Wanted)>,
    pub(crate) query: Vec<(String, Wanted)>,
    pub(crate) cookies: Vec<(String, Wanted)>,
    pub(crate) body: Vec<(BodyPart, Wanted)>,
}

/// What a value has to be. Where several have one name, any of them may be it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of these.
    OneOf(Vec<String>),
    /// Something that begins so.
    Prefix(String),
    /// Anything.
    Present,
    /// Not there.
    Absent,
}

impl Conditions {
    /// Whether all of it holds that can be told without the body.
    pub(crate) fn hold(&self, request: &Request<'_>) -> bool {
        self.allow_method(request.method)
            && self
                .headers
                .iter()
                .all(|(name, wanted)| wanted.is_met(request.headers.get_all(name).iter()))
            && self
                .query
                .iter()
                .all(|(name, wanted)| wanted.is_met(parts::query(request.query, name)))
            && self
                .cookies
                .iter()
                .all(|(name, wanted)| wanted.is_met(cookies(request.headers, name)))
    }

    /// The first field that is not as it should be: its kind, its name, and what it should be.
    pub(crate) fn first_unmet(&self, request: &Request<'_>) -> Option<(&'static str, &str, &Wanted)> {
        let headers = self.headers.iter();
        let mut headers =
            headers.filter(|(name, wanted)| !wanted.is_met(request.headers.get_all(name).iter()));
        let query = self.query.iter();
        let mut query = query.filter(|(name, wanted)| !wanted.is_met(parts::query(request.query, name)));
        let cookie = self.cookies.iter();
        let mut cookie = cookie.filter(|(name, wanted)| !wanted.is_met(cookies(request.headers, name)));
        let header = headers
            .next()
            .map(|(name, wanted)| ("header", name.as_str(), wanted));
        header
            .or_else(|| {
                query
                    .next()
                    .map(|(name, wanted)| ("query", name.as_str(), wanted))
            })
            .or_else(|| {
                cookie
                    .next()
                    .map(|(name, wanted)| ("cookie", name.as_str(), wanted))
            })
    }

    /// Whether whatever meets `others` meets these too. False where that is not easily told.
    pub(crate) fn are_met_by_all_of(&self, others: &Self) -> bool {
        let methods = self.methods.is_empty()
            || (!others.methods.is_empty() && others.methods.iter().all(|method| self.allow_method(method)));
        methods
            && self.headers.iter().all(|wanted| others.headers.contains(wanted))
            && self.query.iter().all(|wanted| others.query.contains(wanted))
            && self.cookies.iter().all(|wanted| others.cookies.contains(wanted))
            && self.body.iter().all(|wanted| others.body.contains(wanted))
    }

    /// Whether the body is as it should be. What is unclear may be anything, so it is.
    pub(crate) fn allow_body(&self, request: &Request<'_>) -> bool {
        self.body.iter().all(|(part, wanted)| match part.look(request) {
            Seen::Value(value) => wanted.is_met(std::iter::once(value.text.as_bytes())),
            Seen::Absent => *wanted == Wanted::Absent,
            Seen::Unclear => true,
        })
    }

    pub(crate) fn allow_method(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.contains(method)
    }
}

/// The values of the cookie `name`, each as sent and decoded: some origins decode cookies and some do not.
fn cookies<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = Cow<'h, [u8]>> {
    let as_sent = parts::cookies(headers, name).map(Cow::Borrowed);
    as_sent.chain(parts::decoded_cookies(headers, name))
}

impl Wanted {
    fn is_met(&self, mut values: impl Iterator<Item = impl AsRef<[u8]>>) -> bool {
        match self {
            Self::OneOf(wanted) => {
                values.any(|value| wanted.iter().any(|wanted| wanted.as_bytes() == value.as_ref()))
            }
            Self::Prefix(wanted) => values.any(|value| value.as_ref().starts_with(wanted.as_bytes())),
            Self::Present => values.next().is_some(),
            Self::Absent => values.next().is_none(),
        }
    }
}
