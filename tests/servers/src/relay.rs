//! A network that can be cut.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// Stands between clients and a server. It passes bytes on, or holds them, or cuts connections, as the test says.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// Both ends of every connection that is up, and of some that are not.
    streams: Vec<TcpStream>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Pass,
    Hold,
    Cut,
}

impl Relay {
    /// One on a free port, before `server`.
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        // Lives as long as the test's process: it waits in `accept`.
        thread::spawn(move || {
            for client in listener.incoming() {
                // A client whom nobody answers is dropped, which closes the connection.
                let _ = client.and_then(|client| own.connect(client));
            }
        });
        Self { address, shared }
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Holds what comes, in both directions, as a network that loses everything. Connections stay up, and new ones come about.
    pub fn hold(&self) {
        self.set(Mode::Hold);
    }

    /// Closes every connection, and each new one at once.
    pub fn cut(&self) {
        self.set(Mode::Cut);
        for stream in self.shared.lock().streams.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Passes on again, what was held first.
    pub fn heal(&self) {
        self.set(Mode::Pass);
    }

    fn set(&self, mode: Mode) {
        self.shared.lock().mode = mode;
        self.shared.changed.notify_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn connect(self: &Arc<Self>, client: TcpStream) -> io::Result<()> {
        // Held to the end, so that a cut closes this connection or keeps it from coming about.
        let mut state = self.lock();
        if state.mode == Mode::Cut {
            return Ok(());
        }
        let server = TcpStream::connect(self.server)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            state.streams.push(stream.try_clone()?);
        }
        let (from_client, from_server) = (client.try_clone()?, server.try_clone()?);
        for (from, to) in [(from_client, server), (from_server, client)] {
            let own = Arc::clone(self);
            thread::spawn(move || own.pass(from, to));
        }
        Ok(())
    }

    /// Passes on until either end closes.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let held = |state: &mut State| state.mode == Mode::Hold;
            drop(self.changed.wait_while(self.lock(), held).unwrap());
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
