use tidegate_core::{Charge, HoldId, KeyHasher, Mode, Table, TableSize, Timestamp};

use super::*;

const BEGIN: u64 = 1_700_000_000_000_000_000;

/// A counter of this process.
struct Counter(Table);

impl Counter {
    fn new() -> Self {
        Self(Table::new(TableSize {
            bucket_bytes: 1 << 16,
            ledger_bytes: TableSize::MIN_LEDGER_BYTES,
        }))
    }

    /// The answer to `numbers` at `millis` after the beginning.
    fn ask(&self, numbers: &str, millis: u64) -> Vec<i64> {
        let arguments: Vec<&[u8]> = numbers.split(' ').map(str::as_bytes).collect();
        let throttle = Throttle::asked(&arguments, Consistency::Local).unwrap();
        let charge = Charge {
            key: KeyHasher::new([7; 16]).key(b"foo"),
            limit: throttle.limit(),
            cost: throttle.cost(),
            mode: Mode::Enforce,
            hold: HoldId::default(),
        };
        let decision = self
            .0
            .charge_one(&charge, Timestamp::from_nanos(BEGIN + millis * 1_000_000));
        let mut replies = Replies::default();
        throttle.answer(&decision, &mut replies);
        let text = std::str::from_utf8(replies.bytes()).unwrap();
        let numbers = text.split("\r\n").filter_map(|line| line.strip_prefix(':'));
        numbers.map(|number| number.parse().unwrap()).collect()
    }
}

fn told(numbers: &str) -> String {
    let arguments: Vec<&[u8]> = numbers
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(str::as_bytes)
        .collect();
    let mut replies = Replies::default();
    Throttle::asked(&arguments, Consistency::Local)
        .unwrap_err()
        .tell(&mut replies);
    String::from_utf8(replies.bytes().to_vec()).unwrap()
}

/// The table of redis-cell's own test, with its times rounded as its command rounds them.
#[test]
fn the_vectors_of_redis_cell_are_answered_as_it_answers_them() {
    let counter = Counter::new();
    for (millis, quantity, answer) in [
        (0, 6, [1, 5, 5, -1, 0]),
        (0, 1, [0, 5, 4, -1, 1]),
        (0, 1, [0, 5, 3, -1, 2]),
        (0, 1, [0, 5, 2, -1, 3]),
        (0, 1, [0, 5, 1, -1, 4]),
        (0, 1, [0, 5, 0, -1, 5]),
        (0, 1, [1, 5, 0, 1, 5]),
        (3_000, 1, [0, 5, 2, -1, 3]),
        (3_100, 1, [0, 5, 1, -1, 4]),
        (4_000, 1, [0, 5, 1, -1, 4]),
        (8_000, 1, [0, 5, 4, -1, 1]),
        (9_500, 1, [0, 5, 4, -1, 1]),
        (9_500, 0, [0, 5, 4, -1, 1]),
        (9_500, 2, [0, 5, 2, -1, 3]),
        (9_500, 5, [1, 5, 2, 3, 3]),
    ] {
        assert_eq!(
            counter.ask(&format!("4 1 1 {quantity}"), millis),
            answer,
            "{millis} {quantity}"
        );
    }
}

/// Seen at the module in a Redis 7.0.
#[test]
fn what_the_module_says_where_nothing_can_pass_is_said() {
    let ask = |numbers| Counter::new().ask(numbers, 0);
    assert_eq!(ask("15 30 60"), [0, 16, 15, -1, 2]);
    assert_eq!(ask("15 30 60 17"), [1, 16, 16, -1, 0]);
    assert_eq!(ask("-1 30 60"), [1, 0, 0, -1, 0]);
    assert_eq!(ask("-1 30 60 0"), [0, 0, 0, -1, 0]);
    assert_eq!(ask("-2 30 60 0"), [1, -1, 0, -1, 0]);
    assert_eq!(ask("0 1 2"), [0, 1, 0, -1, 2]);
}

#[test]
fn what_cannot_be_decided_is_told_in_the_words_of_redis_cell() {
    let usage =
        "-Cell error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]\r\n";
    for (numbers, text) in [
        ("", usage),
        ("1 2", usage),
        ("1 2 3 4 5", usage),
        ("x 30 60", "-Cell error: Couldn't parse as integer: x\r\n"),
        ("1 2.5 60", "-Cell error: Couldn't parse as integer: 2.5\r\n"),
        (
            "1 1 1 9223372036854775808",
            "-Cell error: Couldn't parse as integer: 9223372036854775808\r\n",
        ),
        ("1 0 60", "-Cell error: Zero rates are not supported\r\n"),
        ("1 60 0", "-Cell error: Zero rates are not supported\r\n"),
        ("1 2000000000 1", "-Cell error: Zero rates are not supported\r\n"),
        ("1 -1 1", "-Cell error: Negative numbers are not supported\r\n"),
        ("1 1 1 -1", "-Cell error: Negative numbers are not supported\r\n"),
        (
            "1 1 9223372037",
            "-Cell error: Limits that take centuries are not supported\r\n",
        ),
        (
            "9223372036854775807 1 1",
            "-Cell error: Limits that take centuries are not supported\r\n",
        ),
        (
            "9223372036 1 1",
            "-Cell error: Limits that take centuries are not supported\r\n",
        ),
    ] {
        assert_eq!(told(numbers), text, "{numbers}");
    }
}

#[test]
fn the_largest_numbers_are_answered() {
    let counter = Counter::new();
    assert_eq!(
        counter.ask("9223372034 1 1 9223372035", 0)[..2],
        [0, 9_223_372_035]
    );
    assert_eq!(counter.ask("1 1 1 9223372036854775807", 0)[0], 1);
    assert_eq!(Counter::new().ask("9 1000000000 1 3", 0), [0, 10, 7, -1, 0]);
}

/// A part of a second counts as one, but a part of a millisecond does not count at all.
#[test]
fn seconds_are_rounded_as_redis_cell_rounds_them() {
    for (nanos, whole) in [
        (0, 0),
        (999_999, 0),
        (1_000_000, 1),
        (1_000_000_000, 1),
        (1_000_999_999, 1),
        (1_001_000_000, 2),
    ] {
        assert_eq!(seconds(nanos), whole, "{nanos}");
    }
}

#[test]
fn a_look_at_a_bucket_that_owes_more_than_its_new_limit_lends_is_refused() {
    let counter = Counter::new();
    counter.ask("9 1 1 10", 0);
    assert_eq!(counter.ask("7 1 1 0", 0), [1, 8, 0, 2, 10]);
    assert_eq!(counter.ask("7 1 1", 0), [1, 8, 0, 3, 10]);
}

#[test]
fn a_store_counts_at_the_exact_rate_and_says_itself_what_is_left() {
    let arguments: Vec<&[u8]> = vec![b"2", b"3", b"1"];
    let throttle = Throttle::asked(&arguments, Consistency::Strict).unwrap();
    assert_eq!(throttle.limit().quota(), 3);
    let decision = Decision {
        outcome: Outcome::ALLOW,
        remaining: 1,
        reset_after: Duration::from_micros(666_667),
    };
    let mut replies = Replies::default();
    assert!(throttle.answer(&decision, &mut replies));
    assert_eq!(replies.bytes(), b"*5\r\n:0\r\n:3\r\n:1\r\n:-1\r\n:1\r\n");
}
