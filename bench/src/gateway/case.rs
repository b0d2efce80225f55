//! What is asked of the proxies.

use anyhow::ensure;

use super::load::Answers;

/// A kind of request against a kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Case {
    /// No limits
    Plain,
    /// No limits, requests carry one of 100 k API keys
    PlainKeys,
    /// A limit per client address, one address
    Address,
    /// A limit per API key, 100 k keys
    Keys,
    /// A limit per client address, reached
    Denied,
}

impl Case {
    pub(crate) const ALL: [Self; 5] = [
        Self::Plain,
        Self::Address,
        Self::PlainKeys,
        Self::Keys,
        Self::Denied,
    ];

    /// The name in the tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "no limits",
            Self::PlainKeys => "no limits, 100 k keys sent",
            Self::Address => "limit per address, 1 address",
            Self::Keys => "limit per API key, 100 k keys",
            Self::Denied => "denied, limit per address",
        }
    }

    /// What the configurations call the port of this case.
    pub(crate) const fn port_name(self) -> &'static str {
        match self {
            Self::Plain | Self::PlainKeys => "plain",
            Self::Address => "address",
            Self::Keys => "keys",
            Self::Denied => "denied",
        }
    }

    /// How many different API keys the requests carry.
    pub(crate) const fn keys(self) -> u32 {
        match self {
            Self::PlainKeys | Self::Keys => 100_000,
            Self::Plain | Self::Address | Self::Denied => 0,
        }
    }

    /// The same requests without a limit, where there is such a case.
    pub(crate) const fn without_limit(self) -> Option<Self> {
        match self {
            Self::Address => Some(Self::Plain),
            Self::Keys => Some(Self::PlainKeys),
            Self::Plain | Self::PlainKeys | Self::Denied => None,
        }
    }

    /// Whether the answers are of the kind that the case is about.
    ///
    /// # Errors
    /// Says what was answered instead.
    pub(crate) fn check(self, answers: &Answers) -> anyhow::Result<()> {
        ensure!(answers.broken == 0.0, "{} connections broke", answers.broken);
        if self == Self::Denied {
            let passed = answers.requests - answers.refused;
            ensure!(passed <= 100.0, "{passed} of {} passed", answers.requests);
        } else {
            ensure!(
                answers.refused == 0.0,
                "{} of {} were not 2xx",
                answers.refused,
                answers.requests
            );
        }
        ensure!(answers.requests > 0.0, "nothing was answered");
        Ok(())
    }
}
