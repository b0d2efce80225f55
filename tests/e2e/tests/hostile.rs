//! Clients that mean harm.

use std::net::TcpStream;

use rustix::process::{Resource, getrlimit, setrlimit};
use tidegate_e2e::{Gateway, Nginx, Raw, Watch, curl};

fn start(policies: &str) -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), policies);
    (nginx, gateway)
}

const UNLIMITED: &str = "policies: []\n";
/// Ten requests, and no refill while a test runs.
const TEN: &str = "
policies:
  - { name: ten, key: [client.ip], limit: { quota: 1, window: 1h, burst: 10 } }
";
const IMPATIENT: &str = "
gateway: { timeouts: { request_header: 1s } }
policies: []
";

#[test]
fn hundreds_of_idle_connections_do_not_stop_service() {
    let (_nginx, gateway) = start(UNLIMITED);
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    // An address may have 1,000, and those of curl come and go.
    let idle: Vec<_> = (0..900)
        .map(|_| TcpStream::connect(gateway.address()).unwrap())
        .collect();
    // Sooner than idle connections are closed, which would make room for it.
    for _ in 0..20 {
        assert_eq!(curl(&["--max-time", "8", &gateway.url("/")]).status, 200);
    }
    drop(idle);
}

#[test]
fn a_head_that_drips_in_is_given_up_on() {
    let (nginx, gateway) = start(IMPATIENT);
    let watch = Watch::start();
    let mut client = Raw::connect(gateway.address());
    client.send("GET /slow HTTP/1.1\r\nhost: a\r\n");
    // A field more whenever the gateway kept silent for a while, so that it never waits long for the next byte.
    while client.is_silent() && client.send("x: y\r\n") {}
    assert!(watch.elapsed().as_secs() < 10, "held for {:?}", watch.elapsed());
    let told = client.rest();
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{told}");
    assert_eq!(nginx.log(), [""; 0]);
}

#[test]
fn too_many_and_too_large_fields_are_431_and_never_reach_the_origin() {
    let (nginx, gateway) = start(UNLIMITED);
    let many = (0..200)
        .map(|index| format!("x-{index}: a\r\n"))
        .collect::<String>();
    let large = format!("x-large: {}\r\n", "a".repeat(1 << 20));
    for fields in [many, large] {
        let mut client = Raw::connect(gateway.address());
        // The gateway may close before it has read all of it.
        client.send(format!("GET /flood HTTP/1.1\r\nhost: a\r\n{fields}\r\n"));
        let told = client.rest();
        assert!(
            told.starts_with("HTTP/1.1 431 "),
            "{} bytes of fields: {told:?}",
            fields.len()
        );
    }
    assert_eq!(nginx.log(), [""; 0]);
}

#[test]
fn pipelined_requests_are_counted_one_by_one() {
    let (nginx, gateway) = start(TEN);
    let mut client = Raw::connect(gateway.address());
    client.send("GET /piped HTTP/1.1\r\nhost: a\r\n\r\n".repeat(11));
    client.send("GET /piped HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    let told = client.rest();
    let count = |status: &str| told.matches(status).count();
    assert_eq!(
        (count("HTTP/1.1 200 "), count("HTTP/1.1 429 ")),
        (10, 2),
        "{told}"
    );
    assert_eq!(nginx.log().len(), 10);
}
