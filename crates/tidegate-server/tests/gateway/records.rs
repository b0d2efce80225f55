//! Each request has one line in the access log, in whichever way it ends.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tidegate_policy::{AccessLog as LogSettings, LogTarget, Logged, RequestIds};
use tidegate_server::access_log::AccessLog;
use tidegate_server::clock::Clock;
use tidegate_server::gateway::Settings;

use crate::bed::{Bed, field};

const GET: &str = "GET /path?secret HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST: &str = "GET /path HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const EMPTY: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A gateway and its access log.
struct Written {
    bed: Bed,
    log: AccessLog,
    path: PathBuf,
}

impl Written {
    fn new() -> Self {
        Self::limited("policies: []", Logged::All, |_| {})
    }

    fn limited(policies: &str, only: Logged, change: impl FnOnce(&mut Settings)) -> Self {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidegate-access-{}-{number}.log", std::process::id());
        let path = std::env::temp_dir().join(name);
        let log = AccessLog::open(&LogSettings {
            to: LogTarget::File(path.clone()),
            only,
            sample_percent: 100,
        })
        .unwrap();
        let bed = Bed::limited(policies, "", Clock::system(), |settings| {
            settings.access_log = Some(log.clone());
            change(settings);
        });
        Self { bed, log, path }
    }

    /// Stops the gateway, which ends whatever is under way, and reads what was written.
    fn lines(self) -> Vec<Value> {
        self.bed.stopped();
        self.log.flush(Duration::from_secs(10));
        let text = fs::read_to_string(&self.path).unwrap();
        fs::remove_file(&self.path).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The only line.
    fn line(self) -> Value {
        let mut lines = self.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }
}

#[track_caller]
fn says(line: &Value, status: u16, ended: &str, error: Option<&str>) {
    assert_eq!(line["status"], status, "{line}");
    assert_eq!(line["ended"], ended, "{line}");
    assert_eq!(line.get("error").and_then(Value::as_str), error, "{line}");
}

#[test]
fn a_request_that_was_answered() {
    let gateway = Written::new();
    let post =
        "POST /path?secret HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody";
    gateway
        .bed
        .pass(post, "HTTP/1.1 201 Created\r\ncontent-length: 5\r\n\r\nhello");
    let line = gateway.line();
    says(&line, 201, "complete", None);
    assert_eq!((&line["bytes_in"], &line["bytes_out"]), (&4.into(), &5.into()));
    assert_eq!(
        (&line["host"], &line["path"]),
        (&"a.test".into(), &"/path".into())
    );
    assert!(!line.to_string().contains("secret"), "{line}");
}

#[test]
fn an_answer_to_head_is_complete_without_its_body() {
    let gateway = Written::new();
    gateway.bed.pass(
        "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n",
    );
    says(&gateway.line(), 200, "complete", None);
}

#[test]
fn a_chunked_response_is_complete_with_its_last_chunk() {
    let gateway = Written::new();
    gateway.bed.pass(
        LAST,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    );
    let line = gateway.line();
    says(&line, 200, "complete", None);
    assert_eq!(line["bytes_out"], 5);
}

#[test]
fn a_request_that_a_limit_refused() {
    let policies = "policies: [{ name: once, key: [client.ip], limit: { quota: 1, window: 1h } }]";
    let gateway = Written::limited(policies, Logged::All, |_| {});
    gateway.bed.pass(LAST, EMPTY);
    assert!(gateway.bed.answer(GET).starts_with("HTTP/1.1 429 "));
    let lines = gateway.lines();
    let [passed, refused] = &lines[..] else {
        panic!("{lines:?}");
    };
    says(refused, 429, "complete", Some("rate_limit_exceeded"));
    assert_eq!(refused["verdict"], "reject");
    for field in ["policy", "key"] {
        assert!(passed[field].is_string(), "{passed}");
        assert_eq!(refused[field], passed[field]);
    }
}

#[test]
fn a_request_with_a_head_that_is_understood_and_refused() {
    let gateway = Written::new();
    assert!(
        gateway
            .bed
            .answer("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
            .starts_with("HTTP/1.1 400 ")
    );
    let line = gateway.line();
    says(&line, 400, "complete", Some("bad_host"));
    assert_eq!(line["verdict"], "none");
}

#[test]
fn a_head_that_cannot_be_read() {
    let gateway = Written::new();
    assert!(
        gateway
            .bed
            .answer("GET / HTTP/1.1\r\nHost : a\r\n\r\n")
            .starts_with("HTTP/1.1 400 ")
    );
    let line = gateway.line();
    says(&line, 400, "complete", Some("bad_request"));
    assert_eq!(line["client"], "127.0.0.1");
}

#[test]
fn a_head_that_does_not_come() {
    let gateway = Written::limited("policies: []", Logged::All, |settings| {
        settings.timeouts.header = Duration::from_millis(80);
    });
    assert!(
        gateway
            .bed
            .answer("GET / HTTP/1.1\r\n")
            .starts_with("HTTP/1.1 408 ")
    );
    says(&gateway.line(), 408, "complete", Some("request_timeout"));
}

#[test]
fn a_client_that_leaves_before_the_response() {
    let gateway = Written::new();
    let mut client = gateway.bed.client();
    client.send(GET);
    let mut origin = gateway.bed.origin.accept();
    origin.head();
    client.reset();
    origin.gone();
    says(&gateway.line(), 499, "cut", None);
}

#[test]
fn a_client_that_leaves_within_the_response() {
    let gateway = Written::new();
    let mut client = gateway.bed.client();
    client.send(GET);
    let mut origin = gateway.bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
    client.head();
    client.take(5);
    client.reset();
    origin.gone();
    let line = gateway.line();
    says(&line, 200, "cut", None);
    assert_eq!(line["bytes_out"], 5);
}

#[test]
fn an_upstream_that_breaks_off() {
    let gateway = Written::new();
    gateway
        .bed
        .pass(LAST, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
    let line = gateway.line();
    says(&line, 200, "upstream", Some("upstream_body_broken"));
    assert_eq!(line["upstream_error"], "upstream_body_broken");
}

#[test]
fn an_upstream_that_says_nothing() {
    let gateway = Written::new();
    gateway.bed.pass(LAST, "");
    let line = gateway.line();
    says(&line, 502, "complete", Some("upstream_closed"));
    assert!(line["upstream_us"].is_u64(), "{line}");
}

#[test]
fn a_tunnel_has_one_line_when_it_ends() {
    let gateway = Written::new();
    let mut client = gateway.bed.client();
    client.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
    let mut origin = gateway.bed.origin.accept();
    origin.head();
    origin.send("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhi");
    client.head();
    client.send("hello");
    assert_eq!(origin.take(5), "hello");
    assert_eq!(client.take(2), "hi");
    client.finish();
    origin.gone();
    origin.finish();
    client.gone();
    let line = gateway.line();
    says(&line, 101, "complete", None);
    assert_eq!((&line["bytes_in"], &line["bytes_out"]), (&5.into(), &2.into()));
}

#[test]
fn what_a_stop_cuts_off() {
    let mut gateway = Written::limited("policies: []", Logged::All, |settings| {
        settings.timeouts.drain = Duration::from_millis(80);
    });
    let mut client = gateway.bed.client();
    client.send(GET);
    let mut origin = gateway.bed.origin.accept();
    origin.head();
    gateway.bed.ask_to_stop();
    origin.gone();
    says(&gateway.line(), 499, "cut", None);
}

#[test]
fn only_rejected_requests_are_written_if_no_others_are_asked_for() {
    let gateway = Written::limited("policies: []", Logged::Rejected, |_| {});
    gateway.bed.pass(LAST, EMPTY);
    gateway.bed.answer("GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    says(&gateway.line(), 400, "complete", Some("bad_host"));
}

#[test]
fn the_client_the_origin_and_the_log_are_told_one_id() {
    let gateway = Written::limited("policies: []", Logged::All, |settings| {
        settings.request_ids = RequestIds::On;
    });
    let response = "HTTP/1.1 200 OK\r\nx-request-id: the-origins\r\ncontent-length: 0\r\n\r\n";
    let passed = gateway.bed.pass(LAST, response);
    let id = field(&passed.seen_by_client, "x-request-id").unwrap().to_owned();
    assert_eq!(id.len(), 32);
    assert_eq!(field(&passed.seen_by_origin, "x-request-id"), Some(&*id));
    assert_eq!(gateway.line()["request_id"], id);
}

#[test]
fn a_trace_passes_untouched() {
    let gateway = Bed::new();
    let (parent, state) = (
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "a=1,b=2",
    );
    let trace = format!("traceparent: {parent}\r\ntracestate: {state}\r\n");
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{trace}\r\n");
    let seen = gateway.pass(&request, EMPTY).seen_by_origin;
    assert_eq!(field(&seen, "traceparent"), Some(parent));
    assert_eq!(field(&seen, "tracestate"), Some(state));
}
