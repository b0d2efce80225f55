//! Our interpreter beside that of the `cel` crate: what both can compute is the same.

use std::collections::HashMap;

use cel::{Context, Value as CelValue};
use proptest::prelude::*;

use super::{World, shown};
use crate::expression::ExpressionFault::{NotText, TooLong, TooMuchWork};
use crate::expression::{Fuel, check, evaluate, parse};

/// Makes expressions, well typed, of choices that proptest takes.
struct Maker<'c> {
    choices: std::slice::Iter<'c, u8>,
    depth: usize,
}

impl Maker<'_> {
    /// One of `count`; the first, which is simple, once the choices or the depth are used up.
    fn choose(&mut self, count: u8) -> u8 {
        if self.depth > 5 {
            return 0;
        }
        self.choices.next().map_or(0, |choice| choice % count)
    }

    fn below(&mut self, make: impl FnOnce(&mut Self) -> String) -> String {
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    fn operator(&mut self, operators: &[&str]) -> String {
        let count = u8::try_from(operators.len()).unwrap();
        let choice = self.choices.next().map_or(0, |choice| choice % count);
        operators[usize::from(choice)].to_owned()
    }

    fn int(&mut self) -> String {
        self.below(|maker| match maker.choose(14) {
            0 => "x".to_owned(),
            1 => "0".to_owned(),
            2 => "1".to_owned(),
            3 => "-3".to_owned(),
            4 => "9223372036854775807".to_owned(),
            5 => "(-9223372036854775808)".to_owned(),
            6 => format!("size({})", maker.text()),
            7 => format!("size({})", maker.list()),
            8 => format!("int({})", maker.text()),
            9 => format!("int({})", maker.double()),
            10 => format!("int({})", maker.uint()),
            11 => format!("{}[{}]", maker.list(), maker.int()),
            12 => format!("({} ? {} : {})", maker.bool(), maker.int(), maker.int()),
            _ => {
                let operator = maker.operator(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", maker.int(), maker.int())
            }
        })
    }

    fn uint(&mut self) -> String {
        self.below(|maker| match maker.choose(6) {
            0 => "2u".to_owned(),
            1 => "0u".to_owned(),
            2 => "18446744073709551615u".to_owned(),
            3 => format!("uint({})", maker.int()),
            4 => format!("uint({})", maker.double()),
            _ => {
                let operator = maker.operator(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", maker.uint(), maker.uint())
            }
        })
    }

    fn double(&mut self) -> String {
        self.below(|maker| match maker.choose(7) {
            0 => "1.5".to_owned(),
            1 => "0.0".to_owned(),
            2 => "1e300".to_owned(),
            3 => "-2.5".to_owned(),
            4 => format!("double({})", maker.int()),
            5 => format!("double({})", maker.text()),
            // Nothing that could be no number: ours compares those as IEEE 754 and the language have it, the crate fails.
            _ => {
                let operator = maker.operator(&["+", "-"]);
                format!("({} {operator} {})", maker.double(), maker.double())
            }
        })
    }

    fn text(&mut self) -> String {
        self.below(|maker| match maker.choose(9) {
            0 => "request.method".to_owned(),
            1 => "'7'".to_owned(),
            2 => "'äé'".to_owned(),
            3 => "request.headers['x-count']".to_owned(),
            4 => "request.headers['none']".to_owned(),
            5 => format!("string({})", maker.int()),
            6 => format!("({} + {})", maker.text(), maker.text()),
            7 => format!("{{'a': {}, 'b': 'POST'}}[{}]", maker.text(), maker.text()),
            _ => format!("({} ? {} : {})", maker.bool(), maker.text(), maker.text()),
        })
    }

    fn list(&mut self) -> String {
        self.below(|maker| match maker.choose(6) {
            0 => "[1, 2, 3]".to_owned(),
            1 => "[]".to_owned(),
            2 => format!("[{}, {}]", maker.int(), maker.int()),
            3 => format!("({} + {})", maker.list(), maker.list()),
            4 => format!("{}.map(x, {})", maker.list(), maker.int()),
            _ => format!("{}.filter(x, {})", maker.list(), maker.bool()),
        })
    }

    fn bool(&mut self) -> String {
        let compared = ["==", "!=", "<", "<=", ">", ">="];
        self.below(|maker| match maker.choose(14) {
            0 => "true".to_owned(),
            1 => format!("!{}", maker.bool()),
            2 => format!("({} && {})", maker.bool(), maker.bool()),
            3 => format!("({} || {})", maker.bool(), maker.bool()),
            4 => format!("({} {} {})", maker.int(), maker.operator(&compared), maker.int()),
            // The crate compares whole numbers and fractions as fractions, which is wrong for large ones.
            5 => format!("(x {} {})", maker.operator(&compared), maker.double()),
            6 => format!("(2u {} {})", maker.operator(&compared), maker.double()),
            7 => format!(
                "({} {} {})",
                maker.text(),
                maker.operator(&compared),
                maker.text()
            ),
            8 => format!(
                "({} {} {})",
                maker.list(),
                maker.operator(&["==", "!="]),
                maker.list()
            ),
            9 => format!("({} in {})", maker.int(), maker.list()),
            10 => format!("({} in request.headers)", maker.text()),
            11 => format!(
                "{}.{}({})",
                maker.text(),
                maker.operator(&["contains", "startsWith"]),
                maker.text()
            ),
            12 => "has(request.headers.none)".to_owned(),
            _ => {
                let call = maker.operator(&["all", "exists", "exists_one"]);
                format!("{}.{call}(x, {})", maker.list(), maker.bool())
            }
        })
    }
}

/// What the crate makes of `tree`. None if it fails.
fn theirs(tree: &cel::IdedExpr) -> Option<CelValue> {
    let mut context = Context::default();
    let headers = HashMap::from([("x-plan", "gold"), ("x-count", "7")]);
    let request: HashMap<&str, CelValue> = HashMap::from([
        ("method", CelValue::from("POST")),
        ("headers", CelValue::from(headers)),
    ]);
    context.add_variable_from_value("request", request);
    CelValue::resolve(tree, &context).ok()
}

fn their_text(value: &CelValue) -> String {
    match value {
        CelValue::Null => "null".to_owned(),
        CelValue::Bool(value) => value.to_string(),
        CelValue::Int(value) => value.to_string(),
        CelValue::UInt(value) => format!("{value}u"),
        CelValue::Float(value) => format!("{value:?}"),
        CelValue::String(text) => format!("'{text}'"),
        CelValue::List(items) => {
            let items: Vec<String> = items.iter().map(their_text).collect();
            format!("[{}]", items.join(", "))
        }
        CelValue::Map(_) => "map".to_owned(),
        other => format!("{other:?}"),
    }
}

/// Whether `source` is right, and that both interpreters come to the same if it is.
fn agree(source: &str) -> bool {
    let Ok(tree) = parse::parse(source) else {
        return false;
    };
    let Ok(typed) = check::check(&tree, source, super::About::Requests) else {
        return false;
    };
    World::default().see(|scope| {
        let ours = evaluate::evaluate(&typed.node, scope, &mut Fuel::new()).map(|value| shown(&value));
        if matches!(ours, Err(TooMuchWork | TooLong | NotText)) {
            return;
        }
        let theirs = theirs(&tree).map(|value| their_text(&value));
        assert_eq!(ours.clone().ok(), theirs, "{source}: ours is {ours:?}");
    });
    true
}

#[test]
fn both_interpreters_come_to_the_same() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        // The same each time: where the crate is at fault, a run is no worse than the one before.
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    });
    let right = std::cell::Cell::new(0);
    let outcome = runner.run(&prop::collection::vec(any::<u8>(), 0..60), |choices| {
        let mut maker = Maker {
            choices: choices.iter(),
            depth: 0,
        };
        // `x` is known within.
        let source = format!("[4, 5].map(x, [{}])", maker.bool());
        right.set(right.get() + usize::from(agree(&source)));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        right.get() > 500,
        "only {} of the expressions were right",
        right.get()
    );
}
