//! The example of axum.

use crate::axum_example;
use crate::web::{get, hear, listener};

#[tokio::test]
async fn requests_pass_up_to_the_limit_and_then_the_service_is_not_asked() {
    let (address, listener) = listener().await;
    tokio::spawn(async move { axum_example::serve(listener).await.unwrap() });
    for left in (0..5).rev() {
        let heard = hear(get(address, "/hello")).await;
        assert_eq!(heard.text, format!("hello, {left} left"));
        assert_eq!(heard.field("x-ratelimit-remaining"), Some(&*left.to_string()));
        assert_eq!(heard.field("ratelimit-policy"), Some("\"api\";q=5;w=60"));
    }
    let refused = hear(get(address, "/hello")).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.field("retry-after"), Some("12"));
    assert_eq!(refused.json()["error"], "rate_limit_exceeded");
}
