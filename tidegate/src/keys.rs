//! `tidegate keys`: API keys that live in the shared store.

mod add;
mod list;
mod revoke;
mod shelf;
mod tier;

use std::process::ExitCode;

use crate::arguments::KeysCommand;
use crate::output;
use shelf::Shelves;
use tidegate_server::logs::{self, LogFormat};

/// Does what was typed.
pub(crate) fn run(command: &KeysCommand) -> ExitCode {
    if let Ok(filter) = "warn".parse() {
        // Why a store does not answer is said by those who speak to it.
        logs::start(LogFormat::Auto.resolved(), filter);
    }
    let done = done(command);
    logs::flush();
    match done {
        Ok(printed) => output::result(printed.as_bytes(), ExitCode::SUCCESS),
        Err(why) => output::failure(why),
    }
}

/// What is printed in the end.
fn done(command: &KeysCommand) -> Result<String, String> {
    match command {
        KeysCommand::Add(arguments) => {
            // Before the store is asked: the line may be wrong.
            let new = add::New::of(arguments)?;
            Shelves::of(&arguments.config)?.run(async |shelves| new.put(shelves).await)
        }
        KeysCommand::List(arguments) => {
            Shelves::of(&arguments.config)?.run(async |shelves| list::list(shelves, arguments).await)
        }
        KeysCommand::Revoke(arguments) => {
            Shelves::of(&arguments.config)?.run(async |shelves| revoke::revoke(shelves, arguments).await)
        }
        KeysCommand::SetTier(arguments) => {
            let change = tier::Change::of(arguments)?;
            Shelves::of(&arguments.config)?.run(async |shelves| change.make(shelves).await)
        }
    }
}
