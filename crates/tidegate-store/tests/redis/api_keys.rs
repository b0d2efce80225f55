//! API keys that live in the store.

use std::collections::BTreeMap;

use tidegate_store::redis::Servers;
use tidegate_store::redis::api_keys::{
    ApiKeys, BadEntry, Before, Digest, FoundKey, KeyEntry, KeyError, LentTier, Shelf, hex,
};
use tidegate_test_servers::{Cluster, Kind, Options};

use super::login::{manual_user, rights};
use super::*;

const DIGEST: Digest = [0xab; 32];

fn entry(subject: &str) -> KeyEntry {
    KeyEntry {
        subject: subject.to_owned(),
        tier: Some("free".to_owned()),
        created: 1_790_000_000,
        note: None,
        revoked: None,
    }
}

fn written(entry: &KeyEntry) -> Vec<u8> {
    entry.write().expect("a sound entry")
}

/// The store's keys, and what runs its calls.
struct Keys<'s> {
    keys: ApiKeys,
    runtime: &'s Runtime,
}

impl<'s> Keys<'s> {
    fn of(store: &'s Store) -> Self {
        Self {
            keys: store.redis.api_keys(),
            runtime: &store.runtime,
        }
    }

    fn find(&self) -> Result<Option<FoundKey>, KeyError> {
        self.runtime.block_on(self.keys.find(&DIGEST))
    }

    fn change(&self, shelf: Shelf, field: &str, before: Before<'_>, after: Option<&[u8]>) -> bool {
        let change = self.keys.change(shelf, field, before, after);
        self.runtime.block_on(change).expect("the store answers")
    }

    fn add(&self, entry: &KeyEntry) -> bool {
        self.change(Shelf::Keys, &hex(&DIGEST), Before::Nothing, Some(&written(entry)))
    }

    fn all(&self, shelf: Shelf) -> BTreeMap<String, Vec<u8>> {
        self.runtime
            .block_on(self.keys.all(shelf))
            .expect("the store answers")
    }
}

fn a_key_lives(store: &Store) {
    let keys = Keys::of(store);
    assert_eq!(keys.find(), Ok(None));
    let acme = entry("acme");
    assert!(keys.add(&acme));
    assert!(keys.add(&acme), "twice is the same as once");
    assert!(!keys.add(&entry("evil")), "a key that is there stays what it is");
    let found = |lent| FoundKey {
        entry: acme.clone(),
        lent,
    };
    assert_eq!(keys.find(), Ok(Some(found(None))));

    let lent = LentTier {
        tier: "pro".to_owned(),
        until: Some(1_800_000_000),
    };
    let tier = lent.write().expect("a sound tier");
    assert!(keys.change(Shelf::Tiers, "acme", Before::Anything, Some(&tier)));
    assert_eq!(keys.find(), Ok(Some(found(Some(lent)))), "in the same call");
    assert!(keys.change(Shelf::Tiers, "acme", Before::Anything, None));
    assert_eq!(keys.find(), Ok(Some(found(None))));

    let revoked = KeyEntry {
        revoked: Some(1),
        ..acme.clone()
    };
    let (before, after) = (written(&acme), written(&revoked));
    let digits = hex(&DIGEST);
    assert!(keys.change(Shelf::Keys, &digits, Before::Exactly(&before), Some(&after)));
    assert!(
        !keys.change(Shelf::Keys, &digits, Before::Exactly(&before), None),
        "it is another one by now"
    );
    let found = keys.find().expect("the store answers").expect("the key is there");
    assert_eq!(found.entry, revoked);
}

#[test]
fn a_key_is_found_with_its_subjects_tier_in_one_call_and_changes_are_made_once() {
    a_key_lives(&Store::of(&Server::redis()));
}

#[test]
fn old_and_other_servers_keep_keys_as_well() {
    for kind in [Kind::Redis62, Kind::Valkey8] {
        a_key_lives(&Store::of(&Server::start(kind, Options::default())));
    }
}

#[test]
fn a_cluster_keeps_all_keys_together() {
    let cluster = Cluster::start(Kind::Redis70);
    let nodes = addresses(&cluster.nodes()[..1]);
    let store = Store::new(&patient(Servers::Cluster(nodes)));
    until("all masters are connected", || {
        (store.figures().servers.len() == 3 && store.is_connected()).then_some(())
    });
    a_key_lives(&store);
}

#[test]
fn an_acl_user_reads_keys_or_changes_them_with_the_rights_that_the_manual_says() {
    let server = Server::redis();
    let reads = rights("(identity.md#keys-in-the-shared-store) add ");
    let settings = Settings {
        login: manual_user(&[&server], reads),
        ..patient(Servers::Single(address(&server)))
    };
    let store = Store::connected(&settings);
    let keys = Keys::of(&store);
    assert_eq!(keys.find(), Ok(None));
    let digits = hex(&DIGEST);
    let change = keys
        .keys
        .change(Shelf::Keys, &digits, Before::Nothing, Some(b"{}"));
    assert!(store.runtime.block_on(change).is_err(), "it may not");

    let writes = rights("`tidegate keys` besides ");
    manual_user(&[&server], &format!("{reads} {writes}"));
    a_key_lives(&store);
    assert!(keys.change(Shelf::Keys, &digits, Before::Anything, None));
    assert!(keys.all(Shelf::Keys).is_empty());
}

#[test]
fn a_list_has_each_of_many_keys_once() {
    let server = Server::redis();
    let store = Store::of(&server);
    let keys = Keys::of(&store);
    for number in 0..2_000 {
        let field = format!("{number:064}");
        let _: i64 = server.ask(&["HSET", "tg1:{00}:api_keys", &field, "{}"]);
    }
    assert_eq!(keys.all(Shelf::Keys).len(), 2_000);
    assert!(keys.all(Shelf::Tiers).is_empty());
}

#[test]
fn what_somebody_else_wrote_is_broken_and_not_unknown() {
    let server = Server::redis();
    let store = Store::of(&server);
    let keys = Keys::of(&store);
    let put = |name, field, text| {
        let _: i64 = server.ask(&["HSET", name, field, text]);
    };
    let (names, digits) = (["tg1:{00}:api_keys", "tg1:{00}:tiers"], hex(&DIGEST));
    for text in ["", "acme", "[1,2", "[]", "{}", r#"{"subject":{}}"#, "\0"] {
        put(names[0], &digits, text);
        assert_eq!(keys.find(), Err(KeyError::Broken(BadEntry::Unreadable)), "{text}");
    }
    put(names[0], &digits, r#"{"subject":"acme","created":1}"#);
    put(names[1], "acme", "pro");
    assert_eq!(keys.find(), Err(KeyError::Broken(BadEntry::Unreadable)));
    put(names[1], "acme", r#"{"tier":"pro"}"#);
    assert!(keys.find().is_ok_and(|found| found.is_some()));
}

#[test]
fn a_store_that_is_gone_knows_nothing_of_a_key() {
    let mut server = Server::redis();
    let store = Store::of(&server);
    let keys = Keys::of(&store);
    assert_eq!(keys.find(), Ok(None));
    server.kill();
    assert!(matches!(keys.find(), Err(KeyError::Store(_))));
    server.restart();
    until("the store answers again", || keys.find().ok());
}
