//! A WebSocket origin.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use tungstenite::{WebSocket, accept};

/// Sends every message back. Ends with the test's process.
#[derive(Debug)]
pub struct EchoOrigin {
    address: SocketAddr,
}

impl EchoOrigin {
    /// Starts it on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || echo(accept(stream.unwrap()).unwrap()));
            }
        });
        Self { address }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Sends every message back until a close was answered.
fn echo(mut socket: WebSocket<TcpStream>) {
    while let Ok(message) = socket.read() {
        // Reading a close writes the answer to it; reading on sends that.
        if !message.is_close() && socket.send(message).is_err() {
            return;
        }
    }
}
