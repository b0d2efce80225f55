//! Public test sets of HTTP, against a gateway in front of a real origin; and redis-cell, beside the door that takes its place.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::bench::build_redis_cell;
use crate::command::{cargo, root, run};
use crate::packages;
use crate::steps::Steps;
use crate::totals::run_tests;

/// A program of crates.io.
struct Program {
    name: &'static str,
    package: &'static str,
    version: &'static str,
}

/// HTTP/2 by RFC 9113.
const HTTPWG: Program = Program {
    name: "httpwg",
    package: "httpwg-cli",
    version: "0.2.5",
};
/// Smuggled requests.
const SMUGGLEX: Program = Program {
    name: "smugglex",
    package: "smugglex",
    version: "0.4.0",
};

/// Builds the test sets, and the programs that Tidegate takes the place of, if they are not there yet, and holds what they find against what was judged.
pub(crate) fn all(steps: &mut Steps) {
    steps.run("packages", || packages::ensure(packages::FOR_CONFORMANCE));
    steps.run("conformance", || {
        run_tests(
            cargo("test --locked --workspace --test conformance -- --nocapture --test-threads=1")
                .env("TIDEGATE_HTTPWG", HTTPWG.find()?)
                .env("TIDEGATE_SMUGGLEX", SMUGGLEX.find()?),
        )
    });
    steps.run("redis-cell", || {
        run_tests(
            cargo("test --locked --workspace --test redis_cell")
                .env("TIDEGATE_REDIS_CELL", build_redis_cell()?),
        )
    });
}

impl Program {
    /// Where it is below `target/`, where it is put the first time. Built without optimizing: it takes half the time, and waits most of its own.
    fn find(&self) -> anyhow::Result<PathBuf> {
        let Self {
            name,
            package,
            version,
        } = self;
        let folder = root().join(format!("target/tools/{package}-{version}"));
        let path = folder.join("bin").join(name);
        if !path.is_file() {
            let mut install = cargo("install --quiet --debug --locked --root");
            run(install.arg(&folder).arg(format!("{package}@{version}")))
                .with_context(|| format!("{package} does not build"))?;
        }
        Ok(path)
    }
}
