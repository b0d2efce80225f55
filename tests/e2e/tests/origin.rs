//! An origin that fails.

use std::thread;

use serde_json::Value;
use tidegate_e2e::{Gateway, Nginx, curl, h2load, until};

fn start() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), "policies: []\n");
    (nginx, gateway)
}

#[test]
fn a_dead_origin_is_a_502_that_says_so_until_it_is_back() {
    let (mut nginx, gateway) = start();
    assert_eq!(curl(&[&gateway.url("/")]).status, 200);
    nginx.kill();
    for _ in 0..3 {
        let reply = curl(&[&gateway.url("/")]);
        assert_eq!(reply.status, 502);
        assert_eq!(reply.field("content-type"), Some("application/json"));
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(
            (&body["status"], body["title"].as_str()),
            (&Value::from(502), Some("Bad Gateway"))
        );
    }
    nginx.restart();
    assert_eq!(curl(&[&gateway.url("/")]).status, 200);
}

#[test]
fn an_origin_that_restarts_under_load_costs_errors_but_no_connection() {
    let (mut nginx, gateway) = start();
    let url = gateway.url("/load");
    let load = thread::spawn(move || {
        h2load(&[
            "--duration",
            "4",
            "--clients",
            "4",
            "--max-concurrent-streams",
            "4",
            &url,
        ])
    });
    until("load reaches nginx", || (nginx.log().len() > 100).then_some(()));
    nginx.kill();
    let before = nginx.log().len();
    assert_eq!(curl(&[&gateway.url("/while-dead")]).status, 502);
    nginx.restart();
    assert_eq!(curl(&[&gateway.url("/back")]).status, 200);
    let counts = load.join().unwrap();
    assert!(counts.passed > 100 && counts.refused > 0, "{counts:?}");
    assert_eq!(counts.broken, 0, "{counts:?}");
    assert!(nginx.log().len() > before + 100, "load goes on after the restart");
}
