//! Large bodies go through; they do not pile up.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tidegate_e2e::{Gateway, Nginx, Raw, curl, until};

const LARGE: u64 = 100 << 20;
/// What the gateway may grow by while 100 MiB go through.
const MAX_GROWTH_KIB: u64 = 16 << 10;

/// By how much the gateway's peak is above `before`. The kernel counts pages per core and adds up now and then, so that a
/// peak may read a little lower later.
fn growth_kib(gateway: &mut Gateway, before: u64) -> u64 {
    gateway.process().peak_memory_kib().saturating_sub(before)
}

fn start() -> (Nginx, Gateway) {
    let nginx = Nginx::start();
    let gateway = Gateway::with_policies(&nginx.url(), "policies: []\n");
    (nginx, gateway)
}

/// Bytes that do not repeat soon, so that a lost or doubled piece shows.
fn write_noise(path: &Path, bytes: u64) {
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..bytes / 8)
        .flat_map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_le_bytes()
        })
        .collect();
    fs::write(path, noise).unwrap();
}

fn assert_same(left: &Path, right: &Path) {
    let compared = Command::new("cmp").args([left, right]).output().unwrap();
    assert!(
        compared.status.success(),
        "{}",
        String::from_utf8_lossy(&compared.stdout)
    );
}

#[test]
fn a_hundred_mebibytes_come_down_in_little_memory() {
    let (nginx, mut gateway) = start();
    write_noise(&nginx.file("large"), LARGE);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let before = gateway.process().peak_memory_kib();
    let reply = curl(&[
        "--output",
        copy.to_str().unwrap(),
        "--dump-header",
        "-",
        "--no-include",
        &gateway.url("/files/large"),
    ]);
    assert_eq!((reply.status, reply.number("content-length")), (200, LARGE));
    assert_same(&nginx.file("large"), &copy);
    let growth = growth_kib(&mut gateway, before);
    assert!(growth < MAX_GROWTH_KIB, "{growth} KiB for {LARGE} bytes");
}

#[test]
fn a_hundred_mebibytes_go_up_in_little_memory() {
    let (nginx, mut gateway) = start();
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    write_noise(&original, LARGE);
    for (name, fields) in [
        ("with-length", &[][..]),
        ("chunked", &["-H", "transfer-encoding: chunked"]),
    ] {
        let before = gateway.process().peak_memory_kib();
        let url = gateway.url(&format!("/files/{name}"));
        let reply = curl(&[fields, &["--upload-file", original.to_str().unwrap(), &url]].concat());
        assert_eq!(reply.status, 201, "{reply:?}");
        assert_same(&original, &nginx.file(name));
        let growth = growth_kib(&mut gateway, before);
        assert!(growth < MAX_GROWTH_KIB, "{growth} KiB for {LARGE} bytes, {name}");
    }
}

#[test]
fn a_client_that_reads_slowly_does_not_make_the_gateway_read_ahead() {
    let (nginx, mut gateway) = start();
    nginx.serve_zeros("large", LARGE);
    let before = gateway.process().peak_memory_kib();
    let mut slow = Raw::connect(gateway.address());
    slow.send("GET /files/large HTTP/1.1\r\nhost: a\r\n\r\n");
    slow.read_until("\r\n\r\n");
    // Others are served meanwhile, long enough for the pipes to fill.
    for _ in 0..200 {
        assert_eq!(curl(&[&gateway.url("/")]).status, 200);
    }
    let growth = growth_kib(&mut gateway, before);
    assert!(growth < MAX_GROWTH_KIB, "{growth} KiB");
}

#[test]
fn sigterm_lets_a_response_in_flight_finish() {
    const SLOW_BYTES: u64 = 512 << 10;
    let (nginx, mut gateway) = start();
    nginx.serve_zeros("slow", SLOW_BYTES);
    let mut client = Raw::connect(gateway.address());
    client.send("GET /slow/slow HTTP/1.1\r\nhost: a\r\n\r\n");
    client.read_until("\r\n\r\n");
    gateway.process().signal(Signal::TERM);
    let address = gateway.address();
    until("no new connections are taken", || {
        std::net::TcpStream::connect(address).err()
    });
    assert_eq!(client.rest().len() as u64, SLOW_BYTES);
    assert_eq!(gateway.process().ended().code(), Some(0));
}
