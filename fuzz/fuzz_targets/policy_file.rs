//! Any text is a policy file or a list of problems, each at a place that the file has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_core::KeyHasher;
use tidegate_policy::{PolicyFile, compile};

fuzz_target!(|text: &str| {
    let hasher = KeyHasher::new([7; 16]);
    let file = PolicyFile { name: "fuzzed.yaml", text };
    let problems = match compile(file, &hasher) {
        Ok(compiled) => {
            assert!(!compiled.warnings.has_errors());
            compiled.warnings
        }
        Err(problems) => {
            assert!(problems.has_errors());
            problems
        }
    };
    for problem in problems.iter() {
        // One more than there are: what is missing is missing at the end.
        assert!(problem.line <= text.split(['\n', '\r']).count() + 1, "{problem:?}");
        assert!(!problem.message.is_empty() && !problem.cure.is_empty(), "{problem:?}");
    }
});
