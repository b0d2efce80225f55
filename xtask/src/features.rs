//! Features add API and never change behaviour, so every set of them must build on its own.

use cargo_metadata::{MetadataCommand, Package};

use crate::command::{cargo, run};

/// A package with more features than this gets each feature alone and all of them, not every subset.
const SUBSETS_UP_TO: usize = 4;

/// Lints every crate of the workspace under every set of its features.
pub(crate) fn check() -> anyhow::Result<String> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut count = 0;
    for package in metadata.workspace_packages() {
        for set in sets(&names(package)) {
            let features = set.join(",");
            let arguments = format!(
                "clippy --locked --package {} --no-default-features --features",
                package.name
            );
            run(cargo(&arguments).arg(features).args(["--", "-D", "warnings"]))?;
            count += 1;
        }
    }
    Ok(format!("{count} sets"))
}

fn names(package: &Package) -> Vec<&str> {
    package
        .features
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "default")
        .collect()
}

/// Sets of `names` to build; none if there are no features to choose from.
fn sets<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    if names.is_empty() {
        return Vec::new();
    }
    if names.len() <= SUBSETS_UP_TO {
        let member = |set: usize, index: usize| set & (1 << index) != 0;
        return (0..1 << names.len())
            .map(|set| {
                (0..names.len())
                    .filter(|index| member(set, *index))
                    .map(|index| names[index])
                    .collect()
            })
            .collect();
    }
    let mut sets = vec![vec![], names.to_vec()];
    sets.extend(names.iter().map(|name| vec![*name]));
    sets
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn few_features_are_built_in_every_combination() {
        assert_eq!(sets(&["a", "b"]), [vec![], vec!["a"], vec!["b"], vec!["a", "b"]]);
    }

    #[test]
    fn many_features_are_built_alone_and_all_together() {
        let sets = sets(&["a", "b", "c", "d", "e"]);
        assert_eq!(sets.len(), 7);
        assert!(sets.contains(&vec![]) && sets.contains(&vec!["c"]));
    }

    #[test]
    fn a_crate_without_features_is_left_to_the_workspace_build() {
        assert!(sets(&[]).is_empty());
    }
}
