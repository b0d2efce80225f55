//! What `admin` and `access_log` mean.

use std::net::SocketAddr;

use super::gateway::within;
use crate::config::{AccessLog, Admin, LogTarget};
use crate::document::node::Spanned;
use crate::document::operations::{AccessLogText, AdminText};
use crate::document::report::{Report, quoted};

/// How much of the requests a sample takes.
const SAMPLE_PERCENT: std::ops::RangeInclusive<u64> = 1..=100;

pub(super) fn admin(text: Option<&AdminText>, report: &mut Report<'_>) -> Admin {
    match text {
        None => Admin::default(),
        Some(AdminText::Named(text)) if text.value == "off" => Admin::Off,
        Some(AdminText::Named(text) | AdminText::Listen(text)) => listen(text, report),
    }
}

fn listen(text: &Spanned<String>, report: &mut Report<'_>) -> Admin {
    let Ok(address) = text.value.parse::<SocketAddr>() else {
        let message = format!("{} is not an address to listen on", quoted(&text.value));
        report.error(text.at, message, "write `127.0.0.1:9900`, or `admin: off`");
        return Admin::default();
    };
    if !address.ip().is_loopback() {
        let message = "whoever reaches this address sees metrics, policies and state: there is no password";
        report.warning(
            text.at,
            message,
            "write `127.0.0.1:9900`, or let a firewall guard it",
        );
    }
    Admin::At(address)
}

pub(super) fn access_log(text: Option<&AccessLogText>, report: &mut Report<'_>) -> Option<AccessLog> {
    let text = text?;
    let sample_percent = text.sample_percent.as_ref();
    let sample_percent = sample_percent.and_then(|percent| within(percent, SAMPLE_PERCENT, report));
    let to = match text.to.value.as_str() {
        "off" => return None,
        "stdout" => LogTarget::Stdout,
        "stderr" => LogTarget::Stderr,
        path => file(path, text, report),
    };
    Some(AccessLog {
        to,
        only: text
            .only
            .as_ref()
            .map_or_else(Default::default, |only| only.value),
        sample_percent: sample_percent.unwrap_or(100),
    })
}

/// A path has a separator or an ending, so that a misspelt word does not become a file.
fn file(path: &str, text: &AccessLogText, report: &mut Report<'_>) -> LogTarget {
    if !path.contains(['/', '.']) {
        let message = format!("{} is neither a word known here nor a path", quoted(path));
        let cure = "write `off`, `stdout`, `stderr`, or a path such as `/var/log/tidegate/access.log`";
        report.error(text.to.at, message, cure);
    }
    LogTarget::File(path.into())
}

#[cfg(test)]
mod tests {
    use tidegate_core::KeyHasher;

    use crate::{AccessLog, Admin, Compiled, LogTarget, Logged, PolicyFile, Problems, RequestIds, compile};

    fn compiled(text: &str) -> Result<Compiled, Problems> {
        let text = &format!("{text}\npolicies: []");
        let name = "tidegate.yaml";
        compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
    }

    fn admin(text: &str) -> Admin {
        compiled(text).unwrap().config.admin
    }

    #[test]
    fn the_admin_listener_is_on_loopback_unless_written_otherwise() {
        assert_eq!(admin(""), Admin::IfFree("127.0.0.1:9900".parse().unwrap()));
        assert_eq!(admin("admin: off"), Admin::Off);
        for written in ["admin: 127.0.0.2:7", "admin: { listen: 127.0.0.2:7 }"] {
            assert_eq!(admin(written), Admin::At("127.0.0.2:7".parse().unwrap()));
        }
    }

    #[test]
    fn an_admin_listener_that_others_can_reach_is_warned_of() {
        let warned = |text| compiled(text).unwrap().warnings.to_string().contains("password");
        assert!(!warned("admin: \"[::1]:9900\""));
        assert!(warned("admin: 0.0.0.0:9900"));
        assert!(warned("admin: { listen: 192.0.2.1:9900 }"));
    }

    #[test]
    fn an_access_log_is_a_word_a_path_or_a_mapping() {
        let log = |text| compiled(text).unwrap().config.access_log;
        assert_eq!(log(""), None);
        assert_eq!(log("access_log: off"), None);
        let everything = |to| AccessLog {
            to,
            only: Logged::All,
            sample_percent: 100,
        };
        assert_eq!(log("access_log: stdout"), Some(everything(LogTarget::Stdout)));
        let file = LogTarget::File("/var/log/access".into());
        assert_eq!(log("access_log: /var/log/access"), Some(everything(file)));
        let some = AccessLog {
            to: LogTarget::Stderr,
            only: Logged::Rejected,
            sample_percent: 1,
        };
        let written = "access_log: { to: stderr, only: rejected, sample_percent: 1 }";
        assert_eq!(log(written), Some(some));
    }

    #[test]
    fn wrong_operations_are_told_all_at_once() {
        let text = "gateway: { request_ids: maybe }\nadmin: { listen: here, port: 1 }\n\
            access_log: { to: stdin, only: some, sample_percent: 0 }";
        assert_eq!(compiled(text).unwrap_err().iter().count(), 6);
    }

    #[test]
    fn request_ids_can_be_left_to_others() {
        let ids = |text| compiled(text).unwrap().config.gateway.request_ids;
        assert_eq!(ids(""), RequestIds::On);
        assert_eq!(ids("gateway: { request_ids: off }"), RequestIds::Off);
    }
}
