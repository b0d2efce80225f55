//! What `identity` means.

use http::HeaderName;

use super::gateway::within;
use crate::config::{ApiKeySettings, IdentitySettings, KeyPlace, Treatment};
use crate::document::identity::{ApiKeyText, IdentityText};
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, quoted};

/// Below this many bits, whole providers count as one client.
const WIDE_IPV6_PREFIX: u8 = 32;

/// A client owns all addresses of one network of this length (RIPE-690).
const ONE_IPV6_NETWORK: u8 = 64;

pub(super) fn identity(text: &IdentityText, report: &mut Report<'_>) -> IdentitySettings {
    let default = IdentitySettings::default();
    IdentitySettings {
        api_key: text.api_key.as_ref().and_then(|text| api_key(text, report)),
        ipv6_prefix: text
            .ipv6_prefix
            .as_ref()
            .map_or(default.ipv6_prefix, |text| ipv6_prefix(text, report)),
    }
}

fn ipv6_prefix(text: &Spanned<u64>, report: &mut Report<'_>) -> u8 {
    let prefix = within(text, 1..=128, report).unwrap_or(ONE_IPV6_NETWORK);
    if prefix > ONE_IPV6_NETWORK {
        let message = "a client owns a whole /64, and can take a new address for every request";
        report.warning(text.at, message, "write 64 or less");
    } else if prefix < WIDE_IPV6_PREFIX {
        let message = "a prefix this short counts whole providers as one client";
        report.warning(
            text.at,
            message,
            "write 64, or 48 to 56 for one household or business",
        );
    }
    prefix
}

fn api_key(text: &ApiKeyText, report: &mut Report<'_>) -> Option<ApiKeySettings> {
    let place = place(text, report);
    let treatment =
        |text: &Option<Spanned<Treatment>>, default| text.as_ref().map_or(default, |text| text.value);
    Some(ApiKeySettings {
        place: place?,
        keys: text.keys.as_ref()?.value.clone(),
        on_missing: treatment(&text.on_missing, Treatment::Anonymous),
        on_unknown: treatment(&text.on_unknown, Treatment::Reject),
        on_revoked: treatment(&text.on_revoked, Treatment::Reject),
    })
}

fn place(text: &ApiKeyText, report: &mut Report<'_>) -> Option<KeyPlace> {
    let mut places = Vec::new();
    if let Some(header) = &text.header {
        places.push((
            header.at,
            header_name(&header.value, header.at, report).map(KeyPlace::Header),
        ));
    }
    if let Some(query) = &text.query {
        places.push((query.at, Some(KeyPlace::Query(query.value.clone()))));
    }
    if let Some(cookie) = &text.cookie {
        let name = cookie_name(&cookie.value, cookie.at, report);
        places.push((cookie.at, name.map(KeyPlace::Cookie)));
    }
    if let Some((at, _)) = places.get(1) {
        report.error(
            *at,
            "an API key is looked for in one place",
            "keep one of `header`, `query` and `cookie`",
        );
    }
    if places.is_empty() {
        report.error(
            text.at,
            "`api_key` does not say where the key is",
            "add `header: x-api-key`",
        );
    }
    places.into_iter().next().and_then(|(_, place)| place)
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
