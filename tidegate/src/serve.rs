//! `tidegate serve` and `tidegate demo`.

mod announce;

use std::path::Path;
use std::process::ExitCode;

use tidegate_server::boot::{BootOptions, Origin, boot};
use tidegate_server::load::{LoadError, PolicySource};
use tidegate_server::logs;
use tidegate_server::serve::Ending;

use crate::arguments::{DemoArguments, RunArguments, ServeArguments};
use crate::output;

/// Protects an origin until a signal ends it.
pub(crate) fn serve(arguments: ServeArguments) -> ExitCode {
    let policies = source(arguments.config.as_deref());
    let origin = arguments.upstream.map_or(Origin::Configured, Origin::At);
    run(policies, origin, arguments.run)
}

/// The same, in front of the demo origin.
pub(crate) fn demo(arguments: DemoArguments) -> ExitCode {
    let policies = source(arguments.config.as_deref());
    run(policies, Origin::Demo, arguments.run)
}

fn source(config: Option<&Path>) -> Result<PolicySource, LoadError> {
    config.map_or_else(|| Ok(PolicySource::built_in()), PolicySource::file)
}

fn run(policies: Result<PolicySource, LoadError>, origin: Origin, arguments: RunArguments) -> ExitCode {
    let format = logs::LogFormat::from(arguments.log_format).resolved();
    logs::start(format, arguments.log_level);
    let policies = match policies {
        Ok(policies) => policies,
        Err(error) => return output::failure(error),
    };
    let options = BootOptions {
        policies,
        origin,
        listen: arguments.listen,
        admin: arguments.admin,
        drain: arguments.drain,
        handover: arguments.handover,
    };
    let server = match boot(options) {
        Ok(server) => server,
        Err(error) => {
            logs::flush();
            return output::failure(error);
        }
    };
    logs::flush();
    announce::announce(&server, format);
    let ended = server.run();
    if let Err(error) = &ended {
        tracing::error!(%error, "the gateway failed");
    }
    logs::flush();
    match ended {
        Ok(Ending::Drained) => ExitCode::SUCCESS,
        Ok(Ending::CutOff) | Err(_) => ExitCode::FAILURE,
    }
}
