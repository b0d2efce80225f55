//! In which form a body is, by what its header fields say.

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

/// A form of body that policies can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`, `text/json`, `application/<anything>+json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `application/graphql`: the document alone.
    Graphql,
}

impl Media {
    /// The form of the body under `headers`. None if policies cannot read it: no type or two, another type, a charset that is not
    /// UTF-8, or a body that is compressed.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut codings = headers.get_all(CONTENT_ENCODING).iter();
        if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return None;
        }
        let mut types = headers.get_all(CONTENT_TYPE).iter();
        let text = types.next()?.to_str().ok()?;
        if types.next().is_some() {
            return None;
        }
        let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
        if !parameters.split(';').all(is_harmless) {
            return None;
        }
        Self::named(&essence.trim().to_ascii_lowercase())
    }

    fn named(essence: &str) -> Option<Self> {
        match essence {
            "application/json" | "text/json" => Some(Self::Json),
            "application/x-www-form-urlencoded" => Some(Self::Form),
            "application/graphql" => Some(Self::Graphql),
            _ => {
                let subtype = essence.strip_prefix("application/")?.strip_suffix("+json")?;
                (!subtype.is_empty()).then_some(Self::Json)
            }
        }
    }
}

/// Whether a parameter leaves the body in UTF-8.
fn is_harmless(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    if !name.trim().eq_ignore_ascii_case("charset") {
        return true;
    }
    let value = value.trim().trim_matches('"');
    value.eq_ignore_ascii_case("utf-8") || value.eq_ignore_ascii_case("utf8")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(types: &[&'static str]) -> Option<Media> {
        let mut headers = HeaderMap::new();
        for media_type in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        Media::of(&headers)
    }

    #[test]
    fn the_types_that_count_are_known_in_every_spelling() {
        for text in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/problem+json",
            "text/json ; v=1",
        ] {
            assert_eq!(of(&[text]), Some(Media::Json), "{text}");
        }
        assert_eq!(of(&["application/x-www-form-urlencoded"]), Some(Media::Form));
        assert_eq!(of(&["application/graphql"]), Some(Media::Graphql));
    }

    #[test]
    fn other_types_two_types_and_other_charsets_are_not_read() {
        for types in [
            &[][..],
            &["text/plain"],
            &["multipart/form-data; boundary=a"],
            &["application/+json"],
            &["application/json; charset=utf-16"],
            &["application/json; a=b; CHARSET = latin1"],
            &["application/json", "application/json"],
        ] {
            assert_eq!(of(types), None, "{types:?}");
        }
    }

    #[test]
    fn a_compressed_body_is_not_read() {
        for (coding, media) in [
            ("gzip", None),
            ("identity, br", None),
            ("Identity", Some(Media::Json)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
            assert_eq!(Media::of(&headers), media, "{coding}");
        }
    }
}
