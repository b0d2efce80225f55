//! What the store holds of a key and of a subject. It is written by `tidegate keys`, and by whoever else may write to the store: so
//! nothing of it is believed unseen.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The most bytes of an entry.
pub const MAX_ENTRY_BYTES: usize = 4096;

/// The most characters of a subject or a tier, as in keys files.
pub const MAX_NAME_CHARS: usize = 128;

/// The most characters of a note.
pub const MAX_NOTE_CHARS: usize = 256;

/// Whom an API key stands for: `{"subject":"acme","tier":"pro","created":1790000000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// Whom it stands for.
    pub subject: String,
    /// Their plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// What people are to know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was revoked, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
}

/// The tier that a subject has instead of that of its keys: `{"tier":"pro","until":1790000000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LentTier {
    /// The plan.
    pub tier: String,
    /// From when on it is over, in seconds since 1970; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// What is wrong with an entry. It is not shown: somebody may have put a key there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadEntry {
    /// More than [`MAX_ENTRY_BYTES`].
    TooLong,
    /// No JSON object with these fields.
    Unreadable,
    /// A subject or tier that has no characters, too many, or such as end lines.
    BadName,
    /// A note of more than [`MAX_NOTE_CHARS`], or on several lines.
    BadNote,
}

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "an entry has at most {MAX_ENTRY_BYTES} bytes"),
            Self::Unreadable => f.write_str("this is no entry as `tidegate keys` writes them"),
            Self::BadName => write!(
                f,
                "a subject or tier has 1 to {MAX_NAME_CHARS} characters on one line"
            ),
            Self::BadNote => write!(f, "a note has at most {MAX_NOTE_CHARS} characters on one line"),
        }
    }
}

impl core::error::Error for BadEntry {}

impl KeyEntry {
    /// Reads an entry.
    ///
    /// # Errors
    /// [`BadEntry`]: it is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadEntry> {
        let entry: Self = read(bytes)?;
        check_name(&entry.subject)?;
        entry.tier.as_deref().map_or(Ok(()), check_name)?;
        if let Some(note) = &entry.note
            && !fits(note, MAX_NOTE_CHARS)
        {
            return Err(BadEntry::BadNote);
        }
        Ok(entry)
    }

    /// As the store has it.
    ///
    /// # Errors
    /// [`BadEntry`]: it would not be read again.
    pub fn write(&self) -> Result<Vec<u8>, BadEntry> {
        let text = serde_json::to_vec(self).map_err(|_| BadEntry::Unreadable)?;
        Self::parse(&text).map(|_| text)
    }
}

impl LentTier {
    /// Reads one.
    ///
    /// # Errors
    /// [`BadEntry`]: it is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadEntry> {
        let lent: Self = read(bytes)?;
        check_name(&lent.tier)?;
        Ok(lent)
    }

    /// As the store has it.
    ///
    /// # Errors
    /// [`BadEntry`]: it would not be read again.
    pub fn write(&self) -> Result<Vec<u8>, BadEntry> {
        let text = serde_json::to_vec(self).map_err(|_| BadEntry::Unreadable)?;
        Self::parse(&text).map(|_| text)
    }
}

/// Whether `name` can be that of a subject or a tier.
fn check_name(name: &str) -> Result<(), BadEntry> {
    if name.is_empty() || !fits(name, MAX_NAME_CHARS) {
        return Err(BadEntry::BadName);
    }
    Ok(())
}

fn fits(text: &str, most: usize) -> bool {
    text.chars().count() <= most && !text.chars().any(char::is_control)
}

fn read<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, BadEntry> {
    if bytes.len() > MAX_ENTRY_BYTES {
        return Err(BadEntry::TooLong);
    }
    serde_json::from_slice(bytes).map_err(|_| BadEntry::Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> KeyEntry {
        KeyEntry {
            subject: "acme".to_owned(),
            tier: None,
            created: 1_790_000_000,
            note: None,
            revoked: None,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let full = KeyEntry {
            tier: Some("pro \"1\"".to_owned()),
            note: Some("für Ann".to_owned()),
            revoked: Some(1_790_000_001),
            ..entry()
        };
        for entry in [entry(), full] {
            assert_eq!(KeyEntry::parse(&entry.write().unwrap()), Ok(entry));
        }
        let lent = LentTier {
            tier: "pro".to_owned(),
            until: Some(7),
        };
        assert_eq!(lent.write().unwrap(), br#"{"tier":"pro","until":7}"#);
    }

    #[test]
    fn names_and_notes_are_as_long_as_stated_and_no_longer() {
        let named = |chars| KeyEntry {
            subject: "ä".repeat(chars),
            ..entry()
        };
        assert!(named(MAX_NAME_CHARS).write().is_ok());
        assert_eq!(named(MAX_NAME_CHARS + 1).write(), Err(BadEntry::BadName));
        assert_eq!(named(0).write(), Err(BadEntry::BadName));
        let noted = |chars| KeyEntry {
            note: Some("n".repeat(chars)),
            ..entry()
        };
        assert!(noted(MAX_NOTE_CHARS).write().is_ok());
        assert_eq!(noted(MAX_NOTE_CHARS + 1).write(), Err(BadEntry::BadNote));
    }

    #[test]
    fn what_somebody_else_wrote_is_no_entry() {
        let padded = |bytes: usize| {
            let text = r#"{"subject":"acme","created":1}"#;
            format!("{text}{}", " ".repeat(bytes - text.len()))
        };
        let parse = |text: &str| KeyEntry::parse(text.as_bytes()).map(|entry| entry.subject);
        assert_eq!(parse(&padded(MAX_ENTRY_BYTES)), Ok("acme".to_owned()));
        assert_eq!(parse(&padded(MAX_ENTRY_BYTES + 1)), Err(BadEntry::TooLong));
        for text in [
            "",
            "[]",
            "acme",
            r#"{"subject":"acme"}"#,
            r#"{"subject":7,"created":1}"#,
            r#"{"subject":"acme","created":-1}"#,
            r#"{"subject":"acme","created":1,"teir":"pro"}"#,
            r#"{"subject":"acme","subject":"evil","created":1}"#,
        ] {
            assert_eq!(parse(text), Err(BadEntry::Unreadable), "{text}");
        }
        assert_eq!(
            parse("{\"subject\":\"a\\nb\",\"created\":1}"),
            Err(BadEntry::BadName)
        );
    }
}
