//! Files of addresses and networks, one a line.

use std::net::IpAddr;

use ipnet::IpNet;

use super::entries::{Entries, FOREVER};
use crate::document::node::Place;
use crate::document::report::{Report, quoted};
use crate::{PolicyFile, Problems};

/// The most lines of a file of addresses.
pub const MAX_LISTED: usize = 1_000_000;

/// The entries of `file`. What follows `#` or `;` is for people.
pub(super) fn parse(file: PolicyFile<'_>) -> Result<Entries, Problems> {
    let mut report = Report::new(file.name, file.text);
    let mut networks = Vec::new();
    for (text, line) in file.text.lines().zip(1..) {
        let content = text.split(['#', ';']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let at = Place {
            line,
            column: text.chars().take_while(|char| char.is_whitespace()).count() + 1,
            width: content.chars().count(),
        };
        if line > MAX_LISTED {
            let message = format!("a file of addresses has at most {MAX_LISTED} lines");
            report.error(at, message, "write networks instead of single addresses");
            break;
        }
        match network(content) {
            Some(network) => networks.push((network, FOREVER)),
            None => report.error(
                at,
                format!("{} is neither an address nor a network", quoted(content)),
                "write such as `192.0.2.1`, `192.0.2.0/24` or `2001:db8::/32`, one a line",
            ),
        }
    }
    let problems = report.finish();
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(Entries::new(&networks, Vec::new()))
}

/// An address, or a network with its prefix.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    text.parse::<IpNet>()
        .ok()
        .map(|network| network.trunc())
        .or_else(address)
}
