//! What went wrong at the start, and what to change.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{error, fmt, io};

use tidegate_store::redis::SettingsError;

use crate::load::LoadError;

/// Why nothing was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum BootError {
    /// The policies cannot be used.
    Load(LoadError),
    /// Nobody said what to protect.
    NoUpstream {
        /// What the policies are called.
        policies_name: String,
    },
    /// What the policy file says of the shared store cannot be used.
    SharedStore(SettingsError),
    /// An address cannot be listened on.
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The address that was written for the admin listener cannot be listened on.
    BindAdmin {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The access log cannot be opened.
    OpenAccessLog {
        /// What it is called in the policy file.
        target: String,
        /// Why.
        error: io::Error,
    },
    /// systemd listens on an address for this process, and the policies do not name it.
    LeftOver {
        /// The address.
        address: SocketAddr,
    },
    /// Sockets can be neither taken over nor offered at a path.
    Handover {
        /// The path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The operating system refused something that is hardly ever refused.
    System(io::Error),
}

impl BootError {
    pub(super) fn handover(path: &Path, error: io::Error) -> Self {
        Self::Handover {
            path: path.to_owned(),
            error,
        }
    }
}

impl From<LoadError> for BootError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::NoUpstream { policies_name } => write!(
                f,
                "{policies_name} does not say what to protect: add `gateway.upstream`, or pass `--upstream http://127.0.0.1:9000`"
            ),
            Self::SharedStore(error) => write!(f, "the shared store cannot be used: {error}"),
            Self::Bind { address, error } => write_bind_error(f, *address, error),
            Self::LeftOver { address } => write!(
                f,
                "systemd listens on {address} for this process, and nobody would answer there: add it to `gateway.listen`, or pass `--listen {address}`"
            ),
            Self::Handover { path, error } => write!(
                f,
                "cannot take over or offer sockets at {}: {error}; `--handover` names a path in a folder that this user may write to",
                path.display()
            ),
            Self::BindAdmin { address, error } => write!(
                f,
                "the admin listener cannot be at {address}: {error}; write another address for `admin`, or `off`"
            ),
            Self::OpenAccessLog { target, error } => {
                write!(f, "the access log {target} cannot be opened: {error}")
            }
            Self::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl error::Error for BootError {}

fn write_bind_error(f: &mut fmt::Formatter<'_>, address: SocketAddr, error: &io::Error) -> fmt::Result {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8080));
            write!(
                f,
                "{address} is taken by another process: stop it, or listen elsewhere, for instance `--listen {other}`"
            )
        }
        io::ErrorKind::PermissionDenied => write!(
            f,
            "this user may not listen on {address}: take a port from 1024 up with `--listen`, or grant CAP_NET_BIND_SERVICE"
        ),
        io::ErrorKind::AddrNotAvailable => write!(
            f,
            "{address} is no address of this machine: take one of its own with `--listen`, or 0.0.0.0 for all of them"
        ),
        _ => write!(f, "cannot listen on {address}: {error}"),
    }
}
