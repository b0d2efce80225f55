//! A connection of somebody who means harm. It never blocks: what the other side does not take is kept and tried again.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::raw::Raw;
use crate::siege::Attack;

/// What a hostile client does once it has said what it says first.
#[derive(Clone, Debug)]
pub enum Then {
    /// Nothing more.
    Waits,
    /// Says this whenever nobody has said anything for a while.
    Drips(Vec<u8>),
    /// Says this as often and as fast as it is taken.
    Floods(Vec<u8>),
    /// Ends its sending side.
    HalfCloses,
}

/// Whether it reads what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Everything, at once.
    All,
    /// Not one byte.
    Nothing,
}

/// The most that is remembered of what one was told.
const MOST_HEARD: usize = 64 * 1024;

/// One hostile connection.
#[derive(Debug)]
pub(crate) struct Hostile {
    stream: TcpStream,
    unsent: Vec<u8>,
    sent: usize,
    heard: Vec<u8>,
    is_cut: bool,
    reads: Reads,
}

impl Hostile {
    pub(crate) fn connect(from: Ipv4Addr, attack: &Attack) -> Self {
        let stream = match attack.reads {
            Reads::All => Raw::connect_from(from, attack.at),
            Reads::Nothing => Raw::connect_narrowly(from, attack.at),
        };
        let stream = stream.into_stream();
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            unsent: attack.says.clone(),
            sent: 0,
            heard: Vec::new(),
            is_cut: false,
            reads: attack.reads,
        }
    }

    /// Whether the other side has ended the connection, as far as can be seen from here.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What it was told, up to a bound.
    pub(crate) fn into_heard(self) -> Vec<u8> {
        self.heard
    }

    /// Sends and reads what can be without waiting. Whether anything moved.
    pub(crate) fn act(&mut self, then: &Then) -> bool {
        if self.is_cut {
            return false;
        }
        let sent = self.send(then);
        let read = self.reads == Reads::All && self.read();
        sent || read
    }

    /// Says `drop` if it has nothing else to say.
    pub(crate) fn drip(&mut self, drop: &[u8]) {
        if self.sent == self.unsent.len() {
            self.unsent = drop.to_vec();
            self.sent = 0;
        }
    }

    fn send(&mut self, then: &Then) -> bool {
        if self.sent == self.unsent.len() {
            match then {
                Then::Floods(bytes) => {
                    self.unsent.clone_from(bytes);
                    self.sent = 0;
                }
                Then::HalfCloses => {
                    // Twice does no harm; an error says that the other side is gone, which reading finds too.
                    let _ = self.stream.shutdown(Shutdown::Write);
                    return false;
                }
                Then::Waits | Then::Drips(_) => return false,
            }
        }
        let outcome = self.stream.write(&self.unsent[self.sent..]);
        self.sent += outcome.as_ref().unwrap_or(&0);
        self.noted(&outcome);
        outcome.is_ok()
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        let outcome = self.stream.read(&mut buffer);
        if let Ok(count) = outcome {
            let room = MOST_HEARD.saturating_sub(self.heard.len());
            self.heard.extend(&buffer[..count.min(room)]);
            self.is_cut |= count == 0;
        }
        self.noted(&outcome);
        outcome.is_ok()
    }

    /// Any error but having to wait is an end.
    fn noted(&mut self, outcome: &io::Result<usize>) {
        self.is_cut |= outcome
            .as_ref()
            .is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
    }

    fn interest(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.reads == Reads::All {
            flags |= PollFlags::IN;
        }
        if self.sent < self.unsent.len() {
            flags |= PollFlags::OUT;
        }
        flags
    }
}

/// Waits until one of `clients` can go on, for at most so long. Whether one can.
pub(crate) fn wait<'a>(clients: impl Iterator<Item = &'a Hostile>, milliseconds: i64) -> bool {
    let open = clients.filter(|client| !client.is_cut);
    let mut watched: Vec<_> = open
        .map(|client| PollFd::new(&client.stream, client.interest()))
        .collect();
    let longest = Timespec {
        tv_sec: 0,
        tv_nsec: milliseconds * 1_000_000,
    };
    poll(&mut watched, Some(&longest)).unwrap() > 0
}
