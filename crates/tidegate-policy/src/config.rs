//! What a policy file means: settings that cannot be wrong, with their defaults.

mod door;
mod forwarding;
mod gateway;
mod identity;
mod listener;
mod memory;
mod named_file;
mod operations;
pub(crate) mod store;
mod upstream;

pub use door::{Callers, Door, RedisDoor};
pub use forwarding::Forwarding;
pub use gateway::{Bounds, ForwardedField, Gateway, Timeouts, Trust};
pub use identity::{
    ApiKeySettings, IdentitySettings, JwtAlgorithm, JwtIssuer, JwtKeys, JwtSettings, KeyPlace, ProofOrder,
    StoredKeySettings, TokenPlace, Treatment,
};
pub use listener::{
    CertificateFiles, ClientAuth, Demand, Listener, ListenerTls, ProxyProtocol, TlsVersion, UnknownNames,
};
pub use named_file::{FileReport, NamedFile};
pub use operations::{AccessLog, Admin, LogTarget, Logged, RequestIds};
pub use store::{HostPort, SecretPlace, SharedStore, StoreLogin, StorePlace, StoreSettings, StoreTls};
pub use upstream::{
    ClientCertificate, Ejection, HealthCheck, Server, ServerUrl, Upstream, UpstreamError, UpstreamTls,
};

use crate::{Access, Answers, PolicySet};

/// Everything a policy file says.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the gateway listens, and what it bounds.
    pub gateway: Gateway,
    /// Which requests go to which upstream.
    pub forwarding: Forwarding,
    /// Where counters are kept.
    pub store: StoreSettings,
    /// How a request becomes an identity.
    pub identity: IdentitySettings,
    /// Who is let in and who is not, whatever the policies say. Default: nothing is said of anybody.
    pub access: Access,
    /// How clients are told of their limits. Default: draft -11, with `X-RateLimit` fields, without jitter.
    pub answers: Answers,
    /// Where the admin listener is.
    pub admin: Admin,
    /// What is written down about requests. Default: nothing.
    pub access_log: Option<AccessLog>,
    /// The policies, compiled.
    pub policies: PolicySet,
}
