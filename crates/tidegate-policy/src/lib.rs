//! What users write, compiled.
//!
//! Pure: a policy file becomes a [`Config`] with its [`PolicySet`], a [`Request`] with its [`Identity`] becomes a [`Plan`] of
//! charges, as a [`DescriptorCall`] of Envoy's does, the store's decisions become a verdict, and a verdict becomes header fields and a body.

mod access;
mod address;
mod answer;
mod call;
mod compile;
mod config;
mod document;
mod explain;
mod expression;
mod finding;
#[cfg(test)]
mod fixture;
mod identity;
mod plan;
mod policy;
mod problem;
pub mod reading;
mod request;
mod schedule;
mod set;
mod verdict;
mod words;

pub use access::{Access, MAX_LISTED, Standing};
pub use address::{AddressPart, Prefixes, canonical};
pub use answer::{Answers, ERRORS, Liking, RateLimitForm, XRateLimit, is_reserved, is_spelling, tell_origin};
pub use call::{Descriptor, DescriptorCall, DescriptorPlan, Entry};
pub use compile::{Compiled, PolicyFile, compile, compile_all};
pub use config::{
    AccessLog, Admin, ApiKeySettings, Bounds, Callers, CertificateFiles, ClientAuth, ClientCertificate,
    Config, Demand, Door, Ejection, FileReport, ForwardedField, Forwarding, Gateway, HealthCheck, HostPort,
    IdentitySettings, JwtAlgorithm, JwtIssuer, JwtKeys, JwtSettings, KeyPlace, Listener, ListenerTls,
    LogTarget, Logged, NamedFile, ProofOrder, ProxyProtocol, RedisDoor, RequestIds, SecretPlace, Server,
    ServerUrl, SharedStore, StoreLogin, StorePlace, StoreSettings, StoreTls, StoredKeySettings, Timeouts,
    TlsVersion, TokenPlace, Treatment, Trust, UnknownNames, Upstream, UpstreamError, UpstreamTls,
};
pub use explain::{Explained, KeyPart, Match};
pub use expression::ExpressionFault;
pub use finding::{Finding, Findings};
pub use identity::{
    ApiKeys, BadKeySet, ClaimPath, Claims, Identifier, Identity, IdentityRefusal, Judging, KeyBook,
    KeyDigest, KeyFault, KeyRefusal, KeySet, KeySets, KeySource, Keyring, Lent, MAX_ABSENT_KEYS,
    MAX_KEY_SET_BYTES, MAX_KNOWN_KEYS, NamedSubject, NoStoredKeys, Stored, StoredKey, StoredKeys, Subject,
    Tier, TokenCache, TokenFault, Tokens, Told, WeakKey, WeakSecret,
};
pub use plan::{ExpressionFailure, ExpressionField, Plan, Refusal, Source, Terms};
pub use policy::{Consistency, OnStoreFailure, Override, Policy, PolicyLimit, Share};
pub use problem::{Problem, Problems, Severity};
pub use request::{Body, Content, Graphql, Operation, PeerCertificate, Request, Tls};
pub use set::body::BodyNeed;
pub use set::host::normal as normal_host;
pub use set::routes::{Choice, HostRewrite, Route, Routes};
pub use set::{NamedCounters, PolicySet};
pub use verdict::{Course, Reading, Reason, Shadow, StoreFailure, Verdict};
pub use words::in_words;
