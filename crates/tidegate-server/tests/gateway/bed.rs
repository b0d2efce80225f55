//! A gateway between a client and an origin that both speak bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::thread::JoinHandle;
use std::time::Duration;

use tidegate_core::{KeyHasher, TableSize};
use tidegate_policy::RequestIds;
use tidegate_server::clock::Clock;
use tidegate_server::counters::Counters;
use tidegate_server::gateway::{Drained, Farewell, Gateway, Settings};
use tidegate_server::live::{Live, Stage};
use tidegate_server::load::PolicySource;
use tidegate_server::metrics::Metrics;
use tidegate_server::pipeline::Pipeline;
use tidegate_server::tls::TlsSwitch;
use tidegate_store::{Memory, Store};
use tokio::sync::oneshot;

/// After this long a test has failed; nothing waits for it when all is well.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A running gateway and the origin behind it.
pub struct Bed {
    pub address: SocketAddr,
    /// All of them, if it listens on several.
    pub addresses: Vec<SocketAddr>,
    pub tls: TlsSwitch,
    pub origin: Origin,
    pub stage: Stage,
    stop: Option<oneshot::Sender<Farewell>>,
    running: Option<JoinHandle<Drained>>,
}

impl Bed {
    /// A gateway without limits.
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// A gateway without limits, with other settings.
    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::limited("policies: []", "", Clock::system(), change)
    }

    /// A gateway that holds `policies` and knows `keys`.
    pub fn limited(policies: &str, keys: &str, clock: Clock, change: impl FnOnce(&mut Settings)) -> Self {
        Self::build(
            Counters::<Memory>::local(store()),
            (policies, keys),
            clock,
            change,
        )
    }

    /// A gateway that holds `policies` and shares `store` with others.
    pub fn over(store: impl Store, policies: &str, clock: Clock, change: impl FnOnce(&mut Settings)) -> Self {
        let counters = Counters::sharing(self::store(), store, KeyHasher::new([8; 16]));
        let policies = format!("store: redis://stands.in.for.it\n{policies}");
        Self::build(counters, (&policies, "[]"), clock, change)
    }

    /// A gateway that was told to leave before it ran, and a client that waited in the queue by then.
    pub fn leaving(moment: Duration) -> (Self, Wire) {
        let parts = Self::bind(
            Counters::<Memory>::local(store()),
            ("policies: []", ""),
            Clock::system(),
            |_| {},
        );
        let early = TcpStream::connect(parts.0.local_addrs()[0]).unwrap();
        let (told, stop) = oneshot::channel();
        told.send(Farewell::Kindly(moment)).unwrap();
        let bed = Self::run(parts, (None, stop));
        (bed, Wire::new(early))
    }

    fn build(
        counters: Counters<impl Store>,
        texts: (&str, &str),
        clock: Clock,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self::run(Self::bind(counters, texts, clock, change), (Some(stop), stopped))
    }

    fn bind<S: Store>(
        counters: Counters<S>,
        (policies, keys): (&str, &str),
        clock: Clock,
        change: impl FnOnce(&mut Settings),
    ) -> (Gateway<S>, Origin, Stage) {
        let origin = Origin::new();
        let live = live(policies, keys, origin.address());
        let mut settings = Settings::configured(&live.config.gateway, &live.tls);
        settings.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0)).into()];
        settings.workers = NonZeroUsize::MIN;
        settings.request_ids = RequestIds::Off;
        change(&mut settings);
        let stage = Stage::new(live, Metrics::new(NonZeroUsize::MIN));
        let pipeline = Pipeline::new(stage.clone(), counters, clock);
        (Gateway::bind(settings, pipeline).unwrap(), origin, stage)
    }

    fn run<S: Store>(
        (gateway, origin, stage): (Gateway<S>, Origin, Stage),
        (stop, stopped): (Option<oneshot::Sender<Farewell>>, oneshot::Receiver<Farewell>),
    ) -> Self {
        let addresses = gateway.local_addrs().to_vec();
        let tls = gateway.tls();
        let running = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime
                .block_on(gateway.run(async { stopped.await.unwrap_or(Farewell::AtOnce) }))
                .unwrap()
        });
        Self {
            address: addresses[0],
            addresses,
            tls,
            origin,
            stage,
            stop,
            running: Some(running),
        }
    }

    /// Requests that begin from now on meet `policies` and `keys`.
    pub fn reload(&self, policies: &str, keys: &str) {
        self.stage.replace(live(policies, keys, self.origin.address()));
    }

    pub fn client(&self) -> Wire {
        Wire::new(TcpStream::connect(self.address).unwrap())
    }

    /// Sends `request` over a connection of its own, lets the origin answer `response` and close, and returns what each side saw.
    pub fn pass(&self, request: &str, response: &str) -> Passed {
        let mut client = self.client();
        client.send(request);
        let mut origin = self.origin.accept();
        let seen_by_origin = origin.head();
        origin.send(response);
        origin.finish();
        let seen_by_client = client.rest();
        Passed {
            seen_by_origin,
            seen_by_client,
        }
    }

    /// What the gateway answers without asking the origin.
    pub fn answer(&self, request: &str) -> String {
        let mut client = self.client();
        client.send(request);
        client.head()
    }

    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn ask_to_leave(&mut self, moment: Duration) {
        self.stop.take().unwrap().send(Farewell::Kindly(moment)).unwrap();
        // Its listener closes just when its connections learn of it. Asked without a connection, which would reach whoever has the port next.
        while is_listened_on(self.address) {
            std::thread::yield_now();
        }
    }

    pub fn stopped(mut self) -> Drained {
        self.ask_to_stop();
        self.running.take().unwrap().join().unwrap()
    }
}

/// What the texts of files mean, with counters named as in every other load. Everything goes to `origin` if they do not say where.
fn live(policies: &str, keys: &str, origin: SocketAddr) -> Live {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.yaml");
    std::fs::write(&file, policies).unwrap();
    std::fs::write(folder.path().join("keys.yaml"), keys).unwrap();
    let source = PolicySource::file(&file).unwrap();
    let mut loaded = source.load(&KeyHasher::new([7; 16])).unwrap();
    if loaded.config.forwarding.is_empty() {
        loaded
            .protect(&format!("http://{origin}").parse().unwrap())
            .unwrap();
    }
    loaded.into()
}

pub fn store() -> Memory {
    Memory::new(TableSize {
        bucket_bytes: 1 << 16,
        ledger_bytes: 1 << 16,
    })
}

pub struct Passed {
    pub seen_by_origin: String,
    pub seen_by_client: String,
}

/// An origin that does what its test says.
pub struct Origin(TcpListener);

impl Origin {
    pub fn new() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let socket = socket2::SockRef::from(&listener);
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(listener)
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub fn accept(&self) -> Wire {
        Wire::new(self.0.accept().expect("the gateway connects to the origin").0)
    }

    /// Takes no more connections.
    pub fn refuse(&self) {
        socket2::SockRef::from(&self.0).shutdown(Shutdown::Both).unwrap();
    }

    /// The next connection; none if nobody wants one any more.
    pub fn next(&self) -> Option<Wire> {
        self.0.accept().ok().map(|(stream, _)| Wire::new(stream))
    }

    /// Whether somebody is waiting to be accepted.
    pub fn was_asked(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let asked = self.0.accept().is_ok();
        self.0.set_nonblocking(false).unwrap();
        asked
    }
}

/// Whether the system takes connections for an address of 127.0.0.1.
fn is_listened_on(address: SocketAddr) -> bool {
    let local = format!("0100007F:{:04X}", address.port());
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    sockets.lines().any(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        columns[1] == local && columns[3] == "0A"
    })
}

/// A connection, as bytes.
pub struct Wire {
    tcp: TcpStream,
    stream: Box<dyn Channel>,
    unread: Vec<u8>,
}

/// The bytes of a connection, plain or not.
pub trait Channel: Read + Write + Send {
    /// Says that nothing more will be sent.
    fn finish(&mut self);
}

impl Channel for TcpStream {
    fn finish(&mut self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self::over(stream.try_clone().unwrap(), Box::new(stream))
    }

    /// The bytes of `stream`, which go over `tcp`.
    pub fn over(tcp: TcpStream, stream: Box<dyn Channel>) -> Self {
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        tcp.set_write_timeout(Some(PATIENCE)).unwrap();
        tcp.set_nodelay(true).unwrap();
        Self {
            tcp,
            stream,
            unread: Vec::new(),
        }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends, and says whether the other side is still there.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sends until the other side takes no more for a moment, and returns how much that was.
    pub fn send_until_blocked(&mut self, most: usize) -> usize {
        self.tcp
            .set_write_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let chunk = vec![b'x'; 64 * 1024];
        let mut sent = 0;
        while sent < most {
            match self.stream.write(&chunk) {
                Ok(count) => sent += count,
                Err(_) => break,
            }
        }
        self.tcp.set_write_timeout(Some(PATIENCE)).unwrap();
        sent
    }

    /// Reads a head, up to and with its empty line.
    pub fn head(&mut self) -> String {
        self.until(b"\r\n\r\n")
    }

    /// Reads a head, and as much of a body as it says; none at the end of the connection.
    pub fn next_head(&mut self) -> Option<String> {
        while !self.unread.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            if self.fill().ok()? == 0 {
                return None;
            }
        }
        let head = self.head();
        if let Some(length) = field(&head, "content-length") {
            self.take(length.parse().unwrap());
        }
        Some(head)
    }

    /// Reads up to and with `mark`.
    pub fn until(&mut self, mark: &[u8]) -> String {
        loop {
            let found = self.unread.windows(mark.len()).position(|bytes| bytes == mark);
            if let Some(at) = found {
                let rest = self.unread.split_off(at + mark.len());
                return text(std::mem::replace(&mut self.unread, rest));
            }
            let count = self.fill().unwrap();
            assert!(
                count > 0,
                "the connection ended after {:?}",
                text(self.unread.clone())
            );
        }
    }

    /// Reads exactly `count` bytes of text.
    pub fn take(&mut self, count: usize) -> String {
        text(self.take_bytes(count))
    }

    /// Reads exactly `count` bytes.
    pub fn take_bytes(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.fill().unwrap() > 0, "the connection ended too early");
        }
        let rest = self.unread.split_off(count);
        std::mem::replace(&mut self.unread, rest)
    }

    /// Reads to the end of the connection.
    pub fn rest(&mut self) -> String {
        self.try_rest().unwrap()
    }

    /// Reads to the end of the connection, or to what broke it.
    pub fn try_rest(&mut self) -> io::Result<String> {
        while self.fill()? > 0 {}
        Ok(text(std::mem::take(&mut self.unread)))
    }

    /// Reads until the other side is gone, in whichever way, and returns what came before.
    pub fn ended(&mut self) -> String {
        text(self.ended_bytes())
    }

    /// The same, as bytes.
    pub fn ended_bytes(&mut self) -> Vec<u8> {
        loop {
            match self.fill() {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => panic!("the connection is still open: {error}"),
            }
        }
        std::mem::take(&mut self.unread)
    }

    /// Waits until the other side is gone, in whichever way.
    pub fn gone(&mut self) {
        self.ended();
    }

    /// The same connection once more, for another thread.
    pub fn twin(&self) -> Self {
        Self::new(self.tcp.try_clone().unwrap())
    }

    /// Sends `bytes` again and again until the other side has closed.
    pub fn send_until_closed(&mut self, bytes: &str) {
        while self.stream.write_all(bytes.as_bytes()).is_ok() {}
    }

    /// Takes the one of `wires` that has something to read first.
    pub fn first_answered(wires: &mut Vec<Self>) -> Self {
        loop {
            for index in 0..wires.len() {
                let stream = &wires[index].tcp;
                stream.set_nonblocking(true).unwrap();
                let answered = stream.peek(&mut [0]).is_ok();
                stream.set_nonblocking(false).unwrap();
                if answered {
                    return wires.swap_remove(index);
                }
            }
            std::thread::yield_now();
        }
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) {
        self.stream.finish();
    }

    /// Ends its side of TCP, and says nothing of it in TLS.
    pub fn cut(&mut self) {
        self.tcp.shutdown(Shutdown::Write).unwrap();
    }

    /// Breaks the connection off with a reset.
    pub fn reset(self) {
        socket2::SockRef::from(&self.tcp)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The fields of a head, without its first line, sorted.
pub fn fields(head: &str) -> Vec<&str> {
    let mut fields: Vec<&str> = head.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    fields.sort_unstable();
    fields
}

/// The value of a head's field `name`, which is given in lower case.
pub fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().take_while(|line| !line.is_empty()).find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        (found == name).then_some(value)
    })
}
