//! `public-api.yaml`

use std::time::Duration;

use http::Method;

use crate::play::{Ask, Play};

const HOUR: Duration = Duration::from_secs(3600);

fn items() -> Ask {
    Ask::get("/api/items")
}

#[test]
fn each_plan_has_its_burst_and_its_rate() {
    let mut play = Play::example("public-api.yaml");
    for (ask, burst, in_ten_seconds) in [
        (items(), 10, 10),
        (items().by("zoe", None), 10, 10),
        (items().by("acme", Some("pro")), 100, 100),
        (items().by("initech", Some("enterprise")), 1000, 1000),
    ] {
        assert_eq!(play.passed(2000, &ask), burst);
        assert_eq!(play.ask(&ask).retry_after(), Some(1));
        play.after(Duration::from_secs(10));
        assert_eq!(play.passed(2000, &ask), in_ten_seconds);
    }
}

#[test]
fn a_day_holds_a_thousand_and_begins_at_midnight_in_berlin() {
    let mut play = Play::example("public-api.yaml");
    let ask = items().by("zoe", None);
    let mut passed = 0;
    // From one in the afternoon, ten at once every minute.
    for _ in 0..120 {
        passed += play.passed(10, &ask);
        play.after(Duration::from_secs(60));
    }
    assert_eq!(passed, 1000);
    // It is three there.
    assert_eq!(play.ask(&ask).retry_after(), Some(9 * 3600));
    play.after(9 * HOUR - Duration::from_secs(1));
    assert_eq!(play.passed(10, &ask), 0);
    play.after(Duration::from_secs(1));
    assert_eq!(play.passed(10, &ask), 10);
}

#[test]
fn twenty_writes_go_at_once_and_twenty_a_minute_and_reading_goes_on() {
    let mut play = Play::example("public-api.yaml");
    let write = Ask::new(Method::PUT, "/api/items/7").by("zoe", None);
    let mut passed = 0;
    // One a second, which `api` allows for ever.
    for _ in 0..90 {
        passed += play.passed(1, &write);
        play.after(Duration::from_secs(1));
    }
    assert_eq!(passed, 20 + 89 / 3);
    assert_eq!(play.passed(1, &items().by("zoe", None)), 1);
}

#[test]
fn two_exports_run_at_one_time_and_fifty_on_one_day() {
    let mut play = Play::example("public-api.yaml");
    let ask = Ask::get("/api/exports/orders").by("acme", Some("pro"));
    let (first, second) = (play.ask(&ask), play.ask(&ask));
    assert_eq!(
        [first.status(), second.status(), play.ask(&ask).status()],
        [200, 200, 429]
    );
    play.ended(&first);
    play.ended(&second);
    let mut passed = 2;
    for _ in 0..60 {
        let told = play.ask(&ask);
        passed += usize::from(told.status() == 200);
        play.ended(&told);
    }
    assert_eq!(passed, 50);
}
