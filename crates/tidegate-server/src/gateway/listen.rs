//! Opening the sockets that clients connect to, or taking those that the process was given.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::sockets::Given;

/// A socket from which a worker takes connections.
#[derive(Debug)]
pub(super) struct Ear {
    /// Which of the settings' listeners it belongs to.
    pub(super) place: usize,
    pub(super) socket: TcpListener,
}

/// Listens on `address`, which has that place in the settings, for each worker; the address with the port it really has.
pub(super) fn listen_all(
    place: usize,
    address: SocketAddr,
    workers: &mut [Vec<Ear>],
    given: &mut Given,
) -> io::Result<SocketAddr> {
    let sockets = given.take(address);
    if !sockets.is_empty() {
        share(place, &sockets, workers)?;
        return Ok(address);
    }
    refuse_shared(address)?;
    let mut bound = address;
    for worker in workers {
        let socket = listen(bound)?;
        bound = socket.local_addr()?;
        worker.push(Ear { place, socket });
    }
    Ok(bound)
}

/// Shares out sockets so that each is somebody's and everybody has one: connections wait in all of them. Workers that share one
/// are woken together, and one of them gets the connection.
fn share(place: usize, sockets: &[TcpListener], workers: &mut [Vec<Ear>]) -> io::Result<()> {
    let (many, most) = (workers.len(), sockets.len().max(workers.len()));
    for (index, socket) in (0..most).zip(sockets.iter().cycle()) {
        socket.set_nonblocking(true)?;
        let socket = socket.try_clone()?;
        workers[index % many].push(Ear { place, socket });
    }
    Ok(())
}

/// An error if anybody listens on `address` already. `SO_REUSEPORT` alone would let two gateways of one user share a port
/// without a word.
pub(crate) fn refuse_shared(address: SocketAddr) -> io::Result<()> {
    if address.port() == 0 {
        return Ok(());
    }
    let socket = socket(address)?;
    socket.bind(&address.into())
}

/// Listens on `address`, which other sockets of this user may share if they were opened here.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(address)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Connections that the kernel keeps for a worker before it takes them; the kernel caps it at `net.core.somaxconn`.
pub(super) const BACKLOG: i32 = 4096;

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_socket_is_somebodys_and_everybody_has_one() {
        let sockets = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let bound = [0, 1, 2].map(|which| sockets[which].local_addr().unwrap());
        let shares = |count: usize| {
            let mut workers: Vec<_> = (0..count).map(|_| Vec::new()).collect();
            share(7, &sockets, &mut workers).unwrap();
            let which = |ear: &Ear| {
                assert_eq!(ear.place, 7);
                let heard = ear.socket.local_addr().unwrap();
                bound.iter().position(|address| *address == heard).unwrap()
            };
            let share = |worker: &Vec<Ear>| worker.iter().map(which).collect();
            workers.iter().map(share).collect::<Vec<Vec<usize>>>()
        };
        assert_eq!(shares(2), [vec![0, 2], vec![1]]);
        assert_eq!(shares(3), [[0], [1], [2]]);
        assert_eq!(shares(5), [[0], [1], [2], [0], [1]]);
    }
}
