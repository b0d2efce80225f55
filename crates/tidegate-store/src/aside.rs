//! Work that goes on beside whoever begins it.

use std::pin::pin;
use std::task::{Context, Waker};

/// Begins `giving_back` here and now, so that what the next request asks of the store comes behind it, and lets it go on as a task of its own if
/// it is not done then. Without a runtime the process is ending, and whatever was to be given back comes back by its TTL.
pub fn give_back_aside(giving_back: impl Future<Output = ()> + Send + 'static) {
    let mut giving_back = Box::pin(giving_back);
    let ready = pin!(giving_back.as_mut())
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready();
    if !ready && let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(giving_back);
    }
}
