//! What `identity.jwt` means.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use http::{HeaderName, Uri, header};

use super::{cookie_name, header_name};
use crate::config::{JwtAlgorithm, JwtIssuer, JwtKeys, JwtSettings, TokenPlace, Treatment};
use crate::document::identity::JwtText;
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, any_of, quoted};
use crate::identity::ClaimPath;

/// The most issuers of tokens.
const MAX_ISSUERS: usize = 16;

/// By how much clocks differ unless the file says so, and at most.
const LEEWAY: Duration = Duration::from_secs(30);
const MAX_LEEWAY: Duration = Duration::from_secs(5 * 60);

/// How often keys are fetched unless the file says so, and how often they may be.
const REFRESH: Duration = Duration::from_secs(5 * 60);
const REFRESH_WITHIN: RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_secs(24 * 60 * 60);

pub(super) fn jwt(texts: &[JwtText], report: &mut Report<'_>) -> Option<JwtSettings> {
    refuse_repeated(texts, report);
    if let Some(beyond) = texts.get(MAX_ISSUERS) {
        let message = format!("there are at most {MAX_ISSUERS} issuers");
        report.error(beyond.at, message, "remove some");
    }
    let mut places = Vec::new();
    for text in texts {
        for place in token_places(text, report) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let issuers: Vec<JwtIssuer> = texts.iter().filter_map(|text| issuer(text, report)).collect();
    let is_right = !issuers.is_empty() && issuers.len() == texts.len();
    is_right.then_some(JwtSettings {
        issuers,
        places,
        beside_api_keys: false,
        on_missing: harshest(
            texts.iter().map(|text| text.on_missing.as_ref()),
            Treatment::Anonymous,
        ),
        on_invalid: harshest(
            texts.iter().map(|text| text.on_invalid.as_ref()),
            Treatment::Reject,
        ),
    })
}

/// A request without a token, and one with a token of nobody, are of no issuer. So the issuers agree: one that rejects decides.
fn harshest<'t>(said: impl Iterator<Item = Option<&'t Spanned<Treatment>>>, default: Treatment) -> Treatment {
    let each = said.map(|said| said.map_or(default, |said| said.value));
    let rejects = each.into_iter().any(|treatment| treatment == Treatment::Reject);
    if rejects {
        Treatment::Reject
    } else {
        Treatment::Anonymous
    }
}

fn refuse_repeated(texts: &[JwtText], report: &mut Report<'_>) {
    let mut places: HashMap<&str, Place> = HashMap::new();
    for issuer in texts.iter().filter_map(|text| text.issuer.as_ref()) {
        if let Some(earlier) = places.insert(&issuer.value, issuer.at) {
            let line = report.line_in_words(earlier);
            let message = format!("this issuer is in {line} already");
            report.error(
                issuer.at,
                message,
                "write everything about an issuer in one place",
            );
        }
    }
}

fn issuer(text: &JwtText, report: &mut Report<'_>) -> Option<JwtIssuer> {
    let algorithms = algorithms(text.algorithms.as_deref().unwrap_or_default(), report);
    let keys = keys(text, report);
    let refresh = text.refresh.as_ref().map_or(REFRESH, |refresh| {
        if !REFRESH_WITHIN.contains(&refresh.value) {
            let message = "keys are fetched every 10 s at most and once a day at least";
            report.error(refresh.at, message, "write such as `5m`");
        }
        refresh.value
    });
    let leeway = text.leeway.as_ref().map_or(LEEWAY, |leeway| {
        if leeway.value > MAX_LEEWAY {
            let message = "a leeway is at most 5 minutes: it is for clocks, and keeps expired tokens alive";
            report.error(leeway.at, message, "write such as `30s`");
        }
        leeway.value
    });
    let subject = match &text.subject {
        Some(subject) => claim(subject, report),
        None => ClaimPath::new("sub"),
    };
    let tier = text.tier.as_ref().map(|tier| claim(tier, report));
    Some(JwtIssuer {
        issuer: text.issuer.as_ref()?.value.as_str().into(),
        audiences: text
            .audience
            .as_ref()?
            .iter()
            .map(|text| text.value.clone())
            .collect(),
        algorithms,
        keys: keys?,
        refresh,
        leeway,
        subject: subject?,
        subject_prefix: text
            .subject_prefix
            .as_ref()
            .map(|text| text.value.clone())
            .unwrap_or_default(),
        tier: match tier {
            Some(tier) => Some(tier?),
            None => None,
        },
    })
}

/// The claim called `text`.
pub(in crate::compile) fn claim(text: &Spanned<String>, report: &mut Report<'_>) -> Option<ClaimPath> {
    let claim = ClaimPath::new(&text.value);
    if claim.is_none() {
        let message = format!("{} cannot be the name of a claim", quoted(&text.value));
        report.error(
            text.at,
            message,
            "write a name, or names with a dot between them: `realm.plan`",
        );
    }
    claim
}

fn algorithms(texts: &[Spanned<String>], report: &mut Report<'_>) -> Vec<JwtAlgorithm> {
    let mut algorithms: Vec<JwtAlgorithm> = Vec::new();
    for text in texts {
        match text.value.parse() {
            Ok(algorithm) if algorithms.contains(&algorithm) => {
                report.warning(
                    text.at,
                    format!("{} is written twice", quoted(&text.value)),
                    "keep one of them",
                );
            }
            Ok(algorithm) => algorithms.push(algorithm),
            Err(_) if text.value.eq_ignore_ascii_case("none") => {
                let message = "tokens that nobody signed prove nothing";
                report.error(text.at, message, "write the algorithm that the issuer signs with");
            }
            Err(_) => {
                let cure = format!("write {}", any_of(JwtAlgorithm::NAMES));
                report.error(
                    text.at,
                    format!("{} is no algorithm known here", quoted(&text.value)),
                    cure,
                );
            }
        }
    }
    algorithms
}

/// Where the keys are. A shared secret goes with `HS` algorithms, public keys with the others, so that nobody signs with a public
/// key as the secret.
fn keys(text: &JwtText, report: &mut Report<'_>) -> Option<JwtKeys> {
    let said = [&text.jwks, &text.secret_env, &text.secret_file];
    let mut said = said.into_iter().flatten();
    let Some(first) = said.next() else {
        let message = "`jwt` does not say where the keys are";
        report.error(
            text.at,
            message,
            "add `jwks: https://…/jwks.json`, or `secret_env: JWT_SECRET` for `HS256`",
        );
        return None;
    };
    if let Some(second) = said.next() {
        let message = "an issuer has its keys in one place";
        report.error(
            second.at,
            message,
            "keep one of `jwks`, `secret_env` and `secret_file`",
        );
        return None;
    }
    let is_secret = text.jwks.is_none();
    for written in text.algorithms.iter().flatten() {
        if let Ok(algorithm) = written.value.parse::<JwtAlgorithm>()
            && algorithm.is_symmetric() != is_secret
        {
            misfit(algorithm, written.at, report);
        }
    }
    match (&text.jwks, &text.secret_env) {
        (Some(jwks), _) if jwks.value.contains("://") => url(jwks, report).map(JwtKeys::Url),
        (Some(jwks), _) => Some(JwtKeys::File(jwks.value.clone())),
        (None, Some(variable)) => Some(JwtKeys::SecretEnv(variable.value.clone())),
        (None, None) => Some(JwtKeys::SecretFile(first.value.clone())),
    }
}

fn misfit(algorithm: JwtAlgorithm, at: Place, report: &mut Report<'_>) {
    if algorithm.is_symmetric() {
        let message = format!("{algorithm} has a shared secret, and `jwks` has public keys");
        report.error(
            at,
            message,
            "name the secret by `secret_env` or `secret_file`, or write such as `RS256`",
        );
    } else {
        let message = format!("{algorithm} has public keys, and this is a shared secret");
        report.error(at, message, "name the public keys by `jwks`, or write `HS256`");
    }
}

fn url(text: &Spanned<String>, report: &mut Report<'_>) -> Option<Uri> {
    let url = text.value.parse::<Uri>().ok().filter(|url| {
        let has_user = url
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'));
        matches!(url.scheme_str(), Some("http" | "https"))
            && url.host().is_some_and(|host| !host.is_empty())
            && !has_user
    });
    match &url {
        None => {
            let message = format!("{} is no address of a key set", quoted(&text.value));
            report.error(
                text.at,
                message,
                "write `https://host/path` without user and password",
            );
        }
        Some(url) if url.scheme_str() == Some("http") && !is_loopback(url) => {
            let message = "whoever is on the way to this address can put keys of their own into the set";
            report.warning(text.at, message, "write `https://…`");
        }
        Some(_) => {}
    }
    url
}

fn is_loopback(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

fn token_places(text: &JwtText, report: &mut Report<'_>) -> Vec<TokenPlace> {
    let header = text.header.as_ref();
    let header: Option<Option<HeaderName>> = header.map(|name| header_name(&name.value, name.at, report));
    let cookie = text.cookie.as_ref();
    let cookie = cookie.map(|name| cookie_name(&name.value, name.at, report));
    if header.is_none() && cookie.is_none() {
        return vec![TokenPlace::Header(header::AUTHORIZATION)];
    }
    let header = header.flatten().map(TokenPlace::Header);
    let cookie = cookie.flatten().map(TokenPlace::Cookie);
    header.into_iter().chain(cookie).collect()
}
