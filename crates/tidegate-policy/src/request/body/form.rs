//! One value out of a form (`application/x-www-form-urlencoded`).

use std::borrow::Cow;

use super::{Scalar, Seen, same_name};
use crate::set::parts::form_decoded;

/// The value of the field `name` in the form `text`.
///
/// Unclear if several fields may be the one, if the value is not UTF-8, or if a bare `;` stands somewhere: some readers begin a new
/// field there.
pub(crate) fn pick<'t>(text: &'t str, name: &str) -> Seen<'t> {
    if text.contains(';') {
        return Seen::Unclear;
    }
    let mut values = fields(text).filter(|(own, _)| may_be(own, name));
    let Some((_, value)) = values.next() else {
        return Seen::Absent;
    };
    if values.next().is_some() {
        return Seen::Unclear;
    }
    match utf8(form_decoded(value)) {
        Some(value) => Seen::Value(Scalar::text(value)),
        None => Seen::Unclear,
    }
}

/// The fields of `text` that have a clear value, decoded, in their order. None of them if there are more than [`MAX_FIELDS`]: each
/// is looked for among all others.
pub(crate) fn clear_fields(text: &str) -> Vec<(String, String)> {
    if fields(text).nth(MAX_FIELDS).is_some() {
        return Vec::new();
    }
    let names = fields(text).filter_map(|(name, _)| utf8(name));
    names
        .filter_map(|name| match pick(text, &name) {
            Seen::Value(value) => Some((name.into_owned(), value.text.into_owned())),
            Seen::Absent | Seen::Unclear => None,
        })
        .collect()
}

/// The most fields of a form that expressions see.
pub(crate) const MAX_FIELDS: usize = 100;

/// Names, decoded, and values, as sent.
fn fields(text: &str) -> impl Iterator<Item = (Cow<'_, [u8]>, &[u8])> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (form_decoded(name.as_bytes()), value.as_bytes())
    })
}

/// Whether some reader takes `own` for `name`: with other letters (.NET), cut at a NUL, after blanks, with `_` for a dot or a blank,
/// or as an element of it (`name[]`; all of them PHP).
fn may_be(own: &[u8], name: &str) -> bool {
    if own == name.as_bytes() {
        return true;
    }
    let cut = own.split(|byte| *byte == 0).next().unwrap_or_default();
    let cut = cut.trim_ascii_start();
    let base = cut.split(|byte| *byte == b'[').next().unwrap_or_default();
    let base = if base.is_empty() { cut } else { base };
    if base.is_ascii() && name.is_ascii() {
        let pairs = base.iter().zip(name.as_bytes());
        return base.len() == name.len() && pairs.into_iter().all(|(own, byte)| plain(*own) == plain(*byte));
    }
    same_name(&String::from_utf8_lossy(base), name)
}

/// A byte of a name, as the most forgiving reader takes it.
fn plain(byte: u8) -> u8 {
    match byte {
        b'.' | b' ' | b'[' => b'_',
        other => other.to_ascii_lowercase(),
    }
}

fn utf8(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Seen<'_> {
        Seen::Value(Scalar::text(text))
    }

    #[test]
    fn fields_are_found_decoded() {
        let form = "a=1&user=ann+b%21&us%65rs=x&&empty=&flag";
        assert_eq!(pick(form, "user"), text("ann b!"));
        assert_eq!(pick(form, "users"), text("x"));
        assert_eq!(pick(form, "empty"), text(""));
        assert_eq!(pick(form, "flag"), text(""));
        assert_eq!(pick(form, "none"), Seen::Absent);
        assert_eq!(pick("user%5Bname%5D=ann", "user[name]"), text("ann"));
    }

    #[test]
    fn a_field_that_may_come_twice_is_unclear() {
        for form in [
            "user=ann&user=bob",
            "user=ann&us%65r=bob",
            "user=ann&USER=bob",
            "user=ann&+user=bob",
            "user=ann&user%00x=bob",
            "user=ann&user[]=bob",
            "user=ann;user=bob",
            "user=ann;x=1",
            "user=%ff",
        ] {
            assert_eq!(pick(form, "user"), Seen::Unclear, "{form}");
        }
        assert_eq!(pick("user_name=ann&user.name=bob", "user_name"), Seen::Unclear);
        assert_eq!(pick("user=ann&users=bob&xuser=eve", "user"), text("ann"));
    }

    #[test]
    fn expressions_see_the_fields_that_are_clear() {
        let clear = clear_fields("a=1&b=2&b=3&c=%ff&d=%20");
        assert_eq!(clear, [("a".into(), "1".into()), ("d".into(), " ".into())]);
        let form = |count: usize| {
            (0..count)
                .map(|number| format!("f{number}=1&"))
                .collect::<String>()
        };
        assert_eq!(clear_fields(&form(MAX_FIELDS)).len(), MAX_FIELDS);
        assert_eq!(clear_fields(&form(MAX_FIELDS + 1)), []);
    }
}
