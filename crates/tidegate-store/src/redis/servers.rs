//! A call of a script, at whichever server has the shard.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redis::{Cmd, Value, cmd};
use tokio::time::{Instant, sleep, timeout_at};

use super::cluster::Cluster;
use super::dial::{Dialer, Endpoint, SettingsError, ask};
use super::fault::Fault;
use super::figures::Events;
use super::link::{Link, Target, Up};
use super::script::Program;
use super::sentinel::Sentinels;
use super::settings::{Address, Servers as Named, Settings};

/// How often a call that was not executed is tried again within its time.
const TRIES: u32 = 5;
/// How long a server that says "not now" is left alone before the next try; doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// All servers of a store.
#[derive(Debug)]
pub(crate) struct Servers {
    route: Route,
    events: Arc<Events>,
}

#[derive(Debug)]
enum Route {
    /// One server has everything.
    One(Arc<Link>),
    Cluster(Cluster),
}

/// What a script is called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) program: &'a Program,
    pub(crate) keys: &'a [String],
    pub(crate) argument: &'a [u8],
    pub(crate) then: Then,
}

/// What follows the argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    Nothing,
    /// The master's replication ids; and the time, where it is not the store's.
    Replication {
        now_us: Option<u64>,
    },
}

/// What a server is to do with a slot that it is just getting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Straight,
    /// `ASKING` goes first.
    Redirected,
}

impl Servers {
    /// Begins to connect. Must be called within a runtime.
    pub(crate) fn start(settings: &Settings) -> Result<Self, SettingsError> {
        let dialer = Dialer::new(settings)?;
        let events = Arc::clone(dialer.events());
        let one = |dialer, target| Route::One(Arc::new(Link::start(dialer, target)));
        let route = match &settings.servers {
            Named::Single(address) => one(dialer, Target::Fixed(Endpoint::Tcp(address.clone()))),
            Named::Unix(path) => one(dialer, Target::Fixed(Endpoint::Unix(path.clone()))),
            Named::Sentinel {
                sentinels,
                service,
                login,
            } => {
                let sentinels = Sentinels::new(dialer.as_user(login), sentinels.clone(), service.clone());
                one(dialer, Target::Master(Box::new(sentinels)))
            }
            Named::Cluster(seeds) => Route::Cluster(Cluster::start(dialer, seeds.clone())),
        };
        Ok(Self { route, events })
    }

    /// Whether shards live in different places.
    pub(crate) fn are_many(&self) -> bool {
        matches!(self.route, Route::Cluster(_))
    }

    /// Whether it is of use to bring a request for `shard` here.
    pub(crate) fn lets_in(&self, shard: u8) -> bool {
        self.link(shard).is_some_and(|link| link.lets_in())
    }

    /// The links to all servers that are known.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        match &self.route {
            Route::One(link) => vec![Arc::clone(link)],
            Route::Cluster(cluster) => cluster.links(),
        }
    }

    /// What was counted about them since the start.
    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Calls the script at the master of `shard`, which answers with numbers.
    pub(crate) async fn call(
        &self,
        shard: u8,
        question: Question<'_>,
        deadline: Instant,
    ) -> Result<Vec<i64>, Fault> {
        self.call_for(shard, question, numbers, deadline).await
    }

    /// Calls the script at the master of `shard`, and has its answer read. What was not executed is tried again while there is time.
    pub(crate) async fn call_for<T>(
        &self,
        shard: u8,
        question: Question<'_>,
        read: fn(Value) -> Result<T, Fault>,
        deadline: Instant,
    ) -> Result<T, Fault> {
        let mut redirect = None;
        let mut pause = FIRST_PAUSE;
        for _ in 1..TRIES {
            let (link, way) = match redirect.take() {
                Some(link) => (link, Way::Redirected),
                None => (self.link(shard).ok_or(Fault::Down)?, Way::Straight),
            };
            let fault = match one_try(&link, way, question, read, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            self.events.failed(&fault);
            match (&self.route, fault) {
                (Route::Cluster(cluster), Fault::Moved(Some(to))) => cluster.moved(shard, beside(&link, to)),
                (Route::Cluster(cluster), Fault::Asked(Some(to))) => {
                    redirect = Some(cluster.at(beside(&link, to)));
                }
                (_, fault @ (Fault::NotNow(_) | Fault::NotMaster)) => {
                    if fault == Fault::NotMaster {
                        link.doubt();
                    }
                    self.doubt();
                    let rested = timeout_at(deadline, sleep(pause)).await;
                    rested.map_err(|_| fault)?;
                    pause = pause.saturating_mul(2);
                }
                (_, fault) => {
                    self.doubt();
                    return Err(fault);
                }
            }
            self.events.retries.fetch_add(1, Ordering::Relaxed);
        }
        let link = self.link(shard).ok_or(Fault::Down)?;
        let answer = one_try(&link, Way::Straight, question, read, deadline).await;
        answer.inspect_err(|fault| self.events.failed(fault))
    }

    fn link(&self, shard: u8) -> Option<Arc<Link>> {
        match &self.route {
            Route::One(link) => Some(Arc::clone(link)),
            Route::Cluster(cluster) => {
                let link = cluster.link(shard);
                if link.is_none() {
                    cluster.doubt();
                }
                link
            }
        }
    }

    fn doubt(&self) {
        if let Route::Cluster(cluster) = &self.route {
            cluster.doubt();
        }
    }
}

/// A server that names no host means its own.
fn beside(link: &Link, address: Address) -> Address {
    match link.host() {
        Some(host) if address.host.is_empty() => Address::new(host, address.port),
        _ => address,
    }
}

async fn one_try<T>(
    link: &Link,
    way: Way,
    question: Question<'_>,
    read: fn(Value) -> Result<T, Fault>,
    deadline: Instant,
) -> Result<T, Fault> {
    let attempt = link.attempt().ok_or(Fault::Down)?;
    let called = async {
        let mut up = link.up().await?;
        let answer = match eval(&mut up, way, &question, By::Hash).await {
            Err(Fault::NoScript) => eval(&mut up, way, &question, By::Text).await,
            other => other,
        };
        read(answer?)
    };
    let result = timeout_at(deadline, called).await.unwrap_or(Err(Fault::Late));
    match &result {
        // The server is well: it knows who has the slot.
        Ok(_) | Err(Fault::Moved(_) | Fault::Asked(_)) => attempt.succeeded(),
        Err(fault) => attempt.failed(fault),
    }
    result
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Hash,
    Text,
}

async fn eval(up: &mut Up, way: Way, question: &Question<'_>, by: By) -> Result<Value, Fault> {
    let command = command(up, question, by);
    match way {
        Way::Straight => ask(&mut up.connection, &command).await,
        Way::Redirected => {
            let mut both = redis::pipe();
            both.add_command(cmd("ASKING")).add_command(command);
            let answers = up.connection.send_packed_commands(&both, 0, 2).await;
            match answers.map_err(|error| Fault::of_connection(&error))?.pop() {
                Some(Value::ServerError(error)) => Err(Fault::of_server(&error)),
                Some(value) => Ok(value),
                None => Err(Fault::Nonsense("no answer after ASKING".to_owned())),
            }
        }
    }
}

fn command(up: &Up, question: &Question<'_>, by: By) -> Cmd {
    let mut command = Cmd::with_capacity(
        6 + question.keys.len(),
        128 + question.argument.len() + 48 * question.keys.len(),
    );
    match by {
        By::Hash => command.arg("EVALSHA").arg(&question.program.sha1),
        By::Text => command.arg("EVAL").arg(&question.program.text),
    };
    command.arg(question.keys.len());
    for key in question.keys {
        command.arg(key);
    }
    command.arg(question.argument);
    if let Then::Replication { now_us } = question.then {
        let previous = up.previous.as_ref().map_or("", |previous| previous.as_str());
        command.arg(up.replication.as_str()).arg(previous).arg(now_us);
    }
    command
}

fn numbers(answer: Value) -> Result<Vec<i64>, Fault> {
    let Value::Array(values) = answer else {
        return Err(Fault::Nonsense("not a list of numbers".to_owned()));
    };
    let number = |value| match value {
        Value::Int(number) => Ok(number),
        _ => Err(Fault::Nonsense("not a list of numbers".to_owned())),
    };
    values.into_iter().map(number).collect()
}
