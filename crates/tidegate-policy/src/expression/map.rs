//! Maps: values by name, looked up in the request where they stand.

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value as Json;

use super::ExpressionFault;
use super::fuel::Fuel;
use super::value::{List, Value};
use crate::Entry;
use crate::set::parts;

/// Values by key.
#[derive(Clone, Debug)]
pub(crate) enum Map<'v> {
    Json(&'v serde_json::Map<String, Json>),
    /// Header fields by name in lower case; several lines of one name are one value, joined by `, `.
    Headers(&'v HeaderMap),
    /// Parameters, decoded. A name that comes several times is not there.
    Query(&'v str),
    /// The same for cookies.
    Cookies(&'v HeaderMap),
    /// What a descriptor says; of a key that comes several times, the last.
    Entries(&'v [Entry<'v>]),
    Made(Arc<[(Value<'v>, Value<'v>)]>),
}

impl<'v> Map<'v> {
    /// What stands under `key`. None if nothing does.
    pub(super) fn get(&self, key: &Value<'v>, fuel: &mut Fuel) -> Result<Option<Value<'v>>, ExpressionFault> {
        if let Self::Made(entries) = self {
            for (own, value) in entries.iter() {
                if own.equals(key, fuel)? {
                    return Ok(Some(value.clone()));
                }
            }
            return Ok(None);
        }
        match key {
            Value::Text(name) => self.named(name, fuel),
            // Numbers and booleans can be keys, and these maps have none of them.
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Bool(_) => Ok(None),
            _ => Err(ExpressionFault::WrongType),
        }
    }

    fn named(&self, name: &str, fuel: &mut Fuel) -> Result<Option<Value<'v>>, ExpressionFault> {
        fuel.spend_bytes(name.len())?;
        match self {
            Self::Json(fields) => Ok(fields.get(name).map(Value::of_json)),
            Self::Headers(headers) => header(headers, name, fuel),
            Self::Query(query) => {
                fuel.spend_bytes(query.len())?;
                single(parts::query(Some(query), name))
            }
            Self::Cookies(headers) => {
                fuel.spend_bytes(bytes_of_cookies(headers))?;
                single(parts::decoded_cookies(headers, name))
            }
            Self::Entries(entries) => {
                fuel.spend(entries.len())?;
                let entry = entries.iter().rfind(|entry| entry.key == name);
                Ok(entry.map(|entry| Value::borrowed(entry.value)))
            }
            Self::Made(_) => Ok(None),
        }
    }

    pub(super) fn len(&self, fuel: &mut Fuel) -> Result<usize, ExpressionFault> {
        Ok(match self {
            Self::Json(fields) => fields.len(),
            Self::Headers(headers) => headers.keys_len(),
            Self::Made(entries) => entries.len(),
            Self::Query(_) | Self::Cookies(_) | Self::Entries(_) => self.keys(fuel)?.len(),
        })
    }

    /// The keys, in no order that means anything.
    pub(super) fn keys(&self, fuel: &mut Fuel) -> Result<List<'v>, ExpressionFault> {
        let keys: Arc<[Value<'v>]> = match self {
            Self::Json(fields) => {
                fuel.spend(fields.len())?;
                fields.keys().map(|name| Value::borrowed(name)).collect()
            }
            Self::Headers(headers) => {
                fuel.spend(headers.keys_len())?;
                headers
                    .keys()
                    .map(|name| Value::borrowed(name.as_str()))
                    .collect()
            }
            Self::Entries(entries) => {
                fuel.spend(entries.len())?;
                let mut keys: Vec<&'v str> = entries.iter().map(|entry| entry.key).collect();
                keys.sort_unstable();
                keys.dedup();
                keys.into_iter().map(Value::borrowed).collect()
            }
            Self::Made(entries) => {
                fuel.spend(entries.len())?;
                entries.iter().map(|(key, _)| key.clone()).collect()
            }
            Self::Query(query) => {
                fuel.spend(query.len())?;
                single_names(parts::query_names(query))
            }
            Self::Cookies(headers) => {
                fuel.spend(bytes_of_cookies(headers))?;
                single_names(parts::cookie_names(headers))
            }
        };
        Ok(List::Made(keys))
    }

    pub(super) fn equals(&self, other: &Map<'v>, fuel: &mut Fuel) -> Result<bool, ExpressionFault> {
        if self.len(fuel)? != other.len(fuel)? {
            return Ok(false);
        }
        for key in self.keys(fuel)?.iter() {
            let (own, other) = (self.get(&key, fuel)?, other.get(&key, fuel)?);
            let (Some(own), Some(other)) = (own, other) else {
                return Ok(false);
            };
            if !own.equals(&other, fuel)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The value of the field `name`: its one line as it stands, or its lines joined.
fn header<'v>(
    headers: &'v HeaderMap,
    name: &str,
    fuel: &mut Fuel,
) -> Result<Option<Value<'v>>, ExpressionFault> {
    // `HeaderMap` takes names in any case; here they have one.
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(None);
    }
    let mut lines = headers.get_all(name).iter();
    let Some(first) = lines.next() else {
        return Ok(None);
    };
    fuel.spend_bytes(first.len())?;
    let first = text(first.as_bytes())?;
    let Some(second) = lines.next() else {
        return Ok(Some(Value::borrowed(first)));
    };
    let mut joined = first.to_owned();
    for line in std::iter::once(second).chain(lines) {
        joined.push_str(", ");
        joined.push_str(text(line.as_bytes())?);
        fuel.make_bytes(joined.len())?;
    }
    Ok(Some(Value::made(joined)))
}

/// The one value of `values`. None if there is none, or several: nobody knows which of them the origin reads.
fn single<'v>(mut values: impl Iterator<Item = Cow<'v, [u8]>>) -> Result<Option<Value<'v>>, ExpressionFault> {
    match (values.next(), values.next()) {
        (Some(value), None) => owned_text(value).map(Some),
        _ => Ok(None),
    }
}

/// Those of `names` that come once.
fn single_names<'v>(names: impl Iterator<Item = Cow<'v, [u8]>>) -> Arc<[Value<'v>]> {
    let mut names: Vec<Cow<'v, [u8]>> = names.collect();
    names.sort_unstable();
    let runs: Vec<Vec<Cow<'v, [u8]>>> = names.chunk_by(|a, b| a == b).map(<[_]>::to_vec).collect();
    let once = runs.into_iter().filter(|run| run.len() == 1).flatten();
    // A name that is no text cannot be asked for either.
    once.filter_map(|name| owned_text(name).ok()).collect()
}

fn bytes_of_cookies(headers: &HeaderMap) -> usize {
    let lines = headers.get_all(http::header::COOKIE);
    lines.iter().map(http::HeaderValue::len).sum()
}

fn text(bytes: &[u8]) -> Result<&str, ExpressionFault> {
    std::str::from_utf8(bytes).map_err(|_| ExpressionFault::NotText)
}

pub(super) fn owned_text(bytes: Cow<'_, [u8]>) -> Result<Value<'_>, ExpressionFault> {
    match bytes {
        Cow::Borrowed(bytes) => text(bytes).map(Value::borrowed),
        Cow::Owned(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Value::made(text)),
            Err(_) => Err(ExpressionFault::NotText),
        },
    }
}
