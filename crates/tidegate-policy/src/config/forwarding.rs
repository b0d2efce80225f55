//! Which requests go to which upstream.

use super::Upstream;
use crate::Routes;

/// Which requests go to which upstream.
#[derive(Clone, Debug, Default)]
pub struct Forwarding {
    /// All upstreams.
    pub upstreams: Vec<Upstream>,
    /// Requests that go elsewhere than the rest.
    pub routes: Routes,
    /// Where the rest goes: its place among the upstreams. None: the rest is 404.
    pub default: Option<usize>,
}

impl Forwarding {
    /// Everything goes to `upstream`.
    pub fn only(upstream: Upstream) -> Self {
        Self {
            upstreams: vec![upstream],
            routes: Routes::default(),
            default: Some(0),
        }
    }

    /// The rest goes to `upstream`, whatever the file says.
    pub fn set_default(&mut self, upstream: Upstream) {
        let known = self.upstreams.iter().position(|known| *known == upstream);
        self.default = Some(known.unwrap_or(self.upstreams.len()));
        if known.is_none() {
            self.upstreams.push(upstream);
        }
    }

    /// Where the rest goes.
    pub fn default_upstream(&self) -> Option<&Upstream> {
        self.upstreams.get(self.default?)
    }

    /// Whether no request goes anywhere.
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.routes.is_empty()
    }
}
