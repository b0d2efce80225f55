//! `docs/haproxy.md`: the files of `examples/haproxy`, and the real HAProxy.

use tidegate_e2e::{Beside, Proxy, Reply, blocks, until};

const PAGE: &str = include_str!("../../../docs/haproxy.md");
const POLICIES: &str = include_str!("../../../examples/haproxy/tidegate.yaml");
const CONFIGURATION: &str = include_str!("../../../examples/haproxy/haproxy.cfg");
const HAPROXY: Proxy = Proxy {
    folder: "haproxy",
    ports: &[8000, 8083, 3000],
    policies: "tidegate.yaml",
    command: "haproxy -f haproxy.cfg",
    // Its main process speaks up when the sockets are bound and its worker runs.
    more: &["-W"],
    ready: "Loading success",
};

/// The mark in front of the rule that refuses what got no answer.
const CLOSED: &str = "#http-request deny";

/// Starts it so that a busy machine decides nothing.
fn start() -> Beside {
    start_with(&[])
}

fn start_with(changes: &[(&str, &str)]) -> Beside {
    HAPROXY.start_with(|example| {
        example.change("spoe.conf", "timeout processing 100ms", "timeout processing 20s");
        for (old, new) in changes {
            example.change("haproxy.cfg", old, new);
        }
    })
}

fn ask(haproxy: &Beside, path: &str, from: &str, more: &[&str]) -> Reply {
    haproxy.get(path, &[&["--interface", from], more].concat())
}

#[test]
fn the_page_is_followed_from_nothing_to_a_429_and_with_tidegate_stopped() {
    assert!(PAGE.contains(POLICIES.split_once("\n\n").unwrap().1.trim_end()));
    let rule = blocks(PAGE, "haproxy").next().unwrap().trim_end();
    assert!(CONFIGURATION.contains(&format!("#{rule}\n")));
    start().follow(PAGE);
}

#[test]
fn a_client_is_held_to_its_limit_and_told_of_it() {
    let haproxy = start();
    for left in [2, 1, 0] {
        let reply = ask(&haproxy, "/api/a?b=c", "127.0.0.2", &[]);
        assert_eq!(
            (reply.status, reply.body.as_str()),
            (200, "GET /api/a?b=c verdict=pass tier=\n")
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
    let page = ask(&haproxy, "/api/a", "127.0.0.2", &["-H", "accept: text/html"]);
    assert!(
        page.body.contains("<html") && !page.body.contains("%0A"),
        "{page:?}"
    );
    assert_eq!(ask(&haproxy, "/api/a", "127.0.0.3", &[]).status, 200);
    let free = ask(&haproxy, "/free", "127.0.0.2", &[]);
    assert_eq!((free.status, free.field("ratelimit")), (200, None));
}

#[test]
fn the_origin_is_told_and_nobody_else_can_tell_it() {
    let haproxy = start();
    let lies = ["-H", "X-Tidegate-Tier: gold", "-H", "x-tidegate-verdict: shadow"];
    let told = ask(&haproxy, "/told", "127.0.0.2", &lies);
    assert_eq!(told.body, "GET /told verdict=pass tier=\n");
}

#[test]
fn bodies_are_looked_at_if_they_fit() {
    let haproxy = start();
    let login =
        |body: &str, more: &[&str]| ask(&haproxy, "/login", "127.0.0.2", &[&["-d", body], more].concat());
    let statuses = [(); 4].map(|()| login("user=zoe", &[]).status);
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(login("user=kim", &[]).number("x-ratelimit-remaining"), 2);
    let fits = format!("user=kim&x={}", "a".repeat(10_000));
    assert_eq!(login(&fits, &[]).number("x-ratelimit-remaining"), 1);
    for (body, more) in [
        (format!("user=kim&x={}", "a".repeat(30_000)), &[][..]),
        ("user=kim".to_owned(), &["-H", "transfer-encoding: chunked"]),
        ("name=kim".to_owned(), &[]),
    ] {
        let refused = login(&body, more);
        assert_eq!(refused.status, 400, "{more:?}");
        assert!(refused.body.contains("missing_key_part"), "{refused:?}");
    }
    // Those that no policy looks at go through, whatever they are.
    let chunked = ["-H", "transfer-encoding: chunked", "-d", "x"];
    assert_eq!(ask(&haproxy, "/uploads", "127.0.0.2", &chunked).status, 200);
}

#[test]
fn what_no_gateway_takes_does_not_get_past_a_limit() {
    let haproxy = start_with(&[(
        "option http-buffer-request",
        "option http-buffer-request\n    option accept-invalid-http-request",
    )]);
    for target in ["/api/a?b=<c>", "/api/a^`", "/api/\u{e9}"] {
        let reply = ask(&haproxy, "/", "127.0.0.2", &["--request-target", target]);
        assert!([200, 400].contains(&reply.status), "{target}: {reply:?}");
        assert!(
            reply.status == 400 || reply.body.contains("verdict=pass"),
            "{target}: {reply:?}"
        );
    }
    let bad = ask(&haproxy, "/", "127.0.0.2", &["--request-target", "/api/a?b=<c>"]);
    assert!(bad.body.contains(r#""error":"bad_target""#), "{bad:?}");
}

#[test]
fn requests_pass_while_tidegate_is_stopped_unless_haproxy_is_told_to_refuse_them() {
    for (change, without) in [(CLOSED, 200), ("http-request deny", 503)] {
        let mut haproxy = start_with(&[(CLOSED, change)]);
        let statuses = [1, 2, 3, 4].map(|_| ask(&haproxy, "/api/a", "127.0.0.2", &[]).status);
        assert_eq!(statuses, [200, 200, 200, 429]);
        haproxy.stop_tidegate();
        let reply = ask(
            &haproxy,
            "/api/a",
            "127.0.0.2",
            &["-H", "x-tidegate-verdict: forged"],
        );
        assert_eq!((reply.status, reply.field("ratelimit")), (without, None));
        assert!(!reply.body.contains("forged"), "{reply:?}");
    }
}

/// HAProxy takes a server out of use whose check fails, and says so by 503 on a page of its own.
#[test]
fn haproxy_finds_the_door_in_good_health() {
    let page = "http-request return status 200 content-type text/plain lf-string \"up=%[srv_is_up(tidegate/tidegate)] checked=%[nbsrv(tidegate)]\\n\" if { path /health }\n    # What the origin is told.";
    let mut haproxy = start_with(&[
        ("check inter 1s", "check inter 20ms fall 1 rise 1"),
        // Else a check has no longer than that.
        ("option spop-check", "option spop-check\n    timeout check 20s"),
        ("# What the origin is told.", page),
    ]);
    // Each answer comes after more checks.
    for _ in 0..20 {
        let reply = ask(&haproxy, "/health", "127.0.0.2", &[]);
        assert_eq!(reply.body, "up=1 checked=1\n");
    }
    haproxy.stop_tidegate();
    until("the check fails", || {
        let reply = ask(&haproxy, "/health", "127.0.0.2", &[]);
        (reply.body == "up=0 checked=0\n").then_some(())
    });
}
