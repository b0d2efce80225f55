//! The client at doors over TCP, good ones and others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test support")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tidegate_client::{Check, Client, Error, MOST_ANSWER_BYTES};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const ALLOWED: &str = r#"{"allowed":true,"status":200,"client_fields":{},"origin_fields":{"x-tidegate-verdict":"pass"},
    "limits":[{"policy":"api","name":"api","limit":5,"allowed":true,"remaining":4,"reset_after_ms":12000}],"new":1}"#;

/// A door that answers with `status` and `text`, and the number of connections that it took.
async fn door(status: u16, text: String) -> (Client, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (taken, text) = (Arc::new(AtomicUsize::new(0)), Bytes::from(text));
    let count = taken.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            let text = text.clone();
            let answer = service_fn(move |question: Request<Incoming>| {
                let text = text.clone();
                async move {
                    let _ = question.into_body().collect().await;
                    let mut response = Response::new(Full::new(text));
                    *response.status_mut() = status.try_into().unwrap();
                    Ok::<_, Infallible>(response)
                }
            });
            let serving =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
            tokio::spawn(serving);
        }
    });
    (client(address), taken)
}

fn client(door: SocketAddr) -> Client {
    let client = Client::new(&format!("http://{door}")).unwrap();
    // The machine may be busy; what a test waits for is never this.
    client.with_timeout(Duration::from_secs(60))
}

fn question() -> Check {
    let request = Request::get("/").body(()).unwrap();
    Check::of(&request, "192.0.2.1".parse().unwrap())
}

#[tokio::test]
async fn an_answer_tells_of_each_limit_and_the_connection_is_used_again() {
    let (client, connections) = door(200, ALLOWED.into()).await;
    for _ in 0..3 {
        let answer = client.check(&question()).await.unwrap();
        assert!(answer.allowed && answer.retry_after().is_none());
        let [limit] = &answer.limits[..] else {
            panic!("{answer:?}")
        };
        assert_eq!(
            (limit.remaining, limit.reset_after()),
            (4, Duration::from_secs(12))
        );
        assert_eq!(answer.origin_fields["x-tidegate-verdict"], "pass");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn several_questions_have_as_many_answers() {
    let (client, _) = door(
        200,
        format!(r#"{{"results":[{ALLOWED},{{"allowed":false,"status":429}}]}}"#),
    )
    .await;
    let answers = client.check_all(&[question(), question().peek()]).await.unwrap();
    assert_eq!(
        answers.iter().map(|answer| answer.allowed).collect::<Vec<_>>(),
        [true, false]
    );
    let short = client.check_all(&[question()]).await;
    assert!(matches!(short, Err(Error::Garbled(_))), "{short:?}");
}

#[tokio::test]
async fn only_so_many_questions_are_on_their_way_at_one_time_and_the_others_wait() {
    let (client, connections) = door(200, ALLOWED.into()).await;
    let client = client.with_most_at_once(2);
    let mut asking = JoinSet::new();
    for _ in 0..20 {
        let client = client.clone();
        asking.spawn(async move { client.check(&question()).await.unwrap().allowed });
    }
    assert_eq!(asking.join_all().await, [true; 20]);
    let connections = connections.load(Ordering::Relaxed);
    assert!((1..=2).contains(&connections), "{connections}");
}

#[tokio::test]
async fn what_is_no_answer_says_why() {
    let error = async |status, text: &str| {
        let (client, _) = door(status, text.into()).await;
        client.check(&question()).await.unwrap_err()
    };
    assert!(matches!(error(200, "<html>").await, Error::Garbled(_)));
    assert!(matches!(error(500, "").await, Error::Unexpected { status } if status == 500));
    assert!(matches!(error(503, "").await, Error::Overloaded));
    assert!(matches!(error(400, "why").await, Error::Unclear { document, .. } if document == "why"));
    assert!(matches!(error(413, "").await, Error::Unclear { .. }));
}

#[tokio::test]
async fn the_longest_answer_is_read_and_one_more_byte_is_not() {
    let padded = |bytes: usize| format!("{ALLOWED}{}", " ".repeat(bytes - ALLOWED.len()));
    let (client, _) = door(200, padded(MOST_ANSWER_BYTES)).await;
    assert!(client.check(&question()).await.is_ok());
    let (client, _) = door(200, padded(MOST_ANSWER_BYTES + 1)).await;
    assert!(matches!(client.check(&question()).await, Err(Error::Garbled(_))));
}

#[tokio::test]
async fn a_door_that_is_silent_or_gone_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let silent = client(address).with_timeout(Duration::from_millis(1));
    assert!(matches!(silent.check(&question()).await, Err(Error::Timeout)));
    drop(listener);
    assert!(matches!(
        client(address).check(&question()).await,
        Err(Error::Unreachable(_))
    ));
}

/// A door whose connections each end after so many answers: with the next question, which gets none. The number of questions that it read.
async fn closing_door(answers: usize) -> (Client, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(listener.local_addr().unwrap());
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 64 * 1024];
            for answered in 0..=answers {
                if stream.read(&mut buffer).await.unwrap() == 0 {
                    break;
                }
                count.fetch_add(1, Ordering::Relaxed);
                if answered < answers {
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ALLOWED.len());
                    stream
                        .write_all(format!("{head}{ALLOWED}").as_bytes())
                        .await
                        .unwrap();
                }
            }
        }
    });
    (client, read)
}

#[tokio::test]
async fn a_question_that_met_the_end_of_its_connection_is_asked_once_more() {
    let (client, read) = closing_door(1).await;
    for _ in 0..3 {
        assert!(client.check(&question()).await.unwrap().allowed);
    }
    assert_eq!(read.load(Ordering::Relaxed), 5, "twice a connection ended");
    let (client, read) = closing_door(0).await;
    let gone = client.check(&question()).await;
    assert!(matches!(gone, Err(Error::Unreachable(_))), "{gone:?}");
    assert_eq!(read.load(Ordering::Relaxed), 2, "once more, and no further");
}
