//! What is said once everything listens.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tidegate_policy::{Forwarding, Policy, in_words};
use tidegate_server::boot::Server;
use tidegate_server::logs::LogFormat;

use crate::output;
use crate::words::RouteInWords;

/// Says where things listen and which limits are per instance: a page for people, events for machines.
pub(crate) fn announce(server: &Server, format: LogFormat) {
    match format {
        LogFormat::Human => {
            for warning in server.warnings() {
                output::note(format_args!("{warning}\n"));
            }
            output::note(Page(server));
        }
        LogFormat::Json | LogFormat::Auto => events(server),
    }
}

fn events(server: &Server) {
    for warning in server.warnings() {
        let (file, line, column) = (warning.file(), warning.line, warning.column);
        tracing::warn!(file, line, column, cure = warning.cure, "{}", warning.message);
    }
    if let Some(address) = server.admin() {
        tracing::info!(%address, "admin: /metrics, /livez, /readyz, /status");
    }
    if !server.per_instance().is_empty() {
        let policies = Names(server.per_instance());
        tracing::info!(%policies, "these limits are per instance: their counters are in this process's memory");
    }
    if let Some(store) = server.shared_store() {
        tracing::info!(%store, "the other limits hold over all instances that count in this store");
    }
    for route in &server.forwarding().routes {
        tracing::info!(route = %RouteInWords(server.forwarding(), route), "a route");
    }
    for (door, scheme, address) in server.doors() {
        let door = door.name();
        tracing::info!(%address, scheme, door, policies = server.policies_name(), "listening");
    }
    for (scheme, address) in server.urls() {
        tracing::info!(%address, scheme, upstream = %Rest(server.forwarding()), policies = server.policies_name(), "listening");
    }
}

/// The page for people.
struct Page<'a>(&'a Server);

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let server = self.0;
        writeln!(f, "Tidegate {}\n", env!("CARGO_PKG_VERSION"))?;
        for (scheme, address) in server.urls() {
            writeln!(f, "  gateway   {scheme}://{address}")?;
        }
        for (door, scheme, address) in server.doors() {
            writeln!(f, "  {:<9} {scheme}://{address}", door.name())?;
        }
        if let Some(address) = server.admin() {
            writeln!(
                f,
                "  admin     http://{address} (/metrics, /livez, /readyz, /status)"
            )?;
        }
        if server.urls().next().is_some() {
            write!(f, "{}", Origins(server))?;
        }
        writeln!(f, "  policies  {}", server.policies_name())?;
        for policy in server.policies().iter().take(MAX_SHOWN) {
            writeln!(f, "            {}", Short(policy))?;
        }
        if let Some(store) = server.shared_store() {
            writeln!(f, "  counters  in {store}, of all instances")?;
        }
        if !server.per_instance().is_empty() {
            let policies = Names(server.per_instance());
            writeln!(f, "  counters  in memory, per instance: {policies}")?;
        }
        writeln!(f)?;
        if let Some((scheme, address)) = server.urls().next() {
            let url = format!("{scheme}://{}/", reachable(address));
            match scheme {
                // Certificates seldom hold an address.
                "https" => writeln!(f, "Try it: curl -ik {url}")?,
                _ if server.has_demo() => write!(f, "{}", TryTheDemo(&url))?,
                _ => writeln!(f, "Try it: curl -i {url}")?,
            }
        }
        f.write_str("Ctrl-C stops it and lets requests in flight finish.")
    }
}

/// Where requests go.
struct Origins<'a>(&'a Server);

impl Display for Origins<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let whose = if self.0.has_demo() { " (the demo)" } else { "" };
        let forwarding = self.0.forwarding();
        writeln!(f, "  origin    {}{whose}", Rest(forwarding))?;
        for route in forwarding.routes.iter().take(MAX_SHOWN) {
            writeln!(f, "            {}", RouteInWords(forwarding, route))?;
        }
        let default = forwarding.default.unwrap_or(usize::MAX);
        let others = forwarding.upstreams.iter().enumerate();
        for (_, upstream) in others.filter(|(place, _)| *place != default).take(MAX_SHOWN) {
            writeln!(f, "            {upstream}")?;
        }
        Ok(())
    }
}

struct TryTheDemo<'a>(&'a str);

impl Display for TryTheDemo<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let url = self.0;
        writeln!(f, "Try it with eleven quick requests:\n")?;
        writeln!(f, "  for i in $(seq 11); do curl -so /dev/null {url} \\")?;
        writeln!(
            f,
            r"    -w '%{{http_code}} left: %header{{x-ratelimit-remaining}} wait: %header{{retry-after}}\n'; done"
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "Ten pass. The eleventh gets a 429 that says how long to wait; after that long the next one passes."
        )?;
        writeln!(f, "A browser on {url} shows the same.")
    }
}

/// Where requests go that no route matches.
struct Rest<'a>(&'a Forwarding);

impl Display for Rest<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.default_upstream() {
            Some(upstream) => upstream.fmt(f),
            None => f.write_str("404 for what no route matches"),
        }
    }
}

/// As many policies and names are shown; the rest is counted.
const MAX_SHOWN: usize = 8;

/// A policy and its first limit.
struct Short<'a>(&'a Policy);

impl Display for Short<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)?;
        match self.0.limits.first() {
            Some(limit) => write!(f, ": {}", in_words(&limit.limit)),
            None => f.write_str(": unlimited"),
        }
    }
}

/// The names of policies, as many as fit.
struct Names<'a>(&'a [Policy]);

impl Display for Names<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, policy) in self.0.iter().take(MAX_SHOWN).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(&policy.name)?;
        }
        match self.0.len().checked_sub(MAX_SHOWN) {
            Some(more) if more > 0 => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

/// An address that a client on this machine can connect to.
fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_to_try_is_one_that_can_be_connected_to() {
        for (listening, tried) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listening.parse().unwrap()).to_string(), tried);
        }
    }
}
