//! Wake-ups of a connection to the upstream, passed on only to a task that waits for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// What a connection to the upstream wakes when something happens on it.
///
/// hyper's halves of a connection wake each other. Here one task drives both, so it would wake itself while it runs, and be polled
/// once more for nothing.
#[derive(Default)]
pub(super) struct News {
    arrived: AtomicBool,
    listener: Mutex<Option<Waker>>,
}

impl News {
    /// The next news wake `listener`, once.
    pub(super) fn listen(&self, listener: &Waker) {
        match &mut *self.lock() {
            Some(known) => known.clone_from(listener),
            none => *none = Some(listener.clone()),
        }
    }

    /// News wake nobody.
    pub(super) fn silence(&self) {
        self.lock().take();
    }

    /// Nothing has arrived from now on, until something does.
    pub(super) fn forget(&self) {
        self.arrived.store(false, Ordering::Relaxed);
    }

    /// Whether anything has arrived since [`News::forget`].
    pub(super) fn have_arrived(&self) -> bool {
        self.arrived.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for News {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Set and read on the worker's own thread; no memory is handed over with it.
        self.arrived.store(true, Ordering::Relaxed);
        let listener = self.lock().take();
        if let Some(listener) = listener {
            listener.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_wake_a_listener_once_and_nobody_in_silence() {
        let (heard, news) = (Arc::<News>::default(), Arc::<News>::default());
        let (listener, source) = (Waker::from(heard.clone()), Waker::from(news.clone()));
        news.listen(&listener);
        source.wake_by_ref();
        assert!(heard.have_arrived() && news.have_arrived());

        heard.forget();
        source.wake_by_ref();
        assert!(!heard.have_arrived());

        news.forget();
        news.listen(&listener);
        news.silence();
        source.wake();
        assert!(!heard.have_arrived() && news.have_arrived());
    }
}
