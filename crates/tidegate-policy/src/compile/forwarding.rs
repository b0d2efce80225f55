//! What `upstreams`, `routes` and `gateway.upstream` mean together.

use super::{matching, scope, upstream};
use crate::config::{Forwarding, ServerUrl, Upstream};
use crate::document::Document;
use crate::document::node::{Place, Spanned};
use crate::document::report::{Report, any_of, nearest, quoted};
use crate::document::upstream::{RouteText, UpstreamText};
use crate::set::routes::{HostRewrite, Route, RouteParts, Routes};

/// How many names an error lists.
const MAX_NAMES_SHOWN: usize = 8;

pub(super) fn forwarding(document: &Document, report: &mut Report<'_>) -> Forwarding {
    let mut known = Known::read(&document.upstreams, report);
    let default = document.gateway.upstream.as_ref();
    let default = default.and_then(|text| known.find(text, report));
    let routes = routes(&document.routes, &mut known, report);
    known.warn_of_unused(report);
    Forwarding {
        upstreams: known.upstreams,
        routes,
        default,
    }
}

/// The upstreams of a file: those with a name, and those that are written as a URL where they are used.
struct Known<'d> {
    texts: &'d [UpstreamText],
    upstreams: Vec<Upstream>,
    used: Vec<bool>,
}

impl<'d> Known<'d> {
    fn read(texts: &'d [UpstreamText], report: &mut Report<'_>) -> Self {
        Self {
            texts,
            upstreams: texts
                .iter()
                .map(|text| upstream::upstream(text, report))
                .collect(),
            used: vec![false; texts.len()],
        }
    }

    /// The place of the upstream that `text` means.
    fn find(&mut self, text: &Spanned<String>, report: &mut Report<'_>) -> Option<usize> {
        let by_name = self.texts.iter().position(|known| known.name.value == text.value);
        if let Some(place) = by_name {
            self.used[place] = true;
            return Some(place);
        }
        if !ServerUrl::is_meant(&text.value) {
            self.unknown(text, report);
            return None;
        }
        let upstream = upstream::by_url(text, report)?;
        let same = self.upstreams.iter().position(|known| *known == upstream);
        Some(same.unwrap_or_else(|| {
            self.upstreams.push(upstream);
            self.upstreams.len() - 1
        }))
    }

    fn unknown(&self, text: &Spanned<String>, report: &mut Report<'_>) {
        let names = || self.texts.iter().map(|text| text.name.value.as_str());
        let cure = match nearest(&text.value, names()) {
            Some(name) => format!("did you mean `{name}`?"),
            None if self.texts.is_empty() => {
                "write a URL such as `http://127.0.0.1:3000`, or say what the name means under `upstreams`"
                    .to_owned()
            }
            None => format!("write {}", any_of(names().take(MAX_NAMES_SHOWN))),
        };
        report.error(
            text.at,
            format!("there is no upstream {}", quoted(&text.value)),
            cure,
        );
    }

    fn warn_of_unused(&self, report: &mut Report<'_>) {
        for (text, used) in self.texts.iter().zip(&self.used) {
            if !used && text.is_right {
                let message = format!("nothing is forwarded to {}", quoted(&text.name.value));
                report.warning(
                    text.name.at,
                    message,
                    "name it in `routes` or in `gateway.upstream`, or remove it",
                );
            }
        }
    }
}

fn routes(texts: &[RouteText], known: &mut Known<'_>, report: &mut Report<'_>) -> Routes {
    let mut right: Vec<(Place, RouteParts)> = Vec::new();
    for text in texts {
        let earlier_errors = report.errors();
        let parts = parts(text, known, report);
        if let Some(parts) = parts
            && text.is_right
            && report.errors() == earlier_errors
        {
            warn_of_shadow(text.at, &parts, &right, report);
            right.push((text.at, parts));
        }
    }
    Routes::new(right.into_iter().map(|(_, parts)| parts).collect())
}

fn parts(text: &RouteText, known: &mut Known<'_>, report: &mut Report<'_>) -> Option<RouteParts> {
    let hosts = matching::hosts(&text.matching.host, report);
    let paths = matching::paths(&text.matching.path, report);
    let conditions = matching::conditions(&text.matching, report);
    if let Some(field) = text.matching.body.first() {
        let message = "a route is chosen before the body is read";
        report.error(
            field.name.at,
            message,
            "choose it by path, host, method or a header field",
        );
    }
    if let Some(call) = &text.matching.call {
        let message = "a route is for requests; `domain` and `descriptor` belong to policies";
        report.error(
            call.at,
            message,
            "choose it by path, host, method or a header field",
        );
    }
    let host = text
        .host
        .as_ref()
        .map_or(Some(HostRewrite::default()), |host| host_rewrite(host, report));
    let upstream = text.upstream.as_ref().and_then(|text| known.find(text, report));
    Some(RouteParts {
        hosts,
        paths,
        conditions,
        route: Route {
            upstream: upstream?,
            host: host?,
            scope: scope::requests(&text.matching).into(),
        },
    })
}

fn host_rewrite(text: &Spanned<String>, report: &mut Report<'_>) -> Option<HostRewrite> {
    match text.value.as_str() {
        "preserve" => Some(HostRewrite::Preserve),
        "upstream" => Some(HostRewrite::Upstream),
        _ => upstream::host_value(text, report).map(HostRewrite::To),
    }
}

fn warn_of_shadow(at: Place, parts: &RouteParts, earlier: &[(Place, RouteParts)], report: &mut Report<'_>) {
    if let Some((shadow, _)) = earlier.iter().find(|(_, earlier)| earlier.covers(parts)) {
        let message = format!(
            "no request gets here: the route in {} matches them all",
            report.line_in_words(*shadow)
        );
        report.warning(at, message, "move this route in front of that one, or remove it");
    }
}
