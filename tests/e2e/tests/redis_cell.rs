//! The door for Redis beside redis-cell itself, a module in a real Redis. `cargo xtask conformance` builds it and runs this.

use std::env;

use redis::Connection;
use tidegate_e2e::Gateway;
use tidegate_test_servers::{Kind, Options, Server};

type Answer = [i64; 5];

/// How many limits are tried, each by a few commands.
const LIMITS: u64 = 2_000;
const COMMANDS: u64 = 6;

/// The least time between two tokens, in seconds. None flows in between the two of a pair.
const LEAST_INTERVAL: i64 = 4;

fn connection(url: &str) -> Connection {
    redis::Client::open(url).unwrap().get_connection().unwrap()
}

/// Even numbers without end, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn one_of(&mut self, numbers: &[i64]) -> i64 {
        let index = usize::try_from(self.next()).unwrap() % numbers.len();
        numbers[index]
    }
}

/// A limit of the arguments burst, count and period, and the quantities that are asked for one after the other.
fn limit(random: &mut Random) -> ([i64; 3], Vec<i64>) {
    loop {
        let burst = random.one_of(&[-2, -1, 0, 1, 3, 15, 99, 1_000]);
        let count = random.one_of(&[1, 2, 3, 7, 30, 60, 100, 999]);
        let period = random.one_of(&[7, 60, 61, 3_600, 86_400]);
        if period / count >= LEAST_INTERVAL {
            let quantities = [0, 1, 1, 1, 2, 5, burst.max(0), burst.max(0) + 1, burst.max(0) + 2];
            return (
                [burst, count, period],
                (0..COMMANDS).map(|_| random.one_of(&quantities)).collect(),
            );
        }
    }
}

fn ask(connection: &mut Connection, key: &str, limit: &[i64], quantities: &[i64]) -> Vec<Answer> {
    let mut pipe = redis::pipe();
    for quantity in quantities {
        pipe.cmd("CL.THROTTLE").arg(key).arg(limit).arg(quantity);
    }
    let answers: Vec<Vec<i64>> = pipe.query(connection).unwrap();
    answers
        .into_iter()
        .map(|answer| answer.try_into().unwrap())
        .collect()
}

fn both() -> (Server, Gateway) {
    let module = env::var("TIDEGATE_REDIS_CELL").expect("`cargo xtask conformance` builds it");
    let options = Options {
        settings: vec![format!("loadmodule {module}")],
        ..Options::default()
    };
    (
        Server::start(Kind::Redis70, options),
        Gateway::doors("doors: { redis: 0 }"),
    )
}

/// The version on crates.io rounds seconds down, which later ones no longer do.
#[test]
fn every_number_of_an_answer_is_redis_cells() {
    let (server, door) = both();
    let mut theirs = connection(&server.url());
    let mut ours = connection(&format!("redis://{}", door.address()));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..LIMITS {
        let (limit, quantities) = limit(&mut random);
        let key = format!("key{number}");
        let expected = ask(&mut theirs, &key, &limit, &quantities);
        let answers = ask(&mut ours, &key, &limit, &quantities);
        for ((answer, expected), quantity) in answers.iter().zip(&expected).zip(&quantities) {
            let told = format!("{limit:?} {quantity}: {answer:?}, and not {expected:?}");
            assert_eq!(answer[..3], expected[..3], "{told}");
            for (ours, theirs) in answer[3..].iter().zip(&expected[3..]) {
                assert!((0..=1).contains(&(ours - theirs)), "{told}");
            }
        }
    }
}

#[test]
fn every_error_is_redis_cells() {
    let (server, door) = both();
    let mut theirs = connection(&server.url());
    let mut ours = connection(&format!("redis://{}", door.address()));
    for arguments in [
        "",
        "a",
        "a 1 2",
        "a 1 2 3 4 5",
        "a x 2 3",
        "a 1 2.5 3",
        "a 1 2 -",
        "a 1 2 3 9223372036854775808",
    ] {
        let told = |connection: &mut Connection| {
            let mut command = redis::cmd("CL.THROTTLE");
            arguments.split_whitespace().for_each(|argument| {
                command.arg(argument);
            });
            command.query::<Answer>(connection).unwrap_err().to_string()
        };
        assert_eq!(told(&mut ours), told(&mut theirs), "{arguments}");
    }
}
