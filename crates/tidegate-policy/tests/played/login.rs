//! `login.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

const MINUTE: Duration = Duration::from_secs(60);

fn login(user: &str, address: &str) -> Ask {
    let body = format!(r#"{{"username":"{user}","password":"x"}}"#);
    Ask::post("/login").json(&body).from(address)
}

fn reset(path: &str, email: &str, address: &str) -> Ask {
    Ask::post(path)
        .json(&format!(r#"{{"email":"{email}","code":"123456"}}"#))
        .from(address)
}

#[test]
fn an_account_has_five_tries_in_any_ten_minutes_from_however_many_addresses() {
    let mut play = Play::example("login.yaml");
    let mut passed = Vec::new();
    // One try every minute, each from another address.
    for minute in 0..30 {
        let ask = login("ann", &format!("203.0.113.{minute}"));
        passed.push(play.ask(&ask).status() == 200);
        play.after(MINUTE);
    }
    for any_ten in passed.windows(10) {
        assert!(any_ten.iter().filter(|passed| **passed).count() <= 5);
    }
    assert_eq!(passed.iter().filter(|passed| **passed).count(), 15);
    assert_eq!(play.passed(1, &login("bob", "203.0.113.1")), 1);
}

#[test]
fn an_address_has_twenty_tries_at_however_many_accounts() {
    let mut play = Play::example("login.yaml");
    let passed: usize = (0..50)
        .map(|user| play.passed(1, &login(&format!("user{user}"), "203.0.113.1")))
        .sum();
    assert_eq!(passed, 20);
    let refused = play.ask(&login("user50", "203.0.113.1"));
    assert_eq!(refused.retry_after(), Some(600));
    assert_eq!(play.passed(1, &login("user50", "203.0.113.2")), 1);
    play.after(10 * MINUTE);
    assert_eq!(play.passed(1, &login("user50", "203.0.113.1")), 1);
}

#[test]
fn a_client_behind_our_proxy_is_counted_and_not_the_proxy() {
    let mut play = Play::example("login.yaml");
    let passed: usize = (0..50)
        .map(|user| {
            let client = format!("203.0.113.{user}");
            let ask = login(&format!("user{user}"), "10.0.0.1").with("x-forwarded-for", &client);
            play.passed(1, &ask)
        })
        .sum();
    assert_eq!(passed, 50);
}

#[test]
fn a_username_that_is_hidden_is_refused() {
    let mut play = Play::example("login.yaml");
    for body in [
        r#"{"username":"x","username":"ann"}"#,
        r#"{"user":"ann"}"#,
        "username=ann",
    ] {
        assert_eq!(play.ask(&Ask::post("/login").json(body)).status(), 400, "{body}");
    }
    let long = format!(r#"{{"username":"ann","password":"{}"}}"#, "x".repeat(4096));
    assert_eq!(play.ask(&Ask::post("/login").json(&long)).status(), 413);
}

#[test]
fn three_mails_an_hour_go_to_an_account_and_ten_are_asked_for_by_an_address() {
    let mut play = Play::example("login.yaml");
    let statuses: Vec<u16> = (0..5)
        .map(|last| {
            let ask = reset("/password-reset", "ann@example.com", &format!("203.0.113.{last}"));
            play.ask(&ask).status()
        })
        .collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    let asked = |play: &mut Play| -> usize {
        (0..20)
            .map(|user| {
                play.passed(
                    1,
                    &reset("/password-reset", &format!("u{user}@example.com"), "198.51.100.1"),
                )
            })
            .sum()
    };
    assert_eq!(asked(&mut play), 10);
    play.after(59 * MINUTE);
    assert_eq!(asked(&mut play), 0);
    play.after(MINUTE);
    assert_eq!(asked(&mut play), 10);
}

#[test]
fn a_code_can_be_guessed_five_times_in_a_quarter_of_an_hour() {
    let mut play = Play::example("login.yaml");
    let guess = |last: u8| {
        let address = format!("203.0.113.{last}");
        reset("/password-reset/confirm", "ann@example.com", &address)
    };
    let passed: usize = (0..100).map(|last| play.passed(1, &guess(last))).sum();
    assert_eq!(passed, 5);
    assert_eq!(play.ask(&guess(200)).retry_after(), Some(900));
}
