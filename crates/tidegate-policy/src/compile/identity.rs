//! What `identity` means.

mod api_keys;
mod jwt;

use http::HeaderName;

use super::gateway::within;
use crate::config::{
    ApiKeySettings, IdentitySettings, JwtSettings, KeyPlace, ProofOrder, TokenPlace, Treatment,
};
use crate::document::identity::{ApiKeyText, IdentityText, ProofKind};
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, quoted};
use crate::document::store::StoreText;

pub(super) use jwt::claim;

/// Below this many bits, whole providers count as one client.
const WIDE_IPV6_PREFIX: u8 = 32;

/// A client owns all addresses of one network of this length (RIPE-690).
const ONE_IPV6_NETWORK: u8 = 64;

pub(super) fn identity(
    text: &IdentityText,
    store: Option<&StoreText>,
    report: &mut Report<'_>,
) -> IdentitySettings {
    let default = IdentitySettings::default();
    let mut api_key = text
        .api_key
        .as_ref()
        .and_then(|text| api_key(text, store, report));
    let mut jwt = text.has_jwt.then(|| jwt::jwt(&text.jwt, report)).flatten();
    if let (Some(api_key), Some(jwt)) = (&mut api_key, &mut jwt) {
        let shared = share_a_place(api_key, jwt);
        (api_key.beside_tokens, jwt.beside_api_keys) = (shared, shared);
    }
    IdentitySettings {
        api_key,
        jwt,
        order: order(text, report),
        ipv6_prefix: text
            .ipv6_prefix
            .as_ref()
            .map_or(default.ipv6_prefix, |text| ipv6_prefix(text, report)),
    }
}

/// Whether API keys and tokens may stand in the same place.
fn share_a_place(api_key: &ApiKeySettings, jwt: &JwtSettings) -> bool {
    jwt.places.iter().any(|token| {
        api_key.places.iter().any(|key| match (token, key) {
            (TokenPlace::Header(token), KeyPlace::Header(key)) => token == key,
            (TokenPlace::Cookie(token), KeyPlace::Cookie(key)) => token == key,
            _ => false,
        })
    })
}

fn order(text: &IdentityText, report: &mut Report<'_>) -> ProofOrder {
    let (Some(kinds), Some(at)) = (&text.order, text.order_at) else {
        return ProofOrder::default();
    };
    let kinds: Vec<ProofKind> = kinds.iter().map(|kind| kind.value).collect();
    if !(text.has_jwt && text.api_key.is_some()) {
        let message = "`order` says nothing here: it is for files with both `jwt` and `api_key`";
        report.warning(at, message, "remove it");
    }
    match kinds[..] {
        [ProofKind::Jwt, ProofKind::ApiKey] => ProofOrder::JwtFirst,
        [ProofKind::ApiKey, ProofKind::Jwt] => ProofOrder::ApiKeyFirst,
        _ => {
            let message = "`order` names each kind of credential once";
            report.error(at, message, "write `[jwt, api_key]` or `[api_key, jwt]`");
            ProofOrder::default()
        }
    }
}

fn ipv6_prefix(text: &Spanned<u64>, report: &mut Report<'_>) -> u8 {
    let prefix = within(text, 1..=128, report).unwrap_or(ONE_IPV6_NETWORK);
    judge_ipv6_prefix(prefix, text.at, report);
    prefix
}

/// What is doubtful about counting IPv6 by so many bits.
pub(super) fn judge_ipv6_prefix(prefix: u8, at: Place, report: &mut Report<'_>) {
    if prefix > ONE_IPV6_NETWORK {
        let message = "a client owns a whole /64, and can take a new address for every request";
        report.warning(at, message, "write 64 or less");
    } else if prefix < WIDE_IPV6_PREFIX {
        let message = "a prefix this short counts whole providers as one client";
        report.warning(at, message, "write 64, or 48 to 56 for one household or business");
    }
}

fn api_key(text: &ApiKeyText, store: Option<&StoreText>, report: &mut Report<'_>) -> Option<ApiKeySettings> {
    let places = places(text, report);
    let sources = api_keys::sources(text, store, report);
    let treatment =
        |text: &Option<Spanned<Treatment>>, default| text.as_ref().map_or(default, |text| text.value);
    Some(ApiKeySettings {
        places: places?,
        beside_tokens: false,
        keys: sources.file,
        stored: sources.stored,
        strip: text.strip.as_ref().is_some_and(|strip| strip.value),
        on_missing: treatment(&text.on_missing, Treatment::Anonymous),
        on_unknown: treatment(&text.on_unknown, Treatment::Reject),
        on_revoked: treatment(&text.on_revoked, Treatment::Reject),
    })
}

/// The places of API keys, in the order in which they are looked at.
fn places(text: &ApiKeyText, report: &mut Report<'_>) -> Option<Vec<KeyPlace>> {
    let header = text.header.as_ref();
    let header = header.map(|name| header_name(&name.value, name.at, report).map(KeyPlace::Header));
    let query = text.query.as_ref();
    let query = query.map(|name| Some(KeyPlace::Query(name.value.clone())));
    let cookie = text.cookie.as_ref();
    let cookie = cookie.map(|name| cookie_name(&name.value, name.at, report).map(KeyPlace::Cookie));
    let places: Vec<Option<KeyPlace>> = [header, query, cookie].into_iter().flatten().collect();
    if places.is_empty() {
        let message = "`api_key` does not say where the key is";
        report.error(text.at, message, "add `header: x-api-key`");
        return None;
    }
    places.into_iter().collect()
}

/// The header field called `name`, which stands at `at`.
pub(super) fn header_name(name: &str, at: Place, report: &mut Report<'_>) -> Option<HeaderName> {
    let header = HeaderName::from_bytes(name.as_bytes()).ok();
    if header.is_none() {
        let message = format!("{} cannot be the name of a header field", quoted(name));
        report.error(at, message, "write letters, digits and `-`, such as `x-tenant`");
    }
    header
}

/// The cookie called `name`, which stands at `at`. Names of cookies are tokens as those of header fields are (RFC 6265,
/// section 4.1.1), but have case.
pub(super) fn cookie_name(name: &str, at: Place, report: &mut Report<'_>) -> Option<String> {
    if HeaderName::from_bytes(name.as_bytes()).is_ok() {
        return Some(name.to_owned());
    }
    let message = format!("{} cannot be the name of a cookie", quoted(name));
    report.error(
        at,
        message,
        "write letters, digits, `-` and `_`, such as `session`",
    );
    None
}
