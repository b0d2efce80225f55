//! What policies look at in bodies, and how much of a body is read for them.

use smallvec::SmallVec;
use tidegate_core::Timestamp;

use crate::request::body::graphql::{self, NotAsked};
use crate::request::body::media::Media;
use crate::request::body::{Body, Scalar, Seen, form, json};
use crate::{PolicySet, Request};

/// A place in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyPart {
    /// The names and numbers on the way to a value of JSON.
    Json(Vec<String>),
    /// The name of a form's field.
    Form(String),
    Graphql(GraphqlPart),
}

/// A fact about a GraphQL request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphqlPart {
    /// The name of the operation that operation.
    Operation,
    /// `query`, `mutation` or `subscription`.
    Type,
    /// How many requests it is.
    Operations,
}

/// How a policy looks at bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyRule {
    pub(crate) reads: Reads,
    /// How long a body may be to be looked at.
    pub(crate) max_bytes: usize,
    pub(crate) on_too_large: OnTooLarge,
}

/// Which forms of body a policy reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) json: bool,
    pub(crate) form: bool,
    pub(crate) graphql: bool,
}

/// What happens to a request whose body is too long to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnTooLarge {
    /// It is refused.
    #[default]
    Deny,
    /// Everything in it is missing.
    Missing,
}

/// How much of a request's body the policies look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyNeed {
    /// The longest body that one of them looks at. Of a longer one nothing is needed.
    pub max_bytes: usize,
}

impl PolicySet {
    /// How much of the body of `request` is needed for its plan at `now`; none if no policy looks at it. Of no use for a request without a
    /// body.
    pub fn needs_body(&self, request: &Request<'_>, now: Timestamp) -> Option<BodyNeed> {
        if !self.looks_at_bodies {
            return None;
        }
        let media = Media::of(request.headers)?;
        let views = super::views::views(request.path)?;
        let hits = self.hits(request, &views, now);
        let needs: SmallVec<[usize; 4]> = hits
            .iter()
            .filter_map(|hit| self.rules[hit.policy as usize].body)
            .filter(|rule| rule.reads.include(media))
            .map(|rule| rule.max_bytes)
            .collect();
        needs.into_iter().max().map(|max_bytes| BodyNeed { max_bytes })
    }
}

impl BodyRule {
    /// Whether the body of `request` would be looked at if it were not too long.
    pub(crate) fn is_too_large_in(&self, request: &Request<'_>) -> bool {
        let is_long = match request.body {
            Body::TooLarge => true,
            Body::Unread | Body::Empty | Body::Whole(_) => request.body.len() > Some(self.max_bytes),
        };
        is_long && Media::of(request.headers).is_some_and(|media| self.reads.include(media))
    }
}

impl Reads {
    /// Adds what `other` reads.
    pub(crate) fn add(&mut self, other: Reads) {
        self.json |= other.json;
        self.form |= other.form;
        self.graphql |= other.graphql;
    }

    fn include(self, media: Media) -> bool {
        match media {
            Media::Json => self.json || self.graphql,
            Media::Form => self.form || self.graphql,
            Media::Graphql => self.graphql,
        }
    }
}

impl BodyPart {
    /// Adds the forms of body that it is found in.
    pub(crate) fn add_to(&self, reads: &mut Reads) {
        match self {
            Self::Json(_) => reads.json = true,
            Self::Form(_) => reads.form = true,
            Self::Graphql(_) => reads.graphql = true,
        }
    }

    /// What `request` holds there.
    pub(crate) fn look<'r>(&self, request: &Request<'r>) -> Seen<'r> {
        match self {
            Self::Json(path) => in_text(request, Media::Json, |text| json::pick(text, path)),
            Self::Form(name) => match form::pick(request.query.unwrap_or_default(), name) {
                Seen::Absent => in_text(request, Media::Form, |text| form::pick(text, name)),
                // Some origins read parameters from the query string first.
                Seen::Value(_) | Seen::Unclear => Seen::Unclear,
            },
            Self::Graphql(part) => match graphql::asked(request) {
                Ok(asked) => part.of(asked),
                Err(NotAsked::Nothing) => Seen::Absent,
                Err(NotAsked::Unclear) => Seen::Unclear,
            },
        }
    }
}

/// What `look` finds in the body of `request`, if that is text in the form `media`.
fn in_text<'r>(request: &Request<'r>, media: Media, look: impl FnOnce(&'r str) -> Seen<'r>) -> Seen<'r> {
    match request.body {
        Body::Empty => Seen::Absent,
        Body::Whole(content) if Media::of(request.headers) == Some(media) => {
            content.text().map_or(Seen::Unclear, look)
        }
        Body::Whole(_) | Body::TooLarge | Body::Unread => Seen::Unclear,
    }
}

impl GraphqlPart {
    fn of(self, asked: graphql::Graphql) -> Seen<'static> {
        let text = |text: String| Seen::Value(Scalar::text(text));
        match (self, asked.operation) {
            (Self::Operations, _) => Seen::Value(Scalar::number(asked.operations.to_string())),
            (Self::Operation | Self::Type, None) => Seen::Unclear,
            (Self::Operation, Some(operation)) => operation.name.map_or(Seen::Absent, text),
            (Self::Type, Some(operation)) => text(operation.kind.to_owned()),
        }
    }
}
