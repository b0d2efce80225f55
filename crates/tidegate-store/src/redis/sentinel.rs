//! Asks Sentinels which server is the master.

use redis::{Value, cmd, from_redis_value};
use tokio::time::timeout;

use super::dial::{Dialer, Endpoint, Line, ask};
use super::fault::Fault;
use super::settings::Address;

/// The Sentinels of one master. Asks the one that answered last, and the others in turn if it does not.
#[derive(Debug)]
pub(crate) struct Sentinels {
    dialer: Dialer,
    service: String,
    /// The next to be asked comes first.
    addresses: Vec<Address>,
    line: Option<Line>,
}

impl Sentinels {
    pub(crate) fn new(dialer: Dialer, addresses: Vec<Address>, service: String) -> Self {
        Self {
            dialer,
            service,
            addresses,
            line: None,
        }
    }

    /// What they are, for logs.
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// The master's address, as the first Sentinel says that knows one.
    pub(crate) async fn master(&mut self) -> Result<Address, Fault> {
        let mut last = Fault::Down;
        for _ in 0..self.addresses.len() {
            match self.ask_first().await {
                Ok(address) => return Ok(address),
                Err(fault) => last = fault,
            }
            self.next();
        }
        Err(last)
    }

    /// Asks another one from now on: what this one says turned out to be old.
    pub(crate) fn next(&mut self) {
        self.line = None;
        if !self.addresses.is_empty() {
            self.addresses.rotate_left(1);
        }
    }

    async fn ask_first(&mut self) -> Result<Address, Fault> {
        let limit = self.dialer.timeout();
        let Some(address) = self.addresses.first() else {
            return Err(Fault::Down);
        };
        let line = match &mut self.line {
            Some(line) => line,
            empty => empty.insert(self.dialer.dial(&Endpoint::Tcp(address.clone())).await?),
        };
        let mut command = cmd("SENTINEL");
        command.arg("get-master-addr-by-name").arg(&self.service);
        let answer = timeout(limit, ask(&mut line.connection, &command)).await;
        match answer.unwrap_or(Err(Fault::Late)) {
            Ok(Value::Nil) => Err(Fault::Nonsense(format!(
                "Sentinel {address} knows no `{}`",
                self.service
            ))),
            Ok(value) => from_redis_value::<(String, u16)>(value)
                .map(|(host, port)| Address { host, port })
                .map_err(|error| Fault::Nonsense(error.to_string())),
            Err(fault) => Err(fault),
        }
    }
}
