//! A booted server at work, until a signal ends it.

use std::future::pending;
use std::io;
use std::pin::pin;

use tidegate_store::Memory;
use tokio::sync::oneshot;

use crate::boot::Server;
use crate::demo::DemoOrigin;
use crate::gateway::{Drained, Gateway};
use crate::signals::StopSignals;

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything in flight was finished.
    Drained,
    /// Requests in flight were cut off: they took longer than the drain time, or a second signal came.
    CutOff,
}

impl Server {
    /// Serves until SIGINT or SIGTERM, then lets requests in flight finish within the drain time. A second signal ends it at once.
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
            ..
        } = self;
        runtime.block_on(async {
            tokio::select! {
                ending = until_signalled(gateway, signals) => ending,
                never = reloader.run() => match never {},
                // The demo lives as long as requests to it may be in flight.
                () = serve_demo(demo) => Err(io::Error::other("the demo origin ended by itself")),
            }
        })
    }
}

async fn until_signalled(gateway: Gateway<Memory>, mut signals: StopSignals) -> io::Result<Ending> {
    let (stop, stopped) = oneshot::channel::<()>();
    let mut serving = pin!(gateway.run(async {
        // The sender says stop by going away.
        let _ = stopped.await;
    }));
    tokio::select! {
        ended = &mut serving => return ended.map(ending),
        signal = signals.next() => tracing::info!(signal, "stopping"),
    }
    drop(stop);
    tokio::select! {
        ended = &mut serving => ended.map(ending),
        signal = signals.next() => {
            tracing::warn!(signal, "stopped at once: requests in flight were cut off");
            Ok(Ending::CutOff)
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

async fn serve_demo(demo: Option<DemoOrigin>) {
    match demo {
        Some(demo) => demo.run(pending()).await,
        None => pending().await,
    }
}
