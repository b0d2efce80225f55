//! The client alone.

use http::Request;
use rustix::process::Signal;
use tidegate_e2e::Port;
use tidegate_tower::client::{Call, Check, Descriptor, Error};
use tokio::task::JoinSet;

use crate::service::{POLICIES, client, door, impatient};

fn of(client: &str) -> Check {
    let request = Request::get("/api/a").body(()).unwrap();
    Check::of(&request, client.parse().unwrap())
}

#[tokio::test]
async fn a_request_is_allowed_up_to_its_limit_and_a_look_spends_nothing() {
    let port = Port::claim();
    let _door = door(&port, POLICIES);
    let client = client(&port);
    for left in [1, 0] {
        let look = client.check(&of("192.0.2.1").peek()).await.unwrap();
        assert_eq!((look.allowed, look.limits[0].remaining), (true, left + 1));
        let answer = client.check(&of("192.0.2.1")).await.unwrap();
        assert_eq!((answer.allowed, answer.limits[0].remaining), (true, left));
        assert_eq!(answer.client_fields["x-ratelimit-remaining"], left.to_string());
        assert_eq!(answer.origin_fields["x-tidegate-verdict"], "pass");
    }
    let refused = client.check(&of("192.0.2.1")).await.unwrap();
    assert_eq!((refused.allowed, refused.status), (false, 429));
    assert_eq!(refused.error.as_deref(), Some("rate_limit_exceeded"));
    let wait = refused.retry_after().unwrap().as_secs();
    assert!((1700..=1800).contains(&wait), "{wait}");
    assert!(refused.client_fields.contains_key("retry-after"));
    assert!(refused.body.unwrap().contains("rate_limit_exceeded"));
    assert!(client.check(&of("192.0.2.2")).await.unwrap().allowed);
}

#[tokio::test]
async fn descriptors_are_counted_by_the_policies_of_their_domain() {
    let port = Port::claim();
    let _door = door(&port, POLICIES);
    let client = client(&port);
    let zoe = |hits| Call::of("shop").descriptor(Descriptor::of([("user", "zoe")]).hits(hits));
    let first = client.check(&zoe(2)).await.unwrap();
    let [limit] = &first.limits[..] else {
        panic!("{first:?}")
    };
    assert!(first.allowed);
    assert_eq!((limit.remaining, limit.descriptor), (1, Some(0)));
    assert!(!client.check(&zoe(2).peek()).await.unwrap().allowed);
    assert_eq!(client.check(&zoe(2)).await.unwrap().status, 429);
    assert!(client.check(&zoe(1)).await.unwrap().allowed);
    let both = Call::of("shop")
        .descriptor([("user", "root")])
        .descriptor([("user", "kim")])
        .hits(3);
    let both = client.check(&both).await.unwrap();
    assert_eq!((both.unlimited, both.limits[0].descriptor), (vec![0], Some(1)));
    let unclear = client.check(&Call::of("shop")).await.unwrap_err();
    assert!(matches!(unclear, Error::Unclear { .. }), "{unclear}");
}

#[tokio::test]
async fn many_questions_are_answered_in_their_order() {
    let port = Port::claim();
    let _door = door(&port, POLICIES);
    let client = client(&port);
    let questions = ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"].map(of);
    let answers = client.check_all(&questions).await.unwrap();
    let allowed: Vec<bool> = answers.iter().map(|answer| answer.allowed).collect();
    assert_eq!(allowed, [true, true, true, false, true]);
    let calls = vec![Call::of("shop").descriptor([("user", "zoe")]); 100];
    let answers = client.check_all(&calls).await.unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.allowed).count(), 3);
    let more = client.check_all(&[&calls[..], &calls[..1]].concat()).await;
    assert!(matches!(more, Err(Error::Unclear { .. })), "{more:?}");
}

#[tokio::test]
async fn whoever_asks_at_the_same_time_shares_one_limit() {
    let port = Port::claim();
    let policies = "  - { name: all, key: [client.ip], limit: { quota: 100, window: 1h } }";
    let _door = door(&port, policies);
    let client = client(&port).with_most_at_once(16);
    let mut asking = JoinSet::new();
    for _ in 0..400 {
        let client = client.clone();
        asking.spawn(async move {
            loop {
                match client.check(&of("192.0.2.1")).await {
                    // On a busy machine it may be so, and spends nothing.
                    Err(Error::Overloaded) => tokio::task::yield_now().await,
                    answer => break answer.unwrap().allowed,
                }
            }
        });
    }
    let answers = asking.join_all().await;
    assert_eq!(answers.iter().filter(|allowed| **allowed).count(), 100);
}

#[tokio::test]
async fn a_service_that_starts_again_is_found_by_the_next_question() {
    let port = Port::claim();
    let client = client(&port);
    for _ in 0..2 {
        let gone = client.check(&of("192.0.2.1")).await;
        assert!(matches!(gone, Err(Error::Unreachable(_))), "{gone:?}");
        let door = door(&port, POLICIES);
        let answer = client.check(&of("192.0.2.1")).await.unwrap();
        assert_eq!(answer.limits[0].remaining, 1);
        assert_eq!(door.stop(), Some(0));
    }
}

#[tokio::test]
async fn a_service_that_stands_still_is_given_up_in_time_and_asked_again() {
    let port = Port::claim();
    let mut door = door(&port, POLICIES);
    let patient = client(&port);
    assert!(patient.check(&of("192.0.2.1")).await.is_ok());
    door.process().signal(Signal::STOP);
    for _ in 0..2 {
        let silent = impatient(&port).check(&of("192.0.2.1")).await;
        assert!(matches!(silent, Err(Error::Timeout)), "{silent:?}");
    }
    door.process().signal(Signal::CONT);
    assert!(patient.check(&of("192.0.2.2")).await.unwrap().allowed);
}
