//! The layer, as clients of its service see it.

use rustix::process::Signal;
use tidegate_e2e::{Port, curl};
use tidegate_tower::client::Client;
use tidegate_tower::{OnFailure, RateLimit, Remote};
use tokio::net::TcpListener;
use tonic::Code;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::server::health_reporter;

use crate::remote_example;
use crate::service::{POLICIES, client, door, hasty, service};

/// The policies of the example.
const EXAMPLE: &str = include_str!("../../../../examples/check/tidegate.yaml");

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_the_example_see_its_limits_whoever_decides() {
    let port = Port::claim();
    let policies = EXAMPLE.split_once("policies:").unwrap().1;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/hello", listener.local_addr().unwrap());
    tokio::spawn(remote_example::serve(listener, client(&port)));
    let meets_its_limit = |failure: Option<&str>| {
        for left in (0..5).rev() {
            let passed = curl(&[&url]);
            assert_eq!(
                (passed.status, &*passed.body),
                (200, &*format!("hello, {left} left"))
            );
            assert_eq!(passed.number("x-ratelimit-remaining"), left);
            assert_eq!(passed.field("ratelimit-policy"), Some("\"api\";q=5;w=60"));
            assert_eq!(passed.field("x-tidegate-failure"), failure);
        }
        let refused = curl(&[&url]);
        assert_eq!(refused.status, 429);
        assert!((1..=12).contains(&refused.number("retry-after")), "{refused:?}");
        assert_eq!(refused.field("content-type"), Some("application/json"));
        assert!(refused.body.contains("rate_limit_exceeded"), "{refused:?}");
        assert_eq!(refused.field("x-tidegate-failure"), failure);
    };
    let before = door(&port, policies);
    meets_its_limit(None);
    assert_eq!(before.stop(), Some(0));
    meets_its_limit(Some("unavailable"));
    let _after = door(&port, policies);
    meets_its_limit(None);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_door_is_stopped_requests_pass_or_do_not_as_was_chosen() {
    let port = Port::claim();
    let allowing = service(Remote::new(client(&port))).await;
    let denying = service(Remote::new(client(&port)).on_failure(OnFailure::Deny)).await;
    let door = door(&port, POLICIES);
    let statuses = [&allowing, &denying, &allowing].map(|url| curl(&[url]).status);
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(door.stop(), Some(0));
    for _ in 0..3 {
        let passed = curl(&[&allowing]);
        assert_eq!(
            (passed.status, passed.field("x-tidegate-failure")),
            (200, Some("unavailable"))
        );
        let refused = curl(&[&denying]);
        assert_eq!(refused.status, 503);
        assert!(refused.body.contains("limiter_failed"), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_stands_still_is_waited_for_no_longer_than_the_timeout() {
    let port = Port::claim();
    let mut door = door(&port, POLICIES);
    let url = service(Remote::new(hasty(&port))).await;
    door.process().signal(Signal::STOP);
    for _ in 0..3 {
        let passed = curl(&[&url]);
        assert_eq!(
            (passed.status, passed.field("x-tidegate-failure")),
            (200, Some("timeout"))
        );
    }
    door.process().signal(Signal::CONT);
}

/// The health service of tonic, whose calls `client` asks about.
async fn health(client: Client) -> HealthClient<Channel> {
    let remote = Remote::new(client).on_failure(OnFailure::Deny);
    let limits = RateLimit::new(remote).peer(|request| {
        let connection = request.extensions.get::<TcpConnectInfo>()?;
        Some(connection.remote_addr()?.ip())
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (_reporter, health) = health_reporter();
    let server = Server::builder().layer(limits).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let endpoint = Endpoint::from_shared(url).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_tonic_are_refused_by_their_status() {
    let port = Port::claim();
    let door = door(&port, POLICIES);
    let mut calls = health(client(&port)).await;
    for left in ["1", "0"] {
        let told = calls.check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(told.metadata().get("x-ratelimit-remaining").unwrap(), left);
    }
    let refused = calls.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.metadata().contains_key("retry-after"), "{refused:?}");
    assert_eq!(door.stop(), Some(0));
    let unknown = calls.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(unknown.code(), Code::Unavailable);
}
