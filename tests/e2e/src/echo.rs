//! A WebSocket origin.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use tungstenite::{Error, Message, WebSocket, accept};

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

/// Sends messages, short ones and a long one, reads each back, and closes.
///
/// # Panics
/// When another message comes back, or the other side does not close in order.
pub fn chat(mut socket: WebSocket<impl Read + Write>) {
    let long = "tide ".repeat(100_000);
    for text in ["first", &long, "last"] {
        socket.send(Message::text(text)).unwrap();
        assert_eq!(socket.read().unwrap(), Message::text(text));
    }
    socket.close(None).unwrap();
    let end = loop {
        if let Err(end) = socket.read() {
            break end;
        }
    };
    assert!(matches!(end, Error::ConnectionClosed), "{end:?}");
}
