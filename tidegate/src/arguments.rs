//! What was typed.

mod import;
mod keys;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tidegate_policy::{Admin, ServerUrl};
use tidegate_server::logs::{LogFilter, LogFormat};

pub(crate) use import::ImportCommand;
pub(crate) use keys::{
    AddKeyArguments, KeysCommand, ListKeysArguments, RevokeKeyArguments, SetTierArguments,
};

const EXAMPLES: &str = "\
Examples:
  tidegate                                          try it: a gateway with an origin of its own
  tidegate serve --upstream http://127.0.0.1:9000   protect an origin with the default policy
  tidegate serve --config tidegate.yaml             protect it with your own policies
  tidegate check tidegate.yaml                      find every mistake in a policy file

Exit codes:
  0  done; for `serve`, stopped by Ctrl-C or SIGTERM
  1  it could not be done: the message says why and what to change
  2  the command line is wrong";

const SERVE_EXAMPLES: &str = "\
Flags win over the policy file. Without --config the built-in policy holds: a burst of 10 requests per client \
address, refilled at one every two seconds.

The policy file and what it names are read again when they change, and on SIGHUP.

After Ctrl-C or SIGTERM no new connections are taken and requests in flight finish; a second signal stops at once.

Examples:
  tidegate serve --upstream http://127.0.0.1:9000
  tidegate serve --upstream http://127.0.0.1:9000 --listen 0.0.0.0:80
  tidegate serve --config /etc/tidegate/tidegate.yaml --log-format json

Exit codes: 0 stopped as asked; 1 could not start, did not last, or cut requests off; 2 the command line is wrong.";

const CHECK_EXAMPLES: &str = "\
Examples:
  tidegate check tidegate.yaml
  tidegate check policies/*.yaml --format json
  cat tidegate.yaml | tidegate check -

Exit codes: 0 every file is valid, 1 a file is invalid or cannot be read, 2 the command line is wrong.";

const EXPLAIN_EXAMPLES: &str = "\
No server is asked: the request is counted as if it were the first of all.

Examples:
  tidegate explain --config tidegate.yaml --url https://api.example.com/orders --header 'x-api-key: abc'
  tidegate explain --config tidegate.yaml -- curl -X POST https://api.example.com/login -d user=ann
  tidegate explain --config tidegate.yaml --har session.har
  tidegate explain --config tidegate.yaml --har session.har --entry 3 --all

Exit codes: 0 explained, whatever the verdict; 1 it could not be; 2 the command line is wrong.";

const HASH_KEY_EXAMPLES: &str = "\
The entry is printed to standard output. A generated key is shown once, on standard error: only its hash is kept.

Examples:
  tidegate hash-key --generate --subject acme --tier pro --append keys.yaml
  pass show acme/api-key | tidegate hash-key --subject acme --append keys.yaml";

const SCHEMA_EXAMPLES: &str = "\
Editors complete and check a policy file that begins with
  # yaml-language-server: $schema=tidegate.schema.json

Examples:
  tidegate schema > tidegate.schema.json
  tidegate schema --keys > keys.schema.json";

/// Holds a limit at the edge: stands in front of an API and decides which requests may pass.
///
/// Without a command it starts the demo.
#[derive(Debug, Parser)]
#[command(
    name = "tidegate",
    version,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten, next_help_heading = "Options of the demo")]
    demo: DemoArguments,
}

/// What was typed. Ends the process when the line is wrong.
pub(crate) fn command() -> Command {
    Arguments::parse().into_command()
}

/// The tree of commands, for completions.
pub(crate) fn tree() -> clap::Command {
    Arguments::command()
}

impl Arguments {
    fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Demo(self.demo))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Protect an origin.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArguments),
    /// Try it: a gateway in front of a small origin of its own.
    Demo(DemoArguments),
    /// Find every mistake in policy files, or say in words what they mean.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Say what the policies make of a request: which match and why, and what becomes of it. Nothing is spent.
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Turn an API key from standard input, or a new one, into an entry of a key file.
    #[command(after_help = HASH_KEY_EXAMPLES)]
    HashKey(HashKeyArguments),
    /// Add, list and revoke API keys that live in the shared store, and change tiers.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Turn files of another limiter into a policy file.
    #[command(subcommand)]
    Import(ImportCommand),
    /// Print the JSON Schema of policy files, for editors.
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(SchemaArguments),
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Args)]
#[group(id = "protects", required = true, multiple = true, args = ["config", "upstream"])]
pub(crate) struct ServeArguments {
    /// The policy file, or a folder whose *.yaml and *.yml files are one configuration.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) config: Option<PathBuf>,
    /// The origin to protect: http://host:port, https://host:port or unix:/path.
    #[arg(short, long, value_name = "URL")]
    pub(crate) upstream: Option<ServerUrl>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// A policy file to try instead of the built-in one; its upstream is not used.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Where to listen; port 0 lets the system choose [default: the policy file's, else 127.0.0.1:8080]
    #[arg(short, long, value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    pub(crate) listen: Option<SocketAddr>,
    /// Where metrics, health and status are, in plain HTTP, or `off` [default: the policy file's, else 127.0.0.1:9900 if it is free]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_admin)]
    pub(crate) admin: Option<Admin>,
    /// How long requests in flight may take to finish once the process was told to stop.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    pub(crate) drain: Duration,
    /// Take over from the process that runs with the same path, without refusing a connection; the next one takes over from this one.
    #[arg(long, value_name = "PATH")]
    pub(crate) handover: Option<PathBuf>,
    /// How log lines look: for people on a terminal and JSON elsewhere, or always the same.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) log_format: LogFormatArgument,
    /// What is logged: a level, or levels by module such as `warn,tidegate_server=debug`.
    #[arg(long, value_name = "LEVEL", env = "TIDEGATE_LOG", default_value = "info")]
    pub(crate) log_level: LogFilter,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormatArgument {
    Auto,
    Human,
    Json,
}

impl From<LogFormatArgument> for LogFormat {
    fn from(typed: LogFormatArgument) -> Self {
        match typed {
            LogFormatArgument::Auto => Self::Auto,
            LogFormatArgument::Human => Self::Human,
            LogFormatArgument::Json => Self::Json,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The policy files, or files of API keys; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// How the result is printed.
    #[arg(long, default_value = "human")]
    pub(crate) format: CheckFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Problems with their place in the file to standard error, policies in words to standard output.
    Human,
    /// One JSON object to standard output.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The policy file [default: the built-in policies]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The URL that is asked for.
    #[arg(long, value_name = "URL", conflicts_with = "har")]
    pub(crate) url: Option<String>,
    /// The method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD", requires = "url")]
    pub(crate) method: Option<String>,
    /// A header field, `name: value`; may be given several times.
    #[arg(long, value_name = "FIELD", requires = "url")]
    pub(crate) header: Vec<String>,
    /// The body.
    #[arg(long, value_name = "TEXT", requires = "url")]
    pub(crate) body: Option<String>,
    /// Requests that a browser recorded (HTTP Archive).
    #[arg(long, value_name = "FILE")]
    pub(crate) har: Option<PathBuf>,
    /// Which of them, from 1 [default: a line for each]
    #[arg(long, value_name = "NUMBER", requires = "har")]
    pub(crate) entry: Option<usize>,
    /// Who opens the connection.
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.1")]
    pub(crate) client: IpAddr,
    /// When, such as 2027-01-01T00:00:00Z [default: now]
    #[arg(long, value_name = "MOMENT")]
    pub(crate) now: Option<String>,
    /// Say also why other policies do not match.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The request as a curl command line, after `--`.
    #[arg(last = true, value_name = "CURL", conflicts_with_all = ["url", "har"])]
    pub(crate) curl: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// That of keys files instead.
    #[arg(long)]
    pub(crate) keys: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HashKeyArguments {
    /// Whom the key stands for.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: String,
    /// Their plan, which the `tiers` of policies look up.
    #[arg(long, value_name = "NAME")]
    pub(crate) tier: Option<String>,
    /// Make a new random key instead of reading one.
    #[arg(long)]
    pub(crate) generate: bool,
    /// Add the entry to this key file instead of printing it; the file is made if it is not there.
    #[arg(long, value_name = "FILE")]
    pub(crate) append: Option<PathBuf>,
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port: 127.0.0.1:8080, 0.0.0.0:80 or [::]:8080".to_owned())
}

fn parse_admin(text: &str) -> Result<Admin, String> {
    match text {
        "off" => Ok(Admin::Off),
        address => address
            .parse()
            .map(Admin::At)
            .map_err(|_| "write an IP address and a port such as 127.0.0.1:9900, or off".to_owned()),
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let cure = "write a number and a unit: 500ms, 30s, 5m";
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|span| span.try_into().ok())
        .ok_or_else(|| cure.to_owned())
}

#[cfg(test)]
mod tests;
