//! The buckets of one batch: their lines held, their tats changed aside until all are written.

use smallvec::SmallVec;

use crate::algorithm::bucket::Bucket;
use crate::table::buckets::{Ask, Buckets, Pair, Place};
use crate::table::line::Locked;
use crate::{Decision, Key};

/// Holds the lines of a batch's buckets and a working copy of each.
pub(super) struct BucketBatch<'t, 'c> {
    buckets: &'t Buckets,
    now: u64,
    accounts: SmallVec<[Account<'c>; 4]>,
    held: Held<'t>,
}

/// A bucket in a batch. Two charges on one key share it.
struct Account<'c> {
    key: Key,
    place: Place,
    /// The limit of the last charge that spent.
    bucket: &'c Bucket,
    slot: Option<Slot>,
    found: u64,
    /// What the charges so far leave.
    spent: u64,
}

#[derive(Clone, Copy)]
struct Slot {
    line: usize,
    slot: usize,
}

impl<'t, 'c> BucketBatch<'t, 'c> {
    pub(super) fn new(buckets: &'t Buckets, now: u64) -> Self {
        Self {
            buckets,
            now,
            accounts: SmallVec::new(),
            held: Held::default(),
        }
    }

    /// Opens an account for `key`, unless an earlier charge did.
    pub(super) fn open(&mut self, key: Key, bucket: &'c Bucket) {
        if self.accounts.iter().any(|account| account.key == key) {
            return;
        }
        self.accounts.push(Account {
            key,
            place: self.buckets.place(key),
            bucket,
            slot: None,
            found: 0,
            spent: 0,
        });
    }

    /// Holds the home of every account, and the other line of those that are not at home, and reads what is there.
    pub(super) fn lock(&mut self) {
        self.held.lock(
            self.buckets,
            self.accounts.iter().map(|account| account.place.home),
        );
        if !self.try_lock_away() {
            self.held.clear();
            let both = self
                .accounts
                .iter()
                .flat_map(|account| [account.place.home, account.place.away]);
            self.held.lock(self.buckets, both);
        }
        for account in &mut self.accounts {
            account.slot = self.held.find(account.place);
            account.found = account.slot.map_or(0, |at| {
                self.held.line(at.line).map_or(0, |line| line.tat(at.slot))
            });
            account.spent = account.found;
        }
    }

    /// False if another thread holds one of them. Waiting for it here could be waiting for each other.
    fn try_lock_away(&mut self) -> bool {
        self.accounts.iter().all(|Account { place, .. }| {
            let at_home = self
                .held
                .line(place.home)
                .is_some_and(|line| line.find(place.tag).is_some());
            at_home || self.held.try_lock(self.buckets, place.away)
        })
    }

    /// Decides on the working copy.
    pub(super) fn decide(&mut self, key: Key, bucket: &'c Bucket, cost: u64) -> Decision {
        let mut account = self.accounts.iter_mut().find(|account| account.key == key);
        let spent = account.as_ref().map_or(0, |account| account.spent);
        let step = bucket.decide(spent, cost, self.now);
        if let (Some(account), Some(tat)) = (&mut account, step.next_tat) {
            account.spent = tat;
            account.bucket = bucket;
        }
        step.decision
    }

    /// What the working copy holds.
    pub(super) fn look(&self, key: Key, bucket: &Bucket) -> Decision {
        let account = self.accounts.iter().find(|account| account.key == key);
        bucket
            .decide(account.map_or(0, |account| account.spent), 0, self.now)
            .decision
    }

    /// Forgets what was spent.
    pub(super) fn undo(&mut self) {
        for account in &mut self.accounts {
            account.spent = account.found;
        }
    }

    /// Writes every working copy that differs, those already in the table first: a new one may take any slot.
    pub(super) fn write(&self) {
        let changed = || {
            self.accounts
                .iter()
                .filter(|account| account.spent != account.found)
        };
        for account in changed() {
            if let Some(at) = account.slot
                && let Some(line) = self.held.line(at.line)
            {
                line.write(at.slot, self.ask(account).entry(account.place.tag, account.spent));
            }
        }
        for account in changed().filter(|account| account.slot.is_none()) {
            let place = account.place;
            if let (Some(home), Some(away)) = (self.held.line(place.home), self.held.line(place.away)) {
                let entry = self.ask(account).entry(place.tag, account.spent);
                self.buckets.put(Pair { place, home, away }, entry, self.now);
            }
        }
    }

    fn ask(&self, account: &Account<'c>) -> Ask<'c> {
        Ask {
            bucket: account.bucket,
            cost: 0,
            now: self.now,
        }
    }
}

/// Locked lines, by rising index.
#[derive(Default)]
struct Held<'t>(SmallVec<[(usize, Locked<'t>); 8]>);

impl<'t> Held<'t> {
    /// Waits for all of them, in rising order as everybody does. Holds none before.
    fn lock(&mut self, buckets: &'t Buckets, wanted: impl Iterator<Item = usize>) {
        let mut wanted: SmallVec<[usize; 8]> = wanted.collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.0.extend(
            wanted
                .into_iter()
                .map(|index| (index, buckets.line(index).lock())),
        );
    }

    /// Whether the line is held now.
    fn try_lock(&mut self, buckets: &'t Buckets, index: usize) -> bool {
        let Err(position) = self.position(index) else {
            return true;
        };
        let Some(line) = buckets.line(index).try_lock() else {
            return false;
        };
        self.0.insert(position, (index, line));
        true
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn line(&self, index: usize) -> Option<&Locked<'t>> {
        self.position(index).ok().map(|position| &self.0[position].1)
    }

    fn find(&self, place: Place) -> Option<Slot> {
        [place.home, place.away].into_iter().find_map(|line| {
            let slot = self.line(line)?.find(place.tag)?;
            Some(Slot { line, slot })
        })
    }

    fn position(&self, index: usize) -> Result<usize, usize> {
        self.0.binary_search_by_key(&index, |&(held, _)| held)
    }
}
