//! The compact form: three parts in base64url, with dots between them. Nothing here is believed yet.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde_json::Value;

use super::TokenFault;
use crate::Claims;

/// The deepest nesting of lists and objects in a token.
pub(super) const MAX_DEPTH: usize = 16;

/// The longest name of a key, in bytes.
pub(super) const MAX_KEY_ID_BYTES: usize = 256;

/// A token, taken apart.
pub(super) struct Jws<'t> {
    /// None if it is none of those that sign, such as `none`.
    pub(super) algorithm: Option<Algorithm>,
    /// The name of the key that signed it.
    pub(super) key_id: Option<String>,
    pub(super) claims: Claims,
    /// What is signed: the first two parts and the dot between them.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
}

impl<'t> Jws<'t> {
    pub(super) fn parse(token: &'t [u8]) -> Result<Self, TokenFault> {
        let mut parts = token.split(|byte| *byte == b'.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenFault::Malformed);
        };
        let signed = &token[..header.len() + 1 + claims.len()];
        let header = object(header)?;
        // Whoever signed it wants extensions of the format to be understood (RFC 7515 section 4.1.11). None is known here.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(TokenFault::Malformed);
        }
        Ok(Self {
            algorithm: header
                .get("alg")
                .and_then(Value::as_str)
                .and_then(|name| name.parse().ok()),
            key_id: key_id(&header)?,
            claims: object(claims)?,
            signed,
            signature: decoded(signature)?,
        })
    }
}

fn key_id(header: &Claims) -> Result<Option<String>, TokenFault> {
    match header.get("kid") {
        None => Ok(None),
        Some(Value::String(id)) if id.len() <= MAX_KEY_ID_BYTES => Ok(Some(id.clone())),
        Some(_) => Err(TokenFault::Malformed),
    }
}

fn object(part: &[u8]) -> Result<Claims, TokenFault> {
    let value: Value = serde_json::from_slice(&decoded(part)?).map_err(|_| TokenFault::Malformed)?;
    match value {
        Value::Object(_) if depth(&value) > MAX_DEPTH => Err(TokenFault::Malformed),
        Value::Object(object) => Ok(object),
        _ => Err(TokenFault::Malformed),
    }
}

/// How deep `value` is nested; serde_json reads nothing deeper than 128.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn decoded(part: &[u8]) -> Result<Vec<u8>, TokenFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Malformed)
}
