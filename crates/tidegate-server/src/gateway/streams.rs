//! Who answers the streams of HTTP/2 connections.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use tokio::task::spawn_local;

/// Runs the streams of HTTP/2 connections on the worker's own thread.
#[derive(Clone)]
pub(crate) enum Streams {
    /// As tasks that have their turns like all others.
    InTurn,
    /// While their connection has its turn, and as tasks only if they have to wait for something. Who asks at a door is mostly answered at
    /// once: behind a flood, that spares an answer two waits for its turn of three.
    AtOnce(Rc<Asked>),
}

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, future: F) {
        match self {
            Self::InTurn => _ = spawn_local(future),
            Self::AtOnce(asked) => asked.0.borrow_mut().push(Box::pin(future)),
        }
    }
}

/// What was asked in the present turn of a connection. It is answered when all that has come is read, so that the answers go out together: one
/// by one, each would be a call of the system.
#[derive(Default)]
pub(crate) struct Asked(RefCell<Vec<Pin<Box<dyn Future<Output = ()>>>>>);

impl Asked {
    /// Answers what can be answered at once. False if nothing was asked.
    pub(crate) fn answer(&self) -> bool {
        let asked = self.0.take();
        let any = !asked.is_empty();
        // Whatever one waits for, it is polled once more as a task, which can be woken.
        let mut context = Context::from_waker(Waker::noop());
        for mut answering in asked {
            if answering.as_mut().poll(&mut context).is_pending() {
                spawn_local(answering);
            }
        }
        any
    }
}
