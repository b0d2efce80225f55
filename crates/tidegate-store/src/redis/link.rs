//! The connection to one server: made, watched and made anew by a task of its own.

use core::fmt;
use core::mem::{Discriminant, discriminant};
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{InfoDict, cmd, from_redis_value};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::{error, info, warn};

use super::backoff::Backoff;
use super::breaker::{Breaker, BreakerState, Change, Permit};
use super::dial::{Dialer, Endpoint, Line, ask};
use super::fault::Fault;
use super::figures::Events;
use super::sentinel::Sentinels;

/// How often a connection shows that it lives and that it leads to the master.
const CHECKED_EVERY: Duration = Duration::from_secs(1);

/// How long calls tell that there was another history of writes before. Shards that then see a counter for the first time start with
/// care, as those do that know the other one.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// A server, whether connected at the moment or not. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Link {
    name: String,
    host: Option<String>,
    state: watch::Receiver<State>,
    shared: Arc<Shared>,
    _supervisor: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    breaker: Mutex<Breaker>,
    /// Somebody doubts that the connection is good.
    doubt: Notify,
    /// The moment from which the breaker counts.
    start: Instant,
    /// Whether the log tells of a refusal since the last answer.
    refused: AtomicBool,
    events: Arc<Events>,
}

/// How a link is.
#[derive(Clone, Debug)]
enum State {
    /// The first try after the start, or after the connection broke. It is worth waiting for.
    Connecting,
    Up(Up),
    /// The last try failed.
    Down,
}

/// A connection to a master.
#[derive(Clone, Debug)]
pub(crate) struct Up {
    pub(crate) connection: MultiplexedConnection,
    /// Which history of writes the master has.
    pub(crate) replication: ReplicationId,
    /// Which one there was before, for a while after it changed.
    pub(crate) previous: Option<ReplicationId>,
}

/// A call under way. Dropped without a word, it counts as one that failed.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    link: &'a Link,
    permit: Option<Permit>,
}

/// The name of one history of writes (`master_replid`). Another one may lack what the last one had.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ReplicationId(Arc<str>);

impl ReplicationId {
    /// 40 hexadecimal digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ReplicationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the server is.
#[derive(Debug)]
pub(crate) enum Target {
    Fixed(Endpoint),
    /// Where Sentinels say.
    Master(Box<Sentinels>),
}

impl Link {
    /// Begins to connect. Must be called within a runtime.
    pub(crate) fn start(dialer: Dialer, target: Target) -> Self {
        let (told, state) = watch::channel(State::Connecting);
        let shared = Arc::new(Shared {
            breaker: Mutex::new(Breaker::new()),
            doubt: Notify::new(),
            start: Instant::now(),
            refused: AtomicBool::new(false),
            events: Arc::clone(dialer.events()),
        });
        let host = target.host();
        let name = target.to_string();
        let mut supervisor = JoinSet::new();
        supervisor.spawn(
            Supervisor {
                dialer,
                target,
                told,
                shared: Arc::clone(&shared),
                name: name.clone(),
                last: None,
                before: None,
                complaints: Vec::new(),
            }
            .run(),
        );
        Self {
            name,
            host,
            state,
            shared,
            _supervisor: supervisor,
        }
    }

    /// The server's name in logs.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The host that it stays on.
    pub(crate) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Whether it is of use to bring a request here.
    pub(crate) fn lets_in(&self) -> bool {
        !matches!(*self.state.borrow(), State::Down) && self.shared.breaker().lets_in(self.shared.now())
    }

    /// The connection. Waits for one that is just being made.
    pub(crate) async fn up(&self) -> Result<Up, Fault> {
        let mut state = self.state.clone();
        loop {
            match &*state.borrow_and_update() {
                State::Up(up) => return Ok(up.clone()),
                State::Down => return Err(Fault::Down),
                State::Connecting => {}
            }
            state.changed().await.map_err(|_| Fault::Down)?;
        }
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), State::Up(_))
    }

    /// Whether the last try to connect failed.
    pub(crate) fn is_down(&self) -> bool {
        matches!(*self.state.borrow(), State::Down)
    }

    /// Asks for a call.
    pub(crate) fn attempt(&self) -> Option<Attempt<'_>> {
        let permit = self.shared.breaker().ask(self.shared.now())?;
        Some(Attempt {
            link: self,
            permit: Some(permit),
        })
    }

    fn ended(&self, permit: Permit, fault: Option<&Fault>) {
        self.tell_of_refusal(fault);
        let mut breaker = self.shared.breaker();
        let change = match fault {
            None => breaker.succeeded(permit),
            Some(_) => breaker.failed(permit, self.shared.now()),
        };
        drop(breaker);
        match (change, fault) {
            (Change::Opened, Some(fault)) => {
                self.shared.events.openings.fetch_add(1, Ordering::Relaxed);
                warn!(
                    server = self.name,
                    "the store fails, and is left alone for moments: {fault}"
                );
                self.doubt();
            }
            (Change::Closed, _) => info!(server = self.name, "the store answers again"),
            _ => {}
        }
    }

    /// Once, until the server answers again.
    fn tell_of_refusal(&self, fault: Option<&Fault>) {
        // Only the log hangs on it: two lines instead of one do no harm.
        let refused = &self.shared.refused;
        match fault {
            None if refused.load(Ordering::Relaxed) => refused.store(false, Ordering::Relaxed),
            Some(fault @ (Fault::Refused(_) | Fault::Unable(_) | Fault::Nonsense(_)))
                if !refused.swap(true, Ordering::Relaxed) =>
            {
                error!(server = self.name, "the store refuses: {fault}");
            }
            _ => {}
        }
    }

    /// Has the connection checked now: is it alive, does it lead to the master?
    pub(crate) fn doubt(&self) {
        self.shared.doubt.notify_one();
    }

    pub(crate) fn breaker(&self) -> BreakerState {
        self.shared.breaker().state()
    }
}

impl Attempt<'_> {
    /// The server answered.
    pub(crate) fn succeeded(mut self) {
        if let Some(permit) = self.permit.take() {
            self.link.ended(permit, None);
        }
    }

    /// It did not, or to no use.
    pub(crate) fn failed(mut self, fault: &Fault) {
        if let Some(permit) = self.permit.take() {
            self.link.ended(permit, Some(fault));
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.link.ended(permit, Some(&Fault::Late));
        }
    }
}

impl Shared {
    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        // Each step of a breaker is whole or not made.
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

impl Target {
    fn host(&self) -> Option<String> {
        match self {
            Self::Fixed(Endpoint::Tcp(address)) => Some(address.host.clone()),
            Self::Fixed(Endpoint::Unix(_)) | Self::Master(_) => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(Endpoint::Tcp(address)) => address.fmt(f),
            Self::Fixed(Endpoint::Unix(path)) => path.display().fmt(f),
            Self::Master(sentinels) => write!(f, "master {}", sentinels.service()),
        }
    }
}

/// The task that keeps a link up.
struct Supervisor {
    dialer: Dialer,
    target: Target,
    told: watch::Sender<State>,
    shared: Arc<Shared>,
    name: String,
    /// The history of writes that was last seen.
    last: Option<ReplicationId>,
    /// The one before, and when it ended.
    before: Option<(ReplicationId, Instant)>,
    /// The kinds of faults that the log tells of since there was a connection.
    complaints: Vec<Discriminant<Fault>>,
}

impl Supervisor {
    async fn run(mut self) {
        let mut backoff = Backoff::new();
        loop {
            match self.connect().await {
                Err(fault) => {
                    self.shared.events.failed(&fault);
                    self.complain(&fault);
                    self.told.send_replace(State::Down);
                }
                Ok((line, endpoint, replication)) => {
                    let connected = Instant::now();
                    self.shared.events.connections.fetch_add(1, Ordering::Relaxed);
                    info!(server = self.name, %endpoint, "connected to the store");
                    self.complaints.clear();
                    let fault = self.keep(line, &endpoint, replication).await;
                    self.shared.events.failed(&fault);
                    warn!(server = self.name, "the connection to the store is lost: {fault}");
                    self.told.send_replace(State::Connecting);
                    if connected.elapsed() >= CHECKED_EVERY {
                        backoff = Backoff::new();
                        continue;
                    }
                }
            }
            sleep(backoff.step()).await;
        }
    }

    /// A connection to a server that says that it is the master.
    async fn connect(&mut self) -> Result<(Line, Endpoint, ReplicationId), Fault> {
        let endpoint = match &mut self.target {
            Target::Fixed(endpoint) => endpoint.clone(),
            Target::Master(sentinels) => Endpoint::Tcp(sentinels.master().await?),
        };
        let checked = async {
            let mut line = self.dialer.dial(&endpoint).await?;
            let replication = self.replication(&mut line.connection).await?;
            Ok((line, replication))
        };
        match checked.await {
            Ok((line, replication)) => Ok((line, endpoint, replication)),
            Err(fault) => {
                if let Target::Master(sentinels) = &mut self.target {
                    sentinels.next();
                }
                Err(fault)
            }
        }
    }

    /// Tells of the connection and watches it until it is of no use any more.
    async fn keep(&mut self, mut line: Line, endpoint: &Endpoint, replication: ReplicationId) -> Fault {
        let connection = line.connection.clone();
        self.tell(&connection, &replication);
        self.shared.breaker().reconnected(self.shared.now());
        loop {
            tokio::select! {
                () = line.broken() => return Fault::Lost("it broke".to_owned()),
                () = self.shared.doubt.notified() => {}
                () = sleep(CHECKED_EVERY) => {}
            }
            match self.check(&mut line.connection, endpoint).await {
                Err(fault) => return fault,
                Ok(replication) if self.is_news(&replication) => self.tell(&connection, &replication),
                Ok(_) => {}
            }
        }
    }

    /// Whether what was told last is true no more.
    fn is_news(&self, replication: &ReplicationId) -> bool {
        let forgotten = |(_, ended): &(_, Instant)| ended.elapsed() >= REMEMBERED_FOR;
        self.last.as_ref() != Some(replication) || self.before.as_ref().is_some_and(forgotten)
    }

    fn tell(&mut self, connection: &MultiplexedConnection, replication: &ReplicationId) {
        let last = self.last.replace(replication.clone());
        if let Some(last) = last.filter(|last| last != replication) {
            self.before = Some((last, Instant::now()));
        }
        self.before
            .take_if(|(_, ended)| ended.elapsed() >= REMEMBERED_FOR);
        self.told.send_replace(State::Up(Up {
            connection: connection.clone(),
            replication: replication.clone(),
            previous: self.before.as_ref().map(|(before, _)| before.clone()),
        }));
    }

    async fn check(
        &mut self,
        connection: &mut MultiplexedConnection,
        endpoint: &Endpoint,
    ) -> Result<ReplicationId, Fault> {
        let replication = self.replication(connection).await?;
        if let Target::Master(sentinels) = &mut self.target
            // Sentinels that are gone say nothing about the master.
            && let Ok(master) = sentinels.master().await
            && *endpoint != Endpoint::Tcp(master)
        {
            return Err(Fault::NotMaster);
        }
        Ok(replication)
    }

    async fn replication(&self, connection: &mut MultiplexedConnection) -> Result<ReplicationId, Fault> {
        let mut command = cmd("INFO");
        command.arg("replication");
        let answer = timeout(self.dialer.timeout(), ask(connection, &command)).await;
        let text = from_redis_value::<String>(answer.unwrap_or(Err(Fault::Late))?)
            .map_err(|error| Fault::Nonsense(error.to_string()))?;
        let info = InfoDict::new(&text);
        match (
            info.get::<String>("role").as_deref(),
            info.get::<String>("master_replid"),
        ) {
            (Some("master"), Some(id)) => Ok(ReplicationId(id.into())),
            (Some(_), _) => Err(Fault::NotMaster),
            _ => Err(Fault::Nonsense("INFO replication without a role".to_owned())),
        }
    }

    /// Once for each kind of reason, until there is a connection.
    fn complain(&mut self, fault: &Fault) {
        let kind = discriminant(fault);
        if !self.complaints.contains(&kind) {
            warn!(server = self.name, "cannot connect to the store: {fault}");
            self.complaints.push(kind);
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}
