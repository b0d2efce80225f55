//! What the process says while it runs: lines for people on a terminal, JSON objects everywhere else.
//!
//! Everything goes to standard error, by a thread of its own. A reader that goes away or stops reading never stops the gateway:
//! what cannot be written is dropped and counted.

use std::fmt;
use std::io::{self, IsTerminal};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::Duration;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt as lines};

use crate::outlet::{Outlet, Sink};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// [`LogFormat::Human`] if standard error is a terminal, else [`LogFormat::Json`].
    #[default]
    Auto,
    /// One line of text with the local time of day.
    Human,
    /// One JSON object with the time in UTC.
    Json,
}

impl LogFormat {
    /// The format that [`LogFormat::Auto`] stands for here; the others as they are.
    #[must_use]
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto if io::stderr().is_terminal() => Self::Human,
            Self::Auto => Self::Json,
            chosen => chosen,
        }
    }
}

/// Which events are logged: a level, or levels by module, such as `info` or `warn,tidegate_server=debug`.
#[derive(Clone, Debug)]
pub struct LogFilter(Targets);

impl FromStr for LogFilter {
    type Err = BadLogFilter;

    fn from_str(text: &str) -> Result<Self, BadLogFilter> {
        Targets::from_str(text).map(Self).map_err(|_| BadLogFilter)
    }
}

/// The text is neither a level nor a list of `module=level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLogFilter;

impl fmt::Display for BadLogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "write error, warn, info, debug, trace or off, or such levels by module: `info,tidegate_server=debug`",
        )
    }
}

impl std::error::Error for BadLogFilter {}

/// Starts logging, once for the whole process; a second call changes nothing.
pub fn start(format: LogFormat, filter: LogFilter) {
    let Ok(outlet) = Sink::stderr().and_then(|sink| Outlet::start("log", sink)) else {
        // Standard error is closed, so there is nobody to tell.
        return;
    };
    let outlet = OUTLET.get_or_init(|| outlet).clone();
    let layer = match format.resolved() {
        LogFormat::Json => json(outlet).boxed(),
        LogFormat::Human | LogFormat::Auto => human(outlet, wants_colour()).boxed(),
    };
    // An error says that a subscriber is there already, so that events are not lost.
    let _ = tracing_subscriber::registry()
        .with(layer.with_filter(filter.0))
        .try_init();
}

/// Where the process's lines go.
static OUTLET: OnceLock<Outlet> = OnceLock::new();

/// How long the end of the process waits for the reader of its log.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// Waits until what was logged is written, but not long. Call it before the process ends, and before writing to standard error
/// by other ways.
pub fn flush() {
    if let Some(outlet) = OUTLET.get() {
        // Not written in time is lost.
        let _ = outlet.flush(FLUSH_PATIENCE);
    }
}

/// How many lines were dropped because the log's reader is too slow or gone.
pub fn lost() -> u64 {
    OUTLET.get().map_or(0, Outlet::lost)
}

fn json<S, W>(out: W) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    W: for<'w> lines::MakeWriter<'w> + Send + Sync + 'static,
{
    lines::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .log_internal_errors(false)
        .with_writer(out)
}

fn human<S, W>(out: W, colour: bool) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
    W: for<'w> lines::MakeWriter<'w> + Send + Sync + 'static,
{
    lines::layer()
        .with_target(false)
        .with_timer(TimeOfDay)
        .with_ansi(colour)
        .log_internal_errors(false)
        .with_writer(out)
}

/// See <https://no-color.org>.
fn wants_colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

struct TimeOfDay;

impl FormatTime for TimeOfDay {
    fn format_time(&self, out: &mut Writer<'_>) -> fmt::Result {
        write!(out, "{}", jiff::ZonedDateTime::now().strftime("%H:%M:%S"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Captured {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn a_json_line_is_one_flat_object() {
        let captured = Captured::default();
        let out = captured.clone();
        let subscriber = tracing_subscriber::registry().with(json(move || out.clone()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(address = "127.0.0.1:8080", "listening");
        });
        let line: serde_json::Value = serde_json::from_str(&captured.text()).unwrap();
        assert_eq!(line["message"], "listening");
        assert_eq!(line["address"], "127.0.0.1:8080");
        assert_eq!(line["level"], "INFO");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_human_line_has_no_module_path_and_no_escapes_without_colour() {
        let captured = Captured::default();
        let out = captured.clone();
        let subscriber = tracing_subscriber::registry().with(human(move || out.clone(), false));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(limit = "api", "this limit is per instance");
        });
        let text = captured.text();
        assert!(
            text.ends_with("WARN this limit is per instance limit=\"api\"\n"),
            "{text:?}"
        );
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(!text.contains("logs"), "{text:?}");
    }

    #[test]
    fn filters_are_levels_or_levels_by_module() {
        for good in ["info", "off", "WARN", "warn,tidegate_server=debug"] {
            assert!(good.parse::<LogFilter>().is_ok(), "{good}");
        }
        assert!("tidegate_server=loud".parse::<LogFilter>().is_err());
    }
}
