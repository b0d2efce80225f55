//! The command line of Tidegate.

mod arguments;
mod check;
mod completions;
mod explain;
mod hash_key;
mod import;
mod keys;
mod output;
mod schema;
mod serve;
mod words;

use std::process::ExitCode;

use crate::arguments::Command;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match arguments::command() {
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Demo(arguments) => serve::demo(arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::HashKey(arguments) => hash_key::run(&arguments),
        Command::Import(command) => import::run(&command),
        Command::Keys(command) => keys::run(&command),
        Command::Schema(arguments) => schema::print(&arguments),
        Command::Completions { shell } => completions::print(shell),
    }
}
