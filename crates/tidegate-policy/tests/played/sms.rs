//! `sms.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

fn message(from: &str, to: usize) -> Ask {
    Ask::post("/messages").json(&format!(
        r#"{{"from":"{from}","to":"+1555{to:07}","text":"Your code is 123456"}}"#
    ))
}

#[test]
fn messages_of_one_number_go_out_one_a_second_in_their_order() {
    let mut play = Play::example("sms.yaml");
    let told: Vec<_> = (0..8).map(|to| play.ask(&message("+49301", to))).collect();
    let waits: Vec<u64> = told[..6].iter().map(|told| told.waited.as_secs()).collect();
    assert_eq!(waits, [0, 1, 2, 3, 4, 5]);
    let statuses: Vec<u16> = told.iter().map(super::play::Told::status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429]);
    play.after(Duration::from_secs(6));
    assert_eq!(play.ask(&message("+49301", 9)).waited, Duration::ZERO);
}

#[test]
fn all_numbers_together_keep_to_the_contract() {
    let mut play = Play::example("sms.yaml");
    let told: Vec<_> = (0..300)
        .map(|number| play.ask(&message(&format!("+49{number}"), number)))
        .collect();
    for (number, told) in told.iter().enumerate() {
        match told.status() {
            200 => {
                let least = (number as u64 + 1).saturating_sub(30) * 1000 / 30;
                assert!(told.waited >= Duration::from_millis(least), "{number}");
            }
            status => assert_eq!((status, number >= 180), (429, true), "{number}"),
        }
    }
    assert_eq!(told.iter().filter(|told| told.status() == 200).count(), 180);
}

#[test]
fn nobody_gets_more_than_five_an_hour_and_a_refused_one_takes_no_turn() {
    let mut play = Play::example("sms.yaml");
    for _ in 0..5 {
        assert_eq!(play.ask(&message("+49301", 1)).status(), 200);
        play.after(Duration::from_secs(60));
    }
    let told = play.ask(&message("+49301", 1));
    assert_eq!((told.status(), told.retry_after()), (429, Some(3300)));
    assert_eq!(play.ask(&message("+49301", 2)).waited, Duration::ZERO);
    assert_eq!(
        play.ask(&message("+49302", 1)).status(),
        429,
        "from another number neither"
    );
    play.after(Duration::from_secs(3300));
    assert_eq!(play.ask(&message("+49301", 1)).status(), 200);
}
