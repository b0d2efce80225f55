//! A worker's own view of the upstreams: connections, and whose turn it is.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidegate_policy::{Choice, HostRewrite};

use super::balance::Balance;
use super::budget::Budget;
use super::fault::Fault;
use super::pool::{Pool, Shared};
use crate::live::Live;
use crate::pipeline::view;
use crate::record::Blame;
use crate::upstream::{Fleet, Group, Server};

/// A worker's own view of all upstreams.
pub(crate) struct Upstreams {
    fleet: Arc<Fleet>,
    members: Vec<Rc<Members>>,
}

/// A worker's own view of one upstream.
pub(crate) struct Members {
    group: Arc<Group>,
    pools: Vec<Rc<Pool>>,
    balance: Balance,
    budget: Budget,
}

impl Upstreams {
    /// The view of worker number `index`. Pools of servers that `earlier` has too are taken over.
    pub(crate) fn new(
        fleet: &Arc<Fleet>,
        earlier: Option<&Self>,
        shared: &Rc<Shared>,
        index: usize,
    ) -> Rc<Self> {
        let members = fleet.groups.iter().map(|group| {
            let known = earlier.into_iter().flat_map(|earlier| &earlier.members);
            match known.clone().find(|known| Arc::ptr_eq(&known.group, group)) {
                Some(known) => known.clone(),
                None => Members::new(group, known.flat_map(|known| &known.pools), shared, index),
            }
        });
        Rc::new(Self {
            members: members.collect(),
            fleet: fleet.clone(),
        })
    }

    /// Whether it is the view of `fleet`.
    pub(crate) fn is_of(&self, fleet: &Arc<Fleet>) -> bool {
        Arc::ptr_eq(&self.fleet, fleet)
    }

    /// Where `request` goes, and which `Host` is seen there.
    pub(crate) fn target<'l, B>(
        &self,
        live: &'l Live,
        request: &http::Request<B>,
        peer: IpAddr,
    ) -> Result<(&Rc<Members>, &'l HostRewrite), Fault> {
        const PRESERVE: &HostRewrite = &HostRewrite::Preserve;
        let routes = &live.config.forwarding.routes;
        let choice = if routes.is_empty() {
            Choice::Rest
        } else {
            // Nothing that a route can match depends on TLS.
            routes.choose(&view(request, None, peer))
        };
        let (place, host) = match choice {
            Choice::Route(route) => (Some(route.upstream), &route.host),
            Choice::Rest => (self.fleet.default(), PRESERVE),
            Choice::Ambiguous => return Err(Fault::Target),
        };
        let members = place.and_then(|place| self.members.get(place));
        Ok((members.ok_or(Fault::NoRoute)?, host))
    }

    /// Closes what has rested for too long, or rests at addresses that are gone.
    pub(crate) fn expire(&self) {
        self.pools().for_each(|pool| pool.expire());
    }

    /// Closes everything that rests.
    pub(crate) fn clear(&self) {
        self.pools().for_each(|pool| pool.clear());
    }

    fn pools(&self) -> impl Iterator<Item = &Rc<Pool>> {
        self.members.iter().flat_map(|members| &members.pools)
    }
}

impl Members {
    fn new<'p>(
        group: &Arc<Group>,
        known: impl Iterator<Item = &'p Rc<Pool>> + Clone,
        shared: &Rc<Shared>,
        index: usize,
    ) -> Rc<Self> {
        let pool = |server: &Arc<Server>| {
            let same = known.clone().find(|pool| Arc::ptr_eq(&pool.server, server));
            same.cloned().unwrap_or_else(|| Pool::new(server, shared))
        };
        let weights = group.settings.servers.iter().map(|server| server.weight.get());
        let members = Self {
            pools: group.members.iter().map(pool).collect(),
            balance: Balance::new(weights.collect()),
            budget: Budget::new(),
            group: group.clone(),
        };
        // Workers that all began with the first server would send it their first requests together.
        for _ in 0..index {
            members.next();
        }
        Rc::new(members)
    }

    /// The server whose turn it is. One alone is asked in any case.
    pub(crate) fn turn(self: &Rc<Self>) -> Turn {
        if self.pools.len() == 1 {
            return Turn::new(self, 0);
        }
        self.budget.save();
        Turn::new(self, self.next())
    }

    fn next(&self) -> usize {
        let usable = match self.group.usable() {
            // Better any than none: what is known of them may be wrong.
            0 => u64::MAX,
            usable => usable,
        };
        self.balance
            .next(usable, |index| self.pools[index].in_flight())
            .unwrap_or_default()
    }

    /// Server number `index` once more.
    pub(crate) fn same(self: &Rc<Self>, index: usize) -> Turn {
        Turn::new(self, index)
    }

    /// A server for another try, none of `tried`, if there is one and the budget allows it.
    pub(crate) fn another(self: &Rc<Self>, tried: u64) -> Option<Turn> {
        let usable = self.group.usable() & !tried;
        let in_flight = |index: usize| self.pools[index].in_flight();
        let index = self.balance.least_busy(usable, in_flight)?;
        if !self.budget.spend() {
            return None;
        }
        self.group.retried();
        Some(Turn::new(self, index))
    }

    /// How often a request may be tried once more on another server.
    pub(crate) fn retries(&self) -> u8 {
        if self.pools.len() == 1 {
            0
        } else {
            self.group.settings.retries
        }
    }

    /// How long opening a connection may take at each try, so that all of them together take no longer than `all`.
    pub(crate) fn connect_within(&self, all: Duration) -> Duration {
        match self.retries() {
            0 => all,
            retries => all / (u32::from(retries) + 1),
        }
    }

    /// What server number `index` is called in the log.
    pub(crate) fn blame(&self, index: usize) -> Blame<'_> {
        Blame {
            upstream: &self.group.settings.name,
            server: self.group.members[index].label(),
        }
    }

    /// Server number `index` failed.
    pub(crate) fn failed(&self, index: usize, fault: Fault) {
        self.group.failed(index, fault.error());
    }
}

/// A request at a server. The server has it in flight until this is dropped.
pub(crate) struct Turn {
    members: Rc<Members>,
    pub(crate) index: usize,
}

impl Turn {
    fn new(members: &Rc<Members>, index: usize) -> Self {
        members.pools[index].begin();
        Self {
            members: members.clone(),
            index,
        }
    }

    pub(crate) fn members(&self) -> &Rc<Members> {
        &self.members
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.members.pools[self.index]
    }

    /// What its server is called in the log.
    pub(crate) fn blame(&self) -> Blame<'_> {
        self.members.blame(self.index)
    }

    /// The server has answered.
    pub(crate) fn succeeded(&self) {
        self.members.group.succeeded(self.index);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pool().end();
    }
}
