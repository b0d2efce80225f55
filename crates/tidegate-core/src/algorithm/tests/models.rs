//! What each algorithm promises, written from its definition: slow, exact, with all history, in rational numbers
//! where the definition divides.

use std::vec::Vec;

use num_rational::BigRational;

/// The exact promise of a limit.
pub(super) trait Model {
    /// How long `cost` would have to wait at `now`; `None` if it would be refused.
    fn wait(&self, cost: u64, now: u64) -> Option<u64>;
    fn admit(&mut self, cost: u64, hold: u64, now: u64);
    /// Whether nothing of what was spent counts any more.
    fn untouched(&self, now: u64) -> bool;
    /// Makes `units` unspent, the latest of those that count first.
    fn refund(&mut self, units: u64, now: u64);
    fn release(&mut self, _hold: u64) {}
}

pub(super) fn rational(n: u64) -> BigRational {
    BigRational::from_integer(n.into())
}

/// A bucket of `burst` into which `quota` per `window` flow, exactly, on the clock that [`Bucket::lattice`] tells.
pub(super) struct Bucket {
    quota: u64,
    window: u64,
    burst: u64,
    max_delay: u64,
    full_at: BigRational,
}

impl Bucket {
    pub(super) fn new(quota: u64, window: u64, burst: u64, max_delay: u64) -> Self {
        Self {
            quota,
            window,
            burst,
            max_delay,
            full_at: rational(0),
        }
    }

    fn cell(&self) -> BigRational {
        rational(self.window) / rational(self.quota)
    }

    /// `now` as one of the moments `n·window/quota + k`, with whole `n` and whole `k` below the length of a cell: nanoseconds
    /// are counted from the exact beginning of a cell, and one too many for some cells is the beginning of the next.
    /// Less than a nanosecond from `now`, before or after.
    pub(super) fn lattice(&self, now: u64) -> BigRational {
        let cells = (rational(now) / self.cell()).floor();
        let since = rational(now) - (&cells * self.cell()).ceil();
        if since < self.cell().floor() {
            cells * self.cell() + since
        } else {
            (cells + rational(1)) * self.cell()
        }
    }
}

impl Model for Bucket {
    fn wait(&self, cost: u64, now: u64) -> Option<u64> {
        let enough_at = &self.full_at - self.cell() * rational(self.burst.checked_sub(cost)?);
        if enough_at <= self.lattice(now) {
            return Some(0);
        }
        let wait = enough_at.ceil() - rational(now);
        (wait <= rational(self.max_delay)).then(|| u64::try_from(wait.to_integer()).unwrap())
    }

    fn admit(&mut self, cost: u64, _hold: u64, now: u64) {
        let from = self.full_at.clone().max(self.lattice(now));
        self.full_at = from + rational(cost) * self.cell();
    }

    fn refund(&mut self, units: u64, _now: u64) {
        self.full_at -= rational(units) * self.cell();
    }

    fn untouched(&self, now: u64) -> bool {
        self.full_at <= self.lattice(now)
    }
}

/// A spending. `now` is the key's clock: not before any spending before it.
#[derive(Clone, Copy)]
pub(super) struct Spent {
    pub(super) at: u64,
    pub(super) units: u64,
    pub(super) hold: u64,
}

fn clock(spent: &[Spent], now: u64) -> u64 {
    spent.iter().map(|spent| spent.at).max().unwrap_or(0).max(now)
}

/// Makes `units` of the spendings unspent, in their order. Those of no units still tell how late it was.
fn unspend<'a>(mut units: u64, spent: impl Iterator<Item = &'a mut Spent>) {
    for spending in spent {
        let taken = units.min(spending.units);
        spending.units -= taken;
        units -= taken;
    }
}

fn sum<'a>(spent: impl Iterator<Item = &'a Spent>) -> u64 {
    spent.map(|spent| spent.units).sum()
}

/// At most `quota` among the spendings to which `window_of` gives the same window.
pub(super) struct FixedWindow<F> {
    pub(super) quota: u64,
    pub(super) window_of: F,
    pub(super) spent: Vec<Spent>,
}

impl<W: PartialEq, F: Fn(u64) -> W> FixedWindow<F> {
    pub(super) fn new(quota: u64, window_of: F) -> Self {
        Self {
            quota,
            window_of,
            spent: Vec::new(),
        }
    }

    fn used(&self, now: u64) -> u64 {
        let window = (self.window_of)(clock(&self.spent, now));
        sum(self
            .spent
            .iter()
            .filter(|spent| (self.window_of)(spent.at) == window))
    }
}

impl<W: PartialEq, F: Fn(u64) -> W> Model for FixedWindow<F> {
    fn wait(&self, cost: u64, now: u64) -> Option<u64> {
        (cost <= self.quota - self.used(now)).then_some(0)
    }

    fn admit(&mut self, units: u64, hold: u64, now: u64) {
        let at = clock(&self.spent, now);
        self.spent.push(Spent { at, units, hold });
    }

    fn untouched(&self, now: u64) -> bool {
        self.used(now) == 0
    }

    fn refund(&mut self, units: u64, _now: u64) {
        unspend(units, self.spent.iter_mut().rev());
    }
}

/// At most `quota` by the estimate: this window's count, and of the last window's the fraction of this window still to come.
pub(super) struct SlidingWindow {
    pub(super) quota: u64,
    pub(super) window: u64,
    pub(super) spent: Vec<Spent>,
}

impl SlidingWindow {
    fn estimate(&self, now: u64) -> BigRational {
        let now = clock(&self.spent, now);
        let (this, elapsed) = (now / self.window, now % self.window);
        let in_window = |index| sum(self.spent.iter().filter(|spent| spent.at / self.window == index));
        let last = this.checked_sub(1).map_or(0, in_window);
        let to_come = rational(1) - rational(elapsed) / rational(self.window);
        rational(in_window(this)) + rational(last) * to_come
    }
}

impl Model for SlidingWindow {
    fn wait(&self, cost: u64, now: u64) -> Option<u64> {
        (self.estimate(now) + rational(cost) <= rational(self.quota)).then_some(0)
    }

    fn admit(&mut self, units: u64, hold: u64, now: u64) {
        let at = clock(&self.spent, now);
        self.spent.push(Spent { at, units, hold });
    }

    fn untouched(&self, now: u64) -> bool {
        self.estimate(now) == rational(0)
    }

    fn refund(&mut self, units: u64, _now: u64) {
        unspend(units, self.spent.iter_mut().rev());
    }
}

/// At most `capacity` spent, and not released, in the last `span`: a log, or slots with a time to live.
pub(super) struct Recent {
    pub(super) capacity: u64,
    pub(super) span: u64,
    pub(super) spent: Vec<Spent>,
    pub(super) first: First,
}

/// Which spendings are given back first.
#[derive(Clone, Copy)]
pub(super) enum First {
    Latest,
    Earliest,
}

impl Recent {
    pub(super) fn used(&self, now: u64) -> u64 {
        let now = clock(&self.spent, now);
        sum(self.spent.iter().filter(|spent| now - spent.at < self.span))
    }
}

impl Model for Recent {
    fn wait(&self, cost: u64, now: u64) -> Option<u64> {
        (self.used(now) + cost <= self.capacity).then_some(0)
    }

    fn admit(&mut self, units: u64, hold: u64, now: u64) {
        let at = clock(&self.spent, now);
        self.spent.retain(|spent| at - spent.at < self.span);
        self.spent.push(Spent { at, units, hold });
    }

    fn untouched(&self, now: u64) -> bool {
        self.used(now) == 0
    }

    fn refund(&mut self, units: u64, now: u64) {
        let now = clock(&self.spent, now);
        self.spent.retain(|spent| now - spent.at < self.span);
        match self.first {
            First::Latest => unspend(units, self.spent.iter_mut().rev()),
            First::Earliest => unspend(units, self.spent.iter_mut()),
        }
        self.spent.retain(|spent| spent.units > 0);
    }

    fn release(&mut self, hold: u64) {
        self.spent.retain(|spent| spent.hold != hold);
    }
}
