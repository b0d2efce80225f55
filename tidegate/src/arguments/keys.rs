//! What was typed after `tidegate keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const ADD_EXAMPLES: &str = "\
The new key is printed once, to standard output; the store has only its hash.

Examples:
  tidegate keys add --config tidegate.yaml --subject acme --tier pro
  tidegate keys add --config tidegate.yaml --subject acme --note 'for the nightly job'
  pass show acme/api-key | tidegate keys add --config tidegate.yaml --subject acme --key-from-stdin";

const LIST_EXAMPLES: &str = "\
Examples:
  tidegate keys list --config tidegate.yaml
  tidegate keys list --config tidegate.yaml --subject acme --json";

const REVOKE_EXAMPLES: &str = "\
A revoked key stays listed, and is answered as one that was revoked.

Examples:
  tidegate keys revoke --config tidegate.yaml 0a2b3c4d5e6f
  tidegate keys revoke --config tidegate.yaml --subject acme
  tidegate keys revoke --config tidegate.yaml --subject acme --forget";

const SET_TIER_EXAMPLES: &str = "\
It counts for all keys of the subject that live in the store, instead of their own tier. What a tier allows stays in the policy file.

Examples:
  tidegate keys set-tier --config tidegate.yaml --subject acme pro
  tidegate keys set-tier --config tidegate.yaml --subject acme pro --until 2027-01-01T00:00:00Z
  tidegate keys set-tier --config tidegate.yaml --subject acme pro --until 24h
  tidegate keys set-tier --config tidegate.yaml --subject acme --clear";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, or take one from standard input, and put its hash into the store.
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddKeyArguments),
    /// Say which keys there are.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListKeysArguments),
    /// Stop a key, or all keys of a subject.
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(RevokeKeyArguments),
    /// Give a subject another tier, for a while or until it is taken back.
    #[command(after_help = SET_TIER_EXAMPLES)]
    SetTier(SetTierArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AddKeyArguments {
    /// The policy file that names the store.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) config: PathBuf,
    /// Whom the key stands for.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: String,
    /// Their plan, which the `tiers` of policies look up.
    #[arg(long, value_name = "NAME")]
    pub(crate) tier: Option<String>,
    /// What people are to know of it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Take the first line of standard input as the key instead of making one.
    #[arg(long)]
    pub(crate) key_from_stdin: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListKeysArguments {
    /// The policy file that names the store.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) config: PathBuf,
    /// Only the keys of this subject.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Print JSON, with whole digests.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeKeyArguments {
    /// The policy file that names the store.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) config: PathBuf,
    /// How the key's digest begins, as `list` shows it.
    #[arg(
        value_name = "DIGEST",
        required_unless_present = "subject",
        conflicts_with = "subject"
    )]
    pub(crate) digest: Option<String>,
    /// All keys of this subject.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Take the entry away: the key is then unknown.
    #[arg(long)]
    pub(crate) forget: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetTierArguments {
    /// The policy file that names the store.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) config: PathBuf,
    /// Whose tier.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: String,
    /// The tier.
    #[arg(
        value_name = "TIER",
        required_unless_present = "clear",
        conflicts_with = "clear"
    )]
    pub(crate) tier: Option<String>,
    /// Until when, such as 2027-01-01T00:00:00Z, or for how long, such as 24h [default: until it is changed]
    #[arg(long, value_name = "MOMENT", conflicts_with = "clear")]
    pub(crate) until: Option<String>,
    /// Each key has its own tier again.
    #[arg(long)]
    pub(crate) clear: bool,
}
