//! Requests that wait for their call.
//!
//! A lane has a few carriers (tasks), each with at most one call under way. A request goes at once if a carrier rests; else it
//! waits, and goes in the next call. So the server is asked in few calls when many ask, and a lone request waits for nobody.
//!
//! Where many are on their way, a call takes no more than its carrier's share of them. So the server works on one call while the
//! answers to the other are read; if one call took all, either side would wait for the other.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::StoreError;

/// Calls under way at one time.
pub(crate) const CARRIERS: usize = 2;
/// Requests in one call. A server answers nobody else while it works on a call: that of so many takes it about a millisecond.
pub(crate) const MAX_REQUESTS: usize = 128;
/// Charges in one call.
pub(crate) const MAX_CHARGES: usize = 512;
/// Requests that go in one call without regard to shares: what a call costs by itself is as much as some decisions cost.
pub(crate) const FEW_REQUESTS: usize = 16;
/// Requests that wait. What comes on top is turned away at once.
pub(crate) const MAX_WAITING: usize = 4096;

/// A queue of requests `Q`, each of which gets an answer `A`.
#[derive(Debug)]
pub(crate) struct Lane<Q, A> {
    queue: Mutex<Queue<Q, A>>,
    arrived: Notify,
}

#[derive(Debug)]
struct Queue<Q, A> {
    waiting: VecDeque<Waiting<Q, A>>,
    /// Requests in calls under way.
    carried: usize,
}

impl<Q, A> Queue<Q, A> {
    /// The most requests of the next call.
    fn share(&self) -> usize {
        let all = self.waiting.len() + self.carried;
        all.div_ceil(CARRIERS).clamp(FEW_REQUESTS, MAX_REQUESTS)
    }
}

/// Where the answer to a request arrives.
pub(crate) type Receiver<A> = oneshot::Receiver<Result<A, StoreError>>;

/// Where batches are carried.
pub(crate) trait Destination<Q, A>: Send + Sync {
    /// Answers all `requests`, in their order, before `deadline`.
    fn call(
        &self,
        requests: &[Q],
        deadline: Instant,
    ) -> impl Future<Output = Result<Vec<A>, StoreError>> + Send;

    /// Nobody waited for this answer any more.
    fn unclaimed(&self, request: &Q, answer: A);
}

#[derive(Debug)]
struct Waiting<Q, A> {
    request: Q,
    charges: usize,
    deadline: Instant,
    reply: oneshot::Sender<Result<A, StoreError>>,
}

/// A lane that holds [`MAX_WAITING`] requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl<Q: Send, A: Send> Lane<Q, A> {
    pub(crate) fn new() -> Self {
        Self {
            queue: Mutex::new(Queue {
                waiting: VecDeque::new(),
                carried: 0,
            }),
            arrived: Notify::new(),
        }
    }

    /// Brings a request of so many charges. It is not sent after `deadline`, nor once nobody waits for it.
    pub(crate) fn bring(&self, request: Q, charges: usize, deadline: Instant) -> Result<Receiver<A>, Full> {
        let (reply, receiver) = oneshot::channel();
        let mut queue = self.lock();
        if queue.waiting.len() >= MAX_WAITING {
            return Err(Full);
        }
        let first = queue.waiting.is_empty();
        queue.waiting.push_back(Waiting {
            request,
            charges,
            deadline,
            reply,
        });
        drop(queue);
        // Whoever brought the first has woken a carrier, and that one takes the others, too.
        if first {
            self.arrived.notify_one();
        }
        Ok(receiver)
    }

    /// What one carrier does until it is dropped.
    pub(crate) async fn carry(&self, server: &impl Destination<Q, A>) {
        let mut batch = Batch::default();
        loop {
            let Some(deadline) = self.fill(&mut batch, Instant::now()) else {
                self.arrived.notified().await;
                continue;
            };
            let answer = server.call(&batch.requests, deadline).await;
            self.lock().carried -= batch.requests.len();
            batch.hand_out(answer, server);
        }
    }

    /// Moves what waits into the empty `batch`, as far as one call is to take it. The latest of its deadlines.
    fn fill(&self, batch: &mut Batch<Q, A>, now: Instant) -> Option<Instant> {
        let (mut latest, mut charges) = (None, 0);
        let mut queue = self.lock();
        let most = queue.share();
        while let Some(next) = queue.waiting.front() {
            let gone = next.deadline <= now || next.reply.is_closed();
            let fits = batch.requests.len() < most && charges + next.charges <= MAX_CHARGES;
            if !gone && !fits && !batch.requests.is_empty() {
                // Another carrier may rest.
                self.arrived.notify_one();
                break;
            }
            let Some(next) = queue.waiting.pop_front() else {
                break;
            };
            if !gone {
                charges += next.charges;
                latest = latest.max(Some(next.deadline));
                batch.requests.push(next.request);
                batch.replies.push(next.reply);
            }
        }
        queue.carried += batch.requests.len();
        latest
    }

    fn lock(&self) -> MutexGuard<'_, Queue<Q, A>> {
        // Nothing in here panics between two changes that belong together.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The requests of one call, and who waits for the answers.
struct Batch<Q, A> {
    requests: Vec<Q>,
    replies: Vec<oneshot::Sender<Result<A, StoreError>>>,
}

impl<Q, A> Default for Batch<Q, A> {
    fn default() -> Self {
        Self {
            requests: Vec::new(),
            replies: Vec::new(),
        }
    }
}

impl<Q: Send, A: Send> Batch<Q, A> {
    /// Empties it.
    fn hand_out(&mut self, answer: Result<Vec<A>, StoreError>, server: &impl Destination<Q, A>) {
        match answer {
            Ok(answers) => {
                for ((request, reply), answer) in
                    self.requests.iter().zip(self.replies.drain(..)).zip(answers)
                {
                    if let Err(Ok(answer)) = reply.send(Ok(answer)) {
                        server.unclaimed(request, answer);
                    }
                }
            }
            Err(error) => {
                for reply in self.replies.drain(..) {
                    // Who does not wait any more needs no error.
                    let _ = reply.send(Err(error));
                }
            }
        }
        self.requests.clear();
        self.replies.clear();
    }
}

#[cfg(test)]
mod tests;
