//! What operators see: the admin listener and the access log of the real binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Answer, Process, Running, get, get_with, run, stderr, tidegate};

/// A policy file in a folder of its own.
fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    fs::write(&file, text).unwrap();
    file
}

fn path(file: &tempfile::NamedTempFile) -> &str {
    file.path().to_str().unwrap()
}

/// The samples of a scrape, by name and labels.
fn samples(page: &str) -> BTreeMap<&str, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            (series, value.parse().unwrap_or_else(|_| panic!("{line}")))
        })
        .collect()
}

fn scrape(admin: SocketAddr) -> Answer {
    let answer = get(admin, "/metrics");
    assert_eq!(answer.status, 200);
    answer
}

#[test]
fn a_scrape_tells_what_clients_saw() {
    let gateway = Running::start(["demo"]);
    for _ in 0..11 {
        gateway.get("/");
    }
    let page = scrape(gateway.admin).body;
    let samples = samples(&page);
    for (series, value) in [
        (r#"tidegate_requests_total{verdict="pass"}"#, 10.0),
        (r#"tidegate_requests_total{verdict="reject"}"#, 1.0),
        (r#"tidegate_responses_total{class="4xx"}"#, 1.0),
        (r#"tidegate_refusals_total{reason="rate_limit_exceeded"}"#, 1.0),
        (r#"tidegate_upstream_responses_total{class="2xx"}"#, 10.0),
        (
            r#"tidegate_policy_decisions_total{policy="per-client",limit="1",outcome="allow"}"#,
            10.0,
        ),
        (
            r#"tidegate_policy_decisions_total{policy="per-client",limit="1",outcome="deny"}"#,
            1.0,
        ),
        ("tidegate_request_duration_seconds_count", 11.0),
        ("tidegate_decision_duration_seconds_count", 11.0),
        (r#"tidegate_request_duration_seconds_bucket{le="+Inf"}"#, 11.0),
        ("tidegate_requests_in_flight", 0.0),
        ("tidegate_connections_opened_total", 11.0),
        ("tidegate_store_buckets", 1.0),
        ("tidegate_ready", 1.0),
    ] {
        assert_eq!(samples.get(series), Some(&value), "{series}\n{page}");
    }
    assert!(samples["process_resident_memory_bytes"] > 1e6);
    assert!(samples["process_open_fds"] > 3.0);
}

#[test]
fn expressions_that_fail_are_answered_with_400_and_counted() {
    let policies = file(
        r#"policies:
  - { name: computed, match: { path: /paid }, cost: 'int(request.query.cost)', key: [client.ip], limit: { quota: 9, window: 1h } }"#,
    );
    let gateway = Running::start(["demo", "--config", path(&policies)]);
    assert_eq!(gateway.get("/paid?cost=2").status, 200);
    for failing in ["/paid", "/paid?cost=two"] {
        let refused = gateway.get(failing);
        assert_eq!(refused.status, 400, "{failing}");
        assert_eq!(
            refused.body,
            r#"{"type":"about:blank","title":"Bad Request","status":400,"error":"expression_failed","detail":"The policy 'computed' cannot compute its 'cost': this request lacks something, or has it in another form.","message":"The policy 'computed' cannot compute its 'cost': this request lacks something, or has it in another form."}"#
        );
    }
    let page = scrape(gateway.admin).body;
    let samples = samples(&page);
    for (series, value) in [
        (
            r#"tidegate_expression_errors_total{policy="computed",field="cost"}"#,
            2.0,
        ),
        (r#"tidegate_refusals_total{reason="expression_failed"}"#, 2.0),
    ] {
        assert_eq!(samples.get(series), Some(&value), "{series}\n{page}");
    }
}

#[test]
fn the_list_of_metrics_is_the_list_of_metrics() {
    let gateway = Running::start(["demo"]);
    let page = scrape(gateway.admin).body;
    let told: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let manual = include_str!("../../../docs/metrics.md");
    let rows = manual.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split(','));
    let listed: BTreeSet<&str> = names.map(|name| name.trim().trim_matches('`')).collect();
    let both: Vec<_> = told.symmetric_difference(&listed).collect();
    assert!(both.is_empty(), "only in one of them: {both:?}");
}

#[test]
fn whoever_asks_for_openmetrics_gets_it_and_others_get_the_older_format() {
    let gateway = Running::start(["demo"]);
    gateway.get("/");
    let plain = scrape(gateway.admin);
    assert_eq!(
        plain.field("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(
        plain.body.contains("# TYPE tidegate_requests_total counter\n"),
        "{}",
        plain.body
    );
    let accept = [(
        "accept",
        "application/openmetrics-text;version=1.0.0,text/plain;q=0.2",
    )];
    let open = get_with(gateway.admin, "/metrics", &accept);
    assert!(
        open.field("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    assert!(
        open.body.contains("# TYPE tidegate_requests counter\n"),
        "{}",
        open.body
    );
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
    for page in [&plain.body, &open.body] {
        well_formed(page);
    }
}

/// Every series has a type and help before it, in one piece, and no series comes twice.
fn well_formed(page: &str) {
    let mut families = BTreeSet::new();
    let mut series = BTreeSet::new();
    let mut family = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family = rest.split(' ').next().unwrap();
            assert!(families.insert(family), "{family} comes in two pieces");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert_eq!(rest.split(' ').next(), Some(family), "{line}");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with(family), "{line} under {family}");
            assert!(series.insert(name), "{name} comes twice");
            value.parse::<f64>().unwrap();
            if let Some((_, labels)) = name.split_once('{') {
                assert!(labels.ends_with("\"}"), "{line}");
            }
        }
    }
    assert!(families.len() > 20, "{families:?}");
}

#[test]
fn health_and_status_are_told() {
    let gateway = Running::start(["demo"]);
    let ask = |path| get(gateway.admin, path);
    assert_eq!((ask("/livez").status, ask("/readyz").status), (200, 200));
    assert_eq!(ask("/elsewhere").status, 404);
    let status: Value = serde_json::from_str(&ask("/status").body).unwrap();
    assert_eq!(status["phase"], "serving");
    assert_eq!(status["policies"][0]["name"], "per-client");
    assert!(status["policies"][0]["limits"][0].is_string(), "{status}");
    assert_eq!(status["store"]["kind"], "memory");
}

#[test]
fn a_gateway_that_drains_is_not_ready_and_still_tells_its_metrics() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", origin.local_addr().unwrap());
    let gateway = Running::start(["serve", "--upstream", &url]);
    let mut client = TcpStream::connect(gateway.address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let (mut held, _) = origin.accept().unwrap();
    gateway.process.signal(Signal::TERM);
    gateway.process.logged("stopping");
    let ready = get(gateway.admin, "/readyz");
    assert_eq!((ready.status, ready.body.as_str()), (503, "draining\n"));
    let page = scrape(gateway.admin).body;
    assert_eq!(samples(&page)["tidegate_requests_in_flight"], 1.0);
    held.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .unwrap();
    assert_eq!(gateway.process.ended(), Some(0));
}

/// An address where nothing listens.
fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn a_gateway_without_a_usable_server_is_not_ready_and_says_which_server_is_what() {
    let gone = nowhere();
    let text = format!(
        "gateway: {{ upstream: app }}\n\
         upstreams:\n  app: {{ servers: [\"http://{gone}\"], health: {{ path: /, every: 100ms, unhealthy_after: 1 }} }}\n\
         policies: []"
    );
    let policies = file(&text);
    let gateway = Running::start(["serve", "--config", path(&policies)]);
    gateway.process.logged("a server is unhealthy");
    let ready = get(gateway.admin, "/readyz");
    assert_eq!(
        (ready.status, ready.body.as_str()),
        (503, "no upstream server is usable\n")
    );
    // It is asked all the same: better a try than none.
    assert_eq!(gateway.get("/").status, 502);

    let page = scrape(gateway.admin).body;
    let samples = samples(&page);
    let server = format!(r#"upstream="app",server="http://{gone}""#);
    let series = |name: &str, more: &str| samples[&*format!("tidegate_upstream_{name}{{{server}{more}}}")];
    assert_eq!(series("server_state", r#",state="unhealthy""#), 1.0);
    assert_eq!(series("server_state", r#",state="usable""#), 0.0);
    assert_eq!(series("server_requests_total", ""), 1.0);
    assert_eq!(series("server_failures_total", ""), 1.0);
    assert_eq!(samples["tidegate_ready"], 0.0);

    let status: Value = serde_json::from_str(&get(gateway.admin, "/status").body).unwrap();
    assert_eq!(status["ready"], false);
    let upstream = &status["upstreams"][0];
    assert_eq!(
        (&upstream["name"], &upstream["is_default"]),
        (&"app".into(), &true.into())
    );
    assert_eq!(upstream["servers"][0]["state"], "unhealthy");
    assert_eq!(upstream["servers"][0]["requests"], 1);
}

#[test]
fn the_status_says_when_certificates_end_and_whose_keys_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut terms = rcgen::CertificateParams::new(["a.test".to_owned()]).unwrap();
    terms.not_after = rcgen::date_time_ymd(2200, 3, 4);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = terms.self_signed(&key).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("cert.pem", &certificate.pem());
    write("key.pem", &key.serialize_pem());
    write(
        "keys.json",
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#,
    );
    write(
        "tidegate.yaml",
        "gateway: { listen: [{ address: \"127.0.0.1:0\", tls: { certificates: [{ certificate: cert.pem, key: key.pem }] } }] }\n\
         identity: { jwt: { issuer: me, audience: you, algorithms: [EdDSA], jwks: keys.json } }\n\
         policies: []",
    );
    let config = folder.path().join("tidegate.yaml");
    let mut command = tidegate([
        "demo",
        "--config",
        config.to_str().unwrap(),
        "--admin",
        "127.0.0.1:0",
    ]);
    let gateway = Running::with_stdout(&mut command, Stdio::null());
    let status: Value = serde_json::from_str(&get(gateway.admin, "/status").body).unwrap();
    let certificate = &status["certificates"][0];
    assert_eq!(certificate["names"][0], "a.test", "{status}");
    assert_eq!(certificate["not_after"], "2200-03-04T00:00:00.000Z");
    assert!(
        certificate["days_left"].as_i64().unwrap() > 60_000,
        "{certificate}"
    );
    let keys = &status["token_keys"][0];
    assert_eq!(
        (&keys["issuer"], &keys["keys"], &keys["failing"]),
        (&"me".into(), &1.into(), &false.into())
    );
}

#[test]
fn only_reading_is_allowed_and_one_request_per_connection() {
    let gateway = Running::start(["demo"]);
    let mut stream = TcpStream::connect(gateway.admin).unwrap();
    let twice =
        "POST /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\nGET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(twice.as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    assert!(told.starts_with("HTTP/1.1 405 "), "{told}");
    assert_eq!(told.matches("HTTP/1.1").count(), 1, "{told}");
}

#[test]
fn scrapers_that_say_nothing_or_read_nothing_hold_up_no_client() {
    let gateway = Running::start(["demo"]);
    let silent: Vec<TcpStream> = (0..80)
        .map(|_| TcpStream::connect(gateway.admin).unwrap())
        .collect();
    for _ in 0..10 {
        assert_eq!(gateway.get("/").status, 200);
    }
    // Places come back as soon as those who took them are gone.
    drop(silent);
    assert_eq!(get(gateway.admin, "/livez").status, 200);
}

#[test]
fn an_address_that_was_asked_for_must_be_free_and_the_default_need_not_be() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(["demo", "--listen", "127.0.0.1:0", "--admin", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the admin listener cannot be at"),
        "{}",
        stderr(&output)
    );

    // Somebody has the default port, be it this test or another.
    let default = TcpListener::bind("127.0.0.1:9900");
    let demo = Process::spawn(&mut tidegate(["demo", "--listen", "127.0.0.1:0"]));
    demo.logged("no admin listener: choose another place with `admin` or `--admin`");
    demo.logged("listening");
    drop(default);
}

#[test]
fn the_access_log_tells_of_each_request_and_of_no_secret() {
    let keys = file("[]");
    let log = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "access_log: {{ to: {} }}\n\
         identity: {{ api_key: {{ query: api_key, keys: {}, on_unknown: anonymous }} }}\n\
         policies: [{{ name: once, key: [client.ip], limit: {{ quota: 1, window: 1h }} }}]",
        path(&log),
        path(&keys)
    );
    let policies = file(&text);
    let gateway = Running::start(["demo", "--config", path(&policies)]);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let fields = [
        ("x-request-id", "mine"),
        ("traceparent", &*parent),
        ("cookie", "hidden-cookie"),
    ];
    let passed = get_with(gateway.address, "/a?api_key=hidden-key&q=hidden-query", &fields);
    assert_eq!((passed.status, passed.field("x-request-id")), (200, Some("mine")));
    let refused = gateway.get("/b");
    assert_eq!(refused.status, 429);
    let id = refused.field("x-request-id").unwrap().to_owned();
    assert_eq!(gateway.stop(), Some(0));

    let written = fs::read_to_string(&log).unwrap();
    assert!(!written.contains("hidden"), "{written}");
    let lines: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, second] = &lines[..] else {
        panic!("{written}");
    };
    for (field, value) in [
        ("request_id", "mine"),
        ("trace_id", trace),
        ("client", "127.0.0.1"),
        ("method", "GET"),
        ("path", "/a"),
        ("protocol", "HTTP/1.1"),
        ("verdict", "pass"),
        ("policy", "once"),
        ("ended", "complete"),
    ] {
        assert_eq!(first[field], value, "{field} of {first}");
    }
    assert_eq!(first["status"], 200);
    assert_eq!(first["bytes_out"], passed.body.len());
    assert!(
        first["decision_us"].as_u64() <= first["upstream_us"].as_u64(),
        "{first}"
    );
    assert!(
        first["upstream_us"].as_u64() <= first["duration_us"].as_u64(),
        "{first}"
    );
    assert_eq!(second["request_id"], id);
    assert_eq!(second["status"], 429);
    assert_eq!(second["verdict"], "reject");
    assert_eq!(second["error"], "rate_limit_exceeded");
    assert_eq!(second["key"], first["key"]);
    assert!(second["retry_after"].as_u64().unwrap() > 3000, "{second}");
    assert!(second.get("upstream_us").is_none(), "{second}");
}

#[test]
fn a_log_that_nobody_reads_holds_up_no_request() {
    let policies = file("access_log: stdout\npolicies: []");
    let mut command = tidegate(["demo", "--config", path(&policies)]);
    command.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let gateway = Running::with_stdout(&mut command, Stdio::piped());
    // One connection, so that this takes little time: far more lines than a pipe and the queue hold.
    let mut client = TcpStream::connect(gateway.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let path = format!("/{}", "x".repeat(2000));
    let request = format!("HEAD {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    let mut buffer = [0; 64 * 1024];
    for _ in 0..9_000 {
        client.write_all(request.as_bytes()).unwrap();
        assert!(client.read(&mut buffer).unwrap() > 0);
    }
    let page = scrape(gateway.admin).body;
    assert!(
        samples(&page)[r#"tidegate_log_lines_lost_total{log="access"}"#] > 0.0,
        "{page}"
    );
}

#[test]
fn an_upstream_that_is_down_is_told_of_without_a_line_per_request() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!("gateway: {{ upstream: \"http://{gone}\", workers: 1 }}\npolicies: []");
    let policies = file(&text);
    let gateway = Running::start(["serve", "--config", path(&policies)]);
    for _ in 0..5 {
        assert_eq!(gateway.get("/").status, 502);
    }
    let first = gateway.process.logged("the upstream fails");
    assert_eq!(first["level"], "WARN");
    assert_eq!(first["error"], "upstream_unreachable");
    assert!(
        first["upstream"].as_str().unwrap().contains(&gone.to_string()),
        "{first}"
    );
    assert_eq!(first["server"], format!("http://{gone}"));
    let mut times = first["times"].as_u64().unwrap();
    let mut lines = 1;
    while times < 5 {
        times += gateway.process.logged("the upstream fails")["times"]
            .as_u64()
            .unwrap();
        lines += 1;
    }
    assert_eq!(times, 5);
    assert!(lines <= 3, "{lines} lines");
}
