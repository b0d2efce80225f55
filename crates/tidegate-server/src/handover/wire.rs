//! Sockets as messages: one byte each that carries one, and one more that ends them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

const SOCKET: u8 = b'+';
const END: u8 = b'.';

pub(super) fn send(stream: &UnixStream, sockets: &[TcpListener]) -> io::Result<()> {
    for socket in sockets {
        let socket = [socket.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut carried = SendAncillaryBuffer::new(&mut space);
        carried.push(SendAncillaryMessage::ScmRights(&socket));
        sendmsg(
            stream,
            &[IoSlice::new(&[SOCKET])],
            &mut carried,
            SendFlags::NOSIGNAL,
        )?;
    }
    let mut nothing = SendAncillaryBuffer::default();
    sendmsg(stream, &[IoSlice::new(&[END])], &mut nothing, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what [`send`] sent, if that is at most `most` sockets.
pub(super) fn receive(stream: &UnixStream, most: usize) -> io::Result<Vec<TcpListener>> {
    let mut sockets = Vec::new();
    while let Some(socket) = receive_one(stream)? {
        if sockets.len() == most {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "too many sockets are offered",
            ));
        }
        sockets.push(TcpListener::from(socket));
    }
    Ok(sockets)
}

/// The next socket; None at their end.
fn receive_one(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let (mut said, mut space) = ([0], [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))]);
    let mut carried = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut said)],
        &mut carried,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut socket = None;
    for message in carried.drain() {
        if let RecvAncillaryMessage::ScmRights(sockets) = message {
            socket = sockets.last();
        }
    }
    match (said, socket) {
        ([END], None) => Ok(None),
        // Without its socket when this process may open no more files.
        ([SOCKET], Some(socket)) if !received.flags.contains(ReturnFlags::CTRUNC) => Ok(Some(socket)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a socket did not arrive: perhaps too few files may be open",
        )),
    }
}
