//! What was measured, as tables.

use super::limiter::Kind;
use super::workload::Path;
use super::{Kept, Measured};
use crate::report::{Table, figure};
use crate::stats::{paired_ratio, summary};

/// Prints the tables of both paths, and of memory.
pub(crate) fn print(kinds: &[Kind], measured: &[Measured], kept: &[Kept]) {
    for path in [Path::Allowed, Path::Denied] {
        let of_path: Vec<&Measured> = measured
            .iter()
            .filter(|measured| measured.cell.path == path)
            .collect();
        if !of_path.is_empty() {
            nanos_table(kinds, &of_path).print(&format!(
                "ns per decision and thread, {} path: median (least to most)",
                path.name()
            ));
            ratio_table(kinds, &of_path).print(&format!(
                "times Tidegate's time, {} path: median of the rounds' ratios; above 1 is slower than Tidegate",
                path.name()
            ));
        }
    }
    kept_table(kept).print("memory after one charge for each key");
}

/// The measurements of one row: they stand together, in the order of the columns.
fn rows<'a>(kinds: &[Kind], measured: &'a [&'a Measured]) -> impl Iterator<Item = &'a [&'a Measured]> {
    measured.chunks(kinds.len().max(1))
}

fn row_head(row: &[&Measured]) -> Vec<String> {
    let cell = row.first().map(|first| first.cell);
    cell.map_or_else(Vec::new, |cell| {
        vec![cell.load.name.to_owned(), cell.threads.to_string()]
    })
}

fn heads(kinds: &[Kind]) -> Vec<String> {
    let names = kinds.iter().map(|kind| kind.name().to_owned());
    ["keys".to_owned(), "threads".to_owned()]
        .into_iter()
        .chain(names)
        .collect()
}

fn nanos_table(kinds: &[Kind], measured: &[&Measured]) -> Table {
    let mut table = Table::new(heads(kinds));
    for row in rows(kinds, measured) {
        let cells = row.iter().map(|measured| nanos_cell(measured));
        table.row(row_head(row).into_iter().chain(cells));
    }
    table
}

fn nanos_cell(measured: &Measured) -> String {
    let Some(nanos) = summary(&measured.nanos) else {
        return "-".to_owned();
    };
    let cell = format!(
        "{} ({} to {})",
        figure(nanos.median),
        figure(nanos.least),
        figure(nanos.most)
    );
    let expected = f64::from(u8::from(measured.cell.path == Path::Allowed));
    if measured.kind == Kind::Null || (measured.allowed - expected).abs() < 0.000_05 {
        cell
    } else {
        format!("{cell}, {:.2} % allowed", measured.allowed * 100.0)
    }
}

fn ratio_table(kinds: &[Kind], measured: &[&Measured]) -> Table {
    let others: Vec<Kind> = kinds
        .iter()
        .copied()
        .filter(|kind| !matches!(kind, Kind::Tidegate | Kind::Null))
        .collect();
    let mut table = Table::new(heads(&others).into_iter().chain(["best peer".to_owned()]));
    for row in rows(kinds, measured) {
        let ratios: Vec<(Kind, f64)> = others.iter().map(|&kind| (kind, ratio(row, kind))).collect();
        let cells = ratios.iter().map(|(_, ratio)| figure(*ratio));
        let peers = ratios.iter().filter(|(kind, _)| kind.is_peer());
        let best = peers.map(|(_, ratio)| *ratio).fold(f64::NAN, f64::min);
        table.row(row_head(row).into_iter().chain(cells).chain([figure(best)]));
    }
    table
}

fn ratio(row: &[&Measured], kind: Kind) -> f64 {
    let of = |kind: Kind| row.iter().find(|measured| measured.kind == kind);
    let (Some(peer), Some(ours)) = (of(kind), of(Kind::Tidegate)) else {
        return f64::NAN;
    };
    paired_ratio(&peer.nanos, &ours.nanos).unwrap_or(f64::NAN)
}

fn kept_table(kept: &[Kept]) -> Table {
    let mut table = Table::new([
        "limiter",
        "keys",
        "bytes per key (resident)",
        "spent keys forgotten",
    ]);
    for kept in kept
        .iter()
        .filter(|kept| kept.keys > 1 && kept.kind != Kind::Null)
    {
        let forgotten = kept.forgotten.map(|share| format!("{:.3} %", share * 100.0));
        table.row([
            kept.kind.name().to_owned(),
            kept.keys.to_string(),
            figure(kept.bytes_per_key),
            forgotten.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table
}
