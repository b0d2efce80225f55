//! Finding the API key of a request. Nothing found here is ever logged, shown or kept.

use http::{HeaderMap, HeaderName, header};
use percent_encoding::percent_decode;
use smallvec::SmallVec;

use super::digest::MAX_KEY_BYTES;
use crate::identity::token::is_shaped_as_token;
use crate::set::parts;
use crate::{ApiKeySettings, KeyPlace, Request};

/// What a request carries in the place of its API key.
#[derive(PartialEq, Eq)]
pub(super) enum Credential {
    /// Nothing, or nothing but blanks.
    Missing,
    /// Something that cannot be a key: too long, or several.
    Unfit,
    /// These bytes.
    Presented(Bytes),
}

/// Room for every key without an allocation for usual ones.
pub(super) type Bytes = SmallVec<[u8; 64]>;

impl Credential {
    /// The credential of `request`: what the first place that has one holds. If another place has a different one, nobody can say
    /// which counts, so they prove nothing.
    pub(super) fn of(request: &Request<'_>, settings: &ApiKeySettings) -> Self {
        let mut found = Self::Missing;
        for place in &settings.places {
            match (&found, Self::at(request, place, settings.beside_tokens)) {
                (_, Self::Missing) => {}
                (Self::Missing, credential) => found = credential,
                (earlier, credential) if *earlier == credential => {}
                _ => return Self::Unfit,
            }
        }
        found
    }

    fn at(request: &Request<'_>, place: &KeyPlace, beside_tokens: bool) -> Self {
        let is_ours = |value: &&[u8]| !(beside_tokens && is_shaped_as_token(value));
        match place {
            KeyPlace::Header(name) => Self::only(header_values(request.headers, name).filter(is_ours)),
            KeyPlace::Cookie(name) => Self::only(parts::cookies(request.headers, name).filter(is_ours)),
            KeyPlace::Query(name) => Self::only(parts::encoded_query(request.query, name)).percent_decoded(),
        }
    }

    /// The only one of `values`. Of several nobody can say which one counts, so they prove nothing.
    fn only<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Self {
        let Some(value) = values.next() else {
            return Self::Missing;
        };
        let value = value.trim_ascii();
        match values.next() {
            Some(_) => Self::Unfit,
            None if value.is_empty() => Self::Missing,
            // Percent-encoding makes three bytes of one at most.
            None if value.len() > MAX_KEY_BYTES * 3 => Self::Unfit,
            None => Self::Presented(value.into()),
        }
    }

    /// `%2B` as `+`. A `+` stays one: keys have no blanks, and base64 has pluses.
    fn percent_decoded(self) -> Self {
        let Self::Presented(encoded) = self else {
            return self;
        };
        Self::Presented(percent_decode(&encoded).collect())
    }
}

/// The values of the field `name`; of `Authorization` those that follow `Bearer`.
pub(in crate::identity) fn header_values<'a>(
    fields: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> {
    let values = fields.get_all(name).iter();
    values.filter_map(move |value| credential_in(name, value.as_bytes()))
}

/// What one value of the field `name` has for a credential.
pub(super) fn credential_in<'a>(name: &HeaderName, value: &'a [u8]) -> Option<&'a [u8]> {
    if name == header::AUTHORIZATION {
        bearer(value)
    } else {
        Some(value)
    }
}

/// What follows the scheme `Bearer`, if that is the scheme.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}
