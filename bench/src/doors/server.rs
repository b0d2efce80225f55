//! Everybody who is asked, on core 0.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::case::{Asked, Case, Kind};
use crate::gateway::{Process, free_ports, install};

const CORE: u8 = 0;

/// throttlecrab's server, as `cargo xtask bench doors` installs it.
const THROTTLECRAB: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/target/peers/bin/throttlecrab-server"
);
/// The module, as the same builds it.
const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/release/libredis_cell.so");

/// The servers that run.
pub(crate) struct Servers {
    memory: Served,
    redis: Served,
    throttlecrab: Option<Served>,
    cell: Served,
    has_cell: bool,
}

/// A server, and where its three doors are.
struct Served {
    process: Process,
    grpc: u16,
    http: u16,
    resp: u16,
}

impl Servers {
    pub(crate) fn start(tidegate: &Path, folder: &Path) -> anyhow::Result<Self> {
        install(&["redis-server"])?;
        let has_cell = Path::new(CELL).exists();
        let cell = redis(folder, has_cell)?;
        let store = format!("redis://127.0.0.1:{}", cell.resp);
        let throttlecrab = Path::new(THROTTLECRAB).exists().then(|| throttlecrab(folder));
        if throttlecrab.is_none() {
            eprintln!("without throttlecrab-server: there is no {THROTTLECRAB}");
        }
        Ok(Self {
            memory: serve(tidegate, folder, "memory")?,
            redis: serve(tidegate, folder, &store)?,
            throttlecrab: throttlecrab.transpose()?,
            cell,
            has_cell,
        })
    }

    /// Whether `kind` could be started.
    pub(crate) const fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Memory | Kind::Redis => true,
            Kind::Throttlecrab => self.throttlecrab.is_some(),
            Kind::Cell => self.has_cell,
        }
    }

    /// Whose CPU time counts.
    pub(crate) fn of(&self, asked: Asked) -> anyhow::Result<&Process> {
        Ok(&self.served(asked.kind)?.process)
    }

    pub(crate) fn port(&self, asked: Asked) -> anyhow::Result<u16> {
        let served = self.served(asked.kind)?;
        Ok(match asked.case {
            Case::Grpc | Case::GrpcTen | Case::GrpcLone => served.grpc,
            Case::Http => served.http,
            Case::Resp | Case::RespPipelined => served.resp,
        })
    }

    fn served(&self, kind: Kind) -> anyhow::Result<&Served> {
        match kind {
            Kind::Memory => Ok(&self.memory),
            Kind::Redis => Ok(&self.redis),
            Kind::Throttlecrab => self.throttlecrab.as_ref().context("throttlecrab-server"),
            Kind::Cell => Ok(&self.cell),
        }
    }
}

fn serve(tidegate: &Path, folder: &Path, store: &str) -> anyhow::Result<Served> {
    let [grpc, http, resp] = free_ports()?;
    let limit = "limit: { quota: 1000000, window: 60s, burst: 1000000 }";
    let policies: Vec<String> = (0..10)
        .map(|place| format!("  - {{ name: d{place}, match: {{ domain: bench, descriptor: [api_key_{place}] }}, {limit} }}\n"))
        .collect();
    let text = format!(
        "gateway: {{ workers: 1 }}\nadmin: 'off'\nstore: {store}\ndoors: {{ envoy: {grpc}, check: {http}, redis: {resp} }}\npolicies:\n  \
         - {{ name: http, key: [header.x-api-key], {limit} }}\n{}",
        policies.concat()
    );
    let file = folder.join(format!("{grpc}.yaml"));
    fs::write(&file, text)?;
    let arguments = ["serve", "--log-level", "warn", "--config"].map(str::to_owned);
    let arguments = arguments.into_iter().chain([file.display().to_string()]);
    let mut process = Process::start(CORE, tidegate, arguments, folder)?;
    process.listens_on(grpc)?;
    Ok(Served {
        process,
        grpc,
        http,
        resp,
    })
}

fn throttlecrab(folder: &Path) -> anyhow::Result<Served> {
    let [grpc, http, resp] = free_ports()?;
    let ports = [("grpc", grpc), ("http", http), ("redis", resp)];
    let mut arguments = vec!["--log-level".to_owned(), "warn".to_owned()];
    for (door, port) in ports {
        arguments.extend([format!("--{door}"), format!("--{door}-port"), port.to_string()]);
    }
    let mut process = Process::start(CORE, Path::new(THROTTLECRAB), arguments, folder)?;
    process.listens_on(grpc)?;
    process.listens_on(resp)?;
    Ok(Served {
        process,
        grpc,
        http,
        resp,
    })
}

fn redis(folder: &Path, with_cell: bool) -> anyhow::Result<Served> {
    let [port] = free_ports()?;
    let port_text = port.to_string();
    let mut arguments = vec!["--port", &port_text, "--save", "", "--appendonly", "no"];
    if with_cell {
        arguments.extend(["--loadmodule", CELL]);
    }
    let mut process = Process::start(CORE, Path::new("/usr/bin/redis-server"), arguments, folder)?;
    process.listens_on(port)?;
    Ok(Served {
        process,
        grpc: port,
        http: port,
        resp: port,
    })
}
