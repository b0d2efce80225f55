//! What can go wrong with a call, by what it means for whoever asked.

use core::fmt;

use redis::{ErrorKind, RedisError, ServerError};

use super::settings::Address;
use crate::StoreError;

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not executed: the server does not know the script.
    NoScript,
    /// Not executed: the slot lives on another server. No host: on that of the server that says so.
    Moved(Option<Address>),
    /// Not executed: the key is on its way to another server.
    Asked(Option<Address>),
    /// Not executed: the server is a replica.
    NotMaster,
    /// Not executed, and a moment later it may be: the server loads, is busy or waits for a failover.
    NotNow(String),
    /// Not executed, and another try will not be either: no memory, no disk, too few replicas.
    Unable(String),
    /// Not executed: the server does not let us.
    Refused(String),
    /// Nobody knows whether it was executed: the connection broke.
    Lost(String),
    /// Nobody knows whether it was executed: no answer in time.
    Late,
    /// Not executed: there is no connection.
    Down,
    /// An answer that makes no sense, or a script that failed.
    Nonsense(String),
}

/// The words of faults, for figures.
pub const FAULTS: [&str; 9] = [
    "late",
    "down",
    "lost",
    "moved",
    "not_master",
    "not_now",
    "unable",
    "refused",
    "garbled",
];

impl Fault {
    /// Its word, one of [`FAULTS`].
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Late => "late",
            Self::Down => "down",
            Self::Lost(_) => "lost",
            Self::Moved(_) | Self::Asked(_) => "moved",
            Self::NotMaster => "not_master",
            Self::NotNow(_) => "not_now",
            Self::Unable(_) => "unable",
            Self::Refused(_) => "refused",
            // Who does not know a script is sent it at once, and has no reason to say so again.
            Self::NoScript | Self::Nonsense(_) => "garbled",
        }
    }

    /// Whether it is sure that the call was not executed.
    pub(crate) const fn left_all_as_it_was(&self) -> bool {
        match self {
            Self::NoScript
            | Self::Moved(_)
            | Self::Asked(_)
            | Self::NotMaster
            | Self::NotNow(_)
            | Self::Unable(_)
            | Self::Refused(_)
            | Self::Down => true,
            Self::Lost(_) | Self::Late | Self::Nonsense(_) => false,
        }
    }

    /// What a server said instead of an answer.
    pub(crate) fn of_server(error: &ServerError) -> Self {
        let details = error.details().unwrap_or_default();
        Self::of_code(error.code(), details).unwrap_or_else(|| Self::within(error.code(), details))
    }

    /// What happened to a connection.
    pub(crate) fn of_connection(error: &RedisError) -> Self {
        match error.kind() {
            ErrorKind::AuthenticationFailed => {
                Self::Refused("the server does not accept the user or its password".to_owned())
            }
            ErrorKind::Server(_) | ErrorKind::Extension => {
                let (code, detail) = (
                    error.code().unwrap_or_default(),
                    error.detail().unwrap_or_default(),
                );
                Self::of_code(code, detail).unwrap_or_else(|| Self::Nonsense(format!("{code} {detail}")))
            }
            _ => Self::Lost(error.to_string()),
        }
    }

    fn of_code(code: &str, details: &str) -> Option<Self> {
        let said = || format!("{code} {details}");
        Some(match code {
            "NOSCRIPT" => Self::NoScript,
            "MOVED" => Self::Moved(redirect(details)),
            "ASK" => Self::Asked(redirect(details)),
            "READONLY" => Self::NotMaster,
            "LOADING" | "BUSY" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" => Self::NotNow(said()),
            "OOM" | "MISCONF" | "NOREPLICAS" => Self::Unable(said()),
            "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED" => Self::Refused(said()),
            _ => return None,
        })
    }

    /// Before version 7 what a command in a script said stands within the script's error.
    fn within(code: &str, details: &str) -> Self {
        details
            .split(|letter: char| letter.is_whitespace())
            .filter_map(|word| word.strip_prefix('-'))
            .find_map(|word| match Self::of_code(word, "") {
                Some(fault @ (Self::NotMaster | Self::NotNow(_) | Self::Unable(_) | Self::Refused(_))) => {
                    Some(fault)
                }
                _ => None,
            })
            .unwrap_or_else(|| Self::Nonsense(format!("{code} {details}")))
    }
}

impl From<&Fault> for StoreError {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::Late => Self::Timeout,
            _ => Self::Unavailable,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScript => f.write_str("the server does not know the script"),
            Self::Moved(_) | Self::Asked(_) => f.write_str("the slot lives on another server"),
            Self::NotMaster => f.write_str("the server is a replica"),
            Self::NotNow(said) | Self::Unable(said) | Self::Refused(said) | Self::Lost(said) => {
                f.write_str(said)
            }
            Self::Late => f.write_str("no answer in time"),
            Self::Down => f.write_str("there is no connection"),
            Self::Nonsense(said) => write!(f, "an answer that makes no sense: {said}"),
        }
    }
}

/// The address in `3999 127.0.0.1:6381` or `3999 :6381`.
fn redirect(details: &str) -> Option<Address> {
    let (host, port) = details.split_ascii_whitespace().nth(1)?.rsplit_once(':')?;
    Some(Address::new(host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    fn said(line: &str) -> Fault {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).expect("an error is a value");
        let Value::ServerError(error) = value else {
            panic!("{value:?}")
        };
        Fault::of_server(&error)
    }

    #[test]
    fn every_answer_of_a_server_says_whether_it_may_be_tried_again() {
        assert_eq!(
            said("NOSCRIPT No matching script. Please use EVAL."),
            Fault::NoScript
        );
        assert_eq!(
            said("MOVED 3999 127.0.0.1:6381"),
            Fault::Moved(Some(Address::new("127.0.0.1", 6381)))
        );
        assert_eq!(
            said("MOVED 3999 :6381"),
            Fault::Moved(Some(Address::new("", 6381)))
        );
        assert_eq!(
            said("ASK 1 ::1:6381"),
            Fault::Asked(Some(Address::new("::1", 6381)))
        );
        assert_eq!(
            said("READONLY You can't write against a read only replica."),
            Fault::NotMaster
        );
        for code in ["LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN"] {
            assert!(
                matches!(said(&format!("{code} later")), Fault::NotNow(_)),
                "{code}"
            );
        }
        for code in ["OOM", "MISCONF", "NOREPLICAS"] {
            assert!(matches!(said(&format!("{code} no")), Fault::Unable(_)), "{code}");
        }
        for code in ["NOAUTH", "WRONGPASS", "NOPERM"] {
            assert!(matches!(said(&format!("{code} no")), Fault::Refused(_)), "{code}");
        }
        assert!(matches!(said("ERR something else"), Fault::Nonsense(_)));
    }

    #[test]
    fn every_fault_counts_under_a_word_of_the_list() {
        let text = String::new;
        for fault in [
            Fault::NoScript,
            Fault::Moved(None),
            Fault::Asked(None),
            Fault::NotMaster,
            Fault::NotNow(text()),
            Fault::Unable(text()),
            Fault::Refused(text()),
            Fault::Lost(text()),
            Fault::Late,
            Fault::Down,
            Fault::Nonsense(text()),
        ] {
            assert!(FAULTS.contains(&fault.word()), "{fault:?}");
        }
    }

    #[test]
    fn what_a_command_in_a_script_said_is_found_within_the_scripts_error() {
        assert_eq!(
            said(
                "ERR Error running script (call to f_12): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica."
            ),
            Fault::NotMaster
        );
        assert!(matches!(
            said(
                "ERR Error running script (call to f_12): @user_script:9: @user_script: 9: -OOM command not allowed when used memory > 'maxmemory'."
            ),
            Fault::Unable(_)
        ));
        assert!(matches!(
            said("ERR user_script:3: attempt to index a nil value"),
            Fault::Nonsense(_)
        ));
    }
}
