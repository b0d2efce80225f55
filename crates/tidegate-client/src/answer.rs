//! What is answered.

use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;

use crate::fields;

/// A decision.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Answer {
    /// Whether the request may pass.
    pub allowed: bool,
    /// 200, or the status that the client is to get.
    pub status: u16,
    /// Why it may not pass, in one word.
    pub error: Option<String>,
    #[serde(rename = "retry_after_ms")]
    retry_after: Option<u64>,
    #[serde(rename = "delayed_ms")]
    delayed: Option<u64>,
    /// What each limit said.
    #[serde(default)]
    pub limits: Vec<LimitState>,
    /// Header fields for the client's response.
    #[serde(default, deserialize_with = "fields::read")]
    pub client_fields: HeaderMap,
    /// Header fields for the request as the service gets it.
    #[serde(default, deserialize_with = "fields::read")]
    pub origin_fields: HeaderMap,
    /// The body that the client is to get.
    pub body: Option<String>,
    /// Why Tidegate's shared store could not decide, in one word; the policies said what happens then.
    pub failure: Option<String>,
    /// Of a [`crate::Call`]: the places of descriptors that a policy calls unlimited.
    #[serde(default)]
    pub unlimited: Vec<u32>,
}

/// What one limit said.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct LimitState {
    /// The policy.
    pub policy: String,
    /// The limit, as `RateLimit-Policy` calls it.
    pub name: String,
    /// What it holds when nothing is spent.
    pub limit: u64,
    /// Whether it lets the request pass.
    pub allowed: bool,
    /// What could be spent at once.
    pub remaining: u64,
    /// Of a [`crate::Call`]: the place of the descriptor that it limits. None where it limits the whole.
    pub descriptor: Option<u32>,
    #[serde(rename = "reset_after_ms")]
    reset_after: u64,
    #[serde(rename = "retry_after_ms")]
    retry_after: Option<u64>,
}

impl Answer {
    /// After this wait it passes, if nobody else spends. None where it passes, or waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.map(Duration::from_millis)
    }

    /// How long it has waited for its turn, before it was answered.
    pub fn delayed(&self) -> Option<Duration> {
        self.delayed.map(Duration::from_millis)
    }
}

impl LimitState {
    /// When everything can be spent again.
    pub fn reset_after(&self) -> Duration {
        Duration::from_millis(self.reset_after)
    }

    /// When this limit lets it pass, if nobody else spends. None where it does, or waiting does not help.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.map(Duration::from_millis)
    }
}
