//! A limit in words, for people who check what they wrote.

use std::time::Duration;

use tidegate_core::{Algorithm, Limit};

use crate::document::scalar::UNITS;

/// What `limit` allows, in words: `60 per 1 m, burst 10: one every 1 s, full again after 10 s`.
pub fn in_words(limit: &Limit) -> String {
    let quota = limit.quota();
    let window = window(limit);
    match limit.algorithm() {
        Algorithm::TokenBucket => {
            let burst = limit.capacity();
            let (every, refill) = pace(limit);
            format!("{quota} per {window}, burst {burst}: one every {every}, full again after {refill}")
        }
        Algorithm::LeakyBucket => {
            let at_once = limit.capacity();
            let (every, _) = pace(limit);
            let longest = span(limit.max_delay().unwrap_or_default().as_nanos());
            format!(
                "{quota} per {window}: {at_once} at once, then one every {every}; others wait, at most {longest}"
            )
        }
        Algorithm::FixedWindow => format!("{quota} per {window}, counted anew in each"),
        Algorithm::SlidingWindow => format!("{quota} per {window}, in a moving window, estimated"),
        Algorithm::SlidingWindowLog => format!("{quota} per {window}, in any such span, exactly"),
        Algorithm::Concurrency => {
            let ttl = span(limit.ttl().unwrap_or_default().as_nanos());
            format!("{quota} at one time; one that does not end is forgotten after {ttl}")
        }
    }
}

fn window(limit: &Limit) -> String {
    match limit.calendar() {
        Some((unit, zone)) => format!("{} ({zone})", unit.name()),
        None => span(limit.window().unwrap_or_default().as_nanos()),
    }
}

/// How often a bucket gets one unit, and how long it takes to fill.
fn pace(limit: &Limit) -> (String, String) {
    let quota = u128::from(limit.quota()).max(1);
    let window = limit.window().unwrap_or(Duration::ZERO).as_nanos();
    let refill = (window * u128::from(limit.capacity())).div_ceil(quota);
    let every = if window.is_multiple_of(quota) {
        span(window / quota)
    } else {
        // Thousandths of a nanosecond, so that fast rates keep their digits.
        about(window * 1000 / quota, 1000)
    };
    (every, span(refill))
}

/// `nanos` with at most two units, such as `1 h 30 m`; rounded to three digits where that is not exact.
fn span(nanos: u128) -> String {
    let mut left = nanos;
    let mut words = Vec::new();
    for (unit, size) in UNITS {
        let size = u128::from(size);
        if left >= size {
            words.push(format!("{} {unit}", left / size));
            left %= size;
        }
        if words.len() == 2 {
            break;
        }
    }
    if left > 0 {
        return about(nanos, 1);
    }
    if words.is_empty() {
        return "0 s".to_owned();
    }
    words.join(" ")
}

/// `amount / scale` nanoseconds to three digits in the largest unit that fits: `about 8.57 s`.
fn about(amount: u128, scale: u128) -> String {
    let fits = |(_, size): &&(&str, u64)| amount >= u128::from(*size) * scale;
    let Some((unit, size)) = UNITS.iter().find(fits) else {
        return "less than 1 ns".to_owned();
    };
    let unit_amount = u128::from(*size) * scale;
    let whole = amount / unit_amount;
    let hundredths = amount % unit_amount * 100 / unit_amount;
    match whole {
        0..10 => format!("about {whole}.{hundredths:02} {unit}"),
        10..100 => format!("about {whole}.{} {unit}", hundredths / 10),
        _ => format!("about {whole} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{CalendarUnit, Rate};

    use super::*;

    fn rate(quota: u64, window_secs: u64) -> Rate {
        Rate::new(quota, Duration::from_secs(window_secs)).unwrap()
    }

    #[test]
    fn each_algorithm_is_said_in_words() {
        let bucket =
            |quota, window, burst| in_words(&Limit::token_bucket(rate(quota, window), burst).unwrap());
        assert_eq!(
            bucket(60, 60, 10),
            "60 per 1 m, burst 10: one every 1 s, full again after 10 s"
        );
        assert_eq!(
            bucket(1, 2, 10),
            "1 per 2 s, burst 10: one every 2 s, full again after 20 s"
        );
        assert_eq!(
            bucket(7, 60, 7),
            "7 per 1 m, burst 7: one every about 8.57 s, full again after 1 m"
        );
        assert_eq!(
            bucket(3_000_000, 1, 1),
            "3000000 per 1 s, burst 1: one every about 333 ns, full again after 334 ns"
        );

        let leaky = Limit::leaky_bucket(rate(10, 1), 1, Duration::from_millis(1500)).unwrap();
        assert_eq!(
            in_words(&leaky),
            "10 per 1 s: 1 at once, then one every 100 ms; others wait, at most 1 s 500 ms"
        );
        assert_eq!(
            in_words(&Limit::fixed_window(rate(100, 5400))),
            "100 per 1 h 30 m, counted anew in each"
        );
        let day = Limit::calendar_window(1000, CalendarUnit::Day, "Europe/Berlin").unwrap();
        assert_eq!(
            in_words(&day),
            "1000 per day (Europe/Berlin), counted anew in each"
        );
        let sliding = Limit::sliding_window(rate(5, 60));
        assert_eq!(in_words(&sliding), "5 per 1 m, in a moving window, estimated");
        let log = Limit::sliding_window_log(rate(5, 60)).unwrap();
        assert_eq!(in_words(&log), "5 per 1 m, in any such span, exactly");
        let slots = Limit::concurrency(20, Duration::from_secs(300)).unwrap();
        assert_eq!(
            in_words(&slots),
            "20 at one time; one that does not end is forgotten after 5 m"
        );
    }

    #[test]
    fn spans_are_exact_with_two_units_and_rounded_beyond() {
        assert_eq!(span(0), "0 s");
        assert_eq!(span(90_000_000_000), "1 m 30 s");
        assert_eq!(span(3_661_000_000_000), "about 1.01 h");
        assert_eq!(span(1), "1 ns");
    }
}
