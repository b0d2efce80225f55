//! Who goes when a set is full.

use core::time::Duration;
use std::vec::Vec;

use super::*;
use crate::{KeyHasher, Rate};

const NOW: u64 = 1_700_000_000_000_000_000;

fn key(number: u64) -> Key {
    KeyHasher::new([7; 16]).key(&number.to_le_bytes())
}

fn bucket(quota: u64, burst: u64) -> Bucket {
    let rate = Rate::new(quota, Duration::from_secs(1)).unwrap();
    Bucket::new(rate, burst, Duration::ZERO).unwrap()
}

fn spend(buckets: &Buckets, number: u64, bucket: &Bucket, cost: u64, now: u64) -> Decision {
    let ask = Ask { bucket, cost, now };
    buckets.charge(key(number), ask)
}

/// All entries of the two lines of a place.
fn entries(buckets: &Buckets, place: Place) -> Vec<Entry> {
    [place.home, place.away]
        .into_iter()
        .flat_map(|line| {
            let line = buckets.line(line).lock();
            (0..SLOTS).map(|slot| line.entry(slot)).collect::<Vec<_>>()
        })
        .collect()
}

fn is_anywhere(buckets: &Buckets, entry: &Entry) -> bool {
    buckets.lines.iter().any(|line| {
        let line = line.lock();
        (0..SLOTS).any(|slot| line.entry(slot) == *entry)
    })
}

#[test]
fn an_eviction_finds_no_free_slot_and_takes_the_entry_that_is_missed_least() {
    let buckets = Buckets::new(2 * PAGE * LINE_BYTES, |_, _| {});
    let limits = [bucket(1, 1), bucket(1, 10), bucket(10, 10), bucket(10, 40)];
    let (mut now, mut evictions) = (NOW, 0);
    for number in 0..200_000u64 {
        let mix = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        now += mix % 4_000_000;
        let (limit, cost) = (
            &limits[usize::try_from(mix % 4).unwrap()],
            mix % limits[usize::try_from(mix % 4).unwrap()].burst() + 1,
        );
        let place = buckets.place(key(number));
        let before = entries(&buckets, place);
        spend(&buckets, number, limit, cost, now);
        let after = entries(&buckets, place);

        if buckets.evictions() == evictions {
            let mut gone = before.iter().filter(|entry| !after.contains(entry));
            assert!(
                gone.all(|entry| entry.tat <= now || is_anywhere(&buckets, entry)),
                "one that was not fresh is lost, and not counted"
            );
        } else {
            evictions += 1;
            assert!(before.iter().all(|entry| entry.tat > now), "a slot was free");
            let least = before.iter().map(Entry::worth).min().unwrap();
            let gone: Vec<_> = before.iter().filter(|entry| !after.contains(entry)).collect();
            assert_eq!(gone.len(), 1);
            assert_eq!(gone[0].worth(), least);
        }
        assert!(
            after.iter().any(|entry| entry.tag == place.tag),
            "the newcomer is there"
        );
    }
    assert!(evictions > 1_000, "{evictions} evictions");
}

#[test]
fn at_the_working_load_of_24_bytes_per_key_one_key_in_5000_at_most_puts_another_out() {
    const KEYS: u64 = 1_000_000;
    let buckets = Buckets::new(24 * 1_000_000, |_, _| {});
    let one = bucket(1, 3600);
    for number in 0..KEYS {
        spend(&buckets, number, &one, 1000, NOW);
    }
    assert!(
        buckets.evictions() < KEYS / 5000,
        "{} evictions",
        buckets.evictions()
    );
    assert_eq!(buckets.live(NOW) as u64, KEYS - buckets.evictions());
    let kept = (0..KEYS)
        .filter(|&number| spend(&buckets, number, &one, 0, NOW).remaining == 2600)
        .count() as u64;
    assert_eq!(
        kept,
        KEYS - buckets.evictions(),
        "every key that was not put out is found"
    );
}

#[test]
fn the_way_to_the_other_line_leads_back_and_stays_in_the_page() {
    for number in 0..10_000 {
        let tag = Tag::new(u64::try_from(key(number).hash() >> 64).unwrap());
        for line in [0, 1, PAGE - 1, PAGE, 7 * PAGE + 5] {
            let other = other_line(line, tag);
            assert_ne!(other, line);
            assert_eq!(other / PAGE, line / PAGE);
            assert_eq!(other_line(other, tag), line);
        }
    }
}
