//! Certificates that are replaced while the gateway listens.

use std::net::SocketAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tidegate_policy::Listener;

use super::{TlsListener, TlsListeners};

/// The TLS of a gateway's listeners. Clones share it. A connection keeps what was there when it was accepted.
#[derive(Clone, Debug)]
pub struct TlsSwitch {
    addresses: Arc<[SocketAddr]>,
    current: Arc<ArcSwap<TlsListeners>>,
}

impl TlsSwitch {
    pub(crate) fn new(listeners: impl IntoIterator<Item = (SocketAddr, Option<Arc<TlsListener>>)>) -> Self {
        let (addresses, tls): (Vec<_>, Vec<_>) = listeners.into_iter().unzip();
        Self {
            addresses: addresses.into(),
            current: Arc::new(ArcSwap::from_pointee(TlsListeners(tls))),
        }
    }

    /// Connections that are accepted from now on see `tls`, which [`Source`](super::Source) made of `listeners`. A listener that is not
    /// among them, or that spoke TLS only before or only now, stays as it is: an address changes its protocol with a restart.
    pub fn replace(&self, listeners: &[Listener], tls: &[Option<Arc<TlsListener>>]) {
        let next = |(address, now): (&SocketAddr, &Option<Arc<TlsListener>>)| {
            let index = listeners.iter().position(|listener| listener.address == *address);
            let new = index.and_then(|index| tls.get(index)?.clone());
            now.as_ref().map(|now| new.unwrap_or_else(|| now.clone()))
        };
        let current = self.current.load();
        let all = self.addresses.iter().zip(&current.0).map(next).collect();
        self.current.store(Arc::new(TlsListeners(all)));
    }

    /// What is shown now.
    pub(crate) fn current(&self) -> Arc<TlsListeners> {
        self.current.load_full()
    }
}

#[cfg(test)]
mod tests {
    use tidegate_policy::{TlsVersion, UnknownNames};

    use super::super::{Names, Parts};
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn tls() -> Arc<TlsListener> {
        let parts = Parts {
            certificates: Vec::new(),
            authorities: None,
            min_version: TlsVersion::V1_2,
            unknown_names: UnknownNames::GetTheFirst,
        };
        Arc::new(TlsListener::new(parts, Names::default()).unwrap())
    }

    #[test]
    fn each_address_gets_what_is_new_for_it_wherever_it_stands_in_the_file_and_keeps_its_protocol() {
        let (one, two, three) = (tls(), tls(), tls());
        let switch = TlsSwitch::new([
            (address(1), Some(one)),
            (address(2), Some(two)),
            (address(3), Some(three.clone())),
            (address(4), None),
        ]);
        let (new_one, new_two) = (tls(), tls());
        switch.replace(
            &[address(4).into(), address(2).into(), address(1).into()],
            &[Some(tls()), Some(new_two.clone()), Some(new_one.clone())],
        );
        let now = switch.current();
        let shows = |index: usize, tls: &Arc<TlsListener>| std::ptr::eq(now.at(index).unwrap(), &**tls);
        assert!(shows(0, &new_one) && shows(1, &new_two) && shows(2, &three));
        assert!(now.at(3).is_none());
    }
}
