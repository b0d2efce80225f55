//! How many connections each client address has, and requests at a time beyond one for each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_policy::canonical;

/// The connections of all workers by the address they come from. As large as there are connections, and no larger.
#[derive(Debug)]
pub(crate) struct Crowd {
    most: usize,
    hasher: RandomState,
    shards: [Mutex<HashMap<IpAddr, usize>>; SHARDS],
}

/// So many locks, so that workers hardly ever wait for each other.
const SHARDS: usize = 16;

/// An IPv6 client has at least a network of this size to itself.
const IPV6_PREFIX: u32 = 64;

impl Crowd {
    /// Nobody yet, and at most `most` of each address.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            hasher: RandomState::new(),
            shards: Default::default(),
        }
    }

    /// A place for one more connection from `address`, or request beside others on one, if there is one.
    pub(crate) fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let home = home(address);
        let mut shard = self.shard(home);
        let count = shard.entry(home).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        drop(shard);
        Some(Seat {
            crowd: self.clone(),
            home,
        })
    }

    fn shard(&self, home: IpAddr) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        let shards = SHARDS as u64;
        // Below sixteen, which any platform's sizes hold.
        let index = usize::try_from(self.hasher.hash_one(home) % shards).unwrap_or(0);
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection or request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    crowd: Arc<Crowd>,
    home: IpAddr,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Entry::Occupied(mut seats) = self.crowd.shard(self.home).entry(self.home) {
            *seats.get_mut() -= 1;
            if *seats.get() == 0 {
                seats.remove();
            }
        }
    }
}

/// What counts as one client: an IPv4 address, or an IPv6 network.
fn home(address: IpAddr) -> IpAddr {
    match canonical(address) {
        address @ IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - IPV6_PREFIX))).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_places_and_gets_them_back() {
        let crowd = Arc::new(Crowd::new(2));
        let seat = |address: &str| crowd.seat(address.parse().unwrap());
        let (one, two) = (seat("192.0.2.1"), seat("192.0.2.1"));
        assert!(one.is_some() && two.is_some() && seat("192.0.2.1").is_none());
        assert!(seat("192.0.2.2").is_some());
        drop(one);
        assert!(seat("192.0.2.1").is_some());
        drop(two);
        assert!(crowd.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let crowd = Arc::new(Crowd::new(1));
        let seat = |address: &str| crowd.seat(address.parse().unwrap());
        let one = seat("2001:db8::1");
        assert!(one.is_some() && seat("2001:db8:0:0:ffff::2").is_none());
        assert!(seat("2001:db8:0:1::1").is_some());
    }
}
