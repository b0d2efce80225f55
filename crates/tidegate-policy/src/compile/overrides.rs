//! What `overrides` mean.

use std::collections::HashMap;

use super::named::{named, warn_of_namesakes};
use super::policy::TermsOf;
use crate::document::identity::IdentityText;
use crate::document::policy::PolicyText;
use crate::document::report::{Report, quoted};
use crate::policy::Override;

/// The most overrides of a policy.
const MAX_OVERRIDES: usize = 10_000;

/// The overrides of a policy, sorted by subject.
pub(super) fn overrides(
    terms: TermsOf<'_>,
    text: &PolicyText,
    identity: &IdentityText,
    report: &mut Report<'_>,
) -> Vec<Override> {
    if let (Some(first), false) = (text.overrides.first(), identity.proves) {
        let message = "nobody is a subject here: subjects come with API keys and tokens";
        let cure = "add `identity: { api_key: … }` or `identity: { jwt: … }`, or remove `overrides`";
        report.warning(first.at, message, cure);
    }
    if let Some(beyond) = text.overrides.get(MAX_OVERRIDES) {
        let message = format!("a policy has at most {MAX_OVERRIDES} overrides");
        report.error(beyond.at, message, "give many subjects a tier instead");
    }
    let texts = text.overrides.iter().filter_map(|text| text.named.as_ref());
    warn_of_namesakes(texts, identity, report);
    let mut places = HashMap::new();
    let mut overrides = Vec::new();
    for text_of_one in text.overrides.iter().take(MAX_OVERRIDES) {
        let limits = terms.limits(&text_of_one.limits, report);
        let (Some(text), Some(until)) = (&text_of_one.named, &text_of_one.until) else {
            continue;
        };
        let whose = named(text, identity, report);
        let shown = quoted(&text.subject.value);
        let at = text.subject.at;
        if let Some(earlier) = places.insert(whose.clone(), at) {
            let line = report.line_in_words(earlier);
            let message = format!("{shown} has an override in {line} already");
            report.error(at, message, "keep one of them");
            continue;
        }
        let message = format!("this override of {shown} has ended");
        report.ends(
            until.at,
            until.value,
            message,
            "remove it, or write a later moment",
        );
        overrides.push(Override {
            whose,
            until: until.value,
            reason: text_of_one
                .reason
                .as_ref()
                .map(|reason| reason.value.as_str().into()),
            limits,
        });
    }
    overrides.sort_by(|one, other| one.whose.cmp(&other.whose));
    overrides
}
