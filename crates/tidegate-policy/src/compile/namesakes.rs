//! Subjects that several may prove to be: lists and overrides go by the name alone.

use crate::document::identity::IdentityText;
use crate::document::node::Place;
use crate::document::report::{Report, quoted};

/// Warns of the first of `subjects` that more than one kind of proof leads to, where being it is an advantage.
pub(super) fn warn<'s>(
    subjects: impl IntoIterator<Item = (&'s str, Place)>,
    identity: &IdentityText,
    report: &mut Report<'_>,
) {
    let mut subjects = subjects.into_iter();
    let Some((subject, at)) = subjects.find(|(subject, _)| is_shared(subject, identity)) else {
        return;
    };
    let message = format!(
        "more than one kind of proof can make somebody {}, and all of them hold here",
        quoted(subject)
    );
    let cure = "give each issuer under `jwt` a `subject_prefix` of its own, such as `\"staff:\"`, and write it here if one of its people is meant";
    report.warning(at, message, cure);
}

/// Whether two issuers can name `subject`, or one that puts nothing before its names and the file of API keys.
fn is_shared(subject: &str, identity: &IdentityText) -> bool {
    let prefixes = identity.jwt.iter().map(|issuer| {
        let prefix = issuer.subject_prefix.as_ref();
        prefix.map_or("", |prefix| prefix.value.as_str())
    });
    let naming: Vec<&str> = prefixes.filter(|prefix| subject.starts_with(prefix)).collect();
    naming.len() > 1 || (identity.api_key.is_some() && naming.contains(&""))
}
