//! API keys that live in the store: whom each stands for, and which tier a subject has for a while.
//!
//! Two hashes hold them, `tg1:{00}:api_keys` by the digest of a key and `tg1:{00}:tiers` by the name of a subject. They share a
//! virtual shard, so that one call reads both, also in a Cluster. Each field is a JSON object: see [`KeyEntry`] and [`LentTier`].

mod entry;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use data_encoding::HEXLOWER;
use redis::Value;
use tokio::time::Instant;

use super::fault::Fault;
use super::script::Program;
use super::servers::{Question, Then};
use super::{Inner, Redis, name};
use crate::StoreError;

pub use entry::{BadEntry, KeyEntry, LentTier, MAX_ENTRY_BYTES, MAX_NAME_CHARS, MAX_NOTE_CHARS};

/// The virtual shard that API keys live in.
const SHARD: u8 = 0;

/// The SHA-256 of an API key.
pub type Digest = [u8; 32];

/// The API keys of a store. Cheap to clone.
#[derive(Clone)]
pub struct ApiKeys {
    inner: Arc<Inner>,
}

/// What the store says of one API key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundKey {
    /// Whom it stands for.
    pub entry: KeyEntry,
    /// The tier that its subject has for a while.
    pub lent: Option<LentTier>,
}

/// One part of a list, and where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The fields and what they hold, as they are: entries can be broken.
    pub entries: Vec<(String, Vec<u8>)>,
    /// Where to go on; none at the end.
    pub next: Option<u64>,
}

/// Why nothing was found out about an API key, or nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The store does not answer.
    Store(StoreError),
    /// It answers with something that is no entry.
    Broken(BadEntry),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Broken(bad) => bad.fmt(f),
        }
    }
}

impl core::error::Error for KeyError {}

impl From<StoreError> for KeyError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// What a field has to hold for a change to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// Whatever it does.
    Anything,
    /// Nothing.
    Nothing,
    /// This.
    Exactly(&'a [u8]),
}

/// Which of the two hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Entries of API keys, by the hexadecimal digits of their digest.
    Keys,
    /// Tiers that subjects have for a while, by the subject's name.
    Tiers,
}

impl Redis {
    /// The API keys that live here.
    pub fn api_keys(&self) -> ApiKeys {
        ApiKeys {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl ApiKeys {
    /// What the store says of the key with this digest. One round trip, and no longer than the store's timeout.
    ///
    /// # Errors
    /// [`KeyError`]: nobody can say whether there is such a key.
    pub async fn find(&self, digest: &Digest) -> Result<Option<FoundKey>, KeyError> {
        static PROGRAM: OnceLock<Program> = OnceLock::new();
        let program = PROGRAM.get_or_init(|| Program::new(include_str!("script/find_key.lua").to_owned()));
        let keys = [Shelf::Keys, Shelf::Tiers].map(|shelf| self.name(shelf));
        let texts = self.call(program, &keys, hex(digest).as_bytes(), texts).await?;
        let mut texts = texts.into_iter();
        let Some(entry) = texts.next().flatten() else {
            return Ok(None);
        };
        let lent = texts.next().flatten();
        let found = FoundKey {
            entry: KeyEntry::parse(&entry).map_err(KeyError::Broken)?,
            lent: lent
                .map(|lent| LentTier::parse(&lent))
                .transpose()
                .map_err(KeyError::Broken)?,
        };
        Ok(Some(found))
    }

    /// A part of everything on `shelf`: the first from 0 on, the others from where the last one says. An entry that is changed
    /// meanwhile may come twice.
    ///
    /// # Errors
    /// [`StoreError`]: the store does not answer.
    pub async fn page(&self, shelf: Shelf, from: u64) -> Result<Page, StoreError> {
        static PROGRAM: OnceLock<Program> = OnceLock::new();
        let program =
            PROGRAM.get_or_init(|| Program::new(include_str!("script/list_entries.lua").to_owned()));
        self.call(program, &[self.name(shelf)], from.to_string().as_bytes(), page)
            .await
    }

    /// Everything on `shelf`, each field once.
    ///
    /// # Errors
    /// [`StoreError`]: the store does not answer.
    pub async fn all(&self, shelf: Shelf) -> Result<BTreeMap<String, Vec<u8>>, StoreError> {
        let mut all = BTreeMap::new();
        let mut from = Some(0);
        while let Some(cursor) = from {
            let page = self.page(shelf, cursor).await?;
            all.extend(page.entries);
            from = page.next;
        }
        Ok(all)
    }

    /// Puts `after` into `field`, or takes the field away for none, if it holds what `before` says; whether it did. Doing it twice
    /// is the same as once.
    ///
    /// # Errors
    /// [`StoreError`]: the store does not answer. Nobody knows whether it was done.
    pub async fn change(
        &self,
        shelf: Shelf,
        field: &str,
        before: Before<'_>,
        after: Option<&[u8]>,
    ) -> Result<bool, StoreError> {
        static PROGRAM: OnceLock<Program> = OnceLock::new();
        let program =
            PROGRAM.get_or_init(|| Program::new(include_str!("script/change_entry.lua").to_owned()));
        let before = match before {
            Before::Anything => None,
            Before::Nothing => Some(String::new()),
            Before::Exactly(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        };
        let after = String::from_utf8_lossy(after.unwrap_or_default());
        let argument = serde_json::json!([field, before, after]).to_string();
        self.call(program, &[self.name(shelf)], argument.as_bytes(), done)
            .await
    }

    fn name(&self, shelf: Shelf) -> String {
        let what = match shelf {
            Shelf::Keys => "api_keys",
            Shelf::Tiers => "tiers",
        };
        name::in_shard(&self.inner.prefix, SHARD, what)
    }

    async fn call<T>(
        &self,
        program: &Program,
        keys: &[String],
        argument: &[u8],
        read: fn(Value) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        if !self.inner.servers.lets_in(SHARD) {
            return Err(StoreError::Unavailable);
        }
        let question = Question {
            program,
            keys,
            argument,
            then: Then::Nothing,
        };
        let deadline = Instant::now() + self.inner.timeout;
        let answer = self.inner.servers.call_for(SHARD, question, read, deadline).await;
        answer.map_err(|fault| StoreError::from(&fault))
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys")
            .field("servers", &self.inner.servers)
            .finish_non_exhaustive()
    }
}

/// The name of a key in the store: 64 digits.
pub fn hex(digest: &Digest) -> String {
    HEXLOWER.encode(digest)
}

fn nonsense(what: &str) -> Fault {
    Fault::Nonsense(format!("not {what}"))
}

fn list(value: Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(nonsense("a list")),
    }
}

fn text(value: Value) -> Result<Option<Vec<u8>>, Fault> {
    match value {
        Value::BulkString(bytes) => Ok(Some(bytes)),
        Value::SimpleString(text) => Ok(Some(text.into_bytes())),
        Value::Nil => Ok(None),
        _ => Err(nonsense("a text")),
    }
}

fn texts(value: Value) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    list(value)?.into_iter().map(text).collect()
}

fn done(value: Value) -> Result<bool, Fault> {
    match *list(value)? {
        [Value::Int(done)] => Ok(done == 1),
        _ => Err(nonsense("whether it was done")),
    }
}

/// Reads the answer to `HSCAN`.
fn page(value: Value) -> Result<Page, Fault> {
    let mut parts = list(value)?.into_iter();
    let (Some(next), Some(fields), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(nonsense("a part of a list"));
    };
    let next = text(next)?.and_then(|next| String::from_utf8(next).ok()?.parse().ok());
    let next: u64 = next.ok_or_else(|| nonsense("a place in a list"))?;
    let mut fields = list(fields)?.into_iter();
    let mut entries = Vec::with_capacity(fields.len() / 2);
    while let (Some(field), Some(entry)) = (fields.next(), fields.next()) {
        let field = String::from_utf8_lossy(&text(field)?.unwrap_or_default()).into_owned();
        entries.push((field, text(entry)?.unwrap_or_default()));
    }
    Ok(Page {
        entries,
        next: (next != 0).then_some(next),
    })
}
