//! What a service manager is told: systemd, or another that sets `NOTIFY_SOCKET`. Nobody else hears of it.

use sd_notify::NotifyState;

/// Everything listens and serves, anew after [`reloading`].
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The same, in place of the process that was the service before.
pub(crate) fn ready_instead() {
    tell(&[NotifyState::MainPid(std::process::id()), NotifyState::Ready]);
}

/// Files are read again.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// No more connections are taken.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager could not be told");
    }
}
