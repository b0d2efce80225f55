//! `tidegate keys list`.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tidegate_server::key_store::LentTier;

use super::shelf::{Kept, Shelves, moment, now};
use crate::arguments::ListKeysArguments;

/// How much of a digest people are shown.
const SHOWN_DIGITS: usize = 12;

type Lent = HashMap<String, LentTier>;

pub(super) async fn list(shelves: &Shelves, arguments: &ListKeysArguments) -> Result<String, String> {
    let mut keys = shelves.keys().await?;
    let lent: Lent = shelves.tiers().await?.into_iter().collect();
    if let Some(subject) = &arguments.subject {
        keys.retain(|kept| kept.entry.as_ref().is_some_and(|entry| entry.subject == *subject));
    }
    if arguments.json {
        let keys: Vec<Value> = keys.iter().map(|kept| as_json(kept, &lent)).collect();
        return Ok(format!("{:#}\n", Value::from(keys)));
    }
    Ok(table(&keys, &lent, now()))
}

fn as_json(kept: &Kept, lent: &Lent) -> Value {
    let Some(entry) = &kept.entry else {
        return json!({ "digest": kept.digest, "broken": true });
    };
    let mut key = json!({
        "digest": kept.digest,
        "subject": entry.subject,
        "tier": entry.tier,
        "created": moment(entry.created),
        "note": entry.note,
        "revoked": entry.revoked.map(moment),
    });
    if let Some(lent) = lent.get(&entry.subject) {
        key["lent"] = json!({ "tier": lent.tier, "until": lent.until.map(moment) });
    }
    key
}

/// A line for each key, below a line of headings.
fn table(keys: &[Kept], lent: &Lent, now: u64) -> String {
    let headings = ["DIGEST", "SUBJECT", "TIER", "CREATED", "NOTE"].map(str::to_owned);
    let mut rows = vec![headings];
    rows.extend(keys.iter().map(|kept| row(kept, lent, now)));
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut printed = String::new();
    for row in &rows {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            // Writing to a string does not fail.
            let _ = write!(line, "{text:width$}  ");
        }
        printed.push_str(line.trim_end());
        printed.push('\n');
    }
    printed
}

fn row(kept: &Kept, lent: &Lent, now: u64) -> [String; 5] {
    let digest = kept.digest.chars().take(SHOWN_DIGITS).collect();
    let Some(entry) = &kept.entry else {
        let broken = "broken: requests with this key are refused";
        return [digest, "?".into(), "?".into(), "?".into(), broken.into()];
    };
    let own = entry.tier.as_deref().unwrap_or("-");
    let holds = |lent: &&LentTier| lent.until.is_none_or(|until| now < until);
    let tier = match lent.get(&entry.subject).filter(holds) {
        Some(LentTier {
            tier,
            until: Some(until),
        }) => format!("{tier} until {}, then {own}", moment(*until)),
        Some(LentTier { tier, until: None }) => format!("{tier} in place of {own}"),
        None => own.to_owned(),
    };
    let revoked = entry.revoked.map(|at| format!("revoked {}", moment(at)));
    let note = [revoked.as_deref(), entry.note.as_deref()];
    let note: Vec<&str> = note.into_iter().flatten().collect();
    [
        digest,
        entry.subject.clone(),
        tier,
        moment(entry.created),
        note.join("; "),
    ]
}

#[cfg(test)]
mod tests {
    use tidegate_server::key_store::KeyEntry;

    use super::*;

    fn kept(digest: &str, subject: &str, revoked: Option<u64>) -> Kept {
        Kept {
            digest: digest.repeat(32),
            bytes: Vec::new(),
            entry: Some(KeyEntry {
                subject: subject.to_owned(),
                tier: Some("free".to_owned()),
                created: 1_790_000_000,
                note: None,
                revoked,
            }),
        }
    }

    #[test]
    fn a_table_says_who_has_which_tier_and_until_when() {
        let lent = LentTier {
            tier: "pro".to_owned(),
            until: Some(1_800_000_000),
        };
        let lent = HashMap::from([("acme".to_owned(), lent)]);
        let keys = [kept("0a", "acme", None), kept("0b", "zoe", Some(1_790_000_060))];
        let before = table(&keys, &lent, 1_799_999_999);
        let lines: Vec<&str> = before.lines().collect();
        assert_eq!(
            lines[1],
            "0a0a0a0a0a0a  acme     pro until 2027-01-15T08:00:00Z, then free  2026-09-21T14:13:20Z"
        );
        assert!(lines[2].ends_with("revoked 2026-09-21T14:14:20Z"), "{before}");
        let after = table(&keys, &lent, 1_800_000_000);
        assert!(!after.contains("pro"), "{after}");
    }
}
