//! What the machine asks for the parts of a decision: nobody gets below these.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Instant, SystemTime};

use super::workload::mix;
use crate::machine;
use crate::report::{Table, figure};
use crate::stats::summary;

/// Prints the floors, the memory ones for tables of `bytes_per_key`.
pub(crate) fn print(bytes_per_key: usize, quick: bool) {
    machine::pin(0);
    let times = if quick { 200_000 } else { 2_000_000 };
    let mut table = Table::new(["floor", "ns"]);
    let clock = quanta::Clock::new();
    table.row([
        "one clock read (quanta, TSC)".to_owned(),
        timed(times, || clock.now()),
    ]);
    table.row(["one clock read (Instant)".to_owned(), timed(times, Instant::now)]);
    table.row([
        "one clock read (SystemTime)".to_owned(),
        timed(times, SystemTime::now),
    ]);
    table.row(["two threads adding to one word".to_owned(), contended(times)]);
    for (name, keys) in [("100 k", 100_000), ("1 M", 1_000_000)] {
        let bytes = keys * bytes_per_key;
        let mut chase = Chase::new(bytes);
        table.row([
            format!("one random cache miss, {} MB ({name} keys)", bytes / 1_000_000),
            timed(times / 4, || chase.step()),
        ]);
    }
    table.print("floors of this machine: median (least to most) of 5");
}

fn timed<T>(times: u32, mut step: impl FnMut() -> T) -> String {
    let mut run = || {
        let start = Instant::now();
        for _ in 0..times {
            black_box(step());
        }
        start.elapsed().as_nanos() as f64 / f64::from(times)
    };
    run();
    shown(&[(); 5].map(|()| run()))
}

fn contended(times: u32) -> String {
    shown(&[(); 5].map(|()| {
        let (word, start) = (AtomicU64::new(0), Barrier::new(2));
        let add = |core| {
            machine::pin(core);
            start.wait();
            let begin = Instant::now();
            for _ in 0..times {
                word.fetch_add(1, Relaxed);
            }
            begin.elapsed().as_nanos() as f64 / f64::from(times)
        };
        thread::scope(|scope| {
            let add = &add;
            let threads = [0, 1].map(|core| scope.spawn(move || add(core)));
            let nanos = threads.map(|thread| thread.join().unwrap_or(f64::NAN));
            (nanos[0] + nanos[1]) / 2.0
        })
    }))
}

fn shown(rounds: &[f64]) -> String {
    summary(rounds).map_or_else(String::new, |summary| {
        format!(
            "{} ({} to {})",
            figure(summary.median),
            figure(summary.least),
            figure(summary.most)
        )
    })
}

/// A walk over all cache lines of a piece of memory in random order, each line naming the next.
struct Chase {
    lines: Vec<[u64; 8]>,
    at: u64,
}

impl Chase {
    fn new(bytes: usize) -> Self {
        let mut order: Vec<u64> = (0..(bytes / 64).max(2) as u64).collect();
        // Sattolo's shuffle leaves one single cycle.
        for index in (1..order.len()).rev() {
            order.swap(index, mix(index as u64) as usize % index);
        }
        Self {
            lines: order
                .into_iter()
                .map(|next| [next, 0, 0, 0, 0, 0, 0, 0])
                .collect(),
            at: 0,
        }
    }

    #[inline]
    fn step(&mut self) -> u64 {
        self.at = self.lines[self.at as usize][0];
        self.at
    }
}
