//! A connection of HTTP/2, frame by frame.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use tidegate_test_servers::PATIENCE;

use crate::frames::{DATA, END_STREAM, GOAWAY, PING, frame, hello};

/// A flag of PING: this is the answer.
const ACK: u8 = 1;

/// A client that sends what it likes. What is told of a stream waits until somebody asks for it.
#[derive(Debug)]
pub struct Http2 {
    stream: TcpStream,
    heard: Vec<(u32, Event)>,
    is_to_leave: bool,
    is_silent: bool,
    /// What it is still to answer.
    pings: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Event {
    Message(Vec<u8>),
    End,
}

impl Http2 {
    /// Connects, and says hello.
    pub fn connect(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&hello()).unwrap();
        Self {
            stream,
            heard: Vec::new(),
            is_to_leave: false,
            is_silent: false,
            pings: Vec::new(),
        }
    }

    /// From now on, whoever asks whether it is there hears nothing.
    pub fn keeps_silent(&mut self) {
        self.is_silent = true;
    }

    /// Sends frames.
    pub fn send(&mut self, frames: &[u8]) {
        self.stream.write_all(frames).unwrap();
    }

    /// The next piece of a body on `stream`.
    pub fn message(&mut self, stream: u32) -> Vec<u8> {
        match self.event(stream) {
            Event::Message(message) => message,
            Event::End => panic!("stream {stream} ended"),
        }
    }

    /// Waits for the end of `stream`, before which nothing is told.
    pub fn ends(&mut self, stream: u32) {
        assert_eq!(self.event(stream), Event::End);
    }

    /// Reads to the end, before which the other side has to say that it is near.
    pub fn is_left(mut self) {
        while self.hear() {}
        assert!(self.is_to_leave);
    }

    /// The same, once it has told whoever asked that it is there.
    pub fn agrees(mut self) {
        self.is_silent = false;
        let pings = std::mem::take(&mut self.pings);
        self.send(&pings);
        self.is_left();
    }

    /// What is told next of `stream`.
    fn event(&mut self, stream: u32) -> Event {
        loop {
            if let Some(found) = self.heard.iter().position(|(of, _)| *of == stream) {
                return self.heard.remove(found).1;
            }
            assert!(self.hear(), "the connection ended before stream {stream}");
        }
    }

    /// Hears one frame. False: there are no more.
    fn hear(&mut self) -> bool {
        let mut head = [0; 9];
        if self.stream.read_exact(&mut head).is_err() {
            return false;
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
        match kind {
            GOAWAY => self.is_to_leave = true,
            PING if flags & ACK == 0 => {
                let answer = frame(PING, ACK, 0, &payload);
                if self.is_silent {
                    self.pings.extend(answer);
                } else {
                    // Whether it is still wanted is seen by the next read.
                    let _ = self.stream.write_all(&answer);
                }
            }
            DATA if !payload.is_empty() => self.heard.push((stream, Event::Message(payload))),
            _ => {}
        }
        if stream > 0 && flags & END_STREAM != 0 {
            self.heard.push((stream, Event::End));
        }
        true
    }
}
