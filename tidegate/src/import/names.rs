//! Names of policies, made of what others call theirs.

use std::collections::HashSet;

/// The longest name of a policy.
const MAX_NAME_BYTES: usize = 64;

/// The names given so far.
#[derive(Debug, Default)]
pub(super) struct Names(HashSet<String>);

impl Names {
    /// A name that nobody has yet, as near to `wanted` as names may be: letters, digits, `_`, `-` and `.`.
    pub(super) fn give(&mut self, wanted: &str) -> String {
        let name = fitting(wanted);
        if self.0.insert(name.clone()) {
            return name;
        }
        let mut number = 2;
        loop {
            let suffix = format!("-{number}");
            let room = MAX_NAME_BYTES - suffix.len();
            let numbered = format!("{}{suffix}", &name[..name.len().min(room)]);
            if self.0.insert(numbered.clone()) {
                return numbered;
            }
            number += 1;
        }
    }
}

/// `wanted` without what no name may have: a run of other characters is one `-`, and signs at either end go.
pub(super) fn fitting(wanted: &str) -> String {
    let mut name = String::new();
    for char in wanted.chars() {
        if char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.') {
            name.push(char);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(MAX_NAME_BYTES);
    let trimmed = name.trim_matches(['-', '.']);
    if trimmed.is_empty() {
        "policy".to_owned()
    } else {
        trimmed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_name_may_have_becomes_a_dash() {
        assert_eq!(fitting("shop.path_/v1/*.user"), "shop.path_-v1-.user");
        assert_eq!(fitting("shop.address_10.0.*"), "shop.address_10.0");
        assert_eq!(fitting("Größe 10"), "Gr-e-10");
        assert_eq!(fitting("**"), "policy");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number_and_stays_short_enough() {
        let mut names = Names::default();
        let long = "x".repeat(200);
        assert_eq!(names.give("api"), "api");
        assert_eq!(names.give("api"), "api-2");
        assert_eq!(names.give("api"), "api-3");
        assert_eq!(names.give(&long).len(), MAX_NAME_BYTES);
        let second = names.give(&long);
        assert_eq!(second.len(), MAX_NAME_BYTES);
        assert!(second.ends_with("x-2"), "{second}");
    }
}
