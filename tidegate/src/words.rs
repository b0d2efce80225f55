//! What a policy means, in words.

use std::fmt::{self, Display, Formatter};

use tidegate_core::{Cost, Mode, Timestamp};
use tidegate_policy::{OnStoreFailure, Policy, in_words};

/// A policy in words, a line for each thing it says.
pub(crate) struct InWords<'a>(pub(crate) &'a Policy);

impl Display for InWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let policy = self.0;
        write!(f, "{}: {}", policy.name, policy.scope)?;
        if policy.mode == Mode::Shadow {
            f.write_str("\n  only rehearsed: refusals are reported, not carried out")?;
        }
        for limit in &policy.limits {
            write!(f, "\n  {}", in_words(&limit.limit))?;
        }
        for (tier, limits) in &policy.tiers {
            for limit in limits {
                write!(f, "\n  tier {tier}: {}", in_words(&limit.limit))?;
            }
        }
        for special in &policy.overrides {
            for limit in &special.limits {
                write!(
                    f,
                    "\n  {} until {}: {}",
                    special.subject,
                    day(special.until),
                    in_words(&limit.limit)
                )?;
            }
        }
        if policy.cost != Cost::ONE {
            write!(f, "\n  a request costs {}", policy.cost.units())?;
        }
        match on_store_failure(policy.on_store_failure) {
            Some(words) => write!(f, "\n  when the store cannot decide, {words}"),
            None => Ok(()),
        }
    }
}

/// The moment as it is written in files.
fn day(moment: Timestamp) -> String {
    let nanos = i128::from(moment.as_nanos());
    jiff::Timestamp::from_nanosecond(nanos).map_or_else(|_| moment.to_string(), |moment| moment.to_string())
}

/// What is said of a choice that is not the default.
fn on_store_failure(choice: OnStoreFailure) -> Option<&'static str> {
    match choice {
        OnStoreFailure::Allow => Some("requests pass"),
        OnStoreFailure::Deny => Some("requests are refused with 503"),
        OnStoreFailure::Local => None,
    }
}
