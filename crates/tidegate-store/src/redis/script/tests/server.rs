//! A real server, asked as a lane asks it, but at times that the test says.

use std::cell::RefCell;

use redis::FromRedisValue;
use smallvec::SmallVec;
use tidegate_core::{Charge, Cost, Decisions, HoldId, Key, KeyHasher, Limit, Mode, Timestamp};
use tidegate_test_servers::Kind;

use super::super::{Clock, Kinds, Program, Programs};
use crate::redis::call::{Answer, Ask, Asked, Call, StoreTime};

thread_local! {
    static SERVERS: RefCell<Vec<(Kind, Server)>> = const { RefCell::new(Vec::new()) };
}

/// A server of this thread's own.
pub(super) struct Server {
    connection: redis::Connection,
    programs: Programs,
    next_key: u64,
    replication: [&'static str; 2],
    _process: tidegate_test_servers::Server,
}

impl Server {
    fn start(kind: Kind) -> Self {
        let process = tidegate_test_servers::Server::start(kind, Default::default());
        let client = redis::Client::open(process.url()).unwrap();
        Self {
            connection: client.get_connection().unwrap(),
            programs: Programs::new(Clock::Caller),
            next_key: 0,
            replication: ["", ""],
            _process: process,
        }
    }

    /// Acts on a server that later tests of this thread get, too.
    pub(super) fn with<T>(kind: Kind, act: impl FnOnce(&mut Self) -> T) -> T {
        SERVERS.with_borrow_mut(|servers| {
            let place = servers.iter().position(|(of, _)| *of == kind).unwrap_or_else(|| {
                servers.push((kind, Self::start(kind)));
                servers.len() - 1
            });
            act(&mut servers[place].1)
        })
    }

    /// What the caller knows of the master, now and before.
    pub(super) fn knows_master(&mut self, now: &'static str, before: &'static str) {
        self.replication = [now, before];
    }

    pub(super) fn new_key(&mut self) -> Key {
        self.next_key += 1;
        KeyHasher::new([9; 16]).key(&self.next_key.to_le_bytes())
    }

    fn eval(&mut self, by: fn(&Programs, Kinds) -> &Program, call: &Call, now: u64) -> Vec<i64> {
        let mut command = redis::cmd("EVAL");
        command.arg(&by(&self.programs, call.kinds).text);
        command.arg(call.keys.len()).arg(&call.keys).arg(&call.plan);
        command.arg(&self.replication).arg(now);
        command.query(&mut self.connection).unwrap()
    }

    /// What the script answers to each of `requests`.
    pub(super) fn ask(&mut self, requests: &[&Asked], now: u64) -> Vec<Answer> {
        let call = Call::charging("tg1", 0, requests);
        let reply = self.eval(Programs::charge, &call, now);
        let (time, answers) = call.answers(&reply).unwrap();
        assert_eq!(time, StoreTime(now));
        answers
    }

    /// What it decides on each.
    pub(super) fn charge(&mut self, requests: &[&Asked], now: u64) -> Vec<Decisions> {
        let answers = self.ask(requests, now).into_iter();
        answers
            .map(|answer| answer.expect("the calendar reaches so far"))
            .collect()
    }

    pub(super) fn give_back(&mut self, spent: &Asked, spent_at: u64, now: u64) {
        let call = Call::giving_back("tg1", 0, spent, StoreTime(spent_at));
        self.eval(Programs::give_back, &call, now);
    }

    pub(super) fn refund(&mut self, asked: &Asked, now: u64) {
        let call = Call::refunding("tg1", 0, asked);
        self.eval(Programs::refund, &call, now);
    }

    pub(super) fn release(&mut self, asked: &Asked) -> u64 {
        let call = Call::charging("tg1", 0, &[asked]);
        let mut command = redis::cmd("EVAL");
        command.arg(&self.programs.release().text);
        command.arg(1).arg(&call.keys[1]).arg(&asked.hold);
        let [released]: [u64; 1] = command.query(&mut self.connection).unwrap();
        released
    }

    /// What `command` says about each counter of `asked`.
    pub(super) fn of_counters<T: FromRedisValue>(&mut self, command: &str, asked: &Asked) -> Vec<T> {
        let call = Call::charging("tg1", 0, &[asked]);
        let connection = &mut self.connection;
        let tell = |key| redis::cmd(command).arg(key).query(connection).unwrap();
        call.keys[1..].iter().map(tell).collect()
    }

    pub(super) fn forget_everything(&mut self) {
        redis::cmd("FLUSHALL").query::<()>(&mut self.connection).unwrap();
    }
}

/// A request for `cost` of `limit` alone, held by `hold`.
pub(super) fn asking(key: Key, limit: &Limit, cost: u64, hold: u8, now: u64) -> Asked {
    let charge = Charge {
        key,
        limit,
        cost: Cost::new(cost),
        mode: Mode::Enforce,
        hold: HoldId(0),
    };
    let ask = Ask::of(&charge, Timestamp::from_nanos(now * 1_000)).unwrap();
    Asked {
        asks: SmallVec::from_slice(&[ask]),
        hold: [hold; 16],
    }
}
