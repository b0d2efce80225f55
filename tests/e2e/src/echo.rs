//! A WebSocket origin.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;

use tungstenite::accept;

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
                thread::spawn(move || {
                    let mut socket = accept(stream.unwrap()).unwrap();
                    while let Ok(message) = socket.read() {
                        if socket.send(message).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address }
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}
