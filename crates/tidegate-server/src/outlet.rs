//! Lines on their way out: a bounded queue, and a thread that writes. Whoever has a line to say never waits for its reader.

mod sink;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

pub use sink::Sink;

/// The most lines that wait to be written. More are dropped and counted.
pub const MOST_QUEUED: usize = 8192;

/// How much is written at once.
const BATCH_BYTES: usize = 64 * 1024;

/// How long the thread rests between two writes. Lines that come meanwhile wake nobody.
const REST: Duration = Duration::from_millis(2);

/// The way out for lines. Clones share it.
#[derive(Clone, Debug)]
pub struct Outlet {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// The file may have been moved away.
    Reopen,
    /// Everything before this is to be written; then the sender is dropped.
    Flush(SyncSender<()>),
}

impl Outlet {
    /// Starts a thread that writes to `sink`. It ends once every clone is gone and everything is written.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(name: &str, sink: Sink) -> io::Result<Self> {
        let (queue, queued) = mpsc::sync_channel(MOST_QUEUED);
        let lost = Arc::<AtomicU64>::default();
        let writer = Writer {
            sink,
            batch: Vec::with_capacity(BATCH_BYTES),
            lines: 0,
            lost: lost.clone(),
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || writer.run(&queued))?;
        Ok(Self { queue, lost })
    }

    /// Sends `line`, which ends with a line break. Never waits: if too many are queued, the line is lost.
    pub fn send(&self, line: Vec<u8>) {
        if self.queue.try_send(Message::Line(line)).is_err() {
            // A count and nothing else.
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many lines were lost, because the queue was full or they could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Opens the file anew before anything else is written: it was moved away, by logrotate say. Nothing else needs it.
    pub fn reopen(&self) {
        // A full queue means that the reader is stuck; whoever moves files asks again.
        let _ = self.queue.try_send(Message::Reopen);
    }

    /// Waits until everything sent before is written, for at most `patience`. False if it is not.
    pub fn flush(&self, patience: Duration) -> bool {
        let (done, written) = mpsc::sync_channel(0);
        let mut message = Message::Flush(done);
        let mut left = patience;
        while let Err(error) = self.queue.try_send(message) {
            let TrySendError::Full(unsent) = error else {
                return false;
            };
            if left.is_zero() {
                return false;
            }
            thread::sleep(REST);
            left = left.saturating_sub(REST);
            message = unsent;
        }
        matches!(
            written.recv_timeout(left.max(REST)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        )
    }
}

/// Log events, each written at once.
impl<'w> MakeWriter<'w> for Outlet {
    type Writer = &'w Self;

    fn make_writer(&'w self) -> Self::Writer {
        self
    }
}

impl io::Write for &Outlet {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The thread's side.
struct Writer {
    sink: Sink,
    batch: Vec<u8>,
    lines: u64,
    lost: Arc<AtomicU64>,
}

impl Writer {
    fn run(mut self, queued: &Receiver<Message>) {
        while let Ok(message) = queued.recv() {
            self.take(message);
            while self.batch.len() < BATCH_BYTES
                && let Ok(message) = queued.try_recv()
            {
                self.take(message);
            }
            self.write();
            thread::sleep(REST);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Line(line) => {
                self.batch.extend_from_slice(&line);
                self.lines += 1;
            }
            Message::Reopen => {
                self.write();
                self.sink.reopen();
            }
            Message::Flush(done) => {
                self.write();
                drop(done);
            }
        }
    }

    fn write(&mut self) {
        if self.sink.write(&self.batch).is_err() {
            self.lost.fetch_add(self.lines, Ordering::Relaxed);
        }
        self.batch.clear();
        self.lines = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn piped() -> (io::PipeReader, Outlet) {
        let (reader, writer) = io::pipe().unwrap();
        let outlet = Outlet::start("test", Sink::of(writer)).unwrap();
        (reader, outlet)
    }

    #[test]
    fn lines_come_out_whole_and_in_order() {
        let (reader, outlet) = piped();
        for number in 0..100 {
            outlet.send(format!("{number}\n").into_bytes());
        }
        drop(outlet);
        let lines: Vec<String> = BufReader::new(reader).lines().map(Result::unwrap).collect();
        let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_reader_that_stops_costs_lines_and_never_time() {
        let (reader, outlet) = piped();
        let line = [b'x'; 1024];
        let sent = 2 * MOST_QUEUED as u64;
        for _ in 0..sent {
            outlet.send(line.to_vec());
        }
        let lost = outlet.lost();
        assert!(lost > 0, "nothing was lost of {sent}");
        assert!(!outlet.flush(Duration::ZERO));
        drop(outlet);
        // What was not lost is there for a reader that comes back.
        let read = io::copy(&mut BufReader::new(reader), &mut io::sink()).unwrap();
        assert_eq!(read, (sent - lost) * 1024);
    }

    #[test]
    fn a_reader_that_is_gone_costs_lines_and_they_are_counted() {
        let (reader, outlet) = piped();
        drop(reader);
        outlet.send(b"nobody reads this\n".to_vec());
        assert!(outlet.flush(PATIENCE));
        assert_eq!(outlet.lost(), 1);
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_anew() {
        let folder = std::env::temp_dir().join(format!("tidegate-outlet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, moved) = (folder.join("access.log"), folder.join("access.log.1"));
        let outlet = Outlet::start("test", Sink::file(&path).unwrap()).unwrap();
        outlet.send(b"before\n".to_vec());
        assert!(outlet.flush(PATIENCE));
        std::fs::rename(&path, &moved).unwrap();
        outlet.send(b"between\n".to_vec());
        outlet.reopen();
        outlet.send(b"after\n".to_vec());
        assert!(outlet.flush(PATIENCE));
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "before\nbetween\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "after\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
