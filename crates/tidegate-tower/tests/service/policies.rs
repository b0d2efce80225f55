//! What the layer does by policies, time and a store that fails.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tidegate_core::{Charge, Decisions, HoldId, Key, Timestamp};
use tidegate_tower::clock::{Clock, ManualClock};
use tidegate_tower::store::{NotRefunded, Store, StoreError};
use tidegate_tower::{BuildError, Builder, Course, Decide, LimitedBody, Limiter, RateLimit, Verdict};
use tower::{ServiceBuilder, ServiceExt, service_fn};

type Heard = Response<LimitedBody<Full<Bytes>>>;

const ONE: &str = "policies: [{ name: one, key: [client.ip], limit: { quota: 1, window: 1m } }]";
const START: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);

/// What a service says that tells in header fields what it was told.
async fn ask<D: Decide>(limits: &RateLimit<D>, request: Request<()>) -> Heard {
    let telling = service_fn(|request: Request<()>| async move {
        let mut response = Response::new(Full::default());
        let verdict = request.extensions().get::<Verdict>().unwrap();
        response.extensions_mut().insert(*verdict);
        response.extensions_mut().insert(request.headers().clone());
        Ok::<_, Infallible>(response)
    });
    let service = ServiceBuilder::new().layer(limits.clone()).service(telling);
    service.oneshot(request).await.unwrap()
}

fn from(client: u8) -> Request<()> {
    let mut request = Request::get("/").body(()).unwrap();
    let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, client));
    request
        .extensions_mut()
        .insert(std::net::SocketAddr::from((address, 1)));
    request
}

fn told(response: &Heard) -> (Verdict, &HeaderMap) {
    let extensions = response.extensions();
    (*extensions.get().unwrap(), extensions.get().unwrap())
}

#[tokio::test]
async fn who_waits_as_long_as_told_is_served() {
    let hand = ManualClock::starting_at(START);
    let builder = Builder::from_yaml(ONE)
        .unwrap()
        .clock(Clock::manual(hand.clone()));
    let limits = RateLimit::new(builder.build().unwrap());
    assert_eq!(ask(&limits, from(1)).await.status(), 200);
    let refused = ask(&limits, from(1)).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"60".parse().unwrap())
    );
    assert_eq!(ask(&limits, from(2)).await.status(), 200);
    hand.advance(Duration::from_secs(60));
    assert_eq!(ask(&limits, from(1)).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_leaky_bucket_lets_requests_wait_for_their_turn() {
    let limits = RateLimit::from_yaml(
        "policies: [{ name: even, key: [client.ip], limit: { algorithm: leaky_bucket, quota: 1, window: 1m, max_delay: 90s } }]",
    )
    .unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(told(&ask(&limits, from(1)).await).0.course, Course::Pass);
    let waited = ask(&limits, from(1)).await;
    assert_eq!(told(&waited).0.course, Course::Delay);
    let took = start.elapsed();
    assert!(
        took > Duration::from_secs(50) && took <= Duration::from_secs(60),
        "{took:?}"
    );
}

#[tokio::test]
async fn fields_that_only_we_write_never_come_from_clients() {
    let limits = RateLimit::from_yaml(ONE).unwrap();
    let mut request = from(1);
    for name in ["x-tidegate-subject", "x_tidegate_tier"] {
        request.headers_mut().insert(name, "forged".parse().unwrap());
    }
    let response = ask(&limits, request).await;
    let (verdict, fields) = told(&response);
    let expected = Verdict {
        course: Course::Pass,
        remaining: Some(0),
        failed: false,
    };
    assert_eq!(verdict, expected);
    assert_eq!(fields["x-tidegate-verdict"], "pass");
    assert!(!fields.contains_key("x-tidegate-subject") && !fields.contains_key("x_tidegate_tier"));
}

#[tokio::test]
async fn forwarded_fields_count_as_far_as_the_policies_trust() {
    let trusting = format!("gateway: {{ trusted_proxies: [192.0.2.9] }}\n{ONE}");
    let limits = RateLimit::from_yaml(&trusting).unwrap();
    let forwarded = |peer, client: &str| {
        let mut request = from(peer);
        request
            .headers_mut()
            .insert("x-forwarded-for", client.parse().unwrap());
        request
    };
    assert_eq!(ask(&limits, forwarded(9, "198.51.100.1")).await.status(), 200);
    assert_eq!(ask(&limits, forwarded(9, "198.51.100.1")).await.status(), 429);
    assert_eq!(ask(&limits, forwarded(9, "198.51.100.2")).await.status(), 200);
    assert_eq!(ask(&limits, forwarded(1, "198.51.100.3")).await.status(), 200);
    assert_eq!(ask(&limits, forwarded(1, "198.51.100.4")).await.status(), 429);
}

#[tokio::test]
async fn a_request_of_nobody_does_not_pass() {
    let limits = RateLimit::from_yaml(ONE).unwrap();
    let mut request = from(1);
    request.extensions_mut().clear();
    assert_eq!(ask(&limits, request).await.status(), 503);
    let mut call = from(1);
    call.extensions_mut().clear();
    call.headers_mut()
        .insert("content-type", "application/grpc+proto".parse().unwrap());
    let refused = ask(&limits, call).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["grpc-status"]),
        (200, &"14".parse().unwrap())
    );
}

/// A store that cannot decide.
#[derive(Debug)]
struct Broken;

impl Store for Broken {
    async fn charge(&self, _: &[Charge<'_>], _: Timestamp) -> Result<Decisions, StoreError> {
        Err(StoreError::Timeout)
    }

    async fn release(&self, _: Key, _: HoldId, _: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::Timeout)
    }

    async fn refund(&self, _: &[Charge<'_>], _: Timestamp) -> Result<(), NotRefunded> {
        Err(NotRefunded {
            error: StoreError::Timeout,
            untouched: Default::default(),
        })
    }
}

/// `policy` says more of a policy whose limit is two requests a minute, in a store that fails.
fn without_store(policy: &str) -> RateLimit<Limiter<Broken>> {
    let text = format!(
        "store: redis://127.0.0.1\npolicies: [{{ name: two, key: [client.ip], {policy}, limit: {{ quota: 2, window: 1m }} }}]"
    );
    RateLimit::new(Builder::from_yaml(&text).unwrap().build_on(Broken).unwrap())
}

#[tokio::test]
async fn while_the_store_fails_each_policy_goes_its_own_way() {
    let allowing = without_store("on_store_failure: allow");
    for _ in 0..3 {
        let passed = ask(&allowing, from(1)).await;
        assert!(told(&passed).0.failed);
        assert_eq!(passed.headers()["x-tidegate-failure"], "timeout");
    }
    let denying = without_store("on_store_failure: deny");
    assert_eq!(ask(&denying, from(1)).await.status(), 503);
    for (policy, passing) in [
        ("on_store_failure: local", 2),
        ("on_store_failure: local, local_share: 50%", 1),
    ] {
        let limits = without_store(policy);
        for _ in 0..passing {
            let passed = ask(&limits, from(1)).await;
            assert!(told(&passed).0.failed, "{policy}");
        }
        let refused = ask(&limits, from(1)).await;
        assert_eq!(
            (
                refused.status().as_u16(),
                &refused.headers()["x-tidegate-failure"]
            ),
            (429, &"timeout".parse().unwrap()),
            "{policy}"
        );
        assert_eq!(ask(&limits, from(2)).await.status(), 200);
    }
}

#[tokio::test]
async fn policies_that_are_local_do_not_ask_the_store() {
    let limits = without_store("consistency: local");
    for _ in 0..2 {
        let passed = ask(&limits, from(1)).await;
        assert!(!told(&passed).0.failed);
    }
    assert_eq!(ask(&limits, from(1)).await.status(), 429);
}

#[tokio::test]
async fn who_decides_alone_does_what_each_policy_says_for_a_store_that_is_gone() {
    let text = "store: redis://127.0.0.1
policies:
  - { name: own, match: { path: /own }, key: [client.ip], consistency: local, limit: { quota: 1, window: 1m } }
  - { name: shared, match: { path: /shared }, key: [client.ip], limit: { quota: 2, window: 1m }, local_share: 50% }
  - { name: strict, match: { path: /strict }, key: [client.ip], on_store_failure: deny, limit: { quota: 1, window: 1m } }
";
    let limits = RateLimit::new(Builder::from_yaml(text).unwrap().build_alone().unwrap());
    let mut statuses = Vec::new();
    for path in ["/own", "/own", "/shared", "/shared", "/strict", "/free"] {
        let mut request = from(1);
        *request.uri_mut() = path.parse().unwrap();
        statuses.push(ask(&limits, request).await.status().as_u16());
    }
    assert_eq!(statuses, [200, 429, 200, 429, 503, 200]);
    let unshared = Builder::from_yaml(ONE).unwrap().build_alone().unwrap();
    let unshared = RateLimit::new(unshared);
    assert_eq!(ask(&unshared, from(1)).await.status(), 200);
    assert_eq!(ask(&unshared, from(1)).await.status(), 429);
}

#[test]
fn a_store_is_asked_under_the_names_that_its_policies_say() {
    let build = |text: &str, secret: Option<&[u8]>| {
        let builder = Builder::from_yaml(&format!("{text}\n{ONE}")).unwrap();
        let builder = match secret {
            Some(secret) => builder.key_secret(secret),
            None => builder,
        };
        builder.build_on(Broken).map(drop)
    };
    assert!(matches!(build("", None), Err(BuildError::NothingShared)));
    let named = "store: { redis: redis://127.0.0.1, key_secret_env: UNREAD }";
    assert!(matches!(build(named, None), Err(BuildError::NeedsKeySecret)));
    assert!(matches!(
        build(named, Some(&[7; 15])),
        Err(BuildError::NeedsKeySecret)
    ));
    assert!(build(named, Some(&[7; 16])).is_ok());
    assert!(build("store: redis://127.0.0.1", None).is_ok());
}

#[test]
fn what_policies_need_is_missed_before_the_first_request() {
    let error = |text: &str| Builder::from_yaml(text).and_then(Builder::build).unwrap_err();
    let with = |more: &str| format!("{more}\n{ONE}");
    assert!(matches!(error("policies: 1"), BuildError::Policies(_)));
    let store = error(&with("store: redis://127.0.0.1"));
    assert!(matches!(store, BuildError::NeedsStore), "{store}");
    let keys = error(&with(
        "identity: { api_key: { header: x-api-key, keys: keys.yaml } }",
    ));
    assert!(matches!(keys, BuildError::NeedsApiKeys), "{keys}");
    let lists = error(&with("access: { deny: { file: bad.txt } }"));
    assert!(matches!(lists, BuildError::ListFiles), "{lists}");
    let body = error(
        "policies: [{ name: one, key: [body.json.user], body: { max_bytes: 1KiB }, limit: { quota: 1, window: 1m } }]",
    );
    assert!(matches!(body, BuildError::LooksAtBodies), "{body}");
}
