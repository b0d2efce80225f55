//! What a policy means, in words.

mod door;

use std::fmt::{self, Display, Formatter};

use tidegate_core::{Cost, Mode, Timestamp};
use tidegate_policy::{
    Consistency, Forwarding, HostRewrite, OnStoreFailure, Policy, Route, Share, StoreSettings, Upstream,
    in_words,
};

pub(crate) use door::DoorInWords;

/// A policy in words, a line for each thing it says, with what is said of stores where one is shared.
pub(crate) struct InWords<'a>(pub(crate) &'a Policy, pub(crate) &'a StoreSettings);

impl Display for InWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let policy = self.0;
        write!(f, "{}: {}", policy.name, policy.scope)?;
        if policy.is_unlimited() {
            return Ok(());
        }
        if policy.mode == Mode::Shadow {
            f.write_str("\n  only rehearsed: refusals are reported, not carried out")?;
        }
        for limit in &policy.limits {
            write!(f, "\n  {}", in_words(&limit.limit))?;
        }
        for (tier, limits) in &policy.tiers {
            for limit in limits {
                write!(f, "\n  tier {tier}: {}", in_words(&limit.limit))?;
            }
        }
        for special in &policy.overrides {
            for limit in &special.limits {
                write!(
                    f,
                    "\n  {} until {}: {}",
                    special.whose,
                    day(special.until),
                    in_words(&limit.limit)
                )?;
            }
        }
        if policy.cost != Cost::ONE {
            write!(f, "\n  a request costs {}", policy.cost.units())?;
        }
        match policy.consistency {
            Consistency::Local if self.1.shared.is_none() => Ok(()),
            Consistency::Local => f.write_str("\n  counted by each instance for itself"),
            Consistency::Strict => write!(
                f,
                "\n  counted by all instances together; while the shared store cannot decide, {}",
                without_store(policy)
            ),
        }
    }
}

/// A route of this forwarding in words, on one line.
pub(crate) struct RouteInWords<'a>(pub(crate) &'a Forwarding, pub(crate) &'a Route);

impl Display for RouteInWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(forwarding, route) = self;
        let name = forwarding
            .upstreams
            .get(route.upstream)
            .map_or("", |upstream| &upstream.name);
        write!(f, "{} to {name}", route.scope)?;
        match &route.host {
            HostRewrite::Preserve => Ok(()),
            HostRewrite::Upstream => f.write_str(", with the server's own host"),
            HostRewrite::To(host) => write!(f, ", as {}", String::from_utf8_lossy(host.as_bytes())),
        }
    }
}

/// Where requests go, a line for each route and each upstream.
pub(crate) struct ForwardingInWords<'a>(pub(crate) &'a Forwarding);

impl Display for ForwardingInWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let forwarding = self.0;
        for route in &forwarding.routes {
            writeln!(f, "{}", RouteInWords(forwarding, route))?;
        }
        match forwarding.default_upstream() {
            Some(upstream) if forwarding.routes.is_empty() => {
                writeln!(f, "any request to {}", upstream.name)?
            }
            Some(upstream) => writeln!(f, "any other request to {}", upstream.name)?,
            None if forwarding.routes.is_empty() => return Ok(()),
            None => writeln!(f, "any other request is 404")?,
        }
        forwarding
            .upstreams
            .iter()
            .try_for_each(|upstream| write!(f, "{}", UpstreamInWords(upstream)))
    }
}

/// An upstream in words, if there is more to say than its URL.
struct UpstreamInWords<'a>(&'a Upstream);

impl Display for UpstreamInWords<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let upstream = self.0;
        let shown = upstream.to_string();
        if shown == *upstream.name {
            return Ok(());
        }
        writeln!(
            f,
            "
{shown}"
        )?;
        if upstream.tls.insecure_skip_verify {
            writeln!(f, "  certificates are not checked")?;
        }
        if let Some(health) = &upstream.health {
            let (path, every) = (&health.path, health.every);
            let (sick, well) = (health.unhealthy_after, health.healthy_after);
            writeln!(
                f,
                "  asked for {path} every {every:?}: {sick} bad answers in a row take a server out, {well} good ones take it in again"
            )?;
        }
        if upstream.servers.len() == 1 {
            return Ok(());
        }
        if let Some(ejection) = upstream.ejection {
            let (failures, pause) = (ejection.failures, ejection.pause);
            writeln!(
                f,
                "  {failures} failures in a row leave a server alone for {pause:?}"
            )?;
        }
        match upstream.retries {
            0 => writeln!(f, "  no request is tried again"),
            1 => writeln!(
                f,
                "  a request is tried once more on another server where that is safe"
            ),
            retries => writeln!(
                f,
                "  a request is tried up to {retries} times more on other servers where that is safe"
            ),
        }
    }
}

/// The moment as it is written in files.
fn day(moment: Timestamp) -> String {
    let nanos = i128::from(moment.as_nanos());
    jiff::Timestamp::from_nanosecond(nanos).map_or_else(|_| moment.to_string(), |moment| moment.to_string())
}

/// What becomes of requests while the shared store cannot decide.
fn without_store(policy: &Policy) -> String {
    match policy.on_store_failure {
        OnStoreFailure::Allow => "requests pass".to_owned(),
        OnStoreFailure::Deny => "requests are refused with 503".to_owned(),
        OnStoreFailure::Local if policy.local_share == Share::default() => {
            "each instance allows the limit by itself".to_owned()
        }
        OnStoreFailure::Local => {
            format!(
                "each instance allows {} of the limit by itself",
                policy.local_share
            )
        }
    }
}
