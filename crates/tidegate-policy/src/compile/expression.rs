//! Expressions where they stand in the file.

use crate::document::node::Spanned;
use crate::document::report::Report;
use crate::expression::{About, Expression, Use};

/// What the expression in `text` means. What is wrong with it is reported at its place in the file.
pub(super) fn expression(
    text: &Spanned<String>,
    about: About,
    used_as: Use,
    report: &mut Report<'_>,
) -> Option<Expression> {
    match Expression::compile(&text.value, about, used_as) {
        Ok(expression) => Some(expression),
        Err(complaints) => {
            for complaint in complaints {
                let at = report.place_within(text.at, &text.value, complaint.at);
                report.error(at, complaint.message, complaint.cure);
            }
            None
        }
    }
}

/// Parts of a key that are named by what clients send: such a name may hold nearly any character.
const NAMED_KINDS: [&str; 6] = [
    "header.",
    "cookie.",
    "query.",
    "path.",
    "body.form.",
    "client.ip/",
];

/// What no such name holds.
const SIGNS: [char; 6] = ['"', '\'', '(', '+', '?', '='];

/// What only expressions know, whatever follows.
const VARIABLES: [&str; 5] = ["request.", "identity.", "tls.", "bot.", "geo."];

/// Whether the part `text` of a key is an expression, and none of the plain names.
pub(super) fn is_expression(text: &str) -> bool {
    let begins_with_one_of = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/');
    let is_name = begins_with_one_of(&NAMED_KINDS) && !text.contains(SIGNS);
    begins_with_one_of(&VARIABLES) || !(is_name || text.bytes().all(is_plain))
}
