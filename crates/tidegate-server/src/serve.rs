//! A booted server at work, until a signal ends it.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tidegate_store::Redis;
use tokio::sync::oneshot;

use crate::admin::{AdminListener, Overview, Phase};
use crate::boot::Server;
use crate::demo::DemoOrigin;
use crate::gateway::{Drained, Farewell, Gateway};
use crate::handover::{Offer, Takeover};
use crate::signals::StopSignals;
use crate::supervisor;

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything in flight was finished.
    Drained,
    /// Requests in flight were cut off: they took longer than the drain time, or a second signal came.
    CutOff,
}

/// How long the end of the process waits for the reader of the access log.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

impl Server {
    /// Serves until SIGINT or SIGTERM, or until another process has taken over; then lets requests in flight finish within the drain time. A second signal ends it at once.
    ///
    /// # Errors
    /// A worker of the gateway that could not start or did not last.
    pub fn run(self) -> io::Result<Ending> {
        let Self {
            runtime,
            signals,
            reloader,
            demo,
            gateway,
            succession,
            admin,
            overview,
            token_keys: _fetching_to_the_end,
            ..
        } = self;
        let ending = runtime.block_on(async {
            tokio::select! {
                ending = until_told(gateway, signals, succession, &overview) => ending,
                never = reloader.run() => match never {},
                never = serve_admin(admin, overview.clone()) => match never {},
                // The demo lives as long as requests to it may be in flight.
                () = serve_demo(demo) => Err(io::Error::other("the demo origin ended by itself")),
            }
        });
        if let Some(log) = overview.access_log() {
            log.flush(FLUSH_PATIENCE);
        }
        ending
    }
}

/// How the place of the process before is taken, and that of this one given to the next.
#[derive(Debug)]
pub(crate) struct Succession {
    /// The process before, which waits to hear that this one serves.
    pub(crate) takeover: Option<Takeover>,
    /// What the next process may take.
    pub(crate) offer: Option<Offer>,
    /// How connections end after a signal.
    pub(crate) farewell: Farewell,
}

/// After a hand-over nobody waits for this process to end, so its clients have time to ask once more.
const AFTER_HANDOVER: Farewell = Farewell::Kindly(Duration::from_secs(5));

async fn until_told(
    gateway: Gateway<Redis>,
    mut signals: StopSignals,
    mut succession: Succession,
    overview: &Overview,
) -> io::Result<Ending> {
    let (stop, stopped) = oneshot::channel();
    let mut serving = pin!(gateway.run(async { stopped.await.unwrap_or(Farewell::AtOnce) }));
    // The first poll starts the workers.
    if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(serving.as_mut().poll(cx))).await {
        return ended.map(ending);
    }
    overview.enter(Phase::Serving);
    succession.begin();
    let farewell = tokio::select! {
        ended = &mut serving => return ended.map(ending),
        signal = signals.next() => {
            tracing::info!(signal, "stopping");
            supervisor::stopping();
            succession.farewell
        }
        () = succession.taken() => {
            tracing::info!("stopping: the next process has taken over");
            overview.leave();
            AFTER_HANDOVER
        }
    };
    // The sockets among them: nobody else may hold what this process does not serve.
    drop(succession);
    overview.enter(Phase::Draining);
    let _ = stop.send(farewell);
    tokio::select! {
        ended = &mut serving => ended.map(ending),
        signal = signals.next() => {
            tracing::warn!(signal, "stopped at once: requests in flight were cut off");
            Ok(Ending::CutOff)
        }
    }
}

impl Succession {
    /// This process serves.
    fn begin(&mut self) {
        if let Some(offer) = &mut self.offer
            && let Err(error) = offer.publish()
        {
            tracing::error!(%error, "the next process will not be able to take over");
        }
        match self.takeover.take() {
            Some(takeover) => {
                supervisor::ready_instead();
                takeover.serving();
                tracing::info!("taken over: the process before takes no more connections");
            }
            None => supervisor::ready(),
        }
    }

    /// Waits until the next process serves.
    async fn taken(&mut self) {
        match &mut self.offer {
            Some(offer) => offer.taken().await,
            None => pending().await,
        }
    }
}

fn ending(drained: Drained) -> Ending {
    if drained.cut == 0 {
        tracing::info!("stopped: everything in flight was finished");
        return Ending::Drained;
    }
    tracing::warn!(
        connections = drained.cut,
        "stopped: the drain time was over, connections were cut off"
    );
    Ending::CutOff
}

async fn serve_admin(admin: Option<AdminListener>, overview: Arc<Overview>) -> Infallible {
    if let Some(admin) = admin {
        tokio::select! {
            never = admin.run(overview.clone()) => match never {},
            // The next process has the same address.
            () = overview.left() => {}
        }
    }
    pending().await
}

async fn serve_demo(demo: Option<DemoOrigin>) {
    match demo {
        Some(demo) => demo.run(pending()).await,
        None => pending().await,
    }
}
