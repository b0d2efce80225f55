//! openssl as a client that stays.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use tidegate_test_servers::PATIENCE;

/// The bytes within a TLS connection that `openssl s_client` holds. Dropped, the connection breaks off.
#[derive(Debug)]
pub struct Secure(Child);

impl Secure {
    /// Connects, from `folder`, with these arguments beside the address.
    pub fn connect(address: SocketAddr, folder: &Path, arguments: &[&str]) -> Self {
        // openssl has no bound on reading, and a test that hangs tells nothing.
        let child = Command::new("timeout")
            .arg(PATIENCE.as_secs().to_string())
            .args([
                "openssl",
                "s_client",
                "-quiet",
                "-verify_return_error",
                "-connect",
            ])
            .arg(address.to_string())
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("openssl runs; `cargo xtask tools` installs it");
        Self(child)
    }

    /// Asks for `path` over the connection, which stays, and returns the response up to `end`.
    pub fn get(&mut self, path: &str, end: &str) -> String {
        write!(self, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(end.as_bytes()) {
            let read = self.read(&mut byte).unwrap();
            assert_eq!(read, 1, "closed after {:?}", String::from_utf8_lossy(&bytes));
            bytes.push(byte[0]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Read for Secure {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.stdout.as_mut().unwrap().read(buffer)
    }
}

impl Write for Secure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stdin.as_mut().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.stdin.as_mut().unwrap().flush()
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        // Both fail when it has ended by itself.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}
