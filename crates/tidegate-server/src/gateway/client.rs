//! One client connection: what it is doing, how long it may, and its bytes.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};

use super::crowd::Seat;
use super::deadline::{Deadline, Deadlines, OFF};
use super::settings::Timeouts;
use super::socket::Socket;
use super::stream::Stream;
use super::upgrade::Tunnel;

/// What the tasks and bodies of one client connection share.
pub(crate) struct Client {
    /// Passes when the connection's present phase has taken too long.
    pub(crate) deadline: Deadline,
    timeouts: Timeouts,
    phase: Cell<Phase>,
    deadlines: Rc<Deadlines>,
    /// The turn at which the phase began.
    since: Cell<u64>,
    /// The tick by which a connection without requests ends, even if it is still being written to.
    rest_ends: Cell<u64>,
    /// Its place is wanted for somebody else.
    is_let_go: Cell<bool>,
    requests: Cell<usize>,
    /// Its places beside the connections of its address: one for each request in flight but the first.
    seats: RefCell<Vec<Seat>>,
    /// Passes when the connection is to be given no more requests.
    age: Option<Deadline>,
    begun: Cell<u64>,
    most: u64,
    given_up: Cell<u64>,
    write_blocked: Cell<bool>,
    /// How often it may still be read from before others have their turn.
    reads_left: Cell<usize>,
    /// What it asks next is heard in its next turn.
    answered: Cell<bool>,
    /// The response broke off in a way that the client can only see as a reset.
    pub(crate) reset: Cell<bool>,
    /// What to join the connection to once its 101 is out.
    pub(crate) tunnel: RefCell<Option<Tunnel>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between requests.
    Idle,
    /// Part of a request's head is here, or the connection is new.
    Head,
    /// Requests are being answered.
    Busy,
}

impl Client {
    /// A connection that was just accepted and owes the head of its first request.
    pub(crate) fn new(deadlines: &Rc<Deadlines>, timeouts: Timeouts, most_requests: u64) -> Rc<Self> {
        let deadline = deadlines.deadline();
        deadline.set(timeouts.header);
        let age = (timeouts.connection < Duration::MAX).then(|| {
            let age = deadlines.deadline();
            age.set(timeouts.connection);
            age
        });
        Rc::new(Self {
            deadline,
            timeouts,
            phase: Cell::new(Phase::Head),
            deadlines: deadlines.clone(),
            since: Cell::new(deadlines.turn()),
            rest_ends: Cell::new(OFF),
            is_let_go: Cell::new(false),
            requests: Cell::new(0),
            seats: RefCell::default(),
            age,
            begun: Cell::new(0),
            most: most_requests,
            given_up: Cell::new(0),
            write_blocked: Cell::new(false),
            reads_left: Cell::new(MOST_READS),
            answered: Cell::new(false),
            reset: Cell::new(false),
            tunnel: RefCell::default(),
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Whether nothing is owed to it, and it has read everything.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase.get() == Phase::Idle && !self.write_blocked.get()
    }

    /// Since which turn nothing is under way for it; None if something is, or if it was let go already.
    pub(crate) fn rests_since(&self) -> Option<u64> {
        let rests = self.phase.get() != Phase::Busy && !self.write_blocked.get() && !self.is_let_go.get();
        rests.then(|| self.since.get())
    }

    /// Gives its place to somebody else as soon as nothing is under way for it.
    pub(crate) fn let_go(&self) {
        self.is_let_go.set(true);
        self.deadline.pass();
    }

    /// Whether its place is wanted.
    pub(crate) fn is_let_go(&self) -> bool {
        self.is_let_go.get()
    }

    /// A request's head is complete. It is in flight until the guard is dropped.
    pub(crate) fn begin(self: &Rc<Self>) -> InFlight {
        self.requests.set(self.requests.get() + 1);
        self.begun.set(self.begun.get() + 1);
        self.enter(Phase::Busy);
        InFlight(self.clone())
    }

    /// Has a place for each request in flight but the first, from `take` if it needs one more; false if that has none.
    pub(crate) fn has_seats(&self, take: impl FnOnce() -> Option<Seat>) -> bool {
        let mut seats = self.seats.borrow_mut();
        if seats.len() + 1 < self.requests.get() {
            seats.extend(take());
        }
        seats.len() + 1 >= self.requests.get()
    }

    /// Whether the connection has had as many requests as it gets.
    pub(crate) fn has_had_enough(&self) -> bool {
        self.begun.get() >= self.most
    }

    /// Whether it is to be given no more requests; else the task is woken when it is too old for them.
    pub(crate) fn retires(&self, cx: &mut Context<'_>) -> bool {
        let is_old = self.age.as_ref().is_some_and(|age| age.poll(cx).is_ready());
        // Nobody is sent away without an answer.
        self.has_had_enough() || (is_old && self.begun.get() > 0)
    }

    /// A response that is being made. If it is dropped before [`Promise::keep`], the client has given it up.
    pub(crate) fn promise(self: &Rc<Self>) -> Promise {
        Promise(Some(self.clone()))
    }

    /// Whether most requests were given up before there was a response: work for us and next to none for the client
    /// (CVE-2023-44487).
    pub(crate) fn is_a_nuisance(&self) -> bool {
        let given_up = self.given_up.get();
        given_up > MOST_GIVEN_UP && given_up.saturating_mul(2) > self.begun.get()
    }

    /// Unless something is being done for it, it rests for as long as it likes, until its place is wanted.
    pub(crate) fn rest(&self) {
        if self.requests.get() > 0 {
            return;
        }
        self.enter(Phase::Idle);
        if !self.is_let_go.get() {
            self.deadline.clear();
        }
    }

    /// Part of what it asks for is here.
    pub(crate) fn owes_the_rest(&self) {
        if self.phase.get() != Phase::Head {
            self.enter(Phase::Head);
        }
    }

    /// The connection serves HTTP/2, where reading is no sign of a request.
    pub(crate) fn settle(&self) {
        self.enter(Phase::Idle);
    }

    fn read(&self) {
        if self.phase.get() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// Its connection is polled again, after others were.
    pub(crate) fn has_its_turn(&self) {
        self.reads_left.set(MOST_READS);
        self.answered.set(false);
    }

    /// What it has asked is answered, and only sending is left for this turn. It has been read from, so its task is woken for more.
    pub(crate) fn is_answered(&self) {
        self.answered.set(true);
    }

    fn may_read(&self) -> bool {
        let left = self.reads_left.get();
        self.reads_left.set(left.saturating_sub(1));
        left > 0
    }

    fn wrote(&self) {
        if self.write_blocked.replace(false) {
            self.wait();
        }
    }

    fn blocked(&self) {
        if !self.write_blocked.replace(true) {
            self.deadline.set(self.timeouts.body);
            self.end_rest();
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(self.deadlines.turn());
        let rest = self.timeouts.keep_alive.saturating_add(self.timeouts.body);
        self.rest_ends.set(match phase {
            Phase::Idle => self.deadlines.due_after(rest),
            Phase::Head | Phase::Busy => OFF,
        });
        self.wait();
    }

    /// Sets the deadline of the phase.
    fn wait(&self) {
        match self.phase.get() {
            Phase::Idle if self.is_let_go.get() => self.deadline.pass(),
            Phase::Idle => {
                self.deadline.set(self.timeouts.keep_alive);
                self.end_rest();
            }
            Phase::Head => self.deadline.set(self.timeouts.header),
            // A client that does not read has the time it has, whatever else it asks for.
            Phase::Busy if self.write_blocked.get() => {}
            Phase::Busy => self.deadline.clear(),
        }
    }

    /// Keeps the deadline within the longest that a connection rests. Without it, whoever asks by frames that are no requests, and reads
    /// the answers by fits and starts, would have made progress for ever.
    fn end_rest(&self) {
        self.deadline.set_no_later(self.rest_ends.get());
    }
}

/// Requests that a client may give up before it is looked at how many it was given. Envoy's bound.
const MOST_GIVEN_UP: u64 = 500;

/// A response that is being made.
pub(crate) struct Promise(Option<Rc<Client>>);

impl Promise {
    /// There it is.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(client) = &self.0 {
            client.given_up.set(client.given_up.get() + 1);
        }
    }
}

/// A request in flight on a client connection.
pub(crate) struct InFlight(Rc<Client>);

impl InFlight {
    /// The connection.
    pub(crate) fn client(&self) -> &Client {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let left = self.0.requests.get().saturating_sub(1);
        self.0.requests.set(left);
        self.0.seats.borrow_mut().truncate(left.saturating_sub(1));
        if left == 0 {
            self.0.enter(Phase::Idle);
        }
    }
}

/// Which protocol's reads are watched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// The bytes of a client connection, with those in front that were read to learn its protocol.
pub(crate) struct ClientIo {
    stream: Socket,
    early: Bytes,
    protocol: Protocol,
    gathers: bool,
    client: Rc<Client>,
}

/// How often an HTTP/2 connection is read from before others have their turn. What is read at once may hold a thousand frames, each of
/// them work and none of them a request.
const MOST_READS: usize = 2;

impl ClientIo {
    pub(crate) fn new(stream: Stream, early: Bytes, protocol: Protocol, client: Rc<Client>) -> Self {
        Self {
            stream: Socket::new(stream),
            early,
            protocol,
            gathers: false,
            client,
        }
    }

    /// The same, which has small answers gathered if `gathers`. Told that nothing is written from several places at once, h2 copies what is
    /// shorter than a KiB into its buffer, and sends that when it has looked at all streams; else it sends what has 256 bytes by itself.
    pub(crate) fn gathering(self, gathers: bool) -> Self {
        Self { gathers, ..self }
    }

    /// The socket. Bytes that were read early have been handed on by then.
    pub(crate) fn into_stream(self) -> Stream {
        self.stream.into_stream()
    }

    /// Looks whether the client reads. Over TLS bytes that count as written may wait here.
    fn watched<T>(&mut self, outcome: Poll<T>) -> Poll<T> {
        let stream = self.stream.stream();
        let blocked = outcome.is_pending() || stream.is_behind();
        if stream.has_moved() || !blocked {
            self.client.wrote();
        }
        if blocked {
            self.client.blocked();
        }
        outcome
    }
}

impl Read for ClientIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let taken = self.early.len().min(buffer.remaining());
            buffer.put_slice(&self.early[..taken]);
            self.early.advance(taken);
            return Poll::Ready(Ok(()));
        }
        if self.protocol == Protocol::Http1 {
            let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
            if outcome.is_ready() {
                self.client.read();
            }
            return outcome;
        }
        if self.client.answered.get() {
            return Poll::Pending;
        }
        if !self.client.may_read() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for ClientIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watched(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        !self.gathers && self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        match self.stream.stream() {
            // Always ready: it holds nothing back.
            Stream::Plain(_) | Stream::Unix(_) => outcome,
            Stream::Tls(_) => self.watched(outcome),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.client.reset.get() {
            // An orderly end would make a broken response look whole.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_client_that_reads_by_fits_and_starts_rests_no_longer_for_it() {
        let deadlines = Deadlines::new(Duration::from_millis(10));
        let timeouts = Timeouts {
            keep_alive: Duration::from_millis(40),
            body: Duration::from_millis(20),
            ..Timeouts::default()
        };
        let client = Client::new(&deadlines, timeouts, u64::MAX);
        client.settle();
        let passed = || {
            let mut cx = Context::from_waker(Waker::noop());
            client.deadline.poll(&mut cx).is_ready()
        };
        // Six ticks are both waits; one of them has begun already.
        for tick in 0..7 {
            assert!(!passed(), "after {tick} ticks");
            client.blocked();
            client.wrote();
            deadlines.advance();
        }
        assert!(passed());
    }

    #[test]
    fn a_new_request_gives_a_client_that_does_not_read_no_more_time() {
        let deadlines = Deadlines::new(Duration::from_millis(10));
        let timeouts = Timeouts {
            body: Duration::from_millis(20),
            ..Timeouts::default()
        };
        let client = Client::new(&deadlines, timeouts, u64::MAX);
        let first = client.begin();
        client.blocked();
        let second = client.begin();
        for _ in 0..4 {
            deadlines.advance();
        }
        let passed = client.deadline.poll(&mut Context::from_waker(Waker::noop()));
        assert!(passed.is_ready());
        drop((first, second));
    }
}
