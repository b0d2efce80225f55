//! Several servers behind one gateway: whose turn it is, who is left alone, what is tried again, and where names lead.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, io};

use tidegate_server::clock::Clock;
use tidegate_server::gateway::Settings;
use tidegate_server::upstream::{Names, Resolve, Resolving};

use crate::bed::{Bed, Origin, Wire, field};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi";

/// A gateway before one upstream, `app`, whose servers are at `addresses`. `more` is said of it beside them.
fn before(addresses: &[SocketAddr], more: &str, change: impl FnOnce(&mut Settings)) -> Bed {
    let servers: Vec<String> = addresses.iter().map(|at| format!("\"http://{at}\"")).collect();
    let servers = servers.join(", ");
    let file = format!(
        "gateway: {{ upstream: app }}\nupstreams: {{ app: {{ servers: [{servers}], {more} }} }}\npolicies: []"
    );
    Bed::limited(&file, "", Clock::system(), change)
}

/// An address that nobody listens on.
fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// An origin that answers every request with its `name` and counts them.
struct Steady {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Steady {
    fn new(answer: &'static str) -> Self {
        let origin = Origin::new();
        let address = origin.address();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heads = asked.clone();
        std::thread::spawn(move || {
            while let Some(wire) = origin.next() {
                let heads = heads.clone();
                std::thread::spawn(move || serve(wire, answer, &heads));
            }
        });
        Self { address, asked }
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn serve(mut wire: Wire, answer: &str, heads: &Mutex<Vec<String>>) {
    while let Some(head) = wire.next_head() {
        heads.lock().unwrap().push(head);
        wire.send(answer);
    }
}

/// Asks `count` times over one connection and returns the statuses.
fn ask(bed: &Bed, count: usize) -> Vec<String> {
    let mut client = bed.client();
    (0..count).map(|_| status(&mut client, GET)).collect()
}

fn status(client: &mut Wire, request: &str) -> String {
    client.send(request);
    let head = client.head();
    let length: usize = field(&head, "content-length").unwrap().parse().unwrap();
    client.take(length);
    head[9..12].to_owned()
}

/// Asks until `done` says so.
fn ask_until(bed: &Bed, done: impl Fn() -> bool) {
    let mut client = bed.client();
    for _ in 0..100_000 {
        if done() {
            return;
        }
        status(&mut client, GET);
    }
    panic!("it never happens");
}

#[test]
fn servers_get_exactly_their_shares() {
    let (one, two) = (Steady::new(OK), Steady::new(OK));
    let file = format!(
        "gateway: {{ upstream: app }}\nupstreams: {{ app: {{ servers: [\"http://{}\", {{ url: \"http://{}\", weight: 3 }}] }} }}\npolicies: []",
        one.address, two.address
    );
    let bed = Bed::limited(&file, "", Clock::system(), |_| {});
    ask(&bed, 40);
    assert_eq!((one.count(), two.count()), (10, 30));
}

#[test]
fn what_nothing_was_sent_of_is_tried_on_another_server_whatever_its_method() {
    for request in [GET, POST] {
        let steady = Steady::new(OK);
        let bed = before(&[closed(), steady.address], "retries: 1", |_| {});
        let mut client = bed.client();
        let statuses: Vec<_> = (0..4).map(|_| status(&mut client, request)).collect();
        assert_eq!(statuses, ["200"; 4]);
    }
}

#[test]
fn a_get_whose_connection_breaks_is_tried_on_another_server_and_a_post_is_sent_once() {
    for (request, answered) in [(GET, "200"), (POST, "502")] {
        let (first, second) = (Origin::new(), Steady::new(OK));
        let bed = before(&[first.address(), second.address], "retries: 1", |_| {});
        let mut client = bed.client();
        client.send(request);
        let mut origin = first.accept();
        origin.head();
        drop(origin);
        let head = client.head();
        assert_eq!(&head[9..12], answered);
        assert_eq!(second.count(), usize::from(answered == "200"));
        assert!(!first.was_asked(), "{request}");
    }
}

#[test]
fn nothing_is_tried_again_once_a_response_has_begun() {
    let (first, second) = (Origin::new(), Steady::new(OK));
    let bed = before(&[first.address(), second.address], "retries: 3", |_| {});
    let mut client = bed.client();
    client.send(GET);
    let mut origin = first.accept();
    origin.head();
    origin.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc");
    client.head();
    assert_eq!(client.take(3), "abc");
    drop(origin);
    assert_eq!(client.ended(), "");
    assert_eq!(second.count(), 0);
}

#[test]
fn without_retries_the_first_failure_is_the_answer() {
    let steady = Steady::new(OK);
    let bed = before(&[closed(), steady.address], "retries: 0, ejection: off", |_| {});
    assert_eq!(ask(&bed, 4), ["502", "200", "502", "200"]);
}

#[test]
fn a_budget_keeps_an_outage_from_being_doubled() {
    let steady = Steady::new(OK);
    let bed = before(&[closed(), steady.address], "retries: 1, ejection: off", |_| {});
    let answers = ask(&bed, 400);
    let failed = answers.iter().filter(|status| *status == "502").count();
    // Half of the requests meet the closed server. A fifth of all are tried again, and ten that were saved up.
    assert!((105..=112).contains(&failed), "{failed}");
}

#[test]
fn a_server_that_fails_too_often_is_left_alone_and_comes_back() {
    let steady = Steady::new(OK);
    let first = closed();
    let more = "retries: 1, ejection: { failures: 2, for: 100ms }";
    let bed = before(&[first, steady.address], more, |_| {});
    ask(&bed, 4);
    let live = bed.stage.current();
    let usable = || {
        live.fleet
            .servers()
            .map(|server| server.ejections)
            .collect::<Vec<_>>()
    };
    assert_eq!(usable(), [1, 0]);
    // It listens from now on, and is asked once its pause is over.
    let listener = Origin::at(&first.to_string());
    let asked = Arc::new(Mutex::new(false));
    let seen = asked.clone();
    std::thread::spawn(move || {
        if let Some(mut wire) = listener.next() {
            wire.head();
            *seen.lock().unwrap() = true;
            wire.send(OK);
            wire.gone();
        }
    });
    ask_until(&bed, || *asked.lock().unwrap());
    assert!(live.fleet.is_usable());
}

#[test]
fn a_server_that_answers_health_checks_badly_gets_no_requests_until_it_answers_well() {
    let (one, two) = (Origin::new(), Steady::new(OK));
    let more = "ejection: off, health: { path: /health, every: 100ms, healthy_after: 1, unhealthy_after: 2, expect: 204, host: h.test }";
    let bed = before(&[one.address(), two.address], more, |_| {});
    let live = bed.stage.current();
    let answer_check = |answer: &str| {
        let mut wire = one.accept();
        let head = wire.head();
        assert!(head.starts_with("GET /health HTTP/1.1\r\n"), "{head}");
        assert_eq!(field(&head, "host"), Some("h.test"));
        wire.send(answer);
        wire.gone();
    };
    let well = "HTTP/1.1 204 No Content\r\n\r\n";
    answer_check(well);
    answer_check(OK);
    answer_check(OK);
    // The second server answers 200, which is not what is expected either: of two sick servers each is as good as the other.
    let conditions = || {
        live.fleet
            .servers()
            .map(|server| format!("{:?}", server.condition))
            .collect::<Vec<_>>()
    };
    answer_check(OK);
    assert_eq!(conditions(), ["Unhealthy", "Unhealthy"]);
    assert!(!live.fleet.is_usable());
    answer_check(well);
    // The next check comes only after the last one was judged.
    answer_check(well);
    assert_eq!(conditions(), ["Usable", "Unhealthy"]);
    let before = two.count();
    let mut client = bed.client();
    client.send(GET);
    let mut wire = loop {
        let mut wire = one.accept();
        let head = wire.head();
        if !head.starts_with("GET /health") {
            break wire;
        }
        wire.send(well);
    };
    wire.send(OK);
    assert_eq!(&client.head()[9..12], "200");
    let asked_for_more = two.asked.lock().unwrap()[before..]
        .iter()
        .any(|head| !head.starts_with("GET /health"));
    assert!(!asked_for_more);
}

#[test]
fn routes_choose_the_upstream_and_its_host_and_what_none_matches_is_404() {
    let (api, admin) = (Steady::new(OK), Steady::new(OK));
    let file = format!(
        "upstreams: {{ api: {{ servers: \"http://{}\" }}, admin: {{ servers: \"http://{}\" }} }}\n\
         routes:\n  - {{ match: {{ path: /api/** }}, upstream: api, host: api.internal }}\n  \
         - {{ match: {{ path: /admin }}, upstream: admin, host: upstream }}\npolicies: []",
        api.address, admin.address
    );
    let bed = Bed::limited(&file, "", Clock::system(), |_| {});
    let mut client = bed.client();
    assert_eq!(
        status(&mut client, "GET /api/x HTTP/1.1\r\nHost: a.test\r\n\r\n"),
        "200"
    );
    assert_eq!(
        status(&mut client, "GET /%61dmin HTTP/1.1\r\nHost: a.test\r\n\r\n"),
        "200"
    );
    let head = |steady: &Steady| steady.asked.lock().unwrap()[0].clone();
    assert_eq!(field(&head(&api), "host"), Some("api.internal"));
    assert_eq!(field(&head(&api), "x-forwarded-host"), Some("a.test"));
    assert_eq!(field(&head(&admin), "host"), Some(&*admin.address.to_string()));
    client.send(GET);
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 404 Not Found\r\n"), "{head}");
    assert_eq!(field(&head, "content-type"), Some("application/json"));
    assert!(client.until(b"\"}").contains("\"error\":\"no_route\""));
}

#[test]
fn a_request_that_is_tried_again_is_charged_once() {
    let steady = Steady::new(OK);
    let file = format!(
        "gateway: {{ upstream: app }}\nupstreams: {{ app: {{ servers: [\"http://{}\", \"http://{}\"] }} }}\n\
         policies: [{{ name: a, key: client.ip, limit: {{ quota: 2, window: 1h }} }}]",
        closed(),
        steady.address
    );
    let bed = Bed::limited(&file, "", Clock::system(), |_| {});
    assert_eq!(ask(&bed, 3), ["200", "200", "429"]);
}

#[test]
fn a_reload_keeps_the_connections_of_servers_that_stay() {
    let origin = Origin::new();
    let other = closed();
    let file = |retries: u8, other: SocketAddr| {
        format!(
            "gateway: {{ upstream: app }}\nupstreams: {{ app: {{ servers: [\"http://{}\"], retries: {retries} }}, other: {{ servers: \"http://{other}\" }} }}\npolicies: []",
            origin.address()
        )
    };
    let bed = Bed::limited(&file(1, other), "", Clock::system(), |_| {});
    let mut client = bed.client();
    client.send(GET);
    let mut wire = origin.accept();
    wire.head();
    wire.send(OK);
    client.head();
    client.take(2);
    bed.reload(&file(2, closed()), "");
    client.send(GET);
    assert!(wire.head().starts_with("GET / "));
    wire.send(OK);
    client.head();
    client.take(2);
    assert!(!origin.was_asked());

    let elsewhere = Steady::new(OK);
    bed.reload(
        &format!(
            "gateway: {{ upstream: \"http://{}\" }}\npolicies: []",
            elsewhere.address
        ),
        "",
    );
    assert_eq!(status(&mut client, GET), "200");
    assert_eq!(elsewhere.count(), 1);
    // Nobody needs it any more.
    wire.gone();
}

/// Names that lead where a test says.
#[derive(Clone)]
struct Lead(Arc<Mutex<Result<Vec<SocketAddr>, ()>>>);

impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lead")
    }
}

impl Resolve for Lead {
    fn resolve(&self, host: &str, port: u16) -> Resolving {
        assert_eq!((host, port), ("app.test", 80));
        let found = self.0.lock().unwrap().clone();
        Box::pin(async move { found.map_err(|()| io::Error::other("no answer")) })
    }
}

#[test]
fn a_name_is_followed_and_a_failing_look_up_changes_nothing() {
    let (old, new) = (Origin::new(), Steady::new(OK));
    let lead = Lead(Arc::new(Mutex::new(Ok(vec![old.address()]))));
    let names = Names {
        resolver: Arc::new(lead.clone()),
        every: Duration::from_millis(20),
    };
    let file = "gateway: { upstream: \"http://app.test\" }\npolicies: []";
    let bed = Bed::limited(file, "", Clock::system(), |settings| settings.names = names);
    let mut client = bed.client();
    client.send(GET);
    let mut wire = old.accept();
    wire.head();
    wire.send(OK);
    client.head();
    client.take(2);
    *lead.0.lock().unwrap() = Err(());
    client.send(GET);
    wire.head();
    wire.send(OK);
    client.head();
    client.take(2);
    *lead.0.lock().unwrap() = Ok(vec![new.address]);
    // The connection that rests at the old address is closed, and nothing but the news can do that so soon.
    wire.gone();
    assert_eq!(status(&mut client, GET), "200");
    assert_eq!(new.count(), 1);
}

#[test]
fn every_address_of_a_name_is_used() {
    let (one, two) = (Steady::new(OK), Steady::new(OK));
    let lead = Lead(Arc::new(Mutex::new(Ok(vec![one.address, closed(), two.address]))));
    let names = Names {
        resolver: Arc::new(lead),
        every: Duration::from_secs(60),
    };
    let file = "gateway: { upstream: \"http://app.test\" }\npolicies: []";
    let bed = Bed::limited(file, "", Clock::system(), |settings| {
        settings.names = names;
        settings.bounds.upstream_idle = 0;
    });
    assert_eq!(ask(&bed, 6), ["200"; 6]);
    assert!(
        one.count() >= 2 && two.count() >= 2,
        "{} {}",
        one.count(),
        two.count()
    );
}

#[test]
fn a_socket_in_the_file_system_is_a_server_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let file = format!(
        "gateway: {{ upstream: \"unix:{}\" }}\npolicies: []",
        path.display()
    );
    let bed = Bed::limited(&file, "", Clock::system(), |_| {});
    let mut client = bed.client();
    client.send("GET / HTTP/1.0\r\n\r\n");
    let (mut stream, _) = listener.accept().unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        io::Read::read_exact(&mut stream, &mut byte).unwrap();
        head.extend(byte);
    }
    io::Write::write_all(&mut stream, OK.as_bytes()).unwrap();
    assert!(client.rest().ends_with("\r\n\r\nhi"));
    assert_eq!(
        field(&String::from_utf8(head).unwrap(), "host"),
        Some("localhost")
    );
}
