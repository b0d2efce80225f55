//! Limits by what a body says, in front of a real origin.

use tidegate_e2e::{Gateway, Nginx, Reply, curl};

const POLICIES: &str = include_str!("../../../examples/login.yaml");

fn body(username: &str) -> String {
    format!(r#"{{ "username": "{username}", "password": "a guess" }}"#)
}

fn login(gateway: &Gateway, address: &str, username: &str) -> Reply {
    curl(&[
        "-H",
        &format!("x-forwarded-for: {address}"),
        "-H",
        "content-type: application/json",
        "--data",
        &body(username),
        &gateway.url("/login"),
    ])
}

#[test]
fn thirty_addresses_share_the_tries_of_one_account() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), POLICIES);
    let statuses: Vec<u16> = (1..=30)
        .map(|last| login(&gateway, &format!("203.0.113.{last}"), "ann").status)
        .collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert_eq!(statuses[5..], [429; 25]);
    assert_eq!(login(&gateway, "203.0.113.30", "bob").status, 200);
    let mut expected = vec![body("ann"); 5];
    expected.push(body("bob"));
    assert_eq!(nginx.bodies(), expected, "bodies arrive as they were sent");
}

#[test]
fn a_username_that_is_hidden_from_the_policy_does_not_reach_the_origin() {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), POLICIES);
    for (media, body) in [
        ("text/plain", r#"{"username":"ann"}"#),
        ("application/json", r#"{"username":"x","username":"ann"}"#),
        ("application/json", r#"{"username":"x","Username":"ann"}"#),
        ("application/x-www-form-urlencoded", "username=ann"),
    ] {
        let media = format!("content-type: {media}");
        let reply = curl(&["-H", &media, "--data", body, &gateway.url("/login")]);
        assert_eq!(reply.status, 400, "{body}");
    }
    let long = "x".repeat(5000);
    let reply = curl(&[
        "-H",
        "content-type: application/json",
        "--data",
        &long,
        &gateway.url("/login"),
    ]);
    assert_eq!(reply.status, 413);
    assert_eq!(nginx.bodies(), [""; 0]);
}
