//! A service and a gateway that count together.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::Request;
use tidegate_e2e::{Gateway, PATIENCE, curl, until};
use tidegate_test_servers::Server;
use tidegate_tower::client::{Check, Client};
use tidegate_tower::store::redis::{Address, Redis, Servers, Settings};
use tidegate_tower::{Builder, RateLimit};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

fn policies(redis: &Server) -> String {
    format!(
        "store: {{ redis: {}, timeout: 1s }}
policies:
  - {{ name: shared, key: [client.ip], limit: {{ algorithm: fixed_window, quota: 4, window: 1h }}, local_share: 25% }}
",
        redis.url()
    )
}

/// A service that counts in `redis` by `policies`.
async fn service(policies: &str, redis: &Server) -> SocketAddr {
    let address = Address::new("127.0.0.1", redis.port());
    let mut settings = Settings::new(Servers::Single(address));
    settings.timeout = PATIENCE;
    let store = Redis::new(&settings, Handle::current()).unwrap();
    until("a connection", || {
        let figures = store.figures();
        figures
            .servers
            .iter()
            .any(|server| server.connected)
            .then_some(())
    });
    let limits = Builder::from_yaml(policies).unwrap().build_on(store).unwrap();
    let limits = RateLimit::new(limits)
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.ip()));
    let router = Router::new().route("/", get(async || "hello")).layer(limits);
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_and_a_gateway_with_the_same_file_hold_one_limit() {
    let mut redis = Server::redis();
    let policies = policies(&redis);
    let door = Gateway::doors(&format!("doors: {{ check: 0 }}\n{policies}"));
    let address = service(&policies, &redis).await;
    let ask = |from: &str| {
        let reply = curl(&[&format!("http://{address}/"), "--interface", from]);
        (reply.status, reply.field("x-tidegate-failure").map(str::to_owned))
    };
    let client = Client::new(&door.url("")).unwrap().with_timeout(PATIENCE);
    let request = Request::get("/").body(()).unwrap();
    let check = Check::of(&request, "127.0.0.1".parse().unwrap());
    for left in [3, 1] {
        let answer = client.check(&check).await.unwrap();
        assert_eq!((answer.failure, answer.limits[0].remaining), (None, left));
        assert_eq!(ask("127.0.0.1"), (200, None));
    }
    assert!(!client.check(&check).await.unwrap().allowed);
    assert_eq!(ask("127.0.0.1"), (429, None));

    // A quarter of the limit is this process's own. That one was refused is remembered, so another asks.
    redis.kill();
    let failed = |status| (status, Some("unavailable".to_owned()));
    let statuses = ["127.0.0.2"; 2].map(ask);
    assert_eq!(statuses, [failed(200), failed(429)]);
}
