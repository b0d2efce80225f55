//! One policy, as the other parts see it.

use std::fmt;
use std::sync::Arc;

use tidegate_core::{Cost, Limit, Mode, Timestamp};

use crate::answer::Told;
use crate::answer::reject::Reject;
use crate::{ExpressionField, NamedSubject, Tier};

/// What a policy is called and how it treats requests. How it finds them is the set's own business.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The name in headers, logs, metrics and problem bodies: letters, digits, `_`, `-` and `.`, at most 64.
    pub name: Arc<str>,
    /// Which requests it speaks about and what it counts them by, in words: `POST /login, counted by client.ip`.
    pub scope: Arc<str>,
    /// Whether a refusal refuses the request. Default: enforce.
    pub mode: Mode,
    /// What every request under it costs. Default: 1.
    pub cost: Cost,
    /// Which of its fields are expressions, in the order of [`ExpressionField::ALL`].
    pub expressions: Vec<ExpressionField>,
    /// Where it counts. Default: strict if instances share a store, else local.
    pub consistency: Consistency,
    /// What happens when the shared store cannot decide. Default: local.
    pub on_store_failure: OnStoreFailure,
    /// How much of its limits this process allows by itself then. Default: all.
    pub local_share: Share,
    /// The limits of clients without a tier, or with one not named in `tiers`. None if what it speaks about is `unlimited`.
    pub limits: Vec<PolicyLimit>,
    /// The limits of clients with a tier, by its name.
    pub tiers: Vec<(Tier, Vec<PolicyLimit>)>,
    /// The limits of single subjects for a time, sorted by whom they are for, who each have at most one. They come before tiers.
    pub overrides: Vec<Override>,
    /// What is said when one of its limits is used up, if not what is said everywhere.
    pub(crate) reject: Option<Arc<Reject>>,
}

impl Policy {
    /// Whether it limits nothing: what it speaks about is `unlimited`.
    pub fn is_unlimited(&self) -> bool {
        self.limits.is_empty()
    }
}

/// Limits that hold for one subject, up to a moment.
#[derive(Clone, Debug)]
pub struct Override {
    /// Whose they are.
    pub whose: NamedSubject,
    /// From then on they do not hold.
    pub until: Timestamp,
    /// Why, for people.
    pub reason: Option<Arc<str>>,
    /// The limits. At least one.
    pub limits: Vec<PolicyLimit>,
}

/// One limit of a policy.
#[derive(Clone, Debug)]
pub struct PolicyLimit {
    /// What `RateLimit-Policy` calls it: the policy's name, followed by `/` and its number (from 1) if there are several.
    pub label: Arc<str>,
    /// The limit, as stores take it.
    pub limit: Limit,
    /// What this process allows by itself while the shared store cannot be asked, if that is another limit.
    pub(crate) share: Option<Limit>,
    /// What clients are told of it.
    pub(crate) told: Told,
}

impl PolicyLimit {
    /// The limit called `label`.
    pub fn new(label: &str, limit: Limit) -> Self {
        Self {
            told: Told::new(label, &limit),
            label: label.into(),
            limit,
            share: None,
        }
    }

    /// What this process allows by itself while the shared store cannot be asked.
    pub fn local(&self) -> &Limit {
        self.share.as_ref().unwrap_or(&self.limit)
    }
}

/// Where a policy counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Consistency {
    /// In this process: each instance has the limit for itself.
    Local,
    /// In the store that all instances share: one limit over all of them.
    Strict,
}

impl Consistency {
    /// The name in policy files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Strict => "strict",
        }
    }
}

/// A part of a limit: more than nothing, at most the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    const WHOLE: u32 = 1_000_000;

    pub(crate) fn of_millionths(millionths: u64) -> Option<Self> {
        let millionths = u32::try_from(millionths).ok()?;
        (1..=Self::WHOLE)
            .contains(&millionths)
            .then_some(Self(millionths))
    }

    /// The part in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

/// The whole.
impl Default for Share {
    fn default() -> Self {
        Self(Self::WHOLE)
    }
}

/// As a percentage: `12.5%`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000.0)
    }
}

/// What happens to a request when the shared store cannot decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnStoreFailure {
    /// It passes.
    Allow,
    /// It is refused with 503.
    Deny,
    /// This process decides alone.
    #[default]
    Local,
}

impl OnStoreFailure {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Deny, Self::Local];

    /// The name in policy files, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Local => "local",
        }
    }
}
