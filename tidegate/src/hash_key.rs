//! `tidegate hash-key`.

mod append;

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Read};
use std::process::ExitCode;

use serde_json::Value;
use tidegate_policy::{KeyDigest, Keyring, PolicyFile};

use crate::arguments::HashKeyArguments;
use crate::output;

/// The longest line that is read as a key, in bytes.
const MAX_KEY_BYTES: u64 = 4096;

/// Random letters and digits of a new key: 238 bits.
const NEW_KEY_CHARACTERS: usize = 40;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Prints the entry of a key file that stands for the key.
pub(crate) fn run(arguments: &HashKeyArguments) -> ExitCode {
    let key = if arguments.generate { generated() } else { typed() };
    let key = match key {
        Ok(key) => key,
        Err(why) => return output::failure(why),
    };
    let digest = match KeyDigest::new(key.as_bytes()) {
        Ok(digest) => digest,
        Err(weak) => return output::failure(weak),
    };
    let entry = Entry {
        digest,
        subject: &arguments.subject,
        tier: arguments.tier.as_deref(),
    };
    let entry = entry.to_string();
    // A subject or tier may be none that a key file can have.
    if let Err(problems) = Keyring::parse(PolicyFile {
        name: "the entry",
        text: &entry,
    }) {
        return output::failure(problems);
    }
    // Before the key is shown: one that is in no file is of no use.
    if let Some(file) = &arguments.append
        && let Err(why) = append::append(file, &entry)
    {
        return output::failure(why);
    }
    if arguments.generate {
        output::note(format_args!("The new API key, shown only now:\n{key}"));
    }
    let printed = if arguments.append.is_some() { "" } else { &entry };
    output::result(printed.as_bytes(), ExitCode::SUCCESS)
}

struct Entry<'a> {
    digest: KeyDigest,
    subject: &'a str,
    tier: Option<&'a str>,
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A JSON string is a YAML string, whatever it holds.
        writeln!(f, "- hash: {}", self.digest)?;
        writeln!(f, "  subject: {}", Value::from(self.subject))?;
        if let Some(tier) = self.tier {
            writeln!(f, "  tier: {}", Value::from(tier))?;
        }
        Ok(())
    }
}

/// The first line of standard input, without its end.
pub(crate) fn typed() -> Result<String, String> {
    if io::stdin().is_terminal() {
        output::note("Type or paste the API key, then press Enter:");
    }
    let mut line = String::new();
    io::stdin()
        .lock()
        .take(MAX_KEY_BYTES)
        .read_line(&mut line)
        .map_err(|error| format!("cannot read a key from standard input: {error}"))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A new random key.
pub(crate) fn generated() -> Result<String, String> {
    let mut key = String::from("tg_");
    let end = key.len() + NEW_KEY_CHARACTERS;
    while key.len() < end {
        let mut bytes = [0; 64];
        getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
        // 248 is the largest multiple of 62 in a byte: what is above would favour the first letters.
        let letters = bytes
            .iter()
            .filter(|byte| **byte < 248)
            .map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        key.extend(letters.take(end - key.len()));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_has_its_prefix_and_forty_letters_and_digits() {
        let key = generated().unwrap();
        let random = key.strip_prefix("tg_").unwrap();
        assert_eq!(random.len(), NEW_KEY_CHARACTERS);
        assert!(random.bytes().all(|byte| ALPHABET.contains(&byte)));
    }
}
