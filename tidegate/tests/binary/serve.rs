use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use std::{iter, thread};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::process::{Process, Running, get, tidegate};

#[test]
fn the_demo_lets_ten_quick_requests_pass_and_tells_the_eleventh_how_long_to_wait() {
    let gateway = Running::start(["demo"]);
    for left in (0..10).rev() {
        let answer = gateway.get("/hello");
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.field("x-ratelimit-remaining"),
            Some(left.to_string().as_str())
        );
        assert!(answer.body.contains(r#""path": "/hello""#), "{}", answer.body);
    }
    let refused = gateway.get("/hello");
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");

    // The client's part of the contract: whoever waits as long as told is served.
    gateway.process.stays_calm_for(Duration::from_secs(wait));
    assert_eq!(gateway.get("/hello").status, 200);
    assert_eq!(gateway.stop(), Some(0));
}

#[test]
fn an_upstream_alone_is_protected_by_the_built_in_policies() {
    let origin = Origin::start();
    let gateway = Running::start(["serve", "--upstream", &origin.url()]);
    let client = ask(gateway.address);
    origin.arrived();
    origin.answer("from the origin");
    let answer = client.join().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "from the origin"));
    assert_eq!(answer.field("x-ratelimit-limit"), Some("10"));
}

#[test]
fn the_demo_answers_with_what_its_origin_saw() {
    let gateway = Running::start(["demo"]);
    let answer = gateway.get("/hello?x=1");
    assert_eq!(
        (answer.status, answer.field("content-type")),
        (200, Some("application/json"))
    );
    assert!(answer.body.contains(r#""path": "/hello?x=1""#), "{}", answer.body);
}

#[test]
fn start_up_names_the_limits_that_are_per_instance() {
    let demo = Process::spawn(&mut tidegate(["demo", "--listen", "127.0.0.1:0"]));
    let said = demo.logged("these limits are per instance: their counters are in this process's memory");
    assert_eq!(said["policies"], "per-client");
}

#[test]
fn sigterm_takes_no_new_connections_and_lets_a_slow_request_finish() {
    let origin = Origin::start();
    let gateway = Running::start(["serve", "--upstream", &origin.url()]);
    let address = gateway.address;
    let client = ask(address);
    origin.arrived();

    gateway.process.signal(Signal::TERM);
    assert_eq!(gateway.process.logged("stopping")["signal"], "SIGTERM");
    origin.answer("late, but whole");
    let answer = client.join().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "late, but whole"));
    assert_eq!(gateway.process.ended(), Some(0));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn ctrl_c_with_nothing_in_flight_stops_at_once() {
    let gateway = Running::start(["demo", "--drain", "1h"]);
    gateway.process.signal(Signal::INT);
    assert_eq!(gateway.process.logged("stopping")["signal"], "SIGINT");
    assert_eq!(gateway.process.ended(), Some(0));
}

#[test]
fn a_second_signal_does_not_wait_for_requests_in_flight() {
    let origin = Origin::start();
    let gateway = Running::start(["serve", "--upstream", &origin.url(), "--drain", "1h"]);
    let mut client = TcpStream::connect(gateway.address).unwrap();
    write!(client, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    origin.arrived();

    gateway.process.signal(Signal::TERM);
    gateway.process.logged("stopping");
    gateway.process.signal(Signal::TERM);
    assert_eq!(gateway.process.ended(), Some(1), "a request was cut off");
}

#[test]
fn requests_that_outlast_the_drain_time_are_cut_off() {
    let origin = Origin::start();
    let gateway = Running::start(["serve", "--upstream", &origin.url(), "--drain", "10ms"]);
    let mut client = TcpStream::connect(gateway.address).unwrap();
    write!(client, "GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    origin.arrived();
    assert_eq!(gateway.stop(), Some(1));
}

#[test]
fn a_log_reader_that_goes_away_stops_nothing() {
    let (reader, writer) = io::pipe().unwrap();
    let mut command = tidegate(["demo", "--listen", "127.0.0.1:0", "--log-level", "trace"]);
    let mut child = command.stderr(writer).spawn().unwrap();
    drop(command);
    let mut log = BufReader::new(reader);
    let address = iter::repeat_with(|| read_event(&mut log))
        .find_map(|event| event["address"].as_str().map(|address| address.parse().unwrap()));
    drop(log);
    let status = get(address.unwrap(), "/").status;
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!((status, child.wait().unwrap().code()), (200, Some(0)));
}

fn read_event(log: &mut impl BufRead) -> Value {
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn people_are_told_where_things_listen_and_what_to_try() {
    let demo = Process::spawn(&mut tidegate([
        "demo",
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "human",
    ]));
    let said: Vec<_> = iter::repeat_with(|| demo.line())
        .take_while(|line| !line.contains("Ctrl-C"))
        .collect();
    let said = said.join("\n");
    assert!(said.contains("gateway   http://127.0.0.1:"), "{said}");
    assert!(said.contains("curl"), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours off a terminal: {said}");
}

/// Asks in a thread of its own.
fn ask(address: SocketAddr) -> thread::JoinHandle<crate::process::Answer> {
    thread::spawn(move || get(address, "/slow"))
}

/// An origin that answers when told to.
struct Origin {
    address: SocketAddr,
    arrived: Receiver<()>,
    answers: Sender<String>,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (arrives, arrived) = mpsc::channel();
        let (answers, to_answer) = mpsc::channel::<String>();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let head = BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map_while(Result::ok);
            assert!(head.take_while(|line| !line.is_empty()).count() > 0);
            arrives.send(()).unwrap();
            // The test may end without an answer.
            if let Ok(body) = to_answer.recv() {
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}"
                )
                .unwrap();
            }
        });
        Self {
            address,
            arrived,
            answers,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until the request is here.
    fn arrived(&self) {
        self.arrived.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    fn answer(&self, body: &str) {
        self.answers.send(body.to_owned()).unwrap();
    }
}
