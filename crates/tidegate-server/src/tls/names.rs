//! The names in certificates, and which of them a host is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tidegate_policy::normal_host;

/// Which of several certificates holds a name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<Box<str>, usize>,
    /// By what follows `*.`.
    wild: HashMap<Box<str>, usize>,
}

impl Names {
    /// `name`, which may begin with `*.`, is in the certificate `index`. False if it is in another one already.
    pub(crate) fn add(&mut self, name: &str, index: usize) -> bool {
        let name = name.to_ascii_lowercase();
        let (names, name) = match name.strip_prefix("*.") {
            Some(parent) => (&mut self.wild, parent),
            None => (&mut self.exact, &*name),
        };
        match names.entry(name.into()) {
            Entry::Occupied(known) => *known.get() == index,
            Entry::Vacant(place) => {
                place.insert(index);
                true
            }
        }
    }

    /// The certificate for `host`, which may have a port: one that has the very name, else one with a `*` for its first label.
    pub(crate) fn find(&self, host: &str) -> Option<usize> {
        let host = normal_host(host);
        if let Some(index) = self.exact.get(&*host) {
            return Some(*index);
        }
        let (first, parent) = host.split_once('.')?;
        self.wild.get(parent).filter(|_| !first.is_empty()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_very_name_comes_before_a_wildcard_and_a_wildcard_is_one_label() {
        let mut names = Names::default();
        assert!(names.add("*.Example.com", 0));
        assert!(names.add("www.example.com", 1));
        assert_eq!(names.find("www.example.com"), Some(1));
        assert_eq!(names.find("WWW.example.com."), Some(1));
        assert_eq!(names.find("api.example.com"), Some(0));
        assert_eq!(names.find("a.api.example.com"), None);
        assert_eq!(names.find("example.com"), None);
        assert_eq!(names.find(".example.com"), None);
        assert_eq!(names.find(""), None);
    }

    #[test]
    fn a_name_is_in_one_certificate() {
        let mut names = Names::default();
        assert!(names.add("a.test", 0) && names.add("A.test", 0));
        assert!(!names.add("a.test", 1));
        assert!(names.add("*.a.test", 1));
        assert!(!names.add("*.a.test", 0));
    }
}
