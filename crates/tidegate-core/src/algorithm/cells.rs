//! Time cut into cells of one unit each, without rounding the rate.
//!
//! A window of `w` nanoseconds in which `q` units come back is cut into `q` cells; cell `n`, counted from the epoch,
//! begins at `ceil(n·w/q)`. Cells differ by at most one nanosecond in length and `q` of them are exactly one window,
//! so counting in cells never drifts, and a position is still a plain nanosecond that means the same under every limit.
//!
//! A moment is a cell and a phase (the nanoseconds since its cell began). A phase that only the longer cells have
//! settles to the beginning of the next cell, one nanosecond later. Then each phase exists in every cell, and going `n`
//! units ahead is going to cell `+ n` at the same phase: `ahead(ahead(x, a), b) == ahead(x, a + b)`, exactly.

use crate::limit::{LimitError, Rate};

/// The cells of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// The quota divides the window: all cells are `interval` long, so only differences matter.
    Even { interval: u64 },
    /// `quota` cells in `window`, in lowest terms; the shorter of them are `shortest` long.
    Uneven { quota: u64, window: u64, shortest: u64 },
}

/// A moment in units: whole cells since the epoch, and nanoseconds since the last one began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    cell: u64,
    phase: u64,
}

impl Cells {
    /// # Errors
    /// [`LimitError::TooFast`]: cells shorter than a nanosecond cannot be told apart.
    pub(crate) fn new(rate: Rate) -> Result<Self, LimitError> {
        let (quota, window) = (rate.quota(), rate.window_ns());
        if quota > window {
            return Err(LimitError::TooFast);
        }
        let divisor = greatest_common_divisor(quota, window);
        let (quota, window) = (quota / divisor, window / divisor);
        Ok(if quota == 1 {
            Self::Even { interval: window }
        } else {
            Self::Uneven {
                quota,
                window,
                shortest: window / quota,
            }
        })
    }

    /// The most nanoseconds that `units` can take, from any moment.
    pub(crate) fn longest(&self, units: u64) -> u128 {
        match *self {
            Self::Even { interval } => u128::from(interval) * u128::from(units),
            Self::Uneven { quota, window, .. } => {
                (u128::from(units) * u128::from(window)).div_ceil(u128::from(quota))
            }
        }
    }

    /// The moment `units` after the one that `from` settles to.
    #[inline]
    pub(crate) fn ahead(&self, from: u64, units: u64) -> u64 {
        match *self {
            Self::Even { interval } => from.saturating_add(units.saturating_mul(interval)),
            Self::Uneven { .. } => {
                let Position { cell, phase } = self.position(from);
                self.instant(Position {
                    cell: cell.saturating_add(units),
                    phase,
                })
            }
        }
    }

    /// The moment `units` before the one that `from` settles to; the epoch if there is none.
    #[inline]
    pub(crate) fn behind(&self, from: u64, units: u64) -> u64 {
        match *self {
            Self::Even { interval } => from.saturating_sub(units.saturating_mul(interval)),
            Self::Uneven { .. } => {
                let Position { cell, phase } = self.position(from);
                cell.checked_sub(units)
                    .map_or(0, |cell| self.instant(Position { cell, phase }))
            }
        }
    }

    /// The first moment that settles where `at` does: `at`, or one nanosecond before.
    pub(crate) fn earliest(&self, at: u64) -> u64 {
        match self {
            Self::Even { .. } => at,
            Self::Uneven { .. } => {
                let before = at.saturating_sub(1);
                if self.position(before) == self.position(at) {
                    before
                } else {
                    at
                }
            }
        }
    }

    /// The fewest units that lead from `from` to `to` or beyond; 0 if `to` is not later.
    #[inline]
    pub(crate) fn units_between(&self, from: u64, to: u64) -> u64 {
        if to <= from {
            return 0;
        }
        match *self {
            Self::Even { interval } => (to - from).div_ceil(interval),
            Self::Uneven { .. } => {
                let (from, to) = (self.position(from), self.position(to));
                to.cell
                    .saturating_sub(from.cell)
                    .saturating_add(u64::from(to.phase > from.phase && to.cell >= from.cell))
            }
        }
    }

    /// Where `at` settles.
    fn position(&self, at: u64) -> Position {
        let Self::Uneven {
            quota,
            window,
            shortest,
        } = *self
        else {
            return Position { cell: 0, phase: 0 };
        };
        let (windows, rest) = (at / window, at % window);
        let within = floor_div(rest, quota, window);
        let phase = rest - ceil_div(within, window, quota);
        let cell = windows * quota + within;
        if phase < shortest {
            Position { cell, phase }
        } else {
            Position {
                cell: cell + 1,
                phase: 0,
            }
        }
    }

    fn instant(&self, Position { cell, phase }: Position) -> u64 {
        let Self::Uneven { quota, window, .. } = *self else {
            return 0;
        };
        let (windows, within) = (cell / quota, cell % quota);
        windows
            .saturating_mul(window)
            .saturating_add(ceil_div(within, window, quota))
            .saturating_add(phase)
    }
}

/// `floor(a·b/c)` for `a < c` or `b <= c`, so that it fits.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a·b/c <= max(a, b) by the callers' bounds"
)]
fn floor_div(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => (u128::from(a) * u128::from(b) / u128::from(c)) as u64,
    }
}

/// `ceil(a·b/c)` for `a < c`, so that it fits.
#[allow(clippy::cast_possible_truncation, reason = "a < c, so a·b/c < b")]
fn ceil_div(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.div_ceil(c),
        None => (u128::from(a) * u128::from(b)).div_ceil(u128::from(c)) as u64,
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn cells(quota: u64, window_ns: u64) -> Cells {
        Cells::new(Rate::new(quota, Duration::from_nanos(window_ns)).unwrap()).unwrap()
    }

    fn settle(cells: &Cells, at: u64) -> u64 {
        cells.ahead(at, 0)
    }

    #[test]
    fn three_cells_of_a_window_of_ten_begin_at_0_4_7() {
        let cells = cells(3, 10);
        assert_eq!(
            [
                cells.ahead(0, 1),
                cells.ahead(0, 2),
                cells.ahead(0, 3),
                cells.ahead(0, 4)
            ],
            [4, 7, 10, 14]
        );
        assert_eq!(settle(&cells, 3), 4, "phase 3 exists only in the first cell");
        assert_eq!(settle(&cells, 2), 2);
    }

    #[test]
    fn a_billion_windows_are_a_billion_windows() {
        let cells = cells(7, 1_000_000_000);
        assert_eq!(cells.ahead(5, 7_000_000_000), 5 + 1_000_000_000 * 1_000_000_000);
    }

    proptest! {
        #[test]
        fn going_ahead_in_steps_is_going_ahead_at_once(
            quota in 1u64..1_000_000, window in 1_000_000u64..1_000_000_000_000, from in 0..i64::MAX as u64, a in 0u64..1000, b in 0u64..1000,
        ) {
            let cells = cells(quota, window);
            let from = settle(&cells, from);
            prop_assert_eq!(settle(&cells, from), from);
            prop_assert_eq!(cells.ahead(cells.ahead(from, a), b), cells.ahead(from, a + b));
            prop_assert_eq!(cells.behind(cells.ahead(from, a), a), from);
            prop_assert_eq!(cells.units_between(from, cells.ahead(from, a)), a);
        }

        #[test]
        fn a_span_of_units_is_the_exact_time_within_a_nanosecond(
            quota in 1u64..1_000_000, window in 1_000_000u64..1_000_000_000_000, from in 0..i64::MAX as u64, n in 0u64..1_000_000,
        ) {
            let cells = cells(quota, window);
            let from = settle(&cells, from);
            let span = u128::from(cells.ahead(from, n) - from) * u128::from(quota);
            let exact = u128::from(n) * u128::from(window);
            prop_assert!(span.abs_diff(exact) < u128::from(quota), "{} units took {}/{} ns, exactly {}/{}", n, span, quota, exact, quota);
        }
    }
}
