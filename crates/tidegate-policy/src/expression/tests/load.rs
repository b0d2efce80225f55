//! What is said of expressions when a file is read.

use super::complaints;
use crate::expression::Use;
use crate::expression::check::{MAX_DEPTH, MAX_NODES};
use crate::expression::parse::{MAX_NESTING, MAX_SOURCE_BYTES, MAX_TOKENS};

#[test]
fn what_is_wrong_is_said_with_its_place_and_cure() {
    for (source, said) in [
        (
            "requst.method == 'a'",
            "requst | `requst` is not known here | did you mean `request`?",
        ),
        (
            "request.metod == 'a'",
            "metod | `request` has no field `metod` | did you mean `request.method`?",
        ),
        ("request == 'a'", ""),
        (
            "request.method == 1",
            "== | `==` between string and int is never right | convert one of them: `string(…)`, `int(…)`",
        ),
        (
            "request.method + 1 == 'a'",
            "+ | `+` does not take string and int | convert it: `\"a\" + string(1)`",
        ),
        (
            "request.method",
            "request.method | `when` is true or false, and this expression is of type string | compare with something: `request.method == \"POST\"`",
        ),
        (
            "request.headers.user-agent == 'a'",
            "agent | `agent` is not known here | a name with `-` goes in brackets: `request.headers[\"user-agent\"]`",
        ),
        (
            "request.headers['X-A'] == 'a'",
            "'X-A' | `X-A` is never there: header fields are named in lower case | write `request.headers[\"x-a\"]`",
        ),
        (
            "request.path.startWith('/a')",
            "startWith | there is no function `startWith` | did you mean `text.startsWith(\"a\")`?",
        ),
        (
            "request.path.matches(request.host)",
            "host | a regular expression is written out, so that it is compiled once | write it in quotes: `request.path.matches(\"^/v[0-9]+/\")`",
        ),
        (
            "request.path.matches('(')",
            "'(' | this is no regular expression: unclosed group | write it as in RE2, without look-around and back references",
        ),
        (
            "cidr('10.0.0/8').contains(client.ip)",
            "'10.0.0/8' | this is no network | write `cidr(\"10.0.0.0/8\")`, or a list of networks",
        ),
        (
            "[1, 'a'].exists(x, x == 1)",
            "[ | a list of one type, and these are int and string | write values of one type",
        ),
        (
            "request.query.all(x)",
            "all | `all` is not called like this | write `list.all(x, x > 1)`",
        ),
        (
            "size(1) == 1",
            "size | a value of type int has no size | write a string, a list or a map",
        ),
        (
            "1 == ",
            " | this is no expression: mismatched input 'the end' expecting expression | an expression looks like `request.method == \"POST\" && size(request.query) > 2`",
        ),
        (
            "b'a' == b'a'",
            "b | bytes are not used here | write a string, without `b`\nb | bytes are not used here | write a string, without `b`",
        ),
        (
            "a && b",
            "a | `a` is not known here | write `request`, `client`, `tls`, `identity`, `claims`, `body`, `bot` or `geo`, or a string in quotes\nb | `b` is not known here | write `request`, `client`, `tls`, `identity`, `claims`, `body`, `bot` or `geo`, or a string in quotes",
        ),
    ] {
        if said.is_empty() {
            assert_ne!(complaints(source, Use::Condition), "right", "{source}");
        } else {
            assert_eq!(complaints(source, Use::Condition), said, "{source}");
        }
    }
}

#[test]
fn an_expression_is_of_the_type_that_its_place_wants() {
    for (source, used_as, is_right) in [
        ("true", Use::Condition, true),
        ("1", Use::Condition, false),
        ("body.json.a", Use::Condition, true),
        ("1", Use::Cost, true),
        ("1u", Use::Cost, true),
        ("1.0", Use::Cost, false),
        ("'1'", Use::Cost, false),
        ("body.json.a", Use::Cost, true),
        ("'a'", Use::KeyPart, true),
        ("1", Use::KeyPart, true),
        ("true", Use::KeyPart, true),
        ("1.0", Use::KeyPart, false),
        ("[1]", Use::KeyPart, false),
        ("claims", Use::KeyPart, false),
        ("null", Use::KeyPart, false),
    ] {
        assert_eq!(
            complaints(source, used_as) == "right",
            is_right,
            "{source} as {used_as:?}"
        );
    }
}

#[test]
fn expressions_are_bounded_in_length_words_depth_and_nesting() {
    let is_right = |source: &str| complaints(source, Use::Condition) == "right";

    let padding = |bytes: usize| format!("true{}", " ".repeat(bytes - 4));
    assert!(is_right(&padding(MAX_SOURCE_BYTES)));
    assert!(!is_right(&padding(MAX_SOURCE_BYTES + 1)));

    // `true` and as many `|| true`, which become a tree of little depth.
    let words = |count: usize| format!("true{}", "||true".repeat((count - 1) / 2));
    assert!(is_right(&words(MAX_TOKENS - 1)));
    assert!(complaints(&words(MAX_TOKENS + 1), Use::Condition).contains("words and signs"));
    const { assert!(MAX_NODES >= MAX_TOKENS) };

    let sum = |terms: usize| format!("0{} == 0", "+0".repeat(terms - 1));
    assert!(is_right(&sum(MAX_DEPTH - 1)));
    assert!(complaints(&sum(MAX_DEPTH), Use::Condition).contains("too deep"));

    let lists = |depth: usize| format!("size({}{}) == 1", "[".repeat(depth), "]".repeat(depth));
    let nesting = usize::from(MAX_NESTING) - 1;
    assert!(is_right(&lists(nesting)));
    assert!(complaints(&lists(nesting + 2), Use::Condition).contains("levels deep"));

    assert!(is_right("[[1]].all(x, x.all(y, y == 1))"));
    assert!(!is_right("[[[1]]].all(x, x.all(y, y.all(z, z == 1)))"));
}

#[test]
fn a_regular_expression_may_not_grow_large() {
    assert_eq!(
        complaints("request.path.matches('^/[a-z]{1,100}$')", Use::Condition),
        "right"
    );
    assert!(complaints("request.path.matches('(a{100}){100}')", Use::Condition).contains("64 KiB"));
}
