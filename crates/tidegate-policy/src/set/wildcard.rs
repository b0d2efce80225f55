//! Texts with `*` in them.

/// A text in which each `*` stands for any run of characters, an empty one too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcard {
    /// What comes before the first `*`.
    first: Box<str>,
    /// What stands between two, none of them empty.
    between: Box<[Box<str>]>,
    /// What comes behind the last.
    last: Box<str>,
}

impl Wildcard {
    /// The pattern `text`. None if there is no `*` in it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (first, rest) = text.split_once('*')?;
        let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        let between = between.split('*').filter(|piece| !piece.is_empty());
        Some(Self {
            first: first.into(),
            between: between.map(Into::into).collect(),
            last: last.into(),
        })
    }

    /// Whether `text` looks like that. What stands between is looked for from left to right, each piece behind the one before it, and
    /// the first place is as good as any: the time grows with the length of `text` alone, however many `*` there are.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let rest = text.strip_prefix(&*self.first);
        let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(&*self.last)) else {
            return false;
        };
        for piece in &self.between {
            let Some(at) = rest.find(&**piece) else {
                return false;
            };
            rest = &rest[at + piece.len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by trying everything.
    fn tried(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|skipped| tried(rest, &text[skipped..])),
            Some((byte, rest)) => text
                .split_first()
                .is_some_and(|(own, text)| own == byte && tried(rest, text)),
        }
    }

    #[test]
    fn a_text_without_a_star_is_no_pattern() {
        assert_eq!(Wildcard::parse("abc"), None);
    }

    #[test]
    fn beginning_and_end_may_not_overlap() {
        let pattern = Wildcard::parse("aba*ba").unwrap();
        assert!(!pattern.matches("aba"));
        assert!(!pattern.matches("ababa"[..4].as_ref()));
        assert!(pattern.matches("ababa"));
        assert!(pattern.matches("abaXba"));
    }

    #[test]
    fn a_pattern_of_many_stars_is_done_with_a_long_text_in_one_go() {
        // By trying, 10^40 ways: this would not end.
        let pattern = Wildcard::parse(&"a*".repeat(64)).unwrap();
        let text = "a".repeat(1 << 20);
        assert!(pattern.matches(&text));
        let pattern = Wildcard::parse(&format!("{}b", "a*".repeat(64))).unwrap();
        assert!(!pattern.matches(&text));
    }

    proptest! {
        #[test]
        fn every_star_stands_for_any_run_of_characters(pattern in "[ab*]{0,8}\\*[ab*]{0,4}", text in "[ab]{0,12}") {
            let matches = Wildcard::parse(&pattern).unwrap().matches(&text);
            prop_assert_eq!(matches, tried(pattern.as_bytes(), text.as_bytes()), "{} {}", pattern, text);
        }
    }
}
