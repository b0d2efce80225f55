//! The example of tonic.

use tonic::Code;
use tonic_health::pb::HealthCheckRequest;

use crate::tonic_example;
use crate::web::{health_client, listener};

#[tokio::test]
async fn calls_beyond_the_limit_are_told_that_it_is_used_up() {
    let (address, listener) = listener().await;
    tokio::spawn(async move { tonic_example::serve(listener).await.unwrap() });
    let mut client = health_client(address).await;
    for _ in 0..5 {
        let told = client.check(HealthCheckRequest::default()).await.unwrap();
        assert_eq!(
            told.metadata().get("ratelimit-policy").unwrap(),
            "\"health\";q=5;w=60"
        );
    }
    let refused = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.metadata().get("retry-after").unwrap(), "12");
}
