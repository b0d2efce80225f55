//! `tidegate import`, with the files in `fixtures/import`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::process::{run, run_with_input, stderr, stdout, tidegate};

/// The files of one limiter.
fn folder(limiter: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/import");
    fixtures.join(limiter)
}

fn imported(limiter: &str, files: &[&str]) -> Output {
    let arguments = ["import", limiter].into_iter().chain(files.iter().copied());
    tidegate(arguments).current_dir(folder(limiter)).output().unwrap()
}

/// What is printed for `files` is what stands in `NAME.policies.yaml` and `NAME.remarks.txt`, and `tidegate check` finds nothing wrong with it.
fn is_as_written(limiter: &str, name: &str, files: &[&str]) {
    let output = imported(limiter, files);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = |kind: &str| fs::read_to_string(folder(limiter).join(format!("{name}.{kind}"))).unwrap();
    assert_eq!(stdout(&output), written("policies.yaml"));
    assert_eq!(stderr(&output), written("remarks.txt"));
    let checked = run_with_input(["check", "-"], stdout(&output));
    assert_eq!(checked.status.code(), Some(0), "{}", stderr(&checked));
    assert_eq!(stderr(&checked), "");
}

#[test]
fn descriptors_of_ratelimit_become_policies() {
    is_as_written("envoy-ratelimit", "shop", &["shop.yaml"]);
}

#[test]
fn limits_of_limitador_become_policies() {
    is_as_written("limitador", "limits", &["limits.yaml"]);
}

#[test]
fn several_domains_make_one_policy_file_and_a_domain_twice_is_asked_about() {
    let both = ["shop.yaml", "shop-more.yaml"];
    let output = imported("envoy-ratelimit", &both);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = "shop-more.yaml:1:9: error: the domain `shop` is in line 2 of shop.yaml too";
    assert!(stderr(&output).starts_with(said), "{}", stderr(&output));
    assert!(stderr(&output).contains("--merge-domains"));

    let merged = imported("envoy-ratelimit", &["--merge-domains", both[0], both[1]]);
    assert_eq!(merged.status.code(), Some(0), "{}", stderr(&merged));
    assert!(stdout(&merged).contains("descriptor: [{ path: /returns }]"));
    assert!(stdout(&merged).contains("descriptor: [remote_address]"));
}

#[test]
fn all_that_is_wrong_is_told_at_once_with_place_and_cure() {
    for (limiter, name) in [("envoy-ratelimit", "wrong"), ("limitador", "wrong")] {
        let output = imported(limiter, &["wrong.yaml"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stdout(&output), "");
        let written = fs::read_to_string(folder(limiter).join(format!("{name}.problems.txt"))).unwrap();
        assert_eq!(stderr(&output), written);
    }
}

#[test]
fn standard_input_is_a_file_and_every_unreadable_file_is_named() {
    let output = run_with_input(
        ["import", "limitador", "-"],
        "- { namespace: a, max_value: 1, seconds: 60 }\n",
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("of <stdin>."), "{}", stdout(&output));

    let output = run(["import", "envoy-ratelimit", "/nowhere/a.yaml", "/nowhere/b.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "tidegate: cannot read /nowhere/a.yaml: there is no such file\n\
         tidegate: cannot read /nowhere/b.yaml: there is no such file\n"
    );
}

#[test]
fn what_no_policy_file_may_say_is_told_at_the_place_it_comes_from() {
    let stars = "*a".repeat(17);
    let text = format!(
        "domain: shop\ndescriptors:\n  - {{ key: a, value: b }}\n  - {{ key: c, value: '{stars}', rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"
    );
    let output = run_with_input(["import", "envoy-ratelimit", "-"], &text);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = "<stdin>:4:12: error: a value has at most 16 `*`\n";
    assert!(stderr(&output).starts_with(said), "{}", stderr(&output));
}

/// The files of the manual become what it says they become.
#[test]
fn the_manual_shows_what_becomes_of_its_files() {
    let page = include_str!("../../../docs/import.md");
    let blocks: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block)
        .collect();
    let [descriptors, their_policies, limits, policies_of_limits] = blocks[..] else {
        panic!("four blocks, not {}", blocks.len())
    };
    for (limiter, name, written, becomes) in [
        ("envoy-ratelimit", "shop.yaml", descriptors, their_policies),
        ("limitador", "limits.yaml", limits, policies_of_limits),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), written).unwrap();
        let mut command = tidegate(["import", limiter, name]);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert_eq!(stdout(&output), becomes, "{}", stderr(&output));
    }
}
