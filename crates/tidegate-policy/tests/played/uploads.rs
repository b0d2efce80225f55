//! `uploads.yaml`

use std::time::Duration;

use http::Method;

use crate::play::{Ask, Play};

fn upload(bytes: u64) -> Ask {
    Ask::new(Method::PUT, "/uploads/film.mp4").with("content-length", &bytes.to_string())
}

/// How many of 300 uploads pass, one after the other.
fn one_by_one(play: &mut Play, ask: &Ask) -> usize {
    let passes = |_: &usize| {
        let told = play.ask(ask);
        play.ended(&told);
        told.status() == 200
    };
    (0..300).filter(passes).count()
}

#[test]
fn two_uploads_run_at_one_time() {
    let mut play = Play::example("uploads.yaml");
    let (first, _second) = (play.ask(&upload(1)), play.ask(&upload(1)));
    assert_eq!(play.ask(&upload(1)).status(), 429);
    play.ended(&first);
    assert_eq!(play.ask(&upload(1)).status(), 200);
    assert_eq!(play.ask(&upload(1)).status(), 429);
    assert_eq!(play.ask(&upload(1).from("203.0.113.2")).status(), 200);
}

#[test]
fn megabytes_are_counted_as_they_are_announced() {
    const MIB: u64 = 1 << 20;
    for (bytes, uploads) in [
        (0, 200),
        (MIB - 1, 200),
        (MIB, 100),
        (20 * MIB - 1, 10),
        (99 * MIB, 2),
    ] {
        let mut play = Play::example("uploads.yaml");
        assert_eq!(one_by_one(&mut play, &upload(bytes)), uploads, "{bytes}");
    }
    let mut play = Play::example("uploads.yaml");
    let chunked = Ask::new(Method::PUT, "/uploads/film.mp4").with("transfer-encoding", "chunked");
    assert_eq!(
        one_by_one(&mut play, &chunked),
        2,
        "without a length it may be as long as one can be"
    );
}

#[test]
fn the_refusal_says_in_our_words_when_there_is_room_again() {
    let mut play = Play::example("uploads.yaml");
    let ask = upload(99 << 20);
    assert_eq!(one_by_one(&mut play, &ask), 2);
    let told = play.ask(&ask);
    let text = r#"{ "error": "upload_budget_used_up", "megabytes_left": 0, "try_again_in_seconds": 720 }"#;
    assert_eq!(told.text(), text);
    play.after(Duration::from_secs(719));
    assert_eq!(play.ask(&ask).status(), 429);
    play.after(Duration::from_secs(1));
    assert_eq!(play.ask(&ask).status(), 200);
}

#[test]
fn reading_is_free() {
    let mut play = Play::example("uploads.yaml");
    assert_eq!(play.passed(1000, &Ask::get("/uploads/film.mp4")), 1000);
}
