use std::net::IpAddr;

use tidegate_core::KeyHasher;

use super::*;
use crate::{Compiled, PolicyFile, Problems, compile};

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
