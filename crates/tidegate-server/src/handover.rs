//! Handing the listening sockets over to the next process, so that a restart refuses nobody.
//!
//! The very sockets go over, with the connections that wait in them: a second socket on the same port would lose what waits in the
//! first when that closes. The next process says when it serves; until then this one goes on as if nothing had happened.

mod wire;

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

/// What the next process says once it serves.
const SERVING: u8 = b'!';

/// How long an offer may take to arrive. Longer means that somebody else is just taking it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most sockets that are taken: 64 workers on 64 addresses.
const MOST_SOCKETS: usize = 4096;

/// The sockets of this process, for the next one to take.
#[derive(Debug)]
pub(crate) struct Offer {
    path: PathBuf,
    /// Where the offer stands until it is public.
    draft: PathBuf,
    listener: UnixListener,
    sockets: Vec<TcpListener>,
    stands: Stands,
}

/// Where an offer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Draft,
    Public,
    /// Its place belongs to the next process.
    Taken,
}

impl Offer {
    /// Prepares an offer of `sockets` at `path`. Call it inside a runtime.
    ///
    /// # Errors
    /// A path at which this user can make no socket.
    pub(crate) fn draft(path: &Path, sockets: Vec<TcpListener>) -> io::Result<Self> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let listener = UnixListener::bind(&draft)?;
        fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
        Ok(Self {
            path: path.to_owned(),
            draft,
            listener,
            sockets,
            stands: Stands::Draft,
        })
    }

    /// Makes it public, in place of what stood at its path.
    ///
    /// # Errors
    /// A path that cannot be replaced.
    pub(crate) fn publish(&mut self) -> io::Result<()> {
        fs::rename(&self.draft, &self.path)?;
        self.stands = Stands::Public;
        Ok(())
    }

    /// Waits until another process has taken the sockets and serves.
    pub(crate) async fn taken(&mut self) {
        loop {
            match self.hand_over().await {
                Ok(()) => {
                    self.stands = Stands::Taken;
                    return;
                }
                Err(error) => tracing::warn!(%error, "the sockets were not taken over: this process goes on"),
            }
        }
    }

    async fn hand_over(&self) -> io::Result<()> {
        let (stream, _) = self.listener.accept().await?;
        check_owner(stream.peer_cred()?.uid())?;
        // A few bytes for each socket fit into any buffer, so this does not wait.
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        wire::send(&stream, &self.sockets)?;
        stream.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(stream)?;
        tracing::info!("another process takes the sockets over");
        let mut said = [0];
        stream.read_exact(&mut said).await?;
        if said != [SERVING] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let found = match self.stands {
            Stands::Draft => &self.draft,
            Stands::Public => &self.path,
            Stands::Taken => return,
        };
        // Who connects to what is left over is refused, which the next process takes for no offer.
        let _ = fs::remove_file(found);
    }
}

/// Sockets that were taken, from a process that waits to hear that this one serves.
#[derive(Debug)]
pub(crate) struct Takeover {
    stream: StdStream,
}

impl Takeover {
    /// Takes the sockets that are offered at `path`. None if nobody offers any.
    ///
    /// # Errors
    /// An offer that is not ours to take, or breaks off.
    pub(crate) fn at(path: &Path) -> io::Result<Option<(Vec<TcpListener>, Self)>> {
        let stream = match StdStream::connect(path) {
            Ok(stream) => stream,
            Err(error) if is_nobody(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        // Whoever may write to its folder could have put an offer there.
        check_owner(rustix::net::sockopt::socket_peercred(&stream)?.uid.as_raw())?;
        let sockets = wire::receive(&stream, MOST_SOCKETS)?;
        Ok(Some((sockets, Self { stream })))
    }

    /// Tells the other process that this one serves: it then takes no more connections, finishes and ends.
    pub(crate) fn serving(mut self) {
        if let Err(error) = self.stream.write_all(&[SERVING]) {
            tracing::warn!(%error, "the process that this one takes over from has ended already");
        }
    }
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

/// Only processes of the same user, or of root, give and take.
fn check_owner(user: u32) -> io::Result<()> {
    if user == geteuid().as_raw() || user == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the other process belongs to user {user}"),
    ))
}

#[cfg(test)]
mod tests;
