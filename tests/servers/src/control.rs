//! The tests' own line to a server: its Unix socket, under a user of its own, whatever clients have to do to come in.

use std::path::Path;
use std::time::Duration;

use redis::{Client, ConnectionAddr, ConnectionInfo, FromRedisValue, IntoConnectionInfo as _, RedisResult};

/// The user and its password.
pub(crate) const USER: &str = "tests";
/// How long it may take to come in. A server that stands still takes connections and says nothing.
const ENTRY: Duration = Duration::from_secs(2);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// Asks the server at `socket`, over a connection of its own.
pub(crate) fn ask<T: FromRedisValue>(socket: &Path, words: &[&str]) -> RedisResult<T> {
    let connection_info: ConnectionInfo = ConnectionAddr::Unix(socket.into()).into_connection_info()?;
    let user = connection_info
        .redis_settings()
        .clone()
        .set_username(USER)
        .set_password(USER);
    let client = Client::open(connection_info.set_redis_settings(user))?;
    let mut connection = client.get_connection_with_timeout(ENTRY)?;
    connection.set_read_timeout(Some(ANSWER))?;
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query(&mut connection)
}
