//! `tidegate explain`.

mod asked;
mod curl;
mod har;
mod report;

use std::path::Path;
use std::process::ExitCode;

use tidegate_core::{KeyHasher, Timestamp};
use tidegate_server::clock::Clock;
use tidegate_server::live::Live;
use tidegate_server::load::PolicySource;

use crate::arguments::ExplainArguments;
use crate::output;
use asked::Asked;
use report::Report;

/// Says what the policies make of a request. Nothing is spent and nobody is asked.
pub(crate) fn run(arguments: &ExplainArguments) -> ExitCode {
    match explained(arguments) {
        Ok(text) => output::result(text.as_bytes(), ExitCode::SUCCESS),
        Err(message) => output::failure(message),
    }
}

fn explained(arguments: &ExplainArguments) -> Result<String, String> {
    let now = now(arguments.now.as_deref())?;
    // No counter is kept, so any secret does.
    let hasher = KeyHasher::new([0; 16]);
    let source = match &arguments.config {
        Some(file) => PolicySource::file(file).map_err(|error| error.to_string())?,
        None => PolicySource::built_in(),
    };
    let live = Live::from(source.load(&hasher).map_err(|error| error.to_string())?);
    let entries = match (&arguments.har, arguments.curl.is_empty()) {
        (Some(har), true) => har::read(Path::new(har))?,
        (Some(_), false) => return Err("write `--har` or a curl command line, not both".to_owned()),
        (None, false) => vec![curl::parse(&arguments.curl)?],
        (None, true) => vec![Asked::of_flags(arguments)?],
    };
    let chosen = match arguments.entry {
        Some(number) => {
            let entry = number.checked_sub(1).and_then(|index| entries.get(index));
            let entry =
                entry.ok_or_else(|| format!("there is no entry {number}: the file has {}", entries.len()))?;
            std::slice::from_ref(entry)
        }
        None => &entries[..],
    };
    let report = |asked: &Asked| Report::new(asked, arguments.client, &live, now);
    match chosen {
        [one] if arguments.json => Ok(format!("{:#}\n", report(one)?.json())),
        [one] => Ok(report(one)?.text(arguments.all)),
        [] => Err("there is no request in that file".to_owned()),
        many => {
            let reports = many.iter().map(report).collect::<Result<Vec<_>, _>>()?;
            if arguments.json {
                let all: Vec<_> = reports.iter().map(Report::json).collect();
                return Ok(format!("{:#}\n", serde_json::Value::from(all)));
            }
            let lines = reports
                .iter()
                .zip(1..)
                .map(|(report, number)| format!("{number}. {}\n", report.line()));
            Ok(lines.collect())
        }
    }
}

fn now(written: Option<&str>) -> Result<Timestamp, String> {
    let Some(written) = written else {
        return Ok(Clock::system().now());
    };
    let instant: Option<jiff::Timestamp> = written.parse().ok();
    let nanos = instant.and_then(|instant| u64::try_from(instant.as_nanosecond()).ok());
    nanos
        .map(Timestamp::from_nanos)
        .ok_or_else(|| format!("`{written}` is not a moment: write such as 2027-01-01T00:00:00Z"))
}
