//! The direction of crate dependencies.

use cargo_metadata::{Metadata, MetadataCommand};

/// Who may depend on whom inside this workspace, for any purpose. Everything else is forbidden.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "tidegate",
        &["tidegate-server", "tidegate-policy", "tidegate-core"],
    ),
    (
        "tidegate-server",
        &[
            "tidegate-counters",
            "tidegate-policy",
            "tidegate-store",
            "tidegate-clock",
            "tidegate-core",
        ],
    ),
    (
        "tidegate-counters",
        &[
            "tidegate-policy",
            "tidegate-store",
            "tidegate-clock",
            "tidegate-core",
        ],
    ),
    ("tidegate-clock", &["tidegate-core"]),
    ("tidegate-client", &[]),
    (
        "tidegate-tower",
        &[
            "tidegate-client",
            "tidegate-counters",
            "tidegate-policy",
            "tidegate-store",
            "tidegate-clock",
            "tidegate-core",
        ],
    ),
    ("tidegate-policy", &["tidegate-core"]),
    (
        "tidegate-store",
        &["tidegate-core", "tidegate-fixtures", "tidegate-test-servers"],
    ),
    ("tidegate-core", &["tidegate-fixtures"]),
    ("tidegate-fixtures", &[]),
    ("tidegate-e2e", &["tidegate-tower", "tidegate-test-servers"]),
    ("tidegate-test-servers", &[]),
    ("xtask", &[]),
];

/// Every dependency between our crates that no arrow allows.
pub(crate) fn forbidden() -> anyhow::Result<Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    Ok(problems(&edges(&metadata)))
}

/// A crate of ours and a crate of ours that it depends on, if any.
struct Edge {
    from: String,
    to: Option<String>,
}

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let packages = metadata.workspace_packages();
    let ours = |name: &str| packages.iter().any(|package| *package.name == name);
    let mut edges = Vec::new();
    for package in &packages {
        let from = package.name.to_string();
        edges.push(Edge {
            from: from.clone(),
            to: None,
        });
        let targets = package
            .dependencies
            .iter()
            .filter(|dependency| ours(&dependency.name));
        edges.extend(targets.map(|dependency| Edge {
            from: from.clone(),
            to: Some(dependency.name.clone()),
        }));
    }
    edges
}

fn problems(edges: &[Edge]) -> Vec<String> {
    edges.iter().filter_map(problem).collect()
}

fn problem(edge: &Edge) -> Option<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == edge.from) else {
        return edge
            .to
            .is_none()
            .then(|| format!("crate {} has no line in xtask/src/edges.rs", edge.from));
    };
    // A crate's tests may depend on the crate itself, with a feature more.
    let to = edge.to.as_deref().filter(|to| *to != edge.from)?;
    (!allowed.contains(&to)).then(|| format!("{} must not depend on {to}", edge.from))
}

#[cfg(test)]
mod tests {
    use super::{Edge, problems};

    fn edge(from: &str, to: &str) -> Edge {
        Edge {
            from: from.into(),
            to: Some(to.into()),
        }
    }

    #[test]
    fn an_arrow_against_the_flow_is_a_problem() {
        let found = problems(&[
            edge("tidegate-core", "tidegate-store"),
            edge("tidegate-store", "tidegate-core"),
        ]);
        assert_eq!(found, ["tidegate-core must not depend on tidegate-store"]);
    }

    #[test]
    fn policy_and_store_do_not_know_each_other() {
        let found = problems(&[
            edge("tidegate-policy", "tidegate-store"),
            edge("tidegate-store", "tidegate-policy"),
        ]);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_new_crate_needs_its_line() {
        let found = problems(&[Edge {
            from: "tidegate-new".into(),
            to: None,
        }]);
        assert_eq!(found, ["crate tidegate-new has no line in xtask/src/edges.rs"]);
    }
}
