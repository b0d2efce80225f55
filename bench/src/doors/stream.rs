//! Questions over HTTP/1.1 and RESP, as bytes on a connection.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};

use super::Told;
use super::case::Draw;

/// What is said.
#[derive(Clone, Copy)]
pub(crate) enum Words {
    /// A sub-request to Tidegate.
    Check,
    /// throttlecrab's JSON.
    Throttle,
    /// redis-cell's command, which throttlecrab calls `THROTTLE`.
    Resp { command: &'static str },
}

/// Asks on so many connections, each with so many questions at a time.
pub(crate) async fn ask(
    words: Words,
    port: u16,
    (connections, depth): (u64, usize),
    keys: u64,
    lasts: Duration,
) -> anyhow::Result<Told> {
    let local = LocalSet::new();
    local
        .run_until(async {
            let begun = Instant::now();
            let tasks: Vec<_> = (0..connections)
                .map(|connection| {
                    let draw = Draw::new(connection + 1, keys);
                    spawn_local(asker(words, port, depth, draw, (begun, lasts)))
                })
                .collect();
            let mut told = Told::default();
            for task in tasks {
                told.nanos.extend(task.await??);
            }
            told.took = begun.elapsed();
            Ok(told)
        })
        .await
}

async fn asker(
    words: Words,
    port: u16,
    depth: usize,
    mut draw: Draw,
    (begun, lasts): (Instant, Duration),
) -> anyhow::Result<Vec<u32>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (mut said, mut heard) = (Vec::new(), BytesMut::with_capacity(64 * 1024));
    let mut nanos = Vec::new();
    let mut asked = Instant::now();
    while asked.duration_since(begun) < lasts {
        said.clear();
        (0..depth).for_each(|_| words.question(draw.next(), &mut said));
        stream.write_all(&said).await?;
        let mut owed = depth;
        while owed > 0 {
            while let Some(length) = words.answer(&heard)? {
                let _ = heard.split_to(length);
                owed -= 1;
            }
            if owed > 0 {
                ensure!(stream.read_buf(&mut heard).await? > 0, "the server closed");
            }
        }
        let now = Instant::now();
        let took = u32::try_from(now.duration_since(asked).as_nanos()).unwrap_or(u32::MAX);
        nanos.extend(std::iter::repeat_n(took, depth));
        asked = now;
    }
    Ok(nanos)
}

impl Words {
    fn question(self, key: u64, said: &mut Vec<u8>) {
        let text = match self {
            Self::Check => format!(
                "GET /forward-auth HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-method: GET\r\nx-forwarded-uri: /\r\n\
                 x-forwarded-for: 192.0.2.1\r\nx-api-key: {key:016}\r\n\r\n"
            ),
            Self::Throttle => {
                let body = format!(
                    r#"{{"key":"{key:016}","max_burst":1000000,"count_per_period":1000000,"period":60,"quantity":1}}"#
                );
                format!(
                    "POST /throttle HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
            Self::Resp { command } => format!(
                "*5\r\n${}\r\n{command}\r\n$16\r\n{key:016}\r\n$7\r\n1000000\r\n$7\r\n1000000\r\n$2\r\n60\r\n",
                command.len()
            ),
        };
        said.extend_from_slice(text.as_bytes());
    }

    /// The length of the answer that `heard` begins with; None if it is not all there.
    fn answer(self, heard: &[u8]) -> anyhow::Result<Option<usize>> {
        match self {
            Self::Check | Self::Throttle => http_answer(heard),
            Self::Resp { .. } => resp_answer(heard),
        }
    }
}

fn http_answer(heard: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(end) = heard.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&heard[..end])?;
    ensure!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = end + 4 + length.context("a length")?;
    Ok((heard.len() >= whole).then_some(whole))
}

/// An array of five numbers: six lines.
fn resp_answer(heard: &[u8]) -> anyhow::Result<Option<usize>> {
    if let Some(first) = heard.first() {
        ensure!(*first == b'*', "{}", String::from_utf8_lossy(heard));
    }
    let mut ends = heard.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    Ok(ends.nth(5).map(|(place, _)| place + 1))
}
