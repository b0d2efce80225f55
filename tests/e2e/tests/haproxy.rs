//! Beside a real HAProxy, with the files of `examples/haproxy`.

use std::net::SocketAddr;
use std::process::Command;

use tidegate_e2e::{Gateway, Haproxy, Nginx, Reply, blocks, curl, shown, until};

const POLICIES: &str = include_str!("../../../examples/haproxy/tidegate.yaml");
const SPOE: &str = include_str!("../../../examples/haproxy/spoe.conf");
const HAPROXY: &str = include_str!("../../../examples/haproxy/haproxy.cfg");

const PAGE: &str = include_str!("../../../docs/haproxy.md");

/// The mark in front of the rule that refuses what got no answer.
const CLOSED: &str = "#http-request deny";

/// Tidegate with the policies of the example, its door on a free port.
fn tidegate() -> Gateway {
    assert!(POLICIES.contains("spoe: 8083 "));
    Gateway::doors(&POLICIES.replace("spoe: 8083 ", "spoe: 0 "))
}

/// HAProxy as in the example, changed by `change`, between `door` and `origin`.
fn haproxy(door: SocketAddr, origin: &Nginx, change: impl Fn(String) -> String) -> Haproxy {
    let origin = origin.url().replace("http://", "");
    Haproxy::start(&[("spoe.conf", SPOE)], |address| {
        let mut text = HAPROXY.to_owned();
        for (written, taken) in [
            ("127.0.0.1:8000", address.to_string()),
            ("127.0.0.1:3000", origin.clone()),
            ("127.0.0.1:8083", door.to_string()),
        ] {
            assert!(text.contains(written), "{written}");
            text = text.replace(written, &taken);
        }
        change(text)
    })
}

fn ask(haproxy: &Haproxy, path: &str, from: &str, more: &[&str]) -> Reply {
    let url = haproxy.url(path);
    curl(&[&["--interface", from, url.as_str()], more].concat())
}

#[test]
fn a_client_is_held_to_its_limit_and_told_of_it() {
    let (nginx, tidegate) = (Nginx::start(), tidegate());
    let haproxy = haproxy(tidegate.address(), &nginx, |text| text);
    for left in [2, 1, 0] {
        let reply = ask(&haproxy, "/api/a?b=c", "127.0.0.2", &[]);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (200, "nginx says GET /api/a?b=c\n")
        );
        assert_eq!(reply.number("x-ratelimit-limit"), 3);
        assert_eq!(reply.number("x-ratelimit-remaining"), left);
        assert!(
            reply.field("ratelimit").unwrap().contains(&format!("r={left}")),
            "{reply:?}"
        );
        assert!(
            reply
                .field("ratelimit-policy")
                .unwrap()
                .starts_with("\"api\";q=10"),
            "{reply:?}"
        );
        assert_eq!(reply.field("retry-after"), None);
        assert_eq!(reply.field("content-type"), Some("text/plain"));
    }
    let limited = ask(
        &haproxy,
        "/api/a",
        "127.0.0.2",
        &["-H", "accept: application/problem+json"],
    );
    assert_eq!(limited.status, 429);
    assert!((1..=6).contains(&limited.number("retry-after")), "{limited:?}");
    assert_eq!(limited.number("x-ratelimit-remaining"), 0);
    assert!(limited.number("x-ratelimit-reset") > 1_700_000_000);
    assert_eq!(limited.field("content-type"), Some("application/problem+json"));
    assert!(
        limited.body.contains(r#""error":"rate_limit_exceeded""#),
        "{limited:?}"
    );
    assert!(
        limited.body.contains(r#""violated-policies":["api"]"#),
        "{limited:?}"
    );
    assert_eq!(ask(&haproxy, "/api/a", "127.0.0.3", &[]).status, 200);
    let free = ask(&haproxy, "/free", "127.0.0.2", &[]);
    assert_eq!((free.status, free.field("ratelimit")), (200, None));
}

#[test]
fn the_page_is_right() {
    let policies = blocks(PAGE, "yaml").next().unwrap();
    assert!(policies.lines().all(|line| POLICIES.contains(line)), "{policies}");
    let rule = blocks(PAGE, "haproxy").next().unwrap().trim_end();
    assert!(HAPROXY.contains(&format!("#{rule}\n")));
    let (nginx, tidegate) = (Nginx::start(), tidegate());
    let haproxy = haproxy(tidegate.address(), &nginx, |text| text);
    let mut commands = shown(PAGE);
    commands.retain(|shown| shown.command.contains("curl"));
    assert_eq!(commands.len(), 2);
    for shown in commands {
        let command = shown.command.replace("http://127.0.0.1:8000", &haproxy.url(""));
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim_end(),
            shown.prints,
            "{command}"
        );
    }
}

#[test]
fn the_origin_is_told_and_nobody_else_can_tell_it() {
    let (nginx, tidegate) = (Nginx::start(), tidegate());
    let haproxy = haproxy(tidegate.address(), &nginx, |text| text);
    let lies = ["-H", "X-Tidegate-Tier: gold", "-H", "x-tidegate-verdict: shadow"];
    let told = ask(&haproxy, "/told", "127.0.0.2", &lies);
    assert!(told.body.contains("verdict=pass\n"), "{told:?}");
    assert!(told.body.contains("tier=\n"), "{told:?}");
}

#[test]
fn requests_pass_while_tidegate_is_stopped_unless_haproxy_is_told_to_refuse_them() {
    let nginx = Nginx::start();
    assert!(HAPROXY.contains(CLOSED));
    for (change, without) in [(CLOSED, 200), ("http-request deny", 503)] {
        let tidegate = tidegate();
        let haproxy = haproxy(tidegate.address(), &nginx, |text| text.replace(CLOSED, change));
        let statuses = [1, 2, 3, 4].map(|_| ask(&haproxy, "/api/a", "127.0.0.2", &[]).status);
        assert_eq!(statuses, [200, 200, 200, 429]);
        assert_eq!(tidegate.stop(), Some(0));
        let reply = ask(&haproxy, "/api/a", "127.0.0.2", &[]);
        assert_eq!((reply.status, reply.field("ratelimit")), (without, None));
    }
}

/// HAProxy takes a server out of use whose check fails, and says so by 503 on a page of its own.
#[test]
fn haproxy_finds_the_door_in_good_health() {
    let (nginx, tidegate) = (Nginx::start(), tidegate());
    let haproxy = haproxy(tidegate.address(), &nginx, |text| {
        let fast = text.replace("check inter 1s", "check inter 20ms fall 1 rise 1");
        assert_ne!(fast, text);
        let page = "  http-request return status 200 content-type text/plain lf-string \"up=%[srv_is_up(tidegate/tidegate)] checked=%[nbsrv(tidegate)]\\n\" if { path /health }\n    # What the origin is told.";
        fast.replace("# What the origin is told.", page)
    });
    // Each answer comes after more checks.
    for _ in 0..20 {
        let reply = ask(&haproxy, "/health", "127.0.0.2", &[]);
        assert_eq!(reply.body, "up=1 checked=1\n");
    }
    assert_eq!(tidegate.stop(), Some(0));
    until("the check fails", || {
        let reply = ask(&haproxy, "/health", "127.0.0.2", &[]);
        (reply.body == "up=0 checked=0\n").then_some(())
    });
}
