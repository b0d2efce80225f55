//! Routes: which upstream a request goes to, found with the index and the conditions of policies.

use std::borrow::Cow;

use http::HeaderValue;
use smallvec::SmallVec;

use super::conditions::Conditions;
use super::host::{self, HostPattern};
use super::index::Index;
use super::path::PathPattern;
use super::views;
use crate::Request;

/// Routes in the order of their file: the first that matches counts.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    index: Index,
    conditions: Vec<Conditions>,
    routes: Vec<Route>,
}

/// Where matching requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The place of the upstream in [`crate::Forwarding::upstreams`].
    pub upstream: usize,
    /// The `Host` that the upstream sees.
    pub host: HostRewrite,
    /// Which requests match, in words: `GET /api/** on a.test`.
    pub scope: Box<str>,
}

/// The `Host` that an upstream sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostRewrite {
    /// The client's.
    #[default]
    Preserve,
    /// That of the server's URL.
    Upstream,
    /// This one.
    To(HeaderValue),
}

/// Which route a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'r> {
    /// This one.
    Route(&'r Route),
    /// None: it goes where the rest goes.
    Rest,
    /// Its path can be read in too many ways to say.
    Ambiguous,
}

/// What a route is made of.
#[derive(Clone, Debug)]
pub(crate) struct RouteParts {
    pub(crate) hosts: Vec<HostPattern>,
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) conditions: Conditions,
    pub(crate) route: Route,
}

impl Routes {
    pub(crate) fn new(parts: Vec<RouteParts>) -> Self {
        let mut routes = Self::default();
        for (parts, place) in parts.into_iter().zip(0..) {
            routes.index.insert(place, &parts.hosts, &parts.paths);
            routes.conditions.push(parts.conditions);
            routes.routes.push(parts.route);
        }
        routes
    }

    /// The routes, in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Route> {
        self.routes.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// The first route that matches `request`. Where origins may read its path in several ways, a route that matches one of them
    /// matches, as policies do.
    pub fn choose(&self, request: &Request<'_>) -> Choice<'_> {
        if self.is_empty() {
            return Choice::Rest;
        }
        let Some(views) = views::views(request.path) else {
            return Choice::Ambiguous;
        };
        let host = if self.index.names_hosts() {
            host::normal(request.host)
        } else {
            Cow::Borrowed("")
        };
        let mut hits: SmallVec<[u32; 16]> = SmallVec::new();
        for segments in &views {
            self.index.walk(&host, segments, |entry| hits.push(entry.policy));
        }
        hits.sort_unstable();
        hits.dedup();
        let holds = |hit: &&u32| self.conditions[**hit as usize].hold(request);
        match hits.iter().find(holds) {
            Some(hit) => Choice::Route(&self.routes[*hit as usize]),
            None => Choice::Rest,
        }
    }
}

impl<'r> IntoIterator for &'r Routes {
    type Item = &'r Route;
    type IntoIter = std::slice::Iter<'r, Route>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl RouteParts {
    /// Whether every request that `later` matches is matched by this one already. False where that is not easily told.
    pub(crate) fn covers(&self, later: &Self) -> bool {
        self.conditions.are_met_by_all_of(&later.conditions)
            && all_covered(&self.hosts, &later.hosts, HostPattern::covers)
            && all_covered(&self.paths, &later.paths, PathPattern::covers)
    }
}

/// Whether each of `later` is covered by one of `earlier`. No patterns match everything.
fn all_covered<P>(earlier: &[P], later: &[P], covers: impl Fn(&P, &P) -> bool) -> bool {
    let is_covered = |later: &P| earlier.iter().any(|earlier| covers(earlier, later));
    earlier.is_empty() || (!later.is_empty() && later.iter().all(is_covered))
}
