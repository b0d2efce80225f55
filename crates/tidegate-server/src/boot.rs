//! From what was asked for to a server whose ports are bound: everything that can go wrong before the first request.

use std::net::SocketAddr;
use std::time::Duration;
use std::{error, fmt, io};

use tidegate_core::{Algorithm, KeyHasher, TableSize};
use tidegate_policy::{Policy, PolicyLimit, Problems, StoreSettings, Upstream};
use tidegate_store::Memory;
use tokio::runtime::{Builder, Runtime};

use crate::clock::Clock;
use crate::demo::DemoOrigin;
use crate::gateway::{BindError, Gateway, Settings};
use crate::load::{LoadError, Loaded, PolicySource};
use crate::pipeline::Pipeline;
use crate::signals::StopSignals;

/// What to serve.
#[derive(Clone, Debug)]
pub struct BootOptions {
    /// The policies, and the gateway's settings.
    pub policies: PolicySource,
    /// What stands behind the gateway.
    pub origin: Origin,
    /// Where to listen instead of where the policies say.
    pub listen: Option<SocketAddr>,
    /// How long requests in flight may take once the process was told to stop.
    pub drain: Duration,
}

/// What stands behind the gateway.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The upstream of the policy file.
    Configured,
    /// This one, whatever the policy file says.
    At(Upstream),
    /// A demo origin in this process, whatever the policy file says.
    Demo,
}

/// A server whose ports are bound. Clients that connect wait until it runs.
#[derive(Debug)]
pub struct Server {
    pub(crate) runtime: Runtime,
    pub(crate) signals: StopSignals,
    pub(crate) demo: Option<DemoOrigin>,
    pub(crate) gateway: Gateway<Memory>,
    facts: Facts,
}

/// What is said about a server.
#[derive(Debug)]
struct Facts {
    listening: Vec<SocketAddr>,
    upstream: Upstream,
    policies_name: String,
    policies: Vec<Policy>,
    warnings: Problems,
}

impl Server {
    /// The addresses it listens on, with the ports that the system chose.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.facts.listening
    }

    /// The origin.
    pub fn upstream(&self) -> &Upstream {
        &self.facts.upstream
    }

    /// Whether the origin is the demo in this process.
    pub fn has_demo(&self) -> bool {
        self.demo.is_some()
    }

    /// What the policies are called: a path mostly.
    pub fn policies_name(&self) -> &str {
        &self.facts.policies_name
    }

    /// The policies.
    pub fn policies(&self) -> &[Policy] {
        &self.facts.policies
    }

    /// The policies whose counters are this process's own: with several instances a client can get the limit from each.
    pub fn per_instance(&self) -> &[Policy] {
        // Every store there is keeps its counters in this process.
        &self.facts.policies
    }

    /// What the writer of the policies should look at.
    pub fn warnings(&self) -> &Problems {
        &self.facts.warnings
    }
}

/// Reads, compiles, builds and binds.
///
/// # Errors
/// [`BootError`]: nothing listens.
pub fn boot(options: BootOptions) -> Result<Server, BootError> {
    let hasher = random_hasher()?;
    let Loaded {
        mut config,
        api_keys,
        warnings,
    } = options.policies.load(&hasher)?;
    if let Some(address) = options.listen {
        config.gateway.listen = vec![address];
    }
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(BootError::System)?;
    let (upstream, demo) = runtime.block_on(origin(&options, config.gateway.upstream.take()))?;
    let mut settings = Settings::configured(&config.gateway, upstream.clone());
    settings.timeouts.drain = options.drain;
    let store = Memory::new(table_size(config.store, config.policies.policies()));
    let policies = config.policies.policies().to_vec();
    let pipeline = Pipeline::new(config, api_keys, store, Clock::system());
    let gateway = Gateway::bind(settings, pipeline)
        .map_err(|BindError { address, error }| BootError::Bind { address, error })?;
    let signals = runtime
        .block_on(async { StopSignals::catch() })
        .map_err(BootError::System)?;
    let facts = Facts {
        listening: gateway.local_addrs().to_vec(),
        upstream,
        policies_name: options.policies.name().to_owned(),
        policies,
        warnings,
    };
    Ok(Server {
        runtime,
        signals,
        demo,
        gateway,
        facts,
    })
}

async fn origin(
    options: &BootOptions,
    configured: Option<Upstream>,
) -> Result<(Upstream, Option<DemoOrigin>), BootError> {
    match &options.origin {
        Origin::At(upstream) => Ok((upstream.clone(), None)),
        Origin::Configured => {
            let nobody = || BootError::NoUpstream {
                policies_name: options.policies.name().to_owned(),
            };
            Ok((configured.ok_or_else(nobody)?, None))
        }
        Origin::Demo => {
            let demo = DemoOrigin::bind().await.map_err(BootError::System)?;
            let upstream = format!("http://{}", demo.address())
                .parse()
                .map_err(|error| BootError::System(io::Error::other(error)))?;
            Ok((upstream, Some(demo)))
        }
    }
}

/// A secret of this process: its counters live and die with it.
fn random_hasher() -> Result<KeyHasher, BootError> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|error| BootError::System(error.into()))?;
    Ok(KeyHasher::new(secret))
}

/// All of the memory for what the policies need: buckets, the other algorithms, or half for each.
fn table_size(settings: StoreSettings, policies: &[Policy]) -> TableSize {
    let StoreSettings::Memory { bytes } = settings;
    let is_bucket = |limit: &PolicyLimit| {
        matches!(
            limit.limit.algorithm(),
            Algorithm::TokenBucket | Algorithm::LeakyBucket
        )
    };
    let mut limits = policies.iter().flat_map(limits_of);
    let bucket_bytes = match (limits.clone().any(is_bucket), limits.all(is_bucket)) {
        (_, true) => bytes,
        (true, false) => bytes / 2,
        (false, false) => 0,
    };
    TableSize {
        bucket_bytes,
        ledger_bytes: bytes - bucket_bytes,
    }
}

/// All limits of a policy, those of its tiers too.
fn limits_of(policy: &Policy) -> impl Iterator<Item = &PolicyLimit> + Clone {
    policy
        .limits
        .iter()
        .chain(policy.tiers.iter().flat_map(|(_, limits)| limits))
}

/// Why nothing was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum BootError {
    /// The policies cannot be used.
    Load(LoadError),
    /// Nobody said what to protect.
    NoUpstream {
        /// What the policies are called.
        policies_name: String,
    },
    /// An address cannot be listened on.
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The operating system refused something that is hardly ever refused.
    System(io::Error),
}

impl From<LoadError> for BootError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::NoUpstream { policies_name } => write!(
                f,
                "{policies_name} does not say what to protect: add `gateway.upstream`, or pass `--upstream http://127.0.0.1:9000`"
            ),
            Self::Bind { address, error } => write_bind_error(f, *address, error),
            Self::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl error::Error for BootError {}

fn write_bind_error(f: &mut fmt::Formatter<'_>, address: SocketAddr, error: &io::Error) -> fmt::Result {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8080));
            write!(
                f,
                "{address} is taken by another process: stop it, or listen elsewhere, for instance `--listen {other}`"
            )
        }
        io::ErrorKind::PermissionDenied => write!(
            f,
            "this user may not listen on {address}: take a port from 1024 up with `--listen`, or grant CAP_NET_BIND_SERVICE"
        ),
        io::ErrorKind::AddrNotAvailable => write!(
            f,
            "{address} is no address of this machine: take one of its own with `--listen`, or 0.0.0.0 for all of them"
        ),
        _ => write!(f, "cannot listen on {address}: {error}"),
    }
}

#[cfg(test)]
mod tests;
