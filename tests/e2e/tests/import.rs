//! `docs/import.md` with the real Envoy: what it imports refuses what the limiter that it comes from would.

use std::fs;

use tidegate_e2e::{Beside, ENVOY_ARGUMENTS, Example, Proxy, blocks};

const PAGE: &str = include_str!("../../../docs/import.md");
const ENVOY: Proxy = Proxy {
    folder: "envoy",
    ports: &[10000, 8081, 9000],
    policies: "tidegate.yaml",
    command: "envoy --config-path ratelimit.yaml",
    more: ENVOY_ARGUMENTS,
    ready: "starting workers",
};

/// The first block of YAML below this heading, which is the other limiter's.
fn theirs(heading: &str) -> &'static str {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    blocks(section, "yaml").next().unwrap()
}

/// The command of the page that begins so, as it stands there.
fn command(beginning: &str) -> &'static str {
    let mut lines = PAGE.lines().map(str::trim);
    lines.find(|line| line.starts_with(beginning)).unwrap()
}

/// Imports in the folder of `example`, and starts nothing that the import does not say.
fn import(example: &Example, command: &str) {
    fs::remove_file(example.folder().join("tidegate.yaml")).unwrap();
    for command in [command, self::command("tidegate check")] {
        let output = example.shell(command);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "$ {command}\n{told}");
    }
    let made = fs::read_to_string(example.folder().join("tidegate.yaml")).unwrap();
    fs::write(example.folder().join("tidegate.yaml"), example.with_ports(&made)).unwrap();
}

/// Has Envoy make these descriptors of every request, of the client that the field `x-forwarded-for` names.
fn describe(example: &Example, descriptors: &str) {
    let own = "- actions: [{ remote_address: {} }]";
    example.change("ratelimit.yaml", own, descriptors);
    let remote = "use_remote_address: true";
    example.change(
        "ratelimit.yaml",
        remote,
        &format!("{remote}\n                xff_num_trusted_hops: 1"),
    );
    example.change("ratelimit.yaml", "timeout: 0.1s", "timeout: 20s");
}

/// How many of `times` requests pass, and that the others are 429.
fn passed(setup: &Beside, times: usize, path: &str, fields: &[&str]) -> usize {
    let fields: Vec<&str> = fields.iter().flat_map(|field| ["-H", field]).collect();
    let ask = |_| setup.get(path, &fields).status;
    let statuses: Vec<u16> = (0..times).map(ask).collect();
    let passed = statuses.iter().take_while(|status| **status == 200).count();
    assert!(
        statuses[passed..].iter().all(|status| *status == 429),
        "{statuses:?}"
    );
    passed
}

#[test]
fn the_files_of_envoyproxy_ratelimit_decide_as_they_did() {
    let setup = ENVOY.start_with(|example| {
        // A test takes no longer than a day's window.
        let text = theirs("envoyproxy/ratelimit").replace("unit: minute", "unit: day");
        let text = text.replace("requests_per_unit: 60,", "requests_per_unit: 6,");
        fs::create_dir(example.folder().join("config")).unwrap();
        fs::write(example.folder().join("config/shop.yaml"), text).unwrap();
        import(example, command("tidegate import envoy-ratelimit"));
        describe(
            example,
            "- actions: [{ remote_address: {} }]
                        - actions:
                            - request_headers: { header_name: ':path', descriptor_key: path }
                            - request_headers: { header_name: x-user, descriptor_key: user_id }",
        );
    });
    let from = |address: &str| format!("x-forwarded-for: {address}");
    // By the address, and none but those of the pattern share.
    assert_eq!(passed(&setup, 7, "/", &[&from("192.0.2.1")]), 6);
    assert_eq!(passed(&setup, 7, "/", &[&from("192.0.2.2")]), 6);
    assert_eq!(passed(&setup, 60, "/", &[&from("203.0.113.1")]), 60);
    assert_eq!(passed(&setup, 41, "/", &[&from("203.0.113.2")]), 40);
    // By the user below one path, wherever they are.
    let ordered: usize = (0..5)
        .map(|place| {
            passed(
                &setup,
                5,
                "/orders",
                &[&from(&format!("198.51.100.{place}")), "x-user: ann"],
            )
        })
        .sum();
    assert_eq!(ordered, 20);
    assert_eq!(
        passed(&setup, 1, "/orders", &[&from("198.51.100.9"), "x-user: bob"]),
        1
    );
    assert_eq!(
        passed(&setup, 1, "/other", &[&from("198.51.100.9"), "x-user: ann"]),
        1
    );
    // The monitor has no limit, not even that of its address.
    assert_eq!(
        passed(&setup, 30, "/orders", &[&from("192.0.2.1"), "x-user: monitor"]),
        30
    );
}

#[test]
fn the_files_of_limitador_decide_as_they_did() {
    let setup = ENVOY.start_with(|example| {
        let text = theirs("Limitador").replace("seconds: 60\n", "seconds: 86400\n");
        let text = text.replace("max_value: 18000", "max_value: 14");
        fs::write(example.folder().join("limits.yaml"), text).unwrap();
        import(example, command("tidegate import limitador"));
        describe(
            example,
            "- actions:
                            - request_headers: { header_name: ':method', descriptor_key: req.method }
                            - request_headers: { header_name: ':path', descriptor_key: path }
                            - request_headers: { header_name: x-user, descriptor_key: user_id, skip_if_absent: true }
                        - actions: [{ remote_address: {} }]",
        );
    });
    let asked = |times: usize, method: &str, path: &str, address: &str, user: &str| {
        let (from, user) = (format!("x-forwarded-for: {address}"), format!("x-user: {user}"));
        let statuses = (0..times).map(|_| setup.get(path, &["-X", method, "-H", &from, "-H", &user]).status);
        statuses.filter(|status| *status == 200).count()
    };
    // Orders of one user.
    assert_eq!(asked(12, "POST", "/orders/1", "192.0.2.1", "ann"), 10);
    assert_eq!(asked(1, "POST", "/orders/1", "192.0.2.2", "ann"), 0);
    assert_eq!(asked(1, "POST", "/orders/1", "192.0.2.1", "bob"), 1);
    assert_eq!(asked(1, "GET", "/orders/1", "192.0.2.1", "ann"), 1);
    assert_eq!(asked(1, "POST", "/other", "192.0.2.1", "ann"), 1);
    // All that one address asks. What was refused is not among it.
    assert_eq!(asked(3, "GET", "/", "192.0.2.1", "cid"), 1);
    assert_eq!(asked(3, "GET", "/", "192.0.2.2", "cid"), 3);
    // Nobody's orders are not counted by user.
    let nobody = ["-X", "POST", "-H", "x-forwarded-for: 192.0.2.3"];
    assert!((0..11).all(|_| setup.get("/orders", &nobody).status == 200));
}

#[test]
fn a_file_that_cannot_be_imported_leaves_nothing_behind() {
    let example = Example::copy("envoy", &[]);
    fs::write(
        example.folder().join("limits.yaml"),
        "- { namespace: shop, max_value: 1 }\n",
    )
    .unwrap();
    let output = example.shell(command("tidegate import limitador"));
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stderr.is_empty());
    assert_eq!(
        fs::read_to_string(example.folder().join("tidegate.yaml")).unwrap(),
        ""
    );
}
