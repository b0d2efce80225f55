//! `webhooks.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

const OF_GITHUB: &str = "140.82.112.7";

/// An event with a signature of its own.
fn event(sender: &str, number: usize) -> Ask {
    Ask::post(&format!("/webhooks/{sender}"))
        .from(OF_GITHUB)
        .with("x-hub-signature-256", &format!("sha256={number:064x}"))
}

#[test]
fn a_burst_is_evened_out_to_twenty_a_second_and_what_would_wait_too_long_is_refused() {
    let mut play = Play::example("webhooks.yaml");
    let told: Vec<_> = (0..150)
        .map(|number| play.ask(&event("github", number)))
        .collect();
    let (passed, refused) = told.split_at(120);
    for (number, told) in passed.iter().enumerate() {
        let turn = (number as u64 + 1).saturating_sub(20) * 50;
        assert_eq!((told.status(), told.waited), (200, Duration::from_millis(turn)));
    }
    assert!(refused.iter().all(|told| told.status() == 429));
    assert_eq!(refused[0].retry_after(), Some(1));
    assert_eq!(
        play.ask(&event("stripe", 0)).waited,
        Duration::ZERO,
        "each sender for itself"
    );
}

#[test]
fn a_stranger_may_try_now_and_then() {
    let mut play = Play::example("webhooks.yaml");
    let statuses: Vec<u16> = (0..5)
        .map(|number| play.ask(&event("github", number).from("203.0.113.1")).status())
        .collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    play.after(Duration::from_secs(360));
    assert_eq!(play.passed(2, &event("github", 9).from("203.0.113.1")), 1);
}

#[test]
fn an_event_may_be_repeated_twice() {
    let mut play = Play::example("webhooks.yaml");
    assert_eq!(play.statuses(4, &event("github", 1)), [200, 200, 200, 429]);
    assert_eq!(play.ask(&event("github", 2)).status(), 200);
    play.after(Duration::from_secs(3600));
    assert_eq!(play.ask(&event("github", 1)).status(), 200);
}

#[test]
fn events_without_a_signature_and_from_denied_networks_are_refused() {
    let mut play = Play::example("webhooks.yaml");
    assert_eq!(
        play.ask(&Ask::post("/webhooks/github").from(OF_GITHUB)).status(),
        400
    );
    let denied = play.ask(&event("github", 1).from("198.51.100.9"));
    assert_eq!(denied.status(), 403);
    assert!(denied.text().contains("access_denied"), "{}", denied.text());
}
