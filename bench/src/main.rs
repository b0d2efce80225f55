//! Tidegate beside its peers, measured in one run on one machine.
//!
//! `decision` asks what one decision costs in process, `gateway` what a request costs through the proxy, `doors` what a decision costs through the doors beside it, `features` what each
//! feature adds to it, `store` what a decision costs one Redis, and `instructions` counts the instructions of one decision, free of noise.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench is a command: its result is what it prints"
)]

use clap::{Parser, Subcommand};

mod decision;
mod doors;
mod features;
mod gateway;
mod instructions;
mod machine;
mod report;
mod stats;
mod store;

#[derive(Parser)]
#[command(version, about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Nanoseconds per decision, beside governor, limitador and throttlecrab
    Decision(decision::Options),
    /// Requests per second, latency and CPU time per request, beside nginx and HAProxy
    Gateway(gateway::Options),
    /// CPU time per request of each feature, beside the same gateway without it
    Features(features::Options),
    /// Decisions per second through each door, beside throttlecrab-server and redis-cell
    Doors(doors::Options),
    /// Instructions per decision, counted by valgrind: no noise, so that a change shows
    Instructions(instructions::Options),
    /// Decisions per second of one Redis, beside the scripts that people copy
    Store(store::Options),
    #[command(hide = true)]
    Contender(decision::contender::Options),
    #[command(hide = true)]
    Counted(instructions::counted::Options),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().bench {
        Bench::Decision(options) => decision::run(&options),
        Bench::Gateway(options) => gateway::run(&options),
        Bench::Features(options) => features::run(&options),
        Bench::Doors(options) => doors::run(&options),
        Bench::Instructions(options) => instructions::run(&options),
        Bench::Store(options) => store::run(&options),
        Bench::Contender(options) => decision::contender::run(&options),
        Bench::Counted(options) => instructions::counted::run(&options),
    }
}
