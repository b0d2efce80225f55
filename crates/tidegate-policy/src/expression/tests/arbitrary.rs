//! Any text is an expression or a complaint about a place in it, and evaluation ends.

use proptest::prelude::*;

use super::World;
use crate::expression::{Expression, Use};

/// Texts of the words and signs that expressions are made of, in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        ".",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "==",
        "<",
        "in",
        "'a'",
        "\"",
        "'",
        "\\",
        "1",
        "2u",
        "1.5",
        "1e999",
        "0x",
        "null",
        "true",
        "x",
        "y",
        "_",
        "@result",
        "`a`",
        "é",
        "\n",
        "//",
        "b'a'",
        "r'\\'",
        "request",
        "request.path",
        ".headers",
        "['x-plan']",
        "claims",
        "body.json",
        "has(",
        "size(",
        "int(",
        "string(",
        ".map(x,",
        ".all(y,",
        ".filter(x,",
        ".exists_one(x,",
        ".matches('a+')",
        ".contains(",
        "cidr('10.0.0.0/8')",
        ".contains(client.ip)",
        "[1, 2].map(x, x)",
        "optional.of(",
        ".?a",
        "[?1]",
        "type(",
        "Msg{",
    ]);
    prop::collection::vec(words, 0..30).prop_map(|words| words.join(""))
}

fn try_all(source: &str) -> Result<(), TestCaseError> {
    for used_as in [Use::Condition, Use::Cost, Use::KeyPart] {
        match Expression::compile(source, super::About::Requests, used_as) {
            Ok(expression) => World::default().see(|scope| _ = expression.evaluate(scope)),
            Err(complaints) => {
                prop_assert!(!complaints.is_empty());
                for complaint in complaints {
                    prop_assert!(
                        source.get(complaint.at.clone()).is_some(),
                        "{source:?} {complaint:?}"
                    );
                    prop_assert!(!complaint.message.is_empty() && !complaint.cure.is_empty());
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_in_any_order_are_an_expression_or_a_complaint(source in soup()) {
        try_all(&source)?;
    }

    #[test]
    fn any_text_is_an_expression_or_a_complaint(source in "\\PC{0,60}") {
        try_all(&source)?;
    }
}

/// In debug builds, where frames are largest, on the stack that tests have. These once took hundreds of megabytes or the
/// whole stack in other parsers.
#[test]
fn deep_and_doubtful_texts_take_little_stack_and_time() {
    for piece in [
        "(",
        "[",
        "{1:",
        "!",
        "-",
        "!-",
        "-(",
        "f(",
        "a.b(",
        "1?",
        "1?1:",
        "a[",
        "a.",
        "[1].map(x,",
        "has(a.",
        "!!(!!!!!!(!!!!(((((!!(!!(!!!!((",
        "a{b:",
        "1+",
        "true&&",
        "true||",
        "1==",
        "1,",
        "?[",
        "'",
        "\"\"\"",
    ] {
        for count in [10, 100, 1000] {
            let source = piece.repeat(count);
            try_all(&source).unwrap();
            try_all(&format!("{source}1")).unwrap();
        }
    }
}
