//! The doors beside the gateway: proxies ask here before they forward.
//!
//! Each turns what its protocol says into what the pipeline takes, and what was decided into what the protocol can say. Connections
//! come from the gateway's workers, which know of TLS, bounds and the end of the process.

pub(crate) mod check;
mod unseen;

pub(crate) use unseen::Unseen;
