//! What was measured, as tables.

use super::candidate::Kind;
use super::case::Case;
use super::{Measured, Round};
use crate::report::{Table, figure};
use crate::stats::{paired_ratio, summary};

/// Prints what each proxy did, what limiting cost it, and how the others stand to Tidegate.
pub(crate) fn print(kinds: &[Kind], cases: &[Case], measured: &[Measured]) {
    figures(measured).print("each proxy on one core: medians (requests per second with least to most)");
    let found = Found { measured };
    cost(kinds, cases, &found)
        .print("what limiting costs: limited beside unlimited, median of the rounds' ratios");
    if kinds.contains(&Kind::Tidegate) {
        ratios(kinds, cases, &found).print("Tidegate beside the others, median of the rounds' ratios");
    }
}

/// The measurements, to be looked up.
struct Found<'a> {
    measured: &'a [Measured],
}

impl Found<'_> {
    fn each(&self, kind: Kind, case: Case, figure: fn(&Round) -> f64) -> Vec<f64> {
        let mut of_both = self
            .measured
            .iter()
            .filter(|measured| (measured.kind, measured.case) == (kind, case));
        let rounds = of_both.next().map(|measured| measured.rounds.as_slice());
        rounds.unwrap_or_default().iter().map(figure).collect()
    }

    /// How `above` stands to `below` in requests per second and in CPU time per request.
    fn compare(&self, above: (Kind, Case), below: (Kind, Case)) -> [String; 2] {
        [per_second, cpu_us].map(|figure| {
            let [above, below] = [above, below].map(|(kind, case)| self.each(kind, case, figure));
            paired_ratio(&above, &below).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
        })
    }
}

fn per_second(round: &Round) -> f64 {
    round.answers.per_second()
}

fn cpu_us(round: &Round) -> f64 {
    round.cpu_us
}

fn figures(measured: &[Measured]) -> Table {
    let heads = [
        "case",
        "proxy",
        "requests/s",
        "p50 us",
        "p99 us",
        "CPU us/request",
        "core busy",
    ];
    let mut table = Table::new(heads);
    for measured in measured {
        let median = |figure: fn(&Round) -> f64| {
            let each: Vec<f64> = measured.rounds.iter().map(figure).collect();
            summary(&each).map_or(f64::NAN, |summary| summary.median)
        };
        table.row([
            measured.case.name().to_owned(),
            measured.kind.name().to_owned(),
            spread(&measured.rounds),
            figure(median(|round| round.answers.p50_us)),
            figure(median(|round| round.answers.p99_us)),
            figure(median(cpu_us)),
            format!("{:.0} %", median(|round| round.busy) * 100.0),
        ]);
    }
    table
}

fn spread(rounds: &[Round]) -> String {
    let each: Vec<f64> = rounds.iter().map(per_second).collect();
    summary(&each).map_or_else(String::new, |summary| {
        let [median, least, most] = [summary.median, summary.least, summary.most].map(figure);
        format!("{median} ({least} to {most})")
    })
}

fn cost(kinds: &[Kind], cases: &[Case], found: &Found<'_>) -> Table {
    let mut table = Table::new(["limit", "proxy", "requests/s", "CPU us/request"]);
    for &case in cases {
        let Some(unlimited) = case.without_limit() else {
            continue;
        };
        for &kind in kinds {
            let [rate, cpu] = found.compare((kind, case), (kind, unlimited));
            table.row([case.name().to_owned(), kind.name().to_owned(), rate, cpu]);
        }
    }
    table
}

fn ratios(kinds: &[Kind], cases: &[Case], found: &Found<'_>) -> Table {
    let mut table = Table::new(["case", "beside", "requests/s", "CPU us/request"]);
    for &case in cases {
        for &kind in kinds.iter().filter(|&&kind| kind != Kind::Tidegate) {
            let [rate, cpu] = found.compare((Kind::Tidegate, case), (kind, case));
            table.row([case.name().to_owned(), kind.name().to_owned(), rate, cpu]);
        }
    }
    table
}
