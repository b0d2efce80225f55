//! How a configuration comes about, at the start and at each reload: what files say, and flags that win over them.

use std::net::SocketAddr;

use tidegate_core::KeyHasher;
use tidegate_policy::{Gateway, Problems, Upstream};
use tidegate_store::redis;

use crate::boot::BootError;
use crate::live::Live;
use crate::load::{Files, PolicySource};

/// Makes configurations of one process: its flags stay, and so does the secret under which its counters are named.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) source: PolicySource,
    pub(crate) hasher: KeyHasher,
    pub(crate) flags: Flags,
}

/// What wins over files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) protected: Option<Protected>,
}

/// What stands behind the gateway, whatever files say.
#[derive(Clone, Debug)]
pub(crate) enum Protected {
    /// This gets what no route matches.
    Rest(Upstream),
    /// This gets everything.
    All(Upstream),
}

/// A configuration that can be served.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) live: Live,
    /// How the store is spoken to that instances share, if there is one.
    pub(crate) store: Option<redis::Settings>,
    pub(crate) warnings: Problems,
}

impl Loader {
    /// What the files mean now. `files` then knows which they are, whether or not they can be used.
    pub(crate) fn load(&self, files: &mut Files) -> Result<Ready, BootError> {
        let mut loaded = self.source.load_from(files, &self.hasher)?;
        let forwards = loaded.config.gateway.forwards();
        match (self.flags.listen, &self.flags.protected) {
            (Some(address), _) => loaded.listen_at(address),
            (None, Some(_)) if !forwards => loaded.listen_at(Gateway::usual_address()),
            (None, _) => {}
        }
        match &self.flags.protected {
            Some(Protected::Rest(upstream)) => loaded.protect(upstream)?,
            Some(Protected::All(upstream)) => loaded.protect_only(upstream)?,
            None if loaded.config.forwarding.is_empty() && loaded.config.gateway.forwards() => {
                return Err(BootError::NoUpstream {
                    policies_name: self.source.name().to_owned(),
                });
            }
            None => {}
        }
        Ok(Ready {
            warnings: std::mem::take(&mut loaded.warnings),
            store: loaded.store.take(),
            live: loaded.into(),
        })
    }
}
