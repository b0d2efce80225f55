//! A refusal as people read it: one page that needs nothing from elsewhere.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::Told;
use crate::answer::reject::Escape;

const STYLE: &str = include_str!("page.css");
/// Counts down and says when it is time. Without it, the page says the wait once.
const SCRIPT: &str = include_str!("page.js");

/// The page may use its own style and script, and nothing else; nobody may put it in a frame.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        source(STYLE),
        source(SCRIPT)
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// What a policy calls a text that is allowed.
fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// Keeps the page from being used for anything else.
pub(super) fn security(fields: &mut HeaderMap) {
    fields.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    fields.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
}

/// The page that says what `told` says.
pub(super) fn page(status: StatusCode, told: &Told<'_>) -> String {
    let escaped = |text| Escape::Html.escaped(text);
    let (title, detail, error) = (escaped(told.title), escaped(told.detail), escaped(told.error));
    let code = status.as_u16();
    let wait = told.wait_secs.map_or_else(String::new, wait);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n<p>{detail}</p>\n{wait}</main>\n\
         <footer>{code} · {error}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

fn wait(secs: u64) -> String {
    let unit = if secs == 1 { "second" } else { "seconds" };
    format!(
        "<p id=\"wait\" role=\"timer\" data-seconds=\"{secs}\">You can try again in {secs} {unit}.</p>\n\
         <p id=\"again\"><a href=\"\">Try again</a></p>\n"
    )
}
