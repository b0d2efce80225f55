//! From what was asked for to a server whose ports are bound: everything that can go wrong before the first request.

mod error;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use tidegate_core::KeyHasher;
use tidegate_policy::{
    Admin, Consistency, Door, Forwarding, Policy, Problems, ServerUrl, SharedStore, Upstream,
};
use tidegate_store::{Memory, Redis, redis};
use tokio::runtime::{Builder, Runtime};

use crate::access_log::AccessLog;
use crate::admin::{AdminListener, Overview};
use crate::clock::Clock;
use crate::counters::Counters;
use crate::demo::DemoOrigin;
use crate::gateway::{BindError, Farewell, Gateway, Settings};
use crate::handover::{Offer, Takeover};
use crate::key_lookups::KeyLookups;
use crate::live::Stage;
use crate::load::{Files, PolicySource};
use crate::loader::{Flags, Loader, Protected, Ready};
use crate::metrics::Metrics;
use crate::pipeline::Pipeline;
use crate::reload::{self, Reloader, Reloads};
use crate::serve::Succession;
use crate::signals::StopSignals;
use crate::sockets::Given;
use crate::token_keys::Fetcher;

pub use error::BootError;

/// What to serve.
#[derive(Clone, Debug)]
pub struct BootOptions {
    /// The policies, and the gateway's settings.
    pub policies: PolicySource,
    /// What stands behind the gateway.
    pub origin: Origin,
    /// Where to listen instead of where the policies say.
    pub listen: Option<SocketAddr>,
    /// Where the admin listener is, instead of where the policies say.
    pub admin: Option<Admin>,
    /// How long requests in flight may take once the process was told to stop.
    pub drain: Duration,
    /// Where a running process offers its listening sockets to this one, and this one to the next.
    pub handover: Option<PathBuf>,
}

/// What stands behind the gateway.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The upstream of the policy file.
    Configured,
    /// This one in the place of `gateway.upstream`, whatever the policy file says; its routes hold.
    At(ServerUrl),
    /// A demo origin in this process, whatever the policy file says.
    Demo,
}

/// A server whose ports are bound. Clients that connect wait until it runs.
#[derive(Debug)]
pub struct Server {
    pub(crate) runtime: Runtime,
    pub(crate) signals: StopSignals,
    pub(crate) reloader: Reloader,
    pub(crate) demo: Option<DemoOrigin>,
    pub(crate) gateway: Gateway<Redis>,
    pub(crate) succession: Succession,
    pub(crate) admin: Option<AdminListener>,
    pub(crate) overview: Arc<Overview>,
    /// Fetches keys as long as it is there.
    pub(crate) token_keys: Fetcher,
    facts: Facts,
}

/// What is said about a server.
#[derive(Debug)]
struct Facts {
    listening: Vec<SocketAddr>,
    /// What is spoken at each of these addresses, and whether over TLS.
    spoken: Vec<(Door, bool)>,
    forwarding: Forwarding,
    policies_name: String,
    policies: Vec<Policy>,
    per_instance: Vec<Policy>,
    shared_store: Option<SharedStore>,
    warnings: Problems,
}

impl Server {
    /// The addresses it listens on, with the ports that the system chose.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.facts.listening
    }

    /// Those of the gateway, each with the scheme of its URLs: `http` or `https`.
    pub fn urls(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let gateways = self.spoken().filter(|(door, ..)| *door == Door::Gateway);
        gateways.map(|(_, scheme, address)| (scheme, address))
    }

    /// Those of the doors beside the gateway, each with the scheme of its URLs.
    pub fn doors(&self) -> impl Iterator<Item = (Door, &'static str, SocketAddr)> {
        self.spoken().filter(|(door, ..)| *door != Door::Gateway)
    }

    fn spoken(&self) -> impl Iterator<Item = (Door, &'static str, SocketAddr)> {
        let Facts {
            listening, spoken, ..
        } = &self.facts;
        let spoken = spoken.iter().zip(listening);
        spoken.map(|((door, has_tls), address)| (*door, door.scheme(*has_tls), *address))
    }

    /// Where the admin listener is, if there is one.
    pub fn admin(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(AdminListener::address)
    }

    /// Where requests go.
    pub fn forwarding(&self) -> &Forwarding {
        &self.facts.forwarding
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
        &self.facts.per_instance
    }

    /// The store that instances share, if there is one.
    pub fn shared_store(&self) -> Option<&SharedStore> {
        self.facts.shared_store.as_ref()
    }

    /// Where it is told what is served, and how reloads went.
    pub fn reloads(&self) -> &Reloads {
        self.reloader.reloads()
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
    allow_open_files();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(BootError::System)?;
    let (protected, demo) = runtime.block_on(origin(options.origin))?;
    let loader = Loader {
        source: options.policies,
        hasher,
        flags: Flags {
            listen: options.listen,
            protected,
        },
    };
    let mut files = Files::default();
    let Ready {
        live,
        store,
        warnings,
    } = loader.load(&mut files)?;
    let forwarding = live.config.forwarding.clone();
    let listeners = live.config.gateway.listen.iter().zip(&live.tls);
    let spoken = listeners.map(|(listener, tls)| (listener.door, tls.is_some()));
    let spoken = spoken.collect();
    let mut settings = Settings::configured(&live.config.gateway, &live.tls);
    settings.timeouts.drain = options.drain;
    settings.access_log = access_log(live.config.access_log.as_ref())?;
    let access_log = settings.access_log.clone();
    let admin_at = options.admin.unwrap_or(live.config.admin);
    let policies = live.config.policies.policies().to_vec();
    let shared_store = live.config.store.shared.clone();
    let memory = Memory::new(live.config.table_size());
    let (stage, clock) = (Stage::new(live, Metrics::new(settings.workers)), Clock::system());
    let token_keys = fetch_token_keys(&stage, &clock)?;
    let counters = counters(memory, store.as_ref(), &runtime)?;
    let key_lookups = counters.store().map(|store| KeyLookups::new(store.api_keys()));
    let pipeline = Pipeline::new(stage.clone(), counters, clock.clone()).with_key_lookups(key_lookups);
    let handover = options.handover.as_deref();
    let (mut given, takeover) = given(handover)?;
    let farewell = if given.is_activated() {
        AFTER_ACTIVATION
    } else {
        Farewell::AtOnce
    };
    let gateway = Gateway::bind_given(settings, pipeline, &mut given)
        .map_err(|BindError { address, error }| BootError::Bind { address, error })?;
    if let Some(address) = given.left_over() {
        return Err(BootError::LeftOver { address });
    }
    let admin = {
        let _inside = runtime.enter();
        admin(admin_at, takeover.as_ref())?
    };
    let offer = handover.map(|path| offer(&runtime, path, &gateway)).transpose()?;
    let policies_name = loader.source.name().to_owned();
    let parts = reload::Parts {
        loader,
        stage,
        tls: gateway.tls(),
        clock,
        files,
        access_log: access_log.clone(),
    };
    let (signals, reloader) = runtime
        .block_on(async { Ok((StopSignals::catch()?, Reloader::new(parts)?)) })
        .map_err(BootError::System)?;
    let overview = Overview::new(gateway.pipeline().clone(), reloader.reloads().clone(), access_log);
    let overview = Arc::new(overview);
    let is_local = |policy: &&Policy| policy.consistency == Consistency::Local && !policy.is_unlimited();
    let facts = Facts {
        shared_store,
        per_instance: policies.iter().filter(is_local).cloned().collect(),
        listening: gateway.local_addrs().to_vec(),
        spoken,
        forwarding,
        policies_name,
        policies,
        warnings,
    };
    Ok(Server {
        runtime,
        signals,
        reloader,
        demo,
        gateway,
        succession: Succession {
            takeover,
            offer,
            farewell,
        },
        admin,
        overview,
        token_keys,
        facts,
    })
}

/// With systemd's sockets the next process is about to start, and clients may have connected to this one just now.
const AFTER_ACTIVATION: Farewell = Farewell::Kindly(Duration::from_secs(1));

/// The sockets that this process is given, by systemd and by a process that offers its own at `handover`.
fn given(handover: Option<&Path>) -> Result<(Given, Option<Takeover>), BootError> {
    let mut given = Given::by_systemd().map_err(BootError::System)?;
    let Some(path) = handover else {
        return Ok((given, None));
    };
    let taken = Takeover::at(path).map_err(|error| BootError::handover(path, error))?;
    Ok(match taken {
        Some((sockets, takeover)) => {
            given.add_taken(sockets);
            (given, Some(takeover))
        }
        None => (given, None),
    })
}

/// What the next process may take, prepared.
fn offer(runtime: &Runtime, path: &Path, gateway: &Gateway<Redis>) -> Result<Offer, BootError> {
    let sockets = gateway.sockets().map_err(BootError::System)?;
    let _inside = runtime.enter();
    Offer::draft(path, sockets).map_err(|error| BootError::handover(path, error))
}

/// The admin listener, beside that of the process before if there is one. At an address that nobody asked for it is not worth a
/// failure.
fn admin(at: Admin, takeover: Option<&Takeover>) -> Result<Option<AdminListener>, BootError> {
    let bind = |address| match takeover {
        Some(_) => AdminListener::bind_beside(address),
        None => AdminListener::bind(address),
    };
    match at {
        Admin::Off => Ok(None),
        Admin::At(address) => match bind(address) {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => Err(BootError::BindAdmin { address, error }),
        },
        Admin::IfFree(address) => Ok(bind(address).inspect_err(|error| {
            tracing::warn!(%address, %error, "no admin listener: choose another place with `admin` or `--admin`");
        }).ok()),
    }
}

fn access_log(settings: Option<&tidegate_policy::AccessLog>) -> Result<Option<AccessLog>, BootError> {
    let opened = settings.map(|settings| {
        AccessLog::open(settings).map_err(|error| BootError::OpenAccessLog {
            target: settings.to.to_string(),
            error,
        })
    });
    opened.transpose()
}

/// How long the start waits for the keys of tokens. Then it goes on without, and requests with tokens are answered with 503.
const KEYS_PATIENCE: Duration = Duration::from_secs(5);

/// Starts to fetch the keys of tokens, and waits for the first.
fn fetch_token_keys(stage: &Stage, clock: &Clock) -> Result<Fetcher, BootError> {
    let fetcher = Fetcher::start(stage.clone(), clock.clone()).map_err(BootError::System)?;
    fetcher.wait_for_first(KEYS_PATIENCE);
    for status in stage.current().token_keys.status() {
        if status.keys.is_none() {
            let issuer = &*status.issuer;
            tracing::warn!(
                issuer,
                "no keys yet: whether tokens of this issuer hold cannot be told"
            );
        }
    }
    Ok(fetcher)
}

/// Allows as many open files as the system lets this process have. The usual 1,024 are fewer than the connections that the
/// gateway takes, so that idle clients could leave none for the origin.
fn allow_open_files() {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    // What is refused here leaves the limit as it was.
    let _ = setrlimit(Resource::Nofile, files);
}

/// The origin that wins over the policy file's, and the demo if that is it.
async fn origin(origin: Origin) -> Result<(Option<Protected>, Option<DemoOrigin>), BootError> {
    match origin {
        Origin::At(url) => Ok((Some(Protected::Rest(Upstream::at(url))), None)),
        Origin::Configured => Ok((None, None)),
        Origin::Demo => {
            let demo = DemoOrigin::bind().await.map_err(BootError::System)?;
            let upstream = format!("http://{}", demo.address())
                .parse()
                .map_err(|error| BootError::System(io::Error::other(error)))?;
            Ok((Some(Protected::All(upstream)), Some(demo)))
        }
    }
}

/// The counters of this process, and those in the shared store, which is spoken to on `runtime`.
fn counters(
    memory: Memory,
    store: Option<&redis::Settings>,
    runtime: &Runtime,
) -> Result<Counters<Redis>, BootError> {
    let Some(settings) = store else {
        return Ok(Counters::local(memory));
    };
    let store = Redis::new(settings, runtime.handle().clone()).map_err(BootError::SharedStore)?;
    if !runtime.block_on(connected(&store, settings.connect_timeout)) {
        tracing::warn!(
            "no connection to the shared store yet: each policy does what its `on_store_failure` says"
        );
    }
    Ok(Counters::sharing(memory, store, random_hasher()?))
}

/// How often the start looks whether the shared store is there.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Whether there is a connection to the store within `patience`. Requests that came before would be decided without it.
async fn connected(store: &Redis, patience: Duration) -> bool {
    let has_connection = async {
        while !store.figures().servers.iter().any(|server| server.connected) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(patience, has_connection).await.is_ok()
}

/// A secret of this process: its counters live and die with it.
fn random_hasher() -> Result<KeyHasher, BootError> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).map_err(|error| BootError::System(error.into()))?;
    Ok(KeyHasher::new(secret))
}

#[cfg(test)]
mod tests;
