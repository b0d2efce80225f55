//! Listening sockets that a process was given instead of opening them: connections that wait in them outlive a restart.

use std::env;
use std::io;
use std::net::{SocketAddr, TcpListener};

use listenfd::ListenFd;

/// Listening sockets that this process was given.
#[derive(Debug, Default)]
pub struct Given {
    /// From systemd, or another that starts services in its way.
    activated: Vec<TcpListener>,
    /// From the process that this one takes over from.
    taken: Vec<TcpListener>,
}

impl Given {
    /// What systemd has given (`LISTEN_FDS`), nothing if it has not. Call it once, before there are threads.
    ///
    /// # Errors
    /// A socket that is none of TCP.
    pub fn by_systemd() -> io::Result<Self> {
        let mut activated = Vec::new();
        if env::var_os("LISTEN_FDS").is_some() {
            let mut given = ListenFd::from_env();
            for index in 0..given.len() {
                activated.extend(given.take_tcp_listener(index)?);
            }
        }
        Ok(Self {
            activated,
            taken: Vec::new(),
        })
    }

    /// Adds sockets of the process that this one takes over from.
    pub(crate) fn add_taken(&mut self, sockets: Vec<TcpListener>) {
        self.taken.extend(sockets);
    }

    /// Whether systemd has given any that nobody has asked for.
    pub(crate) fn is_activated(&self) -> bool {
        !self.activated.is_empty()
    }

    /// The sockets that listen on `address`; none if that has to be opened.
    pub(crate) fn take(&mut self, address: SocketAddr) -> Vec<TcpListener> {
        let activated = take(&mut self.activated, address);
        if activated.is_empty() {
            take(&mut self.taken, address)
        } else {
            activated
        }
    }

    /// An address on which systemd listens for this process and nobody has asked for: whoever connects there would wait for ever.
    pub(crate) fn left_over(&self) -> Option<SocketAddr> {
        self.activated.first()?.local_addr().ok()
    }
}

fn take(sockets: &mut Vec<TcpListener>, address: SocketAddr) -> Vec<TcpListener> {
    sockets
        .extract_if(.., |socket| {
            socket.local_addr().is_ok_and(|bound| bound == address)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_by_their_address_and_those_of_systemd_come_first() {
        let [one, two] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let (first, second) = (one.local_addr().unwrap(), two.local_addr().unwrap());
        let mut given = Given {
            activated: vec![one.try_clone().unwrap()],
            taken: vec![one, two],
        };
        assert_eq!(given.left_over(), Some(first));
        assert_eq!(given.take(first).len(), 1);
        assert_eq!(given.left_over(), None);
        assert_eq!(given.take(second).len(), 1);
        assert!(given.take(second).is_empty());
    }
}
