//! Calendar windows, in zones whose clocks do odd things.
#![cfg(feature = "calendar")]

use core::time::Duration;
use std::string::ToString;
use std::vec::Vec;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;

use super::against_models::agree;
use super::counter::Counter;
use super::models;
use super::operations::{moments, operations};
use crate::algorithm::calendar::Calendar;
use crate::{CalendarUnit, Limit, LimitError};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;

/// Clocks change at night, at midnight, by half an hour, never; offsets of three quarters of an hour; a day that never was.
const ZONES: [&str; 10] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Africa/Cairo",
    "America/Havana",
    "Pacific/Kiritimati",
];

const UNITS: [CalendarUnit; 3] = [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month];

fn at(text: &str) -> u64 {
    let instant: jiff::Timestamp = text.parse().unwrap();
    u64::try_from(instant.as_nanosecond()).unwrap()
}

/// The date on which the window of `at` begins, by the local date alone.
fn first_date(unit: CalendarUnit, zone: &TimeZone, at: u64) -> jiff::civil::Date {
    let date = zone
        .to_datetime(jiff::Timestamp::from_nanosecond(at.into()).unwrap())
        .date();
    match unit {
        CalendarUnit::Day => date,
        CalendarUnit::Week => date.iso_week_date().first_of_week().unwrap().date(),
        CalendarUnit::Month => date.first_of_month(),
    }
}

proptest! {
    #[test]
    fn a_calendar_window_counts_what_its_local_dates_hold(
        quota in 1..12u64,
        unit in prop::sample::select(&UNITS[..]),
        zone in prop::sample::select(&ZONES[..]),
        start in 100 * 24 * HOUR..50_000 * 24 * HOUR,
        operations in operations(),
    ) {
        let limit = Limit::calendar_window(quota, unit, zone).unwrap();
        // The same database: the one of the system may be older.
        let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
        let model = models::FixedWindow::new(quota, |at| first_date(unit, &zone, at));
        let end = i64::MAX as u64 / 2;
        let operations: Vec<_> =
            moments(&operations, start, 20 * HOUR).into_iter().take_while(|&(now, _)| now < end).collect();
        agree(limit, model, &operations)?;
    }

    #[test]
    fn the_windows_of_every_zone_follow_each_other_without_a_gap(
        unit in prop::sample::select(&UNITS[..]),
        zone in prop::sample::select(TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect::<Vec<_>>()),
        at in 100 * 24 * HOUR..50_000 * 24 * HOUR,
    ) {
        let calendar = Calendar::new(unit, &zone).unwrap();
        let span = calendar.span(at);
        prop_assert!(span.start <= at && at < span.end, "{:?} does not hold {}", span, at);
        prop_assert_eq!(calendar.span(span.end).start, span.end);
        prop_assert_eq!(calendar.span(span.start), span);
        prop_assert_eq!(calendar.span(span.start - 1).end, span.start);
        prop_assert_eq!(calendar.span(span.end - 1), span);
    }
}

/// How long the day of `at` is, in hours.
fn day_length(zone: &str, text: &str) -> f64 {
    let span = Calendar::new(CalendarUnit::Day, zone).unwrap().span(at(text));
    (span.end - span.start) as f64 / HOUR as f64
}

#[test]
fn days_on_which_clocks_change_are_shorter_or_longer() {
    assert_eq!(day_length("Europe/Berlin", "2026-03-28T12:00:00Z"), 24.0);
    assert_eq!(day_length("Europe/Berlin", "2026-03-29T12:00:00Z"), 23.0);
    assert_eq!(day_length("Europe/Berlin", "2026-10-25T12:00:00Z"), 25.0);
    assert_eq!(day_length("Australia/Lord_Howe", "2026-10-04T00:00:00Z"), 23.5);
    assert_eq!(
        day_length("America/Havana", "2024-11-03T12:00:00Z"),
        25.0,
        "midnight comes twice"
    );
}

#[test]
fn a_day_whose_midnight_is_skipped_begins_where_clocks_went_to() {
    let calendar = Calendar::new(CalendarUnit::Day, "America/Sao_Paulo").unwrap();
    let span = calendar.span(at("2018-11-04T12:00:00Z"));
    assert_eq!(span.start, at("2018-11-04T03:00:00Z"), "00:00 became 01:00");
    assert_eq!(span.end, at("2018-11-05T02:00:00Z"));
}

#[test]
fn a_date_that_never_was_is_no_window() {
    let calendar = Calendar::new(CalendarUnit::Day, "Pacific/Apia").unwrap();
    let span = calendar.span(at("2011-12-30T09:00:00Z"));
    assert_eq!(
        span.end,
        at("2011-12-30T10:00:00Z"),
        "the 29th ends where the 31st begins"
    );
    assert_eq!(calendar.span(span.end).end, at("2011-12-31T10:00:00Z"));
}

#[test]
fn a_day_begins_once_where_clocks_go_back_over_midnight() {
    // At 00:01 clocks went back to 23:01 of the day before.
    let calendar = Calendar::new(CalendarUnit::Day, "America/St_Johns").unwrap();
    let begin = at("2010-11-07T02:30:00Z");
    assert_eq!(calendar.span(begin).start, begin);
    assert_eq!(
        calendar.span(begin + HOUR / 2).start,
        begin,
        "23:30 for the second time"
    );
    assert_eq!(calendar.span(begin - 1).end, begin);
}

#[test]
fn weeks_begin_on_monday_and_months_on_the_first() {
    let now = at("2026-02-18T15:00:00Z");
    let span = |unit| Calendar::new(unit, "Asia/Kathmandu").unwrap().span(now);
    assert_eq!(span(CalendarUnit::Week).start, at("2026-02-15T18:15:00Z"));
    assert_eq!(span(CalendarUnit::Month).start, at("2026-01-31T18:15:00Z"));
    assert_eq!(span(CalendarUnit::Month).end, at("2026-02-28T18:15:00Z"));
}

#[test]
fn a_month_is_over_when_it_is_over_there() {
    let mut counter =
        Counter::new(Limit::calendar_window(5, CalendarUnit::Month, "America/New_York").unwrap());
    let now = at("2026-12-31T23:00:00Z");
    assert!(counter.admits(5, now) && !counter.admits(1, now));
    assert_eq!(counter.look(0, now).reset_after, Duration::from_secs(6 * 3_600));
    assert!(!counter.admits(1, at("2027-01-01T04:59:59Z")));
    assert!(counter.admits(5, at("2027-01-01T05:00:00Z")));
}

#[test]
fn the_first_and_the_last_window_of_time_are_cut_where_time_is() {
    for zone in ZONES {
        for unit in UNITS {
            let calendar = Calendar::new(unit, zone).unwrap();
            assert_eq!(calendar.span(0).start, calendar.span(1).start);
            let last = calendar.span(i64::MAX as u64);
            assert!(
                last.start <= i64::MAX as u64 && last.end > i64::MAX as u64,
                "{zone} {last:?}"
            );
        }
    }
}

#[test]
fn a_calendar_limit_tells_its_unit_and_zone() {
    let limit = Limit::calendar_window(5, CalendarUnit::Week, "europe/berlin").unwrap();
    assert_eq!(limit.calendar(), Some((CalendarUnit::Week, "Europe/Berlin")));
    assert_eq!((limit.quota(), limit.window(), limit.burst()), (5, None, None));
    assert_eq!(
        Limit::calendar_window(0, CalendarUnit::Day, "UTC"),
        Err(LimitError::ZeroQuota)
    );
    let unknown = Limit::calendar_window(1, CalendarUnit::Day, "Mars/Olympus").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown time zone: write an IANA name, such as Europe/Berlin or UTC"
    );
}
