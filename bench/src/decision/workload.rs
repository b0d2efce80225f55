//! Which keys are asked for, in which order, against which limit.

use std::str;

/// How many keys there are and how they are picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) keys: u32,
    spread: Spread,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spread {
    Even,
    /// Key `k` is asked for 1/k as often as the first.
    Zipf,
}

/// The loads, in the order of the tables.
pub(crate) const LOADS: [Load; 4] = [
    Load {
        name: "hot key",
        keys: 1,
        spread: Spread::Even,
    },
    Load {
        name: "100 k random",
        keys: 100_000,
        spread: Spread::Even,
    },
    Load {
        name: "1 M random",
        keys: 1_000_000,
        spread: Spread::Even,
    },
    Load {
        name: "1 M Zipf",
        keys: 1_000_000,
        spread: Spread::Zipf,
    },
];

/// The different numbers of keys among the loads.
pub(crate) fn key_counts() -> Vec<u32> {
    let mut counts: Vec<u32> = LOADS.iter().map(|load| load.keys).collect();
    counts.dedup();
    counts
}

/// Whether requests find room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Path {
    /// Every decision allows.
    Allowed,
    /// Every decision refuses.
    Denied,
}

impl Path {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    /// The limit of this path, for so many keys.
    ///
    /// On the allowed path it is so slow that no spent key becomes fresh while measured (a table may forget fresh
    /// ones, which would be too easy), and so large that no key runs dry.
    pub(crate) const fn quota(self, keys: u32) -> Quota {
        let (burst, interval_secs) = match (self, keys) {
            (Self::Denied, _) => (2, 3600),
            (Self::Allowed, 1) => (1_000_000_000, 1),
            (Self::Allowed, _) => (30_000_000, 100),
        };
        Quota { burst, interval_secs }
    }
}

/// A bucket of `burst`, one unit of which comes back every interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) burst: u32,
    pub(crate) interval_secs: u64,
}

/// One row of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) load: Load,
    pub(crate) path: Path,
    pub(crate) threads: usize,
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        let threads = if self.threads == 1 {
            "one thread"
        } else {
            "two threads"
        };
        format!("{}, {}, {}", self.load.name, self.path.name(), threads)
    }
}

/// A key as a request carries it: sixteen characters, written anew for each decision.
pub(crate) struct Name {
    /// Sixteen hexadecimal digits.
    pub(crate) text: String,
    /// The same as a number, for limiters that are asked with numbers.
    pub(crate) number: u64,
}

impl Name {
    pub(crate) fn new() -> Self {
        Self {
            text: String::with_capacity(16),
            number: 0,
        }
    }

    /// Writes the name of key `index` over the last one.
    #[inline]
    pub(crate) fn write(&mut self, index: u32) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.number = mix(u64::from(index));
        let mut digits = [0; 16];
        for (place, digit) in digits.iter_mut().enumerate() {
            *digit = DIGITS[(self.number >> (place * 4)) as usize & 15];
        }
        self.text.clear();
        self.text.push_str(str::from_utf8(&digits).unwrap_or_default());
    }
}

/// How many picks are prepared; a power of two.
const PICKS: u32 = 1 << 22;

/// The order in which thread number `thread` asks for the keys of `load`.
pub(crate) fn picks(load: Load, thread: usize) -> Vec<u32> {
    let seed = (thread as u64 + 1) << 40;
    let random = move |index: u32| mix(u64::from(index) ^ seed);
    match (load.keys, load.spread) {
        (1, _) => vec![0; 1024],
        (keys, Spread::Even) => (0..PICKS)
            .map(|index| (random(index) % u64::from(keys)) as u32)
            .collect(),
        (keys, Spread::Zipf) => {
            let reached = zipf_weights_reached(keys);
            let whole = reached.last().copied().unwrap_or(1.0);
            let pick = |index| {
                let point = (random(index) >> 11) as f64 / (1u64 << 53) as f64 * whole;
                (reached.partition_point(|&weight| weight < point) as u32).min(keys - 1)
            };
            (0..PICKS).map(pick).collect()
        }
    }
}

/// The sum of the weights 1, 1/2, 1/3 … up to each key.
fn zipf_weights_reached(keys: u32) -> Vec<f64> {
    let mut sum = 0.0;
    (1..=keys)
        .map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        })
        .collect()
}

/// A number that shares no order with `value` (splitmix64).
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_zipf_the_first_key_is_asked_for_about_twice_as_often_as_the_second() {
        let picks = picks(LOADS[3], 0);
        let times = |key| picks.iter().filter(|&&pick| pick == key).count() as f64;
        assert!((1.9..2.1).contains(&(times(0) / times(1))));
    }

    #[test]
    fn every_name_has_sixteen_digits_and_is_its_own() {
        let mut name = Name::new();
        let texts: std::collections::HashSet<String> = (0..1000)
            .map(|index| {
                name.write(index);
                name.text.clone()
            })
            .collect();
        assert!(texts.len() == 1000 && texts.iter().all(|text| text.len() == 16));
    }
}
