//! `tidegate schema`.

use std::process::ExitCode;

use crate::arguments::SchemaArguments;
use crate::output;

const POLICY_FILE: &str = include_str!("../../docs/tidegate.schema.json");
const KEYS_FILE: &str = include_str!("../../docs/keys.schema.json");

/// Prints the JSON Schema of policy files, or that of keys files.
pub(crate) fn print(arguments: &SchemaArguments) -> ExitCode {
    let schema = if arguments.keys { KEYS_FILE } else { POLICY_FILE };
    output::result(schema.as_bytes(), ExitCode::SUCCESS)
}
