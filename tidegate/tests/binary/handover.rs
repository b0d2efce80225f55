//! A restart that nobody notices: the next process takes the listening sockets, with the connections that wait in them.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::process::{Process, get, tidegate};

/// A demo that hands its sockets over at `path`.
fn demo(path: &Path, address: &str) -> Process {
    let path = path.to_str().unwrap();
    Process::spawn(&mut tidegate(["demo", "--listen", address, "--handover", path]))
}

fn listening(process: &Process) -> SocketAddr {
    process.logged("listening")["address"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_process_takes_over_from_another_and_the_other_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handover");
    let old = demo(&path, "127.0.0.1:0");
    let address = listening(&old);
    assert_eq!(get(address, "/").status, 200);

    let new = demo(&path, &address.to_string());
    assert_eq!(listening(&new), address);
    old.logged("stopping: the next process has taken over");
    assert_eq!(old.ended(), Some(0));
    assert_eq!(get(address, "/").status, 200);
    new.signal(Signal::TERM);
    assert_eq!(new.ended(), Some(0));
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn the_admin_listener_goes_over_to_the_next_process_at_the_same_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handover");
    let start = |listen: &str, admin: &str| {
        let arguments = [
            "demo",
            "--listen",
            listen,
            "--admin",
            admin,
            "--handover",
            path.to_str().unwrap(),
        ];
        let process = Process::spawn(&mut tidegate(arguments));
        let said = process.logged("admin: /metrics, /livez, /readyz, /status");
        let admin: SocketAddr = said["address"].as_str().unwrap().parse().unwrap();
        let listen = listening(&process);
        (process, listen, admin)
    };
    let (mut running, listen, admin) = start("127.0.0.1:0", "127.0.0.1:0");
    let handled = || {
        let page = get(admin, "/metrics").body;
        let lines = page
            .lines()
            .filter(|line| line.starts_with("tidegate_requests_total{"));
        let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        counts.sum::<u64>()
    };
    for _ in 0..3 {
        for _ in 0..7 {
            get(listen, "/");
        }
        assert_eq!(handled(), 7, "the process that answers is new");
        let (next, taken, beside) = start(&listen.to_string(), &admin.to_string());
        assert_eq!((taken, beside), (listen, admin));
        let before = std::mem::replace(&mut running, next);
        assert_eq!(before.ended(), Some(0));
        assert_eq!((get(admin, "/livez").status, handled()), (200, 0));
    }
}

#[test]
fn a_process_that_cannot_start_leaves_the_other_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bad) = (folder.path().join("handover"), folder.path().join("bad.yaml"));
    let old = demo(&path, "127.0.0.1:0");
    let address = listening(&old).to_string();
    fs::write(&bad, "policies: [").unwrap();
    let mut arguments = vec!["demo", "--listen", &address, "--handover", path.to_str().unwrap()];
    let invalid = [&arguments[..], &["--config", bad.to_str().unwrap()]].concat();
    assert_eq!(Process::spawn(&mut tidegate(invalid)).ended(), Some(1));

    // This one takes the sockets, and then finds that it may not listen where it should as well.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let both = format!(
        "gateway: {{ listen: [\"{address}\", \"{}\"] }}\npolicies: []",
        taken.local_addr().unwrap()
    );
    fs::write(&bad, both).unwrap();
    arguments.drain(1..3);
    arguments.extend(["--config", bad.to_str().unwrap()]);
    assert_eq!(Process::spawn(&mut tidegate(arguments)).ended(), Some(1));
    old.logged("the sockets were not taken over: this process goes on");

    let address = address.parse().unwrap();
    assert_eq!(get(address, "/").status, 200);
    let new = demo(&path, &address.to_string());
    assert_eq!(listening(&new), address);
    assert_eq!(old.ended(), Some(0));
}

#[test]
fn clients_that_come_all_the_time_notice_no_hand_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handover");
    let mut running = demo(&path, "127.0.0.1:0");
    let address = listening(&running);
    let asked = under_load(address, || {
        for _ in 0..3 {
            (0..20).for_each(|_| assert!(ask_anew(address).unwrap()));
            let next = demo(&path, &address.to_string());
            listening(&next);
            let before = std::mem::replace(&mut running, next);
            assert_eq!(before.ended(), Some(0));
        }
    });
    assert!(asked > 20, "{asked}");
}

#[test]
fn clients_that_come_all_the_time_notice_no_restart_by_systemd() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let start = || {
        let process = Process::spawn(&mut activated(&socket, address));
        listening(&process);
        process
    };
    let mut running = start();
    let asked = under_load(address, || {
        for _ in 0..3 {
            (0..20).for_each(|_| assert!(ask_anew(address).unwrap()));
            running.signal(Signal::TERM);
            running.logged("stopped: everything in flight was finished");
            running = start();
        }
    });
    assert!(asked > 20, "{asked}");
}

#[test]
fn a_socket_of_systemd_on_which_nobody_would_answer_is_an_error() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = "127.0.0.1:0".parse().unwrap();
    let output = activated(&socket, elsewhere).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let address = socket.local_addr().unwrap();
    assert!(said.contains(&format!("--listen {address}")), "{said}");
}

#[test]
fn systemd_is_told_what_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let hears = || {
        let mut told = [0; 256];
        let length = systemd.recv(&mut told).unwrap();
        String::from_utf8(told[..length].to_vec()).unwrap()
    };
    let mut command = tidegate(["demo", "--listen", "127.0.0.1:0"]);
    let process = Process::spawn(command.env("NOTIFY_SOCKET", &path));
    assert_eq!(hears(), "READY=1\n");
    process.signal(Signal::HUP);
    let told = hears();
    assert!(told.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{told}");
    assert_eq!(hears(), "READY=1\n");
    process.signal(Signal::TERM);
    assert_eq!(hears(), "STOPPING=1\n");
    assert_eq!(process.ended(), Some(0));
}

/// A demo to which systemd gives `socket`.
fn activated(socket: &TcpListener, listen: SocketAddr) -> Command {
    // The shell puts it where systemd does, at number 3, and becomes the demo.
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0 </dev/null",
        ])
        .arg(env!("CARGO_BIN_EXE_tidegate"))
        .args(["demo", "--listen", &listen.to_string()])
        .stdin(OwnedFd::from(socket.try_clone().unwrap()));
    shell
}

/// Asks all the time, over new connections and over kept ones, while `meanwhile` goes on. Every request must be answered. How many
/// there were.
fn under_load(address: SocketAddr, meanwhile: impl FnOnce()) -> usize {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let new = [(); 3].map(|()| scope.spawn(|| ask_until(&done, || ask_anew(address))));
        let kept = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut connection = None;
                ask_until(&done, || ask_again(address, &mut connection))
            })
        });
        meanwhile();
        // Only a flag; what the clients count is handed over by joining them.
        done.store(true, Ordering::Relaxed);
        new.into_iter()
            .chain(kept)
            .map(|client| client.join().unwrap())
            .sum()
    })
}

fn ask_until(done: &AtomicBool, mut ask: impl FnMut() -> io::Result<bool>) -> usize {
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        // Every connection is taken, and every request answered.
        assert!(ask().unwrap());
        count += 1;
    }
    count
}

/// Whether a request over a new connection is answered.
fn ask_anew(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(is_answer(&answer))
}

/// The same over a kept connection, until it is said to close.
fn ask_again(address: SocketAddr, connection: &mut Option<TcpStream>) -> io::Result<bool> {
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => TcpStream::connect(address)?,
    };
    stream.write_all(b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n")?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut some = [0; 4096];
        let count = stream.read(&mut some)?;
        if count == 0 {
            return Ok(false);
        }
        answer.extend_from_slice(&some[..count]);
    }
    let answer = String::from_utf8_lossy(&answer);
    if !answer.contains("connection: close") {
        *connection = Some(stream);
    }
    Ok(is_answer(&answer))
}

/// Limits are counted anew by each process, so both of these are answers.
fn is_answer(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 429 ")
}
