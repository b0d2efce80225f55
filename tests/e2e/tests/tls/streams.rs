//! What goes on over TLS for longer than one request.

use std::fs;

use tidegate_e2e::{EchoOrigin, Gateway, Secure, chat};
use tungstenite::client;

use crate::bench::{Bench, UNLIMITED, commands, sh};

const STREAMS: usize = 20;
/// Above the window that a stream begins with, so that they take turns.
const BYTES: usize = 300 << 10;

#[test]
fn bodies_of_many_streams_of_one_http2_connection_go_up_and_come_down_unmixed() {
    let bench = Bench::new("", UNLIMITED);
    let body = |number: usize| -> Vec<u8> { (0..BYTES).map(|at| (at * (number + 1) / 7) as u8).collect() };
    for number in 0..STREAMS {
        fs::write(bench.folder.path().join(format!("up{number}")), body(number)).unwrap();
    }
    let many = "curl --silent --parallel --http2 --cacert cert.pem \
                --write-out '%{num_connects} %{http_version} %{http_code}\\n'";
    let connections = |told: &str, status: &str| -> usize {
        let lines = told.lines().map(|line| {
            let (connects, rest) = line.split_once(' ').unwrap();
            assert_eq!(rest, format!("2 {status}"), "{told}");
            connects.parse::<usize>().unwrap()
        });
        lines.sum()
    };

    let up = bench.run(&format!(
        "{many} --upload-file 'up[0-{0}]' 'https://localhost:8443/files/'",
        STREAMS - 1
    ));
    assert_eq!(
        (up.lines().count(), connections(&up, "201")),
        (STREAMS, 1),
        "{up}"
    );
    let down = bench.run(&format!(
        "{many} --output 'down#1' 'https://localhost:8443/files/up[0-{}]'",
        STREAMS - 1
    ));
    assert_eq!(
        (down.lines().count(), connections(&down, "200")),
        (STREAMS, 1),
        "{down}"
    );
    for number in 0..STREAMS {
        let up = bench.nginx.file(&format!("up{number}"));
        assert!(fs::read(up).unwrap() == body(number), "{number}");
        let down = bench.folder.path().join(format!("down{number}"));
        assert!(fs::read(down).unwrap() == body(number), "{number}");
    }
}

#[test]
fn h2load_over_tls_has_every_request_answered() {
    let bench = Bench::new("", UNLIMITED);
    fs::write(bench.folder.path().join("body"), vec![b'a'; 10_000]).unwrap();
    let told = bench.run(
        "h2load --requests 400 --clients 4 --max-concurrent-streams 25 --data body https://localhost:8443/uploads/ 2>&1",
    );
    for part in ["Application protocol: h2\n", "400 succeeded, 0 failed", "400 2xx"] {
        assert!(told.contains(part), "{part} is missing: {told}");
    }
}

#[test]
fn websocket_messages_go_both_ways_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    sh(folder.path(), &commands()[0]);
    let origin = EchoOrigin::start();
    let file = "gateway:\n  listen:\n    - address: 127.0.0.1:0\n      tls:\n        \
                certificates: [{ certificate: cert.pem, key: key.pem }]\npolicies: []\n";
    let gateway = Gateway::in_folder(folder.path(), &origin.url(), file);
    let stream = Secure::connect(gateway.address(), folder.path(), &["-CAfile", "cert.pem"]);

    let (socket, response) = client("wss://localhost/chat", stream).unwrap();
    assert_eq!(response.status().as_u16(), 101);
    chat(socket);
}
