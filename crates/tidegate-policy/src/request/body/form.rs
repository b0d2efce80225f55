//! One value out of a form (`application/x-www-form-urlencoded`).

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Scalar, Seen, folded, same_name};
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

/// The fields of `text` that have a clear value, decoded, in their order. None of them if there are more than [`MAX_FIELDS`].
///
/// Says what [`pick`] says, in one pass: names are as long as clients like, so they are not compared one by one. Where they are not ASCII, it
/// takes more of them for the same.
pub(crate) fn clear_fields(text: &str) -> Vec<(String, String)> {
    if text.contains(';') || fields(text).nth(MAX_FIELDS).is_some() {
        return Vec::new();
    }
    let fields: Vec<_> = fields(text).collect();
    let (mut named, mut taken_for) = (HashMap::new(), HashMap::new());
    for (name, _) in &fields {
        *named.entry(&**name).or_insert(0) += 1;
        *taken_for.entry(loose(base(name))).or_insert(0) += 1;
    }
    let is_alone = |name: &[u8]| {
        let whole = loose(name);
        let taken = taken_for.get(&whole).copied().unwrap_or(0);
        let has_base_only = loose(base(name)) == whole;
        let named = if has_base_only { 0 } else { named[name] };
        named + taken == 1
    };
    let alone = fields.iter().filter(|(name, _)| is_alone(name));
    alone
        .filter_map(|(name, value)| {
            let (name, value) = (utf8(name.clone())?, utf8(form_decoded(value))?);
            Some((name.into_owned(), value.into_owned()))
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
    let base = base(own);
    if base.is_ascii() && name.is_ascii() {
        let pairs = base.iter().zip(name.as_bytes());
        return base.len() == name.len() && pairs.into_iter().all(|(own, byte)| plain(*own) == plain(*byte));
    }
    same_name(&String::from_utf8_lossy(base), name)
}

/// What PHP takes for the name of a variable.
fn base(own: &[u8]) -> &[u8] {
    let cut = own.split(|byte| *byte == 0).next().unwrap_or_default();
    let cut = cut.trim_ascii_start();
    let base = cut.split(|byte| *byte == b'[').next().unwrap_or_default();
    if base.is_empty() { cut } else { base }
}

/// `name`, the same for all that the most forgiving reader takes for it.
fn loose(name: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(name) else {
        return loose(String::from_utf8_lossy(name).as_bytes());
    };
    if text.is_ascii() {
        return name.iter().copied().map(plain).collect();
    }
    let text: String = folded(text).collect();
    text.bytes().map(plain).collect()
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

    proptest::proptest! {
        #[test]
        fn fields_are_clear_if_each_alone_is(names in proptest::collection::vec("[aA._+\\[\\]kſ]{1,4}", 0..6)) {
            let pairs: Vec<String> = names.iter().zip(0..).map(|(name, value)| format!("{name}={value}")).collect();
            let form = pairs.join("&");
            let clear = clear_fields(&form);
            for (name, value) in &clear {
                proptest::prop_assert_eq!(pick(&form, name), text(value), "{} in {}", name, form);
            }
            if form.is_ascii() {
                let names = fields(&form).filter_map(|(name, _)| utf8(name));
                let alone = names.filter(|name| matches!(pick(&form, name), Seen::Value(_)));
                proptest::prop_assert_eq!(alone.count(), clear.len(), "{}", form);
            }
        }
    }

    #[test]
    fn long_names_take_no_longer_than_short_ones() {
        // Compared one by one, these would take seconds.
        let beginning = "é".repeat(10_000);
        let form: Vec<String> = (0..MAX_FIELDS)
            .map(|number| format!("{beginning}{number}=1"))
            .collect();
        assert_eq!(clear_fields(&form.join("&")).len(), MAX_FIELDS);
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
