//! `graphql.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

fn ask(body: &str) -> Ask {
    Ask::post("/graphql").json(body).by("zoe", None)
}

/// How many requests like this pass at once with 200 points.
fn at_once(body: &str) -> usize {
    Play::example("graphql.yaml").passed(300, &ask(body))
}

#[test]
fn a_request_costs_by_what_it_asks_for() {
    assert_eq!(at_once(r#"{"query":"{ me { name } }"}"#), 200);
    assert_eq!(at_once(r#"{"query":"{ me { name } }","variables":null}"#), 200);
    let long = format!(r#"{{"query":"{{ a{} }}"}}"#, "{b".repeat(398) + &"}".repeat(398));
    assert_eq!(at_once(&long), 200 / 6, "1,199 characters");
    assert_eq!(at_once(r#"[{"query":"{ me { name } }"}]"#), 200 / 11, "in a list");
}

#[test]
fn a_long_page_costs_its_items_and_a_negative_one_is_no_credit() {
    let page = r#"{"query":"query($first:Int){ orders(first:$first){ id } }","variables":{"first":100}}"#;
    assert_eq!(at_once(page), 10);
    assert_eq!(at_once(&page.replace("100", "-100000")), 200);
    assert_eq!(at_once(&page.replace("100", "1000")), 1);
    let told = Play::example("graphql.yaml").ask(&ask(&page.replace("100", "1001")));
    assert_eq!(
        (told.status(), told.retry_after()),
        (429, None),
        "more than there ever is"
    );
}

#[test]
fn a_batch_hides_what_it_holds_and_counts_as_all_of_it() {
    let batch = format!("[{}]", [r#"{"query":"{ me { name } }"}"#; 10].join(","));
    let mut play = Play::example("graphql.yaml");
    assert_eq!(play.statuses(3, &ask(&batch)), [200, 200, 429]);
    let query = ask(r#"{"query":"{ me { name } }"}"#);
    assert_eq!(play.passed(300, &query), 200 - 2 * (10 + 10 + 10));
}

#[test]
fn the_budget_refills_at_a_thousand_a_minute() {
    let mut play = Play::example("graphql.yaml");
    let ask = ask(r#"{"query":"{ me { name } }"}"#);
    assert_eq!(play.passed(300, &ask), 200);
    play.after(Duration::from_secs(6));
    assert_eq!(play.passed(300, &ask), 100);
    let pro = Ask::post("/graphql")
        .json(r#"{"query":"{ me { name } }"}"#)
        .by("acme", Some("pro"));
    assert_eq!(play.passed(3000, &pro), 2000);
}

#[test]
fn five_changes_go_at_once_and_thirty_a_minute() {
    let mut play = Play::example("graphql.yaml");
    let change = ask(r#"{"query":"mutation { rename(name: \"a\") }"}"#);
    assert_eq!(play.passed(10, &change), 5);
    assert_eq!(play.ask(&change).retry_after(), Some(2));
    let query = ask(r#"{"query":"{ me { name } }"}"#);
    assert_eq!(play.passed(300, &query), 200 - 5 * 11);
}

#[test]
fn a_heavy_operation_has_a_limit_of_its_own() {
    let mut play = Play::example("graphql.yaml");
    let report = ask(r#"{"query":"query MonthlyReport { sales }"}"#);
    assert_eq!(play.statuses(3, &report), [200, 200, 429]);
    let export = ask(r#"{"query":"query ExportOrders { orders }"}"#);
    assert_eq!(play.statuses(3, &export), [200, 200, 429]);
    play.after(Duration::from_secs(30));
    assert_eq!(play.passed(2, &report), 1);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let mut play = Play::example("graphql.yaml");
    for body in ["not GraphQL", r#"{"query":"{ a"#, "[]"] {
        assert_eq!(play.ask(&ask(body)).status(), 400, "{body}");
    }
}
