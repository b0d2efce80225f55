//! Any text is a key file or a list of problems.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_policy::{Keyring, PolicyFile};

fuzz_target!(|text: &str| {
    let file = PolicyFile { name: "keys.yaml", text };
    match Keyring::parse(file) {
        Ok(keys) => assert_eq!(keys.is_empty(), keys.len() == 0),
        Err(problems) => assert!(problems.has_errors()),
    }
});
