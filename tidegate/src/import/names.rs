//! Names of policies, made of what others call theirs.

use std::collections::HashMap;

/// The longest name of a policy.
const MAX_NAME_BYTES: usize = 64;

/// The names given so far, and the number that comes next behind each.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, u32>);

impl Names {
    /// A name that nobody has yet, as near to `wanted` as names may be: letters, digits, `_`, `-` and `.`.
    pub(super) fn give(&mut self, wanted: &str) -> String {
        let name = fitting(wanted);
        let Some(mut number) = self.0.get(&name).copied() else {
            self.0.insert(name.clone(), 2);
            return name;
        };
        loop {
            let suffix = format!("-{number}");
            let room = MAX_NAME_BYTES - suffix.len();
            let numbered = format!("{}{suffix}", &name[..name.len().min(room)]);
            number += 1;
            if !self.0.contains_key(&numbered) {
                self.0.insert(name, number);
                self.0.insert(numbered.clone(), 2);
                return numbered;
            }
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
    if name.len() > MAX_NAME_BYTES {
        // Its end tells more than its middle.
        let end = name.split_off(name.len() - MAX_NAME_BYTES / 2);
        name.truncate(MAX_NAME_BYTES - end.len() - 1);
        name = format!("{name}-{end}");
    }
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
        let long = "x".repeat(200) + "yz";
        assert_eq!(names.give("api"), "api");
        assert_eq!(names.give("api"), "api-2");
        assert_eq!(names.give("api"), "api-3");
        let first = names.give(&long);
        assert_eq!(first.len(), MAX_NAME_BYTES);
        assert!(first.ends_with("xyz"), "{first}");
        let second = names.give(&long);
        assert_eq!(second.len(), MAX_NAME_BYTES);
        assert!(second.ends_with("x-2"), "{second}");
        let third = names.give(&long);
        assert!(third.ends_with("x-3"), "{third}");
    }
}
