use std::net::IpAddr;

use tidegate_core::KeyHasher;

use super::*;
use crate::{Compiled, PolicyFile, Problems, SecretPlace, compile};

fn read(text: &str) -> Result<Compiled, Problems> {
    let text =
        &format!("{text}\npolicies: [{{ name: p, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}]");
    let name = "t.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
}

fn listening(text: &str) -> Vec<(Door, String)> {
    let listen = read(text).unwrap().config.gateway.listen.into_iter();
    listen
        .map(|listener| (listener.door, listener.address.to_string()))
        .collect()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_port_alone_is_on_loopback_and_an_address_is_where_it_says() {
    assert_eq!(
        listening("doors: { check: [8082, '0.0.0.0:8083'], envoy: { listen: 8081 } }"),
        [
            (Door::Envoy, "127.0.0.1:8081".to_owned()),
            (Door::Check, "127.0.0.1:8082".to_owned()),
            (Door::Check, "0.0.0.0:8083".to_owned()),
        ]
    );
}

#[test]
fn there_is_a_gateway_beside_doors_only_if_something_speaks_of_it() {
    let doors = |text: &str| listening(&format!("doors: {{ check: 8082 }}\n{text}"));
    assert_eq!(doors("").len(), 1);
    assert_eq!(doors("gateway: { trusted_proxies: [10.0.0.1] }").len(), 1);
    let forwards = [
        "gateway: { upstream: 'http://127.0.0.1:3000' }",
        "gateway: { listen: '127.0.0.1:8080' }",
        "upstreams: { app: { servers: ['http://127.0.0.1:3000'] } }\nroutes: [{ match: { path: / }, upstream: app }]",
    ];
    for text in forwards {
        assert_eq!(
            doors(text)[0],
            (Door::Gateway, "127.0.0.1:8080".to_owned()),
            "{text}"
        );
    }
    assert_eq!(listening("")[0].0, Door::Gateway);
}

#[test]
fn nobody_but_this_machine_may_ask_unless_the_file_says_so() {
    let callers = |text: &str| {
        let config = read(&format!("doors: {{ check: {{ listen: 8082{text} }} }}"))
            .unwrap()
            .config;
        config.gateway.listen[0].callers.clone()
    };
    let usual = callers("");
    assert!(usual.admit(address("127.0.0.9")) && usual.admit(address("::1")));
    assert!(usual.admit(address("::ffff:127.0.0.1")));
    assert!(!usual.admit(address("10.0.0.1")) && !usual.admit(address("::2")));
    let named = callers(", callers: [10.0.0.0/8]");
    assert!(named.admit(address("10.1.2.3")));
    assert!(!named.admit(address("127.0.0.1")));
    let certified = ", tls: { certificates: { certificate: a.pem, key: b.pem }, client_ca: c.pem }";
    assert_eq!(callers(certified), Callers::Anybody);
    assert_eq!(
        callers(&format!("{certified}, callers: 127.0.0.1")),
        callers(", callers: 127.0.0.1")
    );
    let optional = ", tls: { certificates: { certificate: a.pem, key: b.pem }, client_ca: c.pem, client_auth: optional }";
    assert_eq!(callers(optional), Callers::loopback());
}

#[test]
fn whoever_lets_anybody_ask_without_a_certificate_is_warned() {
    let warnings = read("doors: { check: { listen: '0.0.0.0:8082', callers: any } }")
        .unwrap()
        .warnings;
    assert!(warnings.to_string().contains("t.yaml:1:52"), "{warnings}");
    assert!(warnings.to_string().contains("would be believed"), "{warnings}");
}

#[test]
fn what_is_wrong_with_doors_is_told_all_at_once() {
    let errors = read(
        "gateway: { listen: '127.0.0.1:8082' }\ndoors: { check: 8082, envoy: [here, 70000], grpc: 1, spoe: { address: 1 } }",
    );
    let errors = errors.unwrap_err().to_string();
    for told in [
        "127.0.0.1:8082 is listened on already",
        "`here` is not an address to listen on",
        "`70000` is not an address to listen on",
        "`grpc`",
        "`address`",
    ] {
        assert!(errors.contains(told), "{told}: {errors}");
    }
}

#[test]
fn a_door_for_redis_counts_where_policies_do_unless_it_says_otherwise() {
    let redis = |text: &str| {
        let config = read(text).unwrap().config;
        config.gateway.listen[0].redis.clone().unwrap()
    };
    let alone = redis("doors: { redis: 6380 }");
    assert_eq!(
        (alone.consistency, alone.on_store_failure, alone.password),
        (Consistency::Local, OnStoreFailure::Local, None)
    );
    let store = "store: redis://127.0.0.1:6379";
    assert_eq!(
        redis(&format!("doors: {{ redis: 6380 }}\n{store}")).consistency,
        Consistency::Strict
    );
    let told = redis(&format!(
        "doors: {{ redis: {{ listen: 6380, on_store_failure: deny, password_env: DOOR }} }}\n{store}"
    ));
    assert_eq!(
        (told.consistency, told.on_store_failure, told.password),
        (
            Consistency::Strict,
            OnStoreFailure::Deny,
            Some(SecretPlace::Env("DOOR".to_owned()))
        )
    );
    let own = format!("doors: {{ redis: {{ listen: 6380, consistency: local }} }}\n{store}");
    assert_eq!(redis(&own).consistency, Consistency::Local);
}

#[test]
fn what_a_door_for_redis_cannot_do_is_told() {
    let errors = read(
        "doors: { redis: { listen: 6380, consistency: strict, password: a }, check: { listen: 1, password_env: B } }",
    );
    let errors = errors.unwrap_err().to_string();
    for told in [
        "there is no store in which instances could count together",
        "a secret does not belong into a policy file",
        "`password_env`",
    ] {
        assert!(errors.contains(told), "{told}: {errors}");
    }
    let warnings = read("doors: { redis: { listen: 6380, on_store_failure: deny } }")
        .unwrap()
        .warnings;
    assert!(
        warnings
            .to_string()
            .contains("`on_store_failure` says nothing here"),
        "{warnings}"
    );
}

#[test]
fn only_where_callers_bring_no_limits_are_policies_missed() {
    let warnings = |text| {
        let hasher = KeyHasher::new([0; 16]);
        compile(PolicyFile { name: "t.yaml", text }, &hasher)
            .unwrap()
            .warnings
            .to_string()
    };
    assert_eq!(warnings("doors: { redis: 6380 }"), "");
    for text in [
        "doors: { redis: 6380, spoe: 1 }",
        "doors: { check: 1 }",
        "admin: off",
    ] {
        assert!(warnings(text).contains("nothing is limited"), "{text}");
    }
}
