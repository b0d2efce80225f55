use tidegate_core::KeyHasher;

use super::*;
use crate::{PolicyFile, Problems, compile};

fn read(text: &str) -> Result<(StoreSettings, Problems), Problems> {
    let text = &format!("store: {text}\npolicies: []\n");
    let name = "t.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([0; 16]))
        .map(|compiled| (compiled.config.store, compiled.warnings))
}

fn shared(text: &str) -> SharedStore {
    read(text).unwrap().0.shared.unwrap()
}

fn errors(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn host(host: &str, port: u16) -> HostPort {
    HostPort {
        host: host.to_owned(),
        port,
    }
}

#[test]
fn counters_are_in_memory_where_nothing_else_is_said() {
    let settings = |text| read(text).unwrap().0;
    assert_eq!(settings("memory"), StoreSettings::default());
    let sized = settings("{ memory: 1MiB }");
    assert_eq!((sized.memory_bytes, sized.shared), (1 << 20, None));
}

#[test]
fn a_url_alone_says_where_the_store_is_and_nothing_else() {
    let store = shared("redis://limits@10.0.0.7/2");
    assert_eq!(store.place, StorePlace::Server(host("10.0.0.7", 6379)));
    assert_eq!(store.login.username.as_deref(), Some("limits"));
    assert_eq!((store.database, store.tls.is_some()), (2, false));
    assert_eq!(store.timeout, Duration::from_millis(25));
    assert_eq!(store.prefix, "tg1");
    assert_eq!(shared("rediss://a.test").tls, Some(StoreTls::default()));
    let socket = StorePlace::Socket("/run/redis.sock".to_owned());
    assert_eq!(shared("unix:///run/redis.sock").place, socket);
}

#[test]
fn a_mapping_says_how_it_is_spoken_to() {
    let store = shared(
        "{ redis: rediss://a.test:7, username: u, password_env: P, timeout: 10ms, connect_timeout: 1s, prefix: 'x:', \
         key_secret_file: k, memory: 1MiB, tls: { ca: ca.pem, certificate: c.pem, key: c.key, server_name: b.test } }",
    );
    assert_eq!(store.login.username.as_deref(), Some("u"));
    assert_eq!(store.login.password, Some(SecretPlace::Env("P".to_owned())));
    assert_eq!(store.key_secret, Some(SecretPlace::File("k".to_owned())));
    let times = (Duration::from_millis(10), Duration::from_secs(1));
    assert_eq!((store.timeout, store.connect_timeout), times);
    assert_eq!(store.prefix, "x:");
    let tls = store.tls.unwrap();
    assert_eq!(
        (tls.ca.as_deref(), tls.server_name.as_deref()),
        (Some("ca.pem"), Some("b.test"))
    );
    assert!(tls.client.is_some());
}

#[test]
fn sentinels_and_clusters_are_places_too() {
    let store = shared(
        "{ sentinel: [a.test, 'b.test:7'], service: mymaster, database: 3, tls: {}, sentinel_username: s, sentinel_password_file: p }",
    );
    let StorePlace::Sentinel { sentinels, login, .. } = &store.place else {
        panic!("{store:?}");
    };
    assert_eq!(*sentinels, [host("a.test", 26379), host("b.test", 7)]);
    assert_eq!(login.username.as_deref(), Some("s"));
    assert_eq!((store.database, &store.tls), (3, &Some(StoreTls::default())));
    assert_eq!(store.to_string(), "sentinels a.test:26379, b.test:7 of mymaster");
    let store = shared("{ cluster: ['rediss://a.test', 'rediss://[::1]:7'] }");
    assert_eq!(
        store.place,
        StorePlace::Cluster(vec![host("a.test", 6379), host("::1", 7)])
    );
    assert!(store.tls.is_some());
    assert_eq!(store.to_string(), "cluster a.test:6379, [::1]:7");
}

#[test]
fn a_password_in_the_file_is_refused_and_its_line_not_shown() {
    for text in [
        "redis://:hunter2@a.test",
        "{ redis: 'redis://u:hunter2@a.test' }",
        "{ redis: redis://a.test, password: hunter2 }",
        "{ redis: redis://a.test, key_secret: hunter2 }",
        "{ sentinel: [a.test], service: m, sentinel_password: hunter2 }",
        "{ cluster: ['redis://:hunter2@a.test'] }",
    ] {
        let errors = errors(text);
        assert!(errors.contains("does not belong into a policy file"), "{errors}");
        assert!(!errors.contains("hunter2"), "{errors}");
    }
}

#[test]
fn what_cannot_go_together_is_told_with_its_cure() {
    for (text, message) in [
        ("redish", "there is no store"),
        ("http://a.test", "is no URL of a store"),
        ("{}", "does not say where counters are"),
        ("{ memory: 1MiB, timeout: 5ms }", "`timeout` says nothing here"),
        (
            "{ redis: redis://a, cluster: [redis://b] }",
            "a store is in one place",
        ),
        (
            "{ redis: redis://a/1, database: 2 }",
            "`database` says nothing here",
        ),
        (
            "{ redis: redis://u@a, username: v, password_env: P }",
            "`username` says nothing here",
        ),
        ("{ redis: redis://a, tls: {} }", "`tls` says nothing here"),
        ("{ redis: redis://a, service: m }", "`service` says nothing here"),
        ("{ sentinel: [a] }", "needs the name that Sentinels have"),
        ("{ sentinel: ['a:b'], service: m }", "is no address of a Sentinel"),
        (
            "{ sentinel: [a], service: 'm m' }",
            "cannot be the name of a master",
        ),
        (
            "{ cluster: [redis://a, rediss://b] }",
            "speak TLS all of them, or none",
        ),
        ("{ cluster: [redis://u@a] }", "is no node of a Cluster"),
        ("{ cluster: ['unix:///a'] }", "is no node of a Cluster"),
        (
            "{ cluster: [redis://a], database: 0 }",
            "`database` says nothing here",
        ),
        (
            "{ redis: redis://a, password_env: A, password_file: b }",
            "a secret is in one place",
        ),
        ("{ redis: redis://a, timeout: 999us }", "from 1ms to 1s"),
        ("{ redis: redis://a, timeout: 1001ms }", "from 1ms to 1s"),
        ("{ redis: redis://a, connect_timeout: 9ms }", "from 10ms to 60s"),
        (
            "{ redis: redis://a, prefix: '{a}' }",
            "cannot be what names begin with",
        ),
        (
            "{ redis: rediss://a, tls: { key: k } }",
            "a key is of no use without its certificate",
        ),
    ] {
        let errors = errors(text);
        assert!(errors.contains(message), "{text}: {errors}");
    }
}

#[test]
fn a_user_without_a_password_is_warned_of() {
    let warned = |text: &str| read(text).unwrap().1.to_string().contains("without a password");
    assert!(warned("redis://u@a.test"));
    assert!(warned("{ redis: redis://a.test, username: u }"));
    assert!(!warned("{ redis: redis://u@a.test, password_env: P }"));
}

#[test]
fn servers_and_prefixes_are_bounded() {
    let prefix = |bytes: usize| read(&format!("{{ redis: redis://a, prefix: {} }}", "p".repeat(bytes)));
    assert!(prefix(MAX_PREFIX_BYTES).is_ok() && prefix(MAX_PREFIX_BYTES + 1).is_err());
    let nodes = |count: usize| read(&format!("{{ cluster: [{}] }}", "redis://a,".repeat(count)));
    assert!(nodes(MAX_SERVERS).is_ok() && nodes(MAX_SERVERS + 1).is_err());
    let service = |bytes: usize| read(&format!("{{ sentinel: [a], service: {} }}", "m".repeat(bytes)));
    assert!(service(MAX_SERVICE_BYTES).is_ok() && service(MAX_SERVICE_BYTES + 1).is_err());
}
