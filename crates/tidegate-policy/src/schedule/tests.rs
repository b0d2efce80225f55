use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use tidegate_core::Timestamp;

use super::{Hours, Schedule, Span, Weekdays};

fn at(text: &str) -> Timestamp {
    let instant: jiff::Timestamp = text.parse().unwrap();
    Timestamp::from_nanos(u64::try_from(instant.as_nanosecond()).unwrap())
}

fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

fn schedule(days: Weekdays, from: u16, to: u16, zone_name: &str) -> Schedule {
    Schedule::new(vec![Span {
        days,
        hours: Hours { from, to },
        zone: zone(zone_name),
    }])
}

#[test]
fn office_hours_begin_and_end_on_their_minute() {
    let weekdays = Weekdays::NONE.with(Weekday::Monday).with(Weekday::Tuesday);
    let schedule = schedule(weekdays, 8 * 60, 18 * 60, "Europe/Berlin");
    for (moment, open) in [
        ("2027-01-04T06:59:59.999999999Z", false),
        ("2027-01-04T07:00:00Z", true),
        ("2027-01-04T16:59:59.999999999Z", true),
        ("2027-01-04T17:00:00Z", false),
        ("2027-01-05T12:00:00Z", true),
        ("2027-01-06T12:00:00Z", false),
        // And back again: what was kept of a later moment says nothing about an earlier one.
        ("2027-01-04T07:00:00Z", true),
        ("2027-07-05T06:00:00Z", true),
    ] {
        assert_eq!(schedule.is_open(at(moment)), open, "{moment}");
    }
}

#[test]
fn hours_over_midnight_belong_to_the_day_they_begin_on() {
    let schedule = schedule(Weekdays::NONE.with(Weekday::Friday), 22 * 60, 6 * 60, "UTC");
    for (moment, open) in [
        ("2027-01-01T03:00:00Z", false),
        ("2027-01-01T22:00:00Z", true),
        ("2027-01-02T05:59:59Z", true),
        ("2027-01-02T06:00:00Z", false),
        ("2027-01-02T23:00:00Z", false),
    ] {
        assert_eq!(schedule.is_open(at(moment)), open, "{moment}");
    }
}

#[test]
fn the_day_that_clocks_change_has_the_hours_its_clocks_show() {
    // On 28 March 2027 clocks in Berlin go from 2 to 3 o'clock, on 31 October from 3 back to 2.
    let night = schedule(Weekdays::ALL, 60, 4 * 60, "Europe/Berlin");
    assert!(night.is_open(at("2027-03-28T00:00:00Z")) && night.is_open(at("2027-03-28T01:59:59Z")));
    assert!(!night.is_open(at("2027-03-28T02:00:00Z")), "two hours only");
    assert!(night.is_open(at("2027-10-30T23:00:00Z")) && night.is_open(at("2027-10-31T02:59:59Z")));
    assert!(!night.is_open(at("2027-10-31T03:00:00Z")), "four hours");
    // 2:30 does not come: what begins then begins with the jump, what ends then ends with it.
    let from_half = schedule(Weekdays::ALL, 150, 240, "Europe/Berlin");
    assert!(!from_half.is_open(at("2027-03-28T00:59:59Z")));
    assert!(from_half.is_open(at("2027-03-28T01:00:00Z")));
    let to_half = schedule(Weekdays::ALL, 60, 150, "Europe/Berlin");
    assert!(to_half.is_open(at("2027-03-28T00:59:59Z")));
    assert!(!to_half.is_open(at("2027-03-28T01:00:00Z")));
}

#[test]
fn a_whole_day_never_closes() {
    let schedule = schedule(Weekdays::ALL, 0, super::DAY, "America/Sao_Paulo");
    let mut now = at("2026-12-31T00:00:00Z");
    for _ in 0..500 {
        assert!(schedule.is_open(now), "{now}");
        now = now.saturating_add(Duration::from_secs(7 * 3600 + 1));
    }
}

proptest! {
    /// What is remembered never differs from what is looked up.
    #[test]
    fn memory_never_changes_an_answer(
        from in 0u16..1440,
        length in 1u16..1440,
        days in 1u8..128,
        steps in prop::collection::vec(0u64..200_000, 1..40),
        berlin in any::<bool>(),
    ) {
        let zone_name = if berlin { "Europe/Berlin" } else { "Asia/Kolkata" };
        let to = match (from + length) % 1440 { 0 => 1440, to => to };
        prop_assume!(to != from);
        let remembering = schedule(Weekdays(days), from, to, zone_name);
        let mut now = at("2027-03-20T00:00:00Z");
        for step in steps {
            now = now.saturating_add(Duration::from_secs(step));
            let fresh = Schedule::new(remembering.spans.clone());
            prop_assert_eq!(remembering.is_open(now), fresh.is_open(now));
        }
    }

    /// The state is what the clocks of the zone show, wherever they do not change.
    #[test]
    fn the_state_is_what_clocks_show(from in 0u16..1440, to in 0u16..1440, minute in 0u64..20_000) {
        prop_assume!(from != to);
        let schedule = schedule(Weekdays::ALL, from, to, "Asia/Kolkata");
        let now = at("2027-03-20T00:00:00Z").saturating_add(Duration::from_secs(minute * 60));
        let shown = zone("Asia/Kolkata").to_datetime(jiff::Timestamp::from_nanosecond(i128::from(now.as_nanos())).unwrap());
        let shown = u16::try_from(shown.hour()).unwrap() * 60 + u16::try_from(shown.minute()).unwrap();
        let expected = if from < to { from <= shown && shown < to } else { shown >= from || shown < to };
        prop_assert_eq!(schedule.is_open(now), expected);
    }
}
