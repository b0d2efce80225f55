//! How long state lives, and how it ends.

use core::time::Duration;

use tidegate_core::{CalendarUnit, Key, Limit, Outcome, Rate};
use tidegate_test_servers::Kind;

use super::server::asking;
use super::{START, Server};

const MINUTE: u64 = 60_000_000;
const DAY: u64 = 86_400_000_000;

fn limits() -> [Limit; 7] {
    let rate = |quota| Rate::new(quota, Duration::from_secs(60)).unwrap();
    [
        Limit::token_bucket(rate(60), 10).unwrap(),
        Limit::token_bucket(rate(7), 10).unwrap(),
        Limit::leaky_bucket(rate(60), 10, Duration::from_secs(5)).unwrap(),
        Limit::fixed_window(rate(10)),
        Limit::sliding_window(rate(10)),
        Limit::sliding_window_log(rate(10)).unwrap(),
        Limit::concurrency(10, Duration::from_secs(60)).unwrap(),
    ]
}

fn lifetime(server: &mut Server, key: Key, limit: &Limit) -> i64 {
    server.of_counters("PTTL", &asking(key, limit, 1, 0, START))[0]
}

#[test]
fn state_lives_until_it_equals_fresh_and_some_seconds_more() {
    for kind in Kind::ALL {
        Server::with(kind, |server| {
            for limit in limits() {
                let key = server.new_key();
                for (number, cost) in (0..).zip([1, 3, 2, 4]) {
                    let now = START + u64::from(number) * 700_000;
                    let decisions = server.charge(&[&asking(key, &limit, cost, number, now)], now);
                    let fresh = i64::try_from(decisions[0].each[0].reset_after.as_millis()).unwrap();
                    let lives = lifetime(server, key, &limit);
                    // Strings have a quarter to spare and seconds, and the server's clock stands still here.
                    let is_string = asking(key, &limit, 0, 0, now).asks[0].limit.kind().is_string();
                    let spare = if is_string { fresh / 4 + 9_000 } else { 0 };
                    assert!(
                        (fresh + 4_900..=fresh + 5_010 + spare).contains(&lives),
                        "{limit:?}: lives {lives} ms, fresh in {fresh}"
                    );
                }
            }
        });
    }
}

#[test]
fn slots_are_freed_by_the_name_of_their_holder_all_of_them_and_once() {
    Server::with(Kind::Redis70, |server| {
        let [.., slots] = limits();
        let key = server.new_key();
        let mine = asking(key, &slots, 3, 1, START);
        let others = asking(key, &slots, 2, 2, START);
        server.charge(&[&mine, &others], START);
        let left = |server: &mut Server| {
            server.charge(&[&asking(key, &slots, 0, 3, START)], START)[0].each[0].remaining
        };
        assert_eq!(left(server), 5);
        assert_eq!([server.release(&mine), server.release(&mine)], [3, 0]);
        assert_eq!(left(server), 8);
    });
}

#[test]
fn a_calendar_day_ends_by_the_store_s_clock_even_where_the_caller_s_is_late() {
    Server::with(Kind::Redis70, |server| {
        let limit = Limit::calendar_window(2, CalendarUnit::Day, "Europe/Berlin").unwrap();
        let key = server.new_key();
        // 23:00 UTC is midnight there.
        let midnight = START - START % DAY + DAY - 60 * MINUTE;
        let late = midnight - MINUTE;
        let take = |server: &mut Server, now| {
            server.charge(&[&asking(key, &limit, 1, 0, late)], now)[0].each[0].outcome
        };
        assert_eq!(
            [take(server, midnight - 1), take(server, midnight - 1)],
            [Outcome::ALLOW; 2]
        );
        let retry_after = Duration::from_micros(1);
        assert_eq!(take(server, midnight - 1), Outcome::Deny { retry_after });
        assert_eq!(take(server, midnight), Outcome::ALLOW);
    });
}

#[test]
fn a_store_whose_clock_is_beyond_the_calendar_sent_decides_nothing_and_spends_nothing() {
    Server::with(Kind::Redis70, |server| {
        let limit = Limit::calendar_window(2, CalendarUnit::Day, "UTC").unwrap();
        let bucket = &limits()[0];
        let (key, other) = (server.new_key(), server.new_key());
        let mut both = asking(other, bucket, 1, 0, START);
        both.asks.extend(asking(key, &limit, 1, 0, START).asks);
        let far = START + 3 * DAY;
        assert_eq!(server.ask(&[&both], far), [None]);
        assert_eq!(server.of_counters::<u8>("EXISTS", &both), [0, 0]);
    });
}

#[test]
fn a_log_takes_sixteen_bytes_for_each_moment_and_forgets_what_is_over() {
    Server::with(Kind::Redis70, |server| {
        let [.., log, _] = limits();
        let key = server.new_key();
        let mut bytes_after = |later: u64| {
            let asked = asking(key, &log, 1, 0, START);
            server.charge(&[&asked], START + later);
            server.of_counters::<u64>("STRLEN", &asked)[0]
        };
        assert_eq!([0, 0, 1, 1, 2].map(&mut bytes_after), [16, 16, 32, 32, 48]);
        // The first two moments are over; one record stands for them.
        assert_eq!(bytes_after(MINUTE + 1), 48);
    });
}

#[test]
fn a_long_log_takes_at_most_twice_what_counts() {
    Server::with(Kind::Redis70, |server| {
        let limit = Limit::sliding_window_log(Rate::new(200, Duration::from_secs(1)).unwrap()).unwrap();
        let key = server.new_key();
        // One each 10 ms: a hundred count at any time.
        for number in 0..1_000 {
            let now = START + number * 10_000;
            let asked = asking(key, &limit, 1, 0, now);
            assert!(server.charge(&[&asked], now)[0].charged);
            let records = server.of_counters::<u64>("STRLEN", &asked)[0] / 16;
            assert!(records <= 202, "{records} after {number}");
        }
    });
}
