//! `tidegate keys set-tier`.

use tidegate_server::key_store::{BadEntry, Before, KeyEntry, LentTier, Shelf};

use super::shelf::{Shelves, moment, now, span};
use crate::arguments::SetTierArguments;
use crate::output;

/// The tier that a subject shall have for a while, or none.
pub(super) struct Change {
    subject: String,
    tier: Option<LentTier>,
    after: Option<Vec<u8>>,
}

impl Change {
    pub(super) fn of(arguments: &SetTierArguments) -> Result<Self, String> {
        let until = arguments.until.as_deref().map(|until| moment_in(until, now()));
        let until = until.transpose()?;
        let tier = arguments.tier.clone().map(|tier| LentTier { tier, until });
        let bad = |bad: BadEntry| bad.to_string();
        // Whoever has no key yet can have one later: only the name is looked at.
        KeyEntry {
            subject: arguments.subject.clone(),
            tier: None,
            created: 0,
            note: None,
            revoked: None,
        }
        .write()
        .map_err(bad)?;
        Ok(Self {
            after: tier.as_ref().map(LentTier::write).transpose().map_err(bad)?,
            subject: arguments.subject.clone(),
            tier,
        })
    }

    pub(super) async fn make(&self, shelves: &Shelves) -> Result<String, String> {
        let after = self.after.as_deref();
        shelves
            .change(Shelf::Tiers, &self.subject, Before::Anything, after)
            .await?;
        shelves.say_if_unused();
        shelves.say_if_unnamed(self.tier.as_ref().map(|lent| lent.tier.as_str()));
        if let Some(beliefs) = shelves.beliefs() {
            output::note(format_args!("Gateways know it within {}.", span(beliefs.cache)));
        }
        let subject = &self.subject;
        Ok(match &self.tier {
            Some(LentTier { tier, until: None }) => format!("{subject}: {tier}\n"),
            Some(LentTier {
                tier,
                until: Some(until),
            }) => format!("{subject}: {tier} until {}\n", moment(*until)),
            None => format!("{subject}: the tier of each key\n"),
        })
    }
}

/// The moment that was typed, in seconds since 1970: `2027-01-01T00:00:00Z`, or a span from now on such as `24h`.
fn moment_in(typed: &str, now: u64) -> Result<u64, String> {
    let span = typed.parse::<jiff::SignedDuration>().ok();
    let secs = match span {
        Some(span) => u64::try_from(span.as_secs())
            .ok()
            .map(|secs| now.saturating_add(secs)),
        None => {
            let moment = typed.parse::<jiff::Timestamp>().ok();
            moment.and_then(|moment| u64::try_from(moment.as_second()).ok())
        }
    };
    let cure = "write a moment such as 2027-01-01T00:00:00Z, or a time from now on such as 24h";
    let secs = secs.ok_or_else(|| format!("{typed} is not a moment: {cure}"))?;
    if secs <= now {
        return Err(format!("{typed} is over already: {cure}"));
    }
    Ok(secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_a_span_and_lies_ahead() {
        let now = 1_790_000_000;
        assert_eq!(moment_in("2027-01-15T08:00:00Z", now), Ok(1_800_000_000));
        assert_eq!(moment_in("24h", now), Ok(now + 86_400));
        for (typed, told) in [
            ("2020-01-01T00:00:00Z", "over already"),
            ("0s", "over already"),
            ("-1h", "not a moment"),
            ("tomorrow", "not a moment"),
        ] {
            assert!(moment_in(typed, now).unwrap_err().contains(told), "{typed}");
        }
    }
}
