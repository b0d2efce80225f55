//! What a call of the rate limit service is told.

use super::wire::Message;
use super::*;

const PER_USER: &str = "
policies:
  - { name: per-user, match: { domain: shop, descriptor: [user] }, limit: { algorithm: fixed_window, quota: 2, window: 1m } }
  - { name: search, match: { domain: shop, descriptor: [path: /search] }, limit: { algorithm: fixed_window, quota: 1, window: 1h } }
  - { name: free, match: { domain: shop, descriptor: [user: staff] }, limit: unlimited }
  - { name: watched, match: { domain: shop, descriptor: [watched] }, mode: shadow, limit: { algorithm: fixed_window, quota: 1, window: 1h } }
";

fn user(name: &str) -> Message {
    descriptor(&[("user", name)])
}

#[test]
fn each_descriptor_has_its_status_and_the_client_the_fields_that_http_clients_get() {
    // 40 s before the end of a minute.
    let (bed, _) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    let asked = call(
        "shop",
        &[user("ann"), descriptor(&[("other", "x")]), user("staff")],
    );
    let reply = envoy.call(RATE_LIMIT, &asked).ok();
    assert_eq!(reply.number(1), OK);
    let statuses = reply.messages(2);
    let codes: Vec<_> = statuses.iter().map(|status| status.number(1)).collect();
    assert_eq!(codes, [OK, OK, OK]);
    let limit = statuses[0].message(2).unwrap();
    assert_eq!(
        (limit.number(1), limit.number(2), limit.text(3)),
        (2, 2, "per-user")
    );
    assert_eq!(statuses[0].number(3), 1);
    assert_eq!(statuses[0].message(4).unwrap().number(1), 60);
    assert!(statuses[1].message(2).is_none(), "nothing limits it");
    assert_eq!(statuses[1].number(3), 0);
    assert!(statuses[2].message(2).is_none(), "it is unlimited");
    assert_eq!(statuses[2].number(3), u64::from(u32::MAX));
    assert_eq!(header(&reply, "x-ratelimit-limit"), Some("2"));
    assert_eq!(header(&reply, "x-ratelimit-remaining"), Some("1"));
    assert_eq!(header(&reply, "ratelimit"), Some("\"per-user\";r=1;t=60"));
    assert_eq!(header(&reply, "ratelimit-policy"), Some("\"per-user\";q=2;w=60"));
    assert_eq!(header(&reply, "retry-after"), None);
    assert_eq!(reply.text(5), "");
}

#[test]
fn what_is_over_its_limit_is_told_why_and_spends_nothing_elsewhere() {
    let (bed, _) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    let search = || descriptor(&[("path", "/search")]);
    let both = || call("shop", &[user("ann"), search()]);
    assert_eq!(envoy.call(RATE_LIMIT, &both()).ok().number(1), OK);
    let reply = envoy.call(RATE_LIMIT, &both()).ok();
    assert_eq!(reply.number(1), OVER_LIMIT);
    let statuses = reply.messages(2);
    assert_eq!((statuses[0].number(1), statuses[0].number(3)), (OK, 1));
    assert_eq!((statuses[1].number(1), statuses[1].number(3)), (OVER_LIMIT, 0));
    let limit = statuses[1].message(2).unwrap();
    assert_eq!(
        (limit.number(1), limit.number(2), limit.text(3)),
        (1, 3, "search")
    );
    assert!(header(&reply, "retry-after").is_some());
    assert_eq!(header(&reply, "content-type"), Some("application/json"));
    let body: serde_json::Value = serde_json::from_str(reply.text(5)).unwrap();
    assert_eq!(body["error"], "rate_limit_exceeded");
    assert_eq!(body["violated-policies"][0], "search");
    let told = |key: &str| {
        let metadata = reply.message(6).unwrap();
        let mut entries = metadata.messages(1).into_iter();
        let entry = entries.find(|entry| entry.text(1) == key).unwrap();
        entry.message(2).unwrap().text(3).to_owned()
    };
    assert_eq!(
        (told("policy"), told("verdict")),
        ("search".into(), "reject".into())
    );
    let alone = envoy.call(RATE_LIMIT, &call("shop", &[user("ann")])).ok();
    assert_eq!(alone.messages(2)[0].number(3), 0, "the refused call had cost one");
}

#[test]
fn hits_are_those_of_the_descriptor_else_of_the_call() {
    let (bed, time) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    let hits = |own: Option<u64>| match own {
        Some(hits) => user("ann").with_message(3, &Message::new().with_number(1, hits)),
        None => user("ann"),
    };
    let mut left = |own, of_call: u64| {
        let asked = call("shop", &[hits(own)]).with_number(3, of_call);
        let reply = envoy.call(RATE_LIMIT, &asked).ok();
        (reply.number(1), reply.messages(2)[0].number(3))
    };
    assert_eq!(left(Some(0), 2), (OK, 2), "0 only looks");
    assert_eq!(left(None, 2), (OK, 0));
    assert_eq!(left(Some(1), 0), (OVER_LIMIT, 0));
    time.advance(60 * SECOND);
    assert_eq!(left(Some(2), 1), (OK, 0));
    time.advance(60 * SECOND);
    assert_eq!(left(None, 0), (OK, 1), "0 of a call says nothing");
    assert_eq!(left(Some(3), 0), (OVER_LIMIT, 1), "more than it ever holds");
}

#[test]
fn a_limit_that_a_descriptor_brings_along_takes_the_place_of_the_file() {
    let (bed, _) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    let mut asked = |domain: &str, quota: u64, unit: u64| {
        let brought = Message::new().with_number(1, quota).with_number(2, unit);
        envoy.call(
            RATE_LIMIT,
            &call(domain, &[user("ann").with_message(2, &brought)]),
        )
    };
    for left in [2, 1, 0] {
        let reply = asked("shop", 3, 4).ok();
        let status = &reply.messages(2)[0];
        let limit = status.message(2).unwrap();
        assert_eq!((limit.number(1), limit.number(2), status.number(3)), (3, 4, left));
    }
    assert_eq!(asked("shop", 3, 4).ok().number(1), OVER_LIMIT);
    assert_eq!(
        asked("shop", 0, 1).ok().number(1),
        OVER_LIMIT,
        "nothing at all is allowed"
    );
    assert_eq!(
        asked("elsewhere", 0, 1).ok().number(1),
        OK,
        "no policy names the domain"
    );
    // There is no week among the units of a call.
    for unit in [0, 7] {
        assert_eq!(asked("shop", 3, unit).status.0, 3);
    }
}

#[test]
fn a_domain_that_no_policy_names_and_a_policy_in_shadow_mode_limit_nothing() {
    let (bed, _) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    for _ in 0..3 {
        let reply = envoy.call(RATE_LIMIT, &call("shops", &[user("ann")])).ok();
        assert_eq!((reply.number(1), reply.messages(2)[0].number(1)), (OK, OK));
        assert!(reply.messages(3).is_empty());
        let watched = descriptor(&[("watched", "x")]);
        let reply = envoy.call(RATE_LIMIT, &call("shop", &[watched])).ok();
        assert_eq!((reply.number(1), reply.messages(2)[0].number(1)), (OK, OK));
        assert!(
            reply.messages(2)[0].message(2).is_none(),
            "clients never learn of it"
        );
    }
}

#[test]
fn hits_are_given_back_and_never_more_than_there_were() {
    let policies = "policies:
  - { name: fixed, match: { domain: shop, descriptor: [fixed] }, limit: { algorithm: fixed_window, quota: 10, window: 1h } }
  - { name: sliding, match: { domain: shop, descriptor: [sliding] }, limit: { algorithm: sliding_window, quota: 10, window: 1h } }
  - { name: log, match: { domain: shop, descriptor: [log] }, limit: { algorithm: sliding_window_log, quota: 10, window: 1h } }
  - { name: bucket, match: { domain: shop, descriptor: [bucket] }, limit: { algorithm: token_bucket, quota: 10, window: 1h, burst: 10 } }
  - { name: whole, match: { domain: shop }, key: ['domain + domain'], limit: { algorithm: fixed_window, quota: 100, window: 1h } }";
    let (bed, _) = door(policies);
    let mut envoy = Envoy::at(&bed);
    for kind in ["fixed", "sliding", "log", "bucket"] {
        let mut left = |hits: u64, is_negative: u64| {
            let asked = descriptor(&[(kind, "x")])
                .with_message(3, &Message::new().with_number(1, hits))
                .with_number(4, is_negative);
            let reply = envoy.call(RATE_LIMIT, &call("shop", &[asked])).ok();
            assert_eq!(reply.number(1), OK);
            reply.messages(2)[0].number(3)
        };
        assert_eq!(left(3, 1), 10, "{kind}: an untouched counter stays as it is");
        assert_eq!(left(8, 0), 2, "{kind}");
        assert_eq!(left(3, 1), 5, "{kind}");
        assert_eq!(left(u64::MAX, 1), 10, "{kind}: full is full");
        assert_eq!(left(4, 0), 6, "{kind}");
    }
    let both = [
        descriptor(&[("fixed", "x")])
            .with_message(3, &Message::new().with_number(1, 1))
            .with_number(4, 1),
        descriptor(&[("bucket", "x")]),
    ];
    let reply = envoy.call(RATE_LIMIT, &call("shop", &both)).ok();
    let left: Vec<_> = reply.messages(2).iter().map(|status| status.number(3)).collect();
    assert_eq!(left, [7, 5], "one gives back, the other spends");
}

#[test]
fn fields_that_are_not_known_are_skipped() {
    let (bed, _) = door(PER_USER);
    let mut envoy = Envoy::at(&bed);
    let newer = user("ann").with_number(90, 1).with_text(91, "newer");
    let asked = call("shop", &[newer]).with_text(1000, "newer").with_number(4, 7);
    assert_eq!(envoy.call(RATE_LIMIT, &asked).ok().messages(2)[0].number(3), 1);
}
