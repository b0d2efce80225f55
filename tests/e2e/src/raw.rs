//! Bytes on a socket, for what no honest client sends.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use tidegate_test_servers::PATIENCE;

const SILENCE: Duration = Duration::from_millis(100);

/// One connection.
#[derive(Debug)]
pub struct Raw(TcpStream);

impl Raw {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    /// Connects as the client `from`, an address of the loopback network.
    pub fn connect_from(from: Ipv4Addr, address: SocketAddr) -> Self {
        Self::connect_by(new_socket(), from, address)
    }

    /// The same with as little room for what it is told as the kernel allows.
    pub(crate) fn connect_narrowly(from: Ipv4Addr, address: SocketAddr) -> Self {
        let socket = new_socket();
        set_socket_recv_buffer_size(&socket, 1).unwrap();
        Self::connect_by(socket, from, address)
    }

    fn connect_by(socket: OwnedFd, from: Ipv4Addr, address: SocketAddr) -> Self {
        bind(&socket, &SocketAddrV4::new(from, 0)).unwrap();
        connect(&socket, &address).unwrap();
        Self::over(socket.into())
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    /// The socket, for whoever goes on differently.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.0
    }

    /// Sends bytes. False if the other side has closed.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).is_ok()
    }

    /// Whether the other side neither says anything nor closes for a tenth of a second.
    pub fn is_silent(&mut self) -> bool {
        self.0.set_read_timeout(Some(SILENCE)).unwrap();
        let silent = matches!(self.0.peek(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        silent
    }

    /// Reads until the other side closes. A reset ends it too.
    pub fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        match self.0.read_to_end(&mut bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&bytes)),
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads until `end` has come.
    pub fn read_until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        let mut byte = [0];
        while !bytes.ends_with(end.as_bytes()) {
            let read = self.0.read(&mut byte).unwrap();
            assert_eq!(read, 1, "closed after {:?}", String::from_utf8_lossy(&bytes));
            bytes.push(byte[0]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn new_socket() -> OwnedFd {
    socket(AddressFamily::INET, SocketType::STREAM, None).unwrap()
}
