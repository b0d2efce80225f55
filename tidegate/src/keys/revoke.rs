//! `tidegate keys revoke`.

use tidegate_server::key_store::{Before, KeyEntry, Shelf};

use super::shelf::{Kept, Shelves, now, span};
use crate::arguments::RevokeKeyArguments;
use crate::output;

/// The fewest digits of a digest that name a key.
const FEWEST_DIGITS: usize = 6;

/// Revokes what was named, and says of each key that it did.
pub(super) async fn revoke(shelves: &Shelves, arguments: &RevokeKeyArguments) -> Result<String, String> {
    let all = shelves.keys().await?;
    let named = match (&arguments.digest, &arguments.subject) {
        (Some(digest), _) => vec![only(&all, digest)?],
        (None, Some(subject)) => of_subject(&all, subject)?,
        (None, None) => return Err("say which: the beginning of a digest, or --subject".to_owned()),
    };
    let mut printed = String::new();
    for kept in named {
        let after = match &kept.entry {
            Some(entry) if !arguments.forget => Some(revoked(entry)?),
            _ => None,
        };
        let field = &kept.digest;
        let before = Before::Exactly(&kept.bytes);
        if !shelves
            .change(Shelf::Keys, field, before, after.as_deref())
            .await?
        {
            return Err(format!("{field:.12} was changed just now: try again"));
        }
        let subject = kept.entry.as_ref().map_or("?", |entry| &entry.subject);
        let done = if after.is_some() { "revoked" } else { "forgotten" };
        printed.push_str(&format!("{done} {field:.12} of {subject}\n"));
    }
    if let Some(beliefs) = shelves.beliefs() {
        output::note(format_args!(
            "Gateways stop it within {}; one that cannot reach the store, within {}.",
            span(beliefs.cache),
            span(beliefs.cache.max(beliefs.stale))
        ));
    }
    Ok(printed)
}

fn revoked(entry: &KeyEntry) -> Result<Vec<u8>, String> {
    let revoked = KeyEntry {
        // The first time is the one that counts.
        revoked: entry.revoked.or_else(|| Some(now())),
        ..entry.clone()
    };
    revoked.write().map_err(|bad| bad.to_string())
}

/// The key whose digest begins so.
fn only<'k>(all: &'k [Kept], digest: &str) -> Result<&'k Kept, String> {
    let digest = digest
        .strip_prefix("sha256:")
        .unwrap_or(digest)
        .to_ascii_lowercase();
    if digest.len() < FEWEST_DIGITS || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!(
            "write at least {FEWEST_DIGITS} hexadecimal digits, as `tidegate keys list` shows them"
        ));
    }
    let mut named = all.iter().filter(|kept| kept.digest.starts_with(&digest));
    match (named.next(), named.next()) {
        (Some(kept), None) => Ok(kept),
        (None, _) => Err(format!(
            "no key's digest begins with {digest}: see `tidegate keys list`"
        )),
        (Some(_), Some(_)) => Err(format!("several digests begin with {digest}: write more of it")),
    }
}

fn of_subject<'k>(all: &'k [Kept], subject: &str) -> Result<Vec<&'k Kept>, String> {
    let is_theirs = |kept: &&Kept| kept.entry.as_ref().is_some_and(|entry| entry.subject == subject);
    let named: Vec<&Kept> = all.iter().filter(is_theirs).collect();
    if named.is_empty() {
        return Err(format!("{subject} has no key: see `tidegate keys list`"));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(digest: &str) -> Kept {
        Kept {
            digest: digest.to_owned(),
            bytes: Vec::new(),
            entry: None,
        }
    }

    #[test]
    fn a_key_is_named_by_enough_digits_to_tell_it_from_others() {
        let all = [kept("0a1b2c3d"), kept("0a1b2c4d"), kept("ff1b2c3d")];
        let named = |digest: &str| only(&all, digest).map(|kept| kept.digest.as_str());
        assert_eq!(named("0a1b2c3"), Ok("0a1b2c3d"));
        assert_eq!(named("sha256:FF1B2C"), Ok("ff1b2c3d"));
        for (digest, told) in [
            ("ff1b2", "at least 6"),
            ("tg_abc", "hexadecimal"),
            ("0a1b2c", "several"),
            ("abcdef", "no key's"),
        ] {
            assert!(named(digest).unwrap_err().contains(told), "{digest}");
        }
    }
}
