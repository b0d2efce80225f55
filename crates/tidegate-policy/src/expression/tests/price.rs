//! What goes through long texts is paid for by their length, so that no request makes an evaluation slow.

use super::World;
use crate::expression::ExpressionFault::TooMuchWork;

/// `test` for each of a hundred items, beside `t`, which is `text`.
fn a_hundred_times(text: &str, test: &str) -> String {
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let hundred = [ten; 10].join("+");
    format!("[{text}].all(t, ({hundred}).all(x, {test}))")
}

fn with_long_texts(bytes: usize) -> World {
    let mut world = World {
        host: "h".repeat(bytes),
        ..World::default()
    };
    for (name, byte) in [("x-long", "a"), ("x-digits", "1")] {
        world.headers.insert(name, byte.repeat(bytes).parse().unwrap());
    }
    world
}

#[test]
fn long_texts_are_paid_for_wherever_something_goes_through_them() {
    for (text, test) in [
        ("1", "request.headers['x-long'] != 'b'"),
        ("1", "request.host != 'b'"),
        ("request.headers['x-long']", "!(t in request.headers)"),
        ("request.headers['x-long']", "!(t in request.query)"),
        ("request.headers['x-long']", "!(t in request.cookies)"),
        ("request.headers['x-long']", "t.lowerAscii() != 'b'"),
        ("request.headers['x-long']", "!t.matches('b')"),
        ("request.headers['x-long']", "!t.contains('b')"),
        ("request.headers['x-digits']", "double(t) > 0.0"),
    ] {
        let source = a_hundred_times(text, test);
        let seen = |bytes| with_long_texts(bytes).value(&source);
        assert_eq!(seen(8).as_deref(), Ok("true"), "{source}");
        assert_eq!(seen(16 * 1024), Err(TooMuchWork), "{source}");
    }
}

#[test]
fn a_fraction_and_a_regular_expression_are_paid_for_byte_by_byte() {
    for test in ["double(t) > 0.0", "!t.matches('b')"] {
        let source = a_hundred_times("request.headers['x-digits']", test);
        assert_eq!(
            with_long_texts(100).value(&source).as_deref(),
            Ok("true"),
            "{source}"
        );
        assert_eq!(with_long_texts(200).value(&source), Err(TooMuchWork), "{source}");
    }
}
