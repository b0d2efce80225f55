//! `shop.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

fn product(address: &str) -> Ask {
    Ask::get("/products/7").from(address).with("user-agent", BROWSER)
}

#[test]
fn a_person_never_notices_and_a_copier_does() {
    let mut play = Play::example("shop.yaml");
    let copier = product("203.0.113.1");
    assert_eq!(play.passed(500, &copier), 60);
    play.after(Duration::from_secs(60));
    assert_eq!(play.passed(500, &copier), 60);
    let person = product("203.0.113.2");
    for _ in 0..100 {
        assert_eq!(play.passed(3, &person), 3);
        play.after(Duration::from_secs(2));
    }
}

#[test]
fn addresses_of_one_household_are_one_client() {
    let mut play = Play::example("shop.yaml");
    let passed: usize = (0..300)
        .map(|network| play.passed(1, &product(&format!("2001:db8:1:{:x}::1", network % 256))))
        .sum();
    assert_eq!(passed, 60);
    assert_eq!(play.passed(1, &product("2001:db8:1:100::1")), 1);
}

#[test]
fn searches_with_many_filters_cost_more() {
    let search = || Ask::get("/search").with("user-agent", BROWSER);
    assert_eq!(
        Play::example("shop.yaml").passed(50, &search().query("q=shoes")),
        10
    );
    let filtered = search().query("q=shoes&size=42&colour=red&brand=x&sort=price&page=9");
    assert_eq!(Play::example("shop.yaml").passed(50, &filtered), 3);
}

#[test]
fn programs_get_little_and_partners_get_through() {
    let mut play = Play::example("shop.yaml");
    for program in [
        "Scrapy/2.13 (+https://scrapy.org)",
        "python-requests/2.32",
        "SomeBot/1.0",
    ] {
        let ask = product("203.0.113.9").with("user-agent", program);
        let told: Vec<_> = (0..6).map(|_| play.ask(&ask)).collect();
        assert_eq!(told[4].status(), 200);
        assert_eq!(told[5].status(), 403);
        assert!(told[5].text().contains("https://shop.example/partners"));
        assert_eq!(play.passed(500, &ask.clone().by("acme", None)), 500);
        play.after(Duration::from_secs(600));
    }
    let mut play = Play::example("shop.yaml");
    assert_eq!(
        play.passed(10, &Ask::get("/products/7")),
        5,
        "without a name at all"
    );
}

#[test]
fn a_browser_that_is_refused_gets_a_page() {
    let mut play = Play::example("shop.yaml");
    let ask = product("203.0.113.1").with("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    play.passed(60, &ask);
    let told = play.ask(&ask);
    assert!(told.text().starts_with("<!doctype html>"), "{}", told.text());
}

#[test]
fn on_friday_evenings_a_session_orders_once_a_minute() {
    let mut play = Play::example("shop.yaml");
    let order = Ask::post("/checkout").with("cookie", "session=abc");
    assert_eq!(play.passed(10, &order), 10, "one in the afternoon in Berlin");
    play.after(Duration::from_secs(5 * 3600));
    assert_eq!(play.statuses(3, &order), [200, 200, 429]);
    assert_eq!(
        play.passed(1, &Ask::post("/checkout").with("cookie", "session=other")),
        1
    );
    assert_eq!(play.passed(3, &Ask::post("/checkout")), 2, "by address");
    play.after(Duration::from_secs(4 * 3600));
    assert_eq!(play.passed(10, &order), 10, "after ten");
}
