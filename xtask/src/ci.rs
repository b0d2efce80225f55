//! What a change must pass, in the order of what fails fastest.

use crate::command::{cargo, run};
use crate::steps::Steps;
use crate::{deny, features, test, tidy, wasm};

/// Every check, then every test.
pub(crate) fn all(steps: &mut Steps) {
    steps.run("format", || run(&mut cargo("fmt --all --check")));
    steps.run("tidy", tidy::check);
    steps.run("clippy", || {
        run(&mut cargo(
            "clippy --workspace --all-targets --locked -- -D warnings",
        ))
    });
    steps.run("feature sets", features::check);
    steps.run("docs", || {
        run(cargo("doc --workspace --no-deps --locked").env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.run("benches build", || {
        run(&mut cargo(
            "clippy --manifest-path bench/Cargo.toml --all-targets --locked -- -D warnings",
        ))
    });
    steps.run("deny", deny::check);
    steps.run("wasm32", wasm::build);
    test::all(steps);
}
