//! No file makes the compiler panic, and every problem has a place inside the file.

use proptest::prelude::*;
use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, Problems, compile};

const SEEDS: [&str; 4] = [
    include_str!("../../../examples/public-api.yaml"),
    include_str!("../../../examples/tenants.yaml"),
    include_str!("../../../examples/rehearsal.yaml"),
    include_str!("problems/matching.yaml"),
];

/// Pieces that parsers of YAML and of our own stumble over.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    "\n",
    "  ",
    "\t",
    "'",
    "\"",
    "&a ",
    "*a",
    "<<: ",
    "!!x ",
    "|\n",
    "%",
    "\u{0}",
    "\u{feff}",
    "é",
    "🦀",
    "99999999999999999999",
    "/../",
    "---\n",
];

fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        any::<prop::sample::Index>(),
        0..12_usize,
        prop::sample::select(PIECES.to_vec()),
    );
    (
        prop::sample::select(SEEDS.to_vec()),
        prop::collection::vec(edit, 1..8),
    )
        .prop_map(|(seed, edits)| {
            let mut chars: Vec<char> = seed.chars().collect();
            for (at, removed, piece) in edits {
                let at = at.index(chars.len() + 1);
                let end = (at + removed).min(chars.len());
                chars.splice(at..end, piece.chars());
            }
            chars.into_iter().collect()
        })
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let file = PolicyFile {
        name: "fuzzed.yaml",
        text,
    };
    match compile(file, &KeyHasher::new([0; 16])) {
        Ok(compiled) => {
            prop_assert!(!compiled.warnings.has_errors());
            placed(&compiled.warnings, text)
        }
        Err(problems) => {
            prop_assert!(problems.has_errors());
            placed(&problems, text)
        }
    }
}

fn placed(problems: &Problems, text: &str) -> Result<(), TestCaseError> {
    // One line more than `lines` counts: an unfinished file ends on it.
    let lines = text.split('\n').count() + 1;
    for problem in problems {
        prop_assert!((1..=lines).contains(&problem.line), "{problem}");
        prop_assert!(
            problem.column >= 1 && !problem.message.is_empty() && !problem.cure.is_empty(),
            "{problem}"
        );
        prop_assert!(
            !problem.to_string().contains('\u{0}'),
            "a control character is printed"
        );
    }
    Ok(())
}

#[test]
fn aliases_cannot_make_a_short_file_take_much_memory() {
    let copies = |count| format!("a: &a {}\nb: [{}]", "x".repeat(1024 * 1024), "*a, ".repeat(count));
    let problems = |count| {
        let file = PolicyFile {
            name: "bomb.yaml",
            text: &copies(count),
        };
        compile(file, &KeyHasher::new([0; 16])).unwrap_err().to_string()
    };
    assert!(!problems(4).contains("aliases copy"), "{}", problems(4));
    assert!(
        problems(5).contains("bomb.yaml:2:21: error: aliases copy more than 4 MiB"),
        "{}",
        problems(5)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_files_are_compiled_or_refused_without_a_panic(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn random_text_is_refused_without_a_panic(text in any::<String>()) {
        check(&text)?;
    }
}
