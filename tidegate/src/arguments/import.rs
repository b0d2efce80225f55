//! What was typed after `tidegate import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const ENVOY_EXAMPLES: &str = "\
The policy file goes to standard output; what has no equal or differs is named on standard error, line by line.

Examples:
  tidegate import envoy-ratelimit config/*.yaml > tidegate.yaml
  tidegate import envoy-ratelimit --merge-domains a.yaml b.yaml > tidegate.yaml
  kubectl get configmap ratelimit -o jsonpath='{.data.config\\.yaml}' | tidegate import envoy-ratelimit -

Exit codes: 0 imported; 1 a file is invalid, cannot be read, or says what cannot be said here; 2 the command line is wrong.";

const LIMITADOR_EXAMPLES: &str = "\
The policy file goes to standard output; what has no equal or differs is named on standard error, line by line.

Examples:
  tidegate import limitador limits.yaml > tidegate.yaml

Exit codes: 0 imported; 1 a file is invalid, cannot be read, or says what cannot be said here; 2 the command line is wrong.";

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// The descriptors of envoyproxy/ratelimit.
    #[command(after_help = ENVOY_EXAMPLES)]
    EnvoyRatelimit(ImportEnvoyArguments),
    /// The limits of Limitador.
    #[command(after_help = LIMITADOR_EXAMPLES)]
    Limitador(ImportLimitadorArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImportEnvoyArguments {
    /// The files, one domain each; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Files of the same domain are one, as with MERGE_DOMAIN_CONFIG.
    #[arg(long)]
    pub(crate) merge_domains: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportLimitadorArguments {
    /// The files of limits; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}
