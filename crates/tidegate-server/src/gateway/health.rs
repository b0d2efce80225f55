//! Asks servers whether they are well.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, HOST, USER_AGENT};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Empty;
use hyper::client::conn::http1;
use tidegate_policy::HealthCheck;
use tokio::time::{sleep, timeout};

use super::dial::{DialError, dial};
use super::socket::Socket;
use crate::upstream::{Group, Server};

/// Asks server number `index` of `group` again and again.
pub(super) async fn check(group: Arc<Group>, index: usize, check: HealthCheck, jitter: f64) -> Infallible {
    let server = &group.members[index];
    let mut streak = Streak::default();
    // All servers and all gateways asking at once would be a load of its own.
    sleep(check.every.mul_f64(jitter)).await;
    for turn in 0.. {
        let (upstream, label) = (&*group.settings.name, server.label());
        match ask(server, &check, turn).await {
            Ok(()) => {
                if streak.good() >= check.healthy_after && server.recovers() {
                    tracing::info!(upstream, server = label, "a server is healthy again");
                }
            }
            Err(why) => {
                if streak.bad() >= check.unhealthy_after && server.sickens() {
                    tracing::warn!(upstream, server = label, why, "a server is unhealthy");
                }
            }
        }
        sleep(check.every).await;
    }
    std::future::pending().await
}

/// How many answers of one kind came in a row.
#[derive(Default)]
struct Streak {
    good: u32,
    bad: u32,
}

impl Streak {
    fn good(&mut self) -> u32 {
        self.bad = 0;
        self.good = self.good.saturating_add(1);
        self.good
    }

    fn bad(&mut self) -> u32 {
        self.good = 0;
        self.bad = self.bad.saturating_add(1);
        self.bad
    }
}

async fn ask(server: &Server, check: &HealthCheck, turn: usize) -> Result<(), String> {
    let status = match timeout(check.timeout, answer(server, check, turn)).await {
        Ok(Ok(status)) => status,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it does not answer in time".to_owned()),
    };
    if check.expect.contains(&status) {
        Ok(())
    } else {
        Err(format!("it answers {}", status.as_u16()))
    }
}

/// The status that `server` answers, over a connection of its own.
async fn answer(server: &Server, check: &HealthCheck, turn: usize) -> io::Result<StatusCode> {
    let dialled = dial(server, turn).await.map_err(|error| match error {
        DialError::Unreachable(error) | DialError::Tls(error) => error,
    })?;
    let (mut sender, connection) = http1::handshake(Socket::new(dialled.stream))
        .await
        .map_err(io::Error::other)?;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = check.path.clone().into();
    let fields = request.headers_mut();
    fields.insert(HOST, check.host.clone().unwrap_or_else(|| server.host.clone()));
    fields.insert(USER_AGENT, HeaderValue::from_static("tidegate-health"));
    fields.insert(CONNECTION, HeaderValue::from_static("close"));
    let mut asked = pin!(sender.send_request(request));
    let response = tokio::select! {
        biased;
        response = &mut asked => response,
        // An answer may have come with the end of the connection.
        _ = connection => asked.await,
    };
    response
        .map(|response| response.status())
        .map_err(io::Error::other)
}
