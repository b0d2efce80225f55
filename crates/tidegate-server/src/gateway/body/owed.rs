//! Responses on HTTP/2 streams: a client may keep their windows shut while its connection is well.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use slab::Slab;

use super::{BodyError, ResponseBody};
use crate::gateway::deadline::{Deadline, Deadlines, OFF};

/// The response bodies that one HTTP/2 connection has still to take. One that is not taken further in time is given up: its
/// slots and its connection to the upstream are free, and its stream is reset if the client comes back for it.
pub(crate) struct Owed {
    deadlines: Rc<Deadlines>,
    idle: Duration,
    /// Passes no later than the first of them is overdue.
    next: Deadline,
    bodies: RefCell<Slab<Entry>>,
}

struct Entry {
    /// None once it was given up.
    body: Option<ResponseBody>,
    /// The tick by which the client should have taken what it was given.
    due: u64,
}

impl Owed {
    /// No bodies yet; each may rest for `idle` at its client.
    pub(crate) fn new(deadlines: &Rc<Deadlines>, idle: Duration) -> Rc<Self> {
        Rc::new(Self {
            deadlines: deadlines.clone(),
            idle,
            next: deadlines.deadline(),
            bodies: RefCell::default(),
        })
    }

    /// `body`, watched.
    pub(crate) fn body(self: &Rc<Self>, body: ResponseBody) -> OwedBody {
        let entry = Entry {
            body: Some(body),
            due: OFF,
        };
        OwedBody {
            index: self.bodies.borrow_mut().insert(entry),
            owed: self.clone(),
        }
    }

    /// Gives up what is overdue, and wakes the task when there may be more.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) {
        while self.next.poll(cx).is_ready() {
            self.give_up();
        }
    }

    fn give_up(&self) {
        let now = self.deadlines.now();
        let mut bodies = self.bodies.borrow_mut();
        let mut given_up = Vec::new();
        let mut next = OFF;
        for (_, entry) in bodies.iter_mut() {
            if entry.due <= now {
                given_up.extend(entry.body.take());
                entry.due = OFF;
            }
            next = next.min(entry.due);
        }
        self.next.set_due(next);
        // Whatever ends with them may look here.
        drop(bodies);
        drop(given_up);
    }

    fn poll_frame(
        &self,
        index: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut bodies = self.bodies.borrow_mut();
        let Some((body, due)) = bodies.get_mut(index).and_then(Entry::open) else {
            return Poll::Ready(Some(Err(BodyError::Stalled)));
        };
        let frame = Pin::new(body).poll_frame(cx);
        *due = OFF;
        if matches!(frame, Poll::Ready(Some(Ok(_)))) {
            *due = self.deadlines.due_after(self.idle);
            self.next.set_no_later(*due);
        }
        frame
    }

    fn with<T>(&self, index: usize, of: impl FnOnce(&ResponseBody) -> T) -> Option<T> {
        self.bodies.borrow().get(index)?.body.as_ref().map(of)
    }
}

impl Entry {
    fn open(&mut self) -> Option<(&mut ResponseBody, &mut u64)> {
        Some((self.body.as_mut()?, &mut self.due))
    }
}

/// One of the bodies.
pub(crate) struct OwedBody {
    owed: Rc<Owed>,
    index: usize,
}

impl Body for OwedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.owed.poll_frame(self.index, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.owed.with(self.index, Body::is_end_stream).unwrap_or(false)
    }

    fn size_hint(&self) -> SizeHint {
        self.owed.with(self.index, Body::size_hint).unwrap_or_default()
    }
}

impl Drop for OwedBody {
    fn drop(&mut self) {
        let entry = self.owed.bodies.borrow_mut().try_remove(self.index);
        drop(entry);
    }
}
