//! More is asked at once than can be answered in time. The clock moves with every look at it, so a question takes as long as it makes the
//! worker look: what comes together comes too late, from some question on.

use std::time::Duration;

use bytes::Bytes;
use h2::client::handshake;
use http::{HeaderMap, Request, StatusCode};
use tidegate_core::Timestamp;
use tidegate_policy::{Consistency, Door, OnStoreFailure, RedisDoor};
use tidegate_server::clock::{Clock, ManualClock};
use tokio::net::TcpStream;

use crate::bed::{Bed, PATIENCE};
use crate::http2::{END_STREAM_AND_HEADERS, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS, block, frame};

const POLICIES: &str = "
policies:
  - { name: calls, match: { domain: shop, descriptor: [user] }, limit: { quota: 1000000, window: 1h } }
  - { name: requests, key: [client.ip], limit: { quota: 1000000, window: 1h } }
";

/// So many questions come together: some hundred looks at the clock.
const TOGETHER: usize = 64;

/// A worker that takes this for everything during which it looks at the clock once.
const LOOK: Duration = Duration::from_millis(1);

fn bed(door: Door) -> Bed {
    let time = ManualClock::starting_at(Timestamp::from_nanos(1_800_000_000_000_000_000));
    Bed::limited(POLICIES, "[]", Clock::manual(time.stepping(LOOK)), |settings| {
        let listener = &mut settings.listen[0];
        listener.door = door;
        listener.redis = (door == Door::Redis).then_some(RedisDoor {
            consistency: Consistency::Local,
            on_store_failure: OnStoreFailure::Local,
            password: None,
            password_digest: None,
        });
    })
}

/// What is told of an answer over HTTP/2, and its last fields.
type Told = (StatusCode, HeaderMap);

/// Asks all of `questions`, each with its body, over one connection that sends them together.
fn ask(bed: &Bed, questions: Vec<(Request<()>, Bytes)>) -> Vec<Told> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let asking = async {
        let stream = TcpStream::connect(bed.address).await.unwrap();
        let (mut asker, connection) = handshake(stream).await.unwrap();
        let asked: Vec<_> = questions
            .into_iter()
            .map(|(question, body)| {
                let is_whole = body.is_empty();
                let (answer, mut upload) = asker.send_request(question, is_whole).unwrap();
                if !is_whole {
                    upload.send_data(body, true).unwrap();
                }
                answer
            })
            .collect();
        // From here on they are sent.
        tokio::spawn(connection);
        let mut told = Vec::new();
        for answer in asked {
            let (head, mut body) = answer.await.unwrap().into_parts();
            while let Some(bytes) = body.data().await {
                body.flow_control()
                    .release_capacity(bytes.unwrap().len())
                    .unwrap();
            }
            let last = body.trailers().await.unwrap();
            told.push((head.status, last.unwrap_or(head.headers)));
        }
        told
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, asking).await.unwrap() })
}

/// Fails unless some of `answers` are refusals and some are not: refused is what comes too late, never everything.
fn some_are_refused<A>(answers: &[A], is_refused: impl Fn(&A) -> bool) {
    let refused = answers.iter().filter(|answer| is_refused(answer)).count();
    assert!(
        (1..answers.len()).contains(&refused),
        "{refused} of {}",
        answers.len()
    );
}

#[test]
fn who_gives_up_most_of_what_it_asks_at_a_door_is_answered_as_before() {
    let bed = Bed::with(|settings| settings.listen[0].door = Door::Check);
    let mut proxy = bed.client();
    proxy.send([PREFACE, &frame(SETTINGS, 0, 0, &[])].concat());
    let asks = block(&[
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/healthz"),
        (":authority", "a"),
    ]);
    let asked = |stream| frame(HEADERS, END_STREAM_AND_HEADERS, stream, &asks);
    let given_up = |stream| [asked(stream), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat();
    let all: Vec<u8> = (0..1000).flat_map(|index| given_up(2 * index + 1)).collect();
    proxy.send(all);
    proxy.send(asked(2001));
    loop {
        let head = proxy.take_bytes(9);
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        proxy.take_bytes(length as usize);
        let stream = u32::from_be_bytes(head[5..9].try_into().unwrap());
        assert_ne!(head[3], GOAWAY);
        if (head[3], stream) == (HEADERS, 2001) {
            break;
        }
    }
}

mod envoy {
    use super::*;

    const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    const HEALTH: &str = "/grpc.health.v1.Health/Check";
    /// A call to the domain `shop` with one descriptor, `user` is `ann`.
    const CALL: &[u8] = b"\0\0\0\0\x17\x0a\x04shop\x12\x0f\x0a\x0d\x0a\x04user\x12\x05anna1";
    /// A call about every service.
    const WHOLE: &[u8] = b"\0\0\0\0\0";

    fn call(path: &str, message: &'static [u8]) -> (Request<()>, Bytes) {
        let request = Request::post(format!("http://tidegate{path}"))
            .header("content-type", "application/grpc")
            .body(());
        (request.unwrap(), Bytes::from_static(message))
    }

    fn status((status, last): &Told) -> &str {
        assert_eq!(*status, 200);
        last["grpc-status"].to_str().unwrap()
    }

    #[test]
    fn calls_that_come_too_late_are_unavailable_and_the_next_is_answered() {
        let bed = bed(Door::Envoy);
        for _ in 0..3 {
            let answers = ask(&bed, vec![call(RATE_LIMIT, CALL); TOGETHER]);
            some_are_refused(&answers, |answer| status(answer) == "14");
            assert!(answers.iter().all(|answer| ["0", "14"].contains(&status(answer))));
            assert_eq!(status(&ask(&bed, vec![call(RATE_LIMIT, CALL)])[0]), "0");
        }
    }

    #[test]
    fn whether_it_is_well_is_told_however_late_it_is() {
        let bed = bed(Door::Envoy);
        let mut calls = vec![call(RATE_LIMIT, CALL); TOGETHER / 2];
        calls.extend(vec![call(HEALTH, WHOLE); TOGETHER / 2]);
        let answers = ask(&bed, calls);
        let (calls, health) = answers.split_at(TOGETHER / 2);
        some_are_refused(calls, |answer| status(answer) == "14");
        assert!(health.iter().all(|answer| status(answer) == "0"));
    }
}

mod check {
    use super::*;

    fn get(path: &str) -> (Request<()>, Bytes) {
        let request = Request::get(format!("http://tidegate{path}"))
            .header("x-forwarded-for", "203.0.113.5")
            .header("x-forwarded-method", "GET")
            .header("x-forwarded-uri", "/a");
        (request.body(()).unwrap(), Bytes::new())
    }

    fn post() -> (Request<()>, Bytes) {
        let request = Request::post("http://tidegate/v1/check").body(()).unwrap();
        let question = r#"{"request":{"method":"GET","path":"/a","client":"203.0.113.5"}}"#;
        (request, Bytes::from_static(question.as_bytes()))
    }

    #[test]
    fn questions_that_come_too_late_are_503_and_the_next_is_answered() {
        let bed = bed(Door::Check);
        for question in [get("/forward-auth"), post()] {
            let answers = ask(&bed, vec![question.clone(); TOGETHER]);
            some_are_refused(&answers, |(status, _)| *status == 503);
            for (status, fields) in answers {
                match status.as_u16() {
                    200 => {}
                    503 => assert_eq!(fields["retry-after"], "1"),
                    other => panic!("{other}"),
                }
            }
            assert_eq!(ask(&bed, vec![question])[0].0, 200);
        }
    }

    #[test]
    fn whether_it_is_well_is_told_however_late_it_is() {
        let bed = bed(Door::Check);
        let mut questions = vec![get("/forward-auth"); TOGETHER / 2];
        questions.extend(vec![get("/healthz"); TOGETHER / 2]);
        let answers = ask(&bed, questions);
        let (questions, health) = answers.split_at(TOGETHER / 2);
        some_are_refused(questions, |(status, _)| *status == 503);
        assert!(health.iter().all(|(status, _)| *status == 200));
    }
}

mod spoe {
    use super::*;

    fn frame(kind: u8, number: u8, payload: &[u8]) -> Vec<u8> {
        let body = [&[kind, 0, 0, 0, 1, number, u8::from(number > 0)], payload].concat();
        [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
    }

    fn string(text: &str) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    }

    fn text(name: &str, value: &str) -> Vec<u8> {
        [string(name), vec![8], string(value)].concat()
    }

    fn hello() -> Vec<u8> {
        let payload = [
            text("supported-versions", "2.0"),
            text("capabilities", "pipelining"),
            [string("max-frame-size"), vec![3, 0xf0, 0xf1, 0x06]].concat(),
        ];
        frame(1, 0, &payload.concat())
    }

    fn notify(number: u8) -> Vec<u8> {
        let source = [string("src"), vec![6, 203, 0, 113, 5]].concat();
        let message = [
            string("tidegate-check"),
            vec![3],
            source,
            text("method", "GET"),
            text("path", "/a"),
        ];
        frame(3, number, &message.concat())
    }

    /// The payloads that answer messages of these numbers.
    fn told(bed: &Bed, numbers: std::ops::RangeInclusive<u8>) -> Vec<String> {
        let farewell = frame(2, 0, &[]);
        let asked: Vec<u8> = numbers.flat_map(notify).collect();
        let mut haproxy = bed.client();
        haproxy.send([hello(), asked, farewell].concat());
        let told = haproxy.ended_bytes();
        let (mut frames, mut rest) = (Vec::new(), &told[..]);
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let (frame, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            if frame[0] == 103 {
                frames.push(String::from_utf8_lossy(frame).into_owned());
            }
            rest = behind;
        }
        frames
    }

    #[test]
    fn messages_that_come_too_late_are_told_why_nothing_was_decided_and_the_next_is_decided() {
        let bed = bed(Door::Spoe);
        for _ in 0..3 {
            let answers = told(&bed, 1..=64);
            assert_eq!(answers.len(), 64);
            some_are_refused(&answers, |answer| answer.contains("overloaded"));
            let rest = answers.iter().filter(|answer| !answer.contains("overloaded"));
            assert!(rest.clone().all(|answer| answer.contains("pass")));
            assert!(told(&bed, 1..=1)[0].contains("pass"));
        }
    }
}

mod redis {
    use super::*;

    /// To refuse a command would take as long as to answer it.
    #[test]
    fn every_command_is_answered() {
        let bed = bed(Door::Redis);
        let command = "*5\r\n$11\r\nCL.THROTTLE\r\n$3\r\nann\r\n$3\r\n999\r\n$3\r\n999\r\n$2\r\n60\r\n";
        let mut client = bed.client();
        client.send(command.repeat(TOGETHER) + "*1\r\n$4\r\nQUIT\r\n");
        let told = client.rest();
        assert_eq!(told.matches("*5\r\n:0\r\n").count(), TOGETHER, "{told}");
    }
}

mod gateway {
    use super::*;

    /// Clients of the gateway wait for longer than its proxies.
    #[test]
    fn every_request_is_answered() {
        let bed = bed(Door::Gateway);
        // Each is refused on its way: this gateway opens no tunnels.
        let connect = || Request::builder().method("CONNECT").uri("a.test:443").body(());
        let requests = std::iter::repeat_with(|| (connect().unwrap(), Bytes::new()));
        let answers = ask(&bed, requests.take(TOGETHER).collect());
        assert!(answers.iter().all(|(status, _)| *status == 501), "{answers:?}");
    }
}
