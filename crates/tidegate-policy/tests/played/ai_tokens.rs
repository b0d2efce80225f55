//! `ai-tokens.yaml`

use std::time::Duration;

use crate::play::{Ask, Play};

fn chat(max_tokens: u64) -> Ask {
    let body = format!(r#"{{"messages":[],"max_tokens":{max_tokens}}}"#);
    Ask::post("/v1/chat/completions").json(&body).by("zoe", None)
}

/// How many of 100 requests pass, each answered at once.
fn one_by_one(play: &mut Play, ask: &Ask) -> usize {
    let passes = |_: &usize| {
        let told = play.ask(ask);
        play.ended(&told);
        told.status() == 200
    };
    (0..100).filter(passes).count()
}

#[test]
fn requests_cost_what_they_may_use() {
    let mut play = Play::example("ai-tokens.yaml");
    assert_eq!(one_by_one(&mut play, &chat(1500)), 40_000 / 1500);
    assert_eq!(
        play.ask(&chat(1500)).retry_after(),
        Some(2),
        "1,000 are left, 333 come in a second"
    );
    assert_eq!(one_by_one(&mut play, &chat(1000)), 1);
    play.after(Duration::from_secs(60));
    assert_eq!(one_by_one(&mut play, &chat(4000)), 5);
    let pro = chat(4000).by("acme", Some("pro"));
    assert_eq!(one_by_one(&mut play, &pro), 100);
}

#[test]
fn a_request_that_does_not_say_what_it_costs_is_refused_and_a_lie_does_not_help() {
    let mut play = Play::example("ai-tokens.yaml");
    let silent = chat(1).json(r#"{"messages":[]}"#);
    assert_eq!(play.ask(&silent).status(), 400);
    let negative = chat(1).json(r#"{"max_tokens":-5}"#);
    assert_eq!(one_by_one(&mut play, &negative), 100, "counts as one");
    let twice = chat(1).json(r#"{"max_tokens":1,"max_tokens":9000}"#);
    assert_eq!(play.ask(&twice).status(), 400);
    let told = play.ask(&chat(40_001));
    assert_eq!((told.status(), told.retry_after()), (429, None));
    assert_eq!(one_by_one(&mut play, &chat(39_901)), 0, "a hundred were spent");
    assert_eq!(one_by_one(&mut play, &chat(39_900)), 1);
}

#[test]
fn four_answers_are_on_their_way_at_one_time() {
    let mut play = Play::example("ai-tokens.yaml");
    let told: Vec<_> = (0..5).map(|_| play.ask(&chat(10))).collect();
    let statuses: Vec<u16> = told.iter().map(super::play::Told::status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 429]);
    play.ended(&told[0]);
    assert_eq!(play.passed(2, &chat(10)), 1);
}

#[test]
fn a_job_costs_what_its_header_says() {
    let mut play = Play::example("ai-tokens.yaml");
    let job = |cost: &str| {
        Ask::post("/internal/jobs")
            .by("batch", None)
            .with("x-token-cost", cost)
    };
    assert_eq!(play.passed(10, &job("200000")), 2);
    assert_eq!(play.ask(&job("200000")).retry_after(), Some(720));
    assert_eq!(play.ask(&job("many")).status(), 400);
    assert_eq!(play.ask(&job("-1")).status(), 400);
    assert_eq!(play.passed(10, &job("50000")), 2);
}
