//! Subjects that lists and overrides name: whether anybody can be meant, and whether more than one may be.

use crate::NamedSubject;
use crate::document::identity::{IdentityText, JwtText};
use crate::document::named::NamedText;
use crate::document::node::Spanned;
use crate::document::report::{Report, any_of, nearest, quoted};

/// Whom `text` names.
pub(super) fn named(text: &NamedText, identity: &IdentityText, report: &mut Report<'_>) -> NamedSubject {
    if let Some(issuer) = &text.issuer {
        judge_issuer(&text.subject, issuer, identity, report);
    }
    NamedSubject {
        subject: text.subject.value.as_str().into(),
        issuer: text.issuer.as_ref().map(|issuer| issuer.value.as_str().into()),
    }
}

/// Warns of the first of `texts` that more than one kind of proof leads to, where being it is an advantage.
pub(super) fn warn_of_namesakes<'t>(
    texts: impl IntoIterator<Item = &'t NamedText>,
    identity: &IdentityText,
    report: &mut Report<'_>,
) {
    let Some(text) = texts.into_iter().find(|text| is_shared(text, identity)) else {
        return;
    };
    let subject = &text.subject;
    let message = format!(
        "more than one kind of proof can make somebody {}, and all of them hold here",
        quoted(&subject.value)
    );
    let naming = identity.jwt.iter().find(|issuer| names(issuer, &subject.value));
    let issuer = naming.and_then(|issuer| issuer.issuer.as_ref());
    let issuer = issuer.map_or("https://login.example.com", |issuer| &issuer.value);
    let cure = format!(
        "write {} beside it if one of its people is meant; or give each issuer under `jwt` a `subject_prefix` of its own, such as `\"staff:\"`",
        quoted(&format!("issuer: {issuer}"))
    );
    report.warning(subject.at, message, cure);
}

fn judge_issuer(
    subject: &Spanned<String>,
    issuer: &Spanned<String>,
    identity: &IdentityText,
    report: &mut Report<'_>,
) {
    let known: Option<Vec<&str>> = identity.jwt.iter().map(name).collect();
    let Some(known) = known.filter(|known| identity.has_jwt != known.is_empty()) else {
        // What is wrong there has been reported.
        return;
    };
    let Some(place) = known.iter().position(|known| *known == issuer.value) else {
        let message = format!(
            "{} is no issuer under `identity: {{ jwt: … }}`",
            quoted(&issuer.value)
        );
        let cure = match nearest(&issuer.value, known.iter().copied()) {
            Some(known) => format!("did you mean {}?", quoted(known)),
            None if known.is_empty() => "add it there, or remove `issuer`: API keys have none".to_owned(),
            None => format!("write {}", any_of(known)),
        };
        report.error(issuer.at, message, cure);
        return;
    };
    let prefix = prefix(&identity.jwt[place]);
    if !subject.value.starts_with(prefix) {
        let message = format!("nobody of this issuer is called {}", quoted(&subject.value));
        let cure = format!(
            "write {}, with the issuer's `subject_prefix`",
            quoted(&format!("\"{prefix}{}\"", subject.value))
        );
        report.warning(subject.at, message, cure);
    }
}

/// Whether two issuers can name who is meant, or one that puts nothing before its names and the file of API keys.
fn is_shared(text: &NamedText, identity: &IdentityText) -> bool {
    if text.issuer.is_some() {
        return false;
    }
    let subject = &text.subject.value;
    let naming: Vec<_> = identity
        .jwt
        .iter()
        .filter(|issuer| names(issuer, subject))
        .collect();
    naming.len() > 1 || (identity.api_key.is_some() && naming.iter().any(|issuer| prefix(issuer).is_empty()))
}

/// Whether `issuer` can call somebody `subject`.
fn names(issuer: &JwtText, subject: &str) -> bool {
    subject.starts_with(prefix(issuer))
}

fn name(issuer: &JwtText) -> Option<&str> {
    issuer.issuer.as_ref().map(|name| name.value.as_str())
}

fn prefix(issuer: &JwtText) -> &str {
    let prefix = issuer.subject_prefix.as_ref();
    prefix.map_or("", |prefix| prefix.value.as_str())
}
