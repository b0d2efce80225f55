use std::cell::RefCell;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use tidegate_core::{KeyHasher, Timestamp};

use super::{
    ApiKeys, KeyDigest, KeyFault, Keyring, NoStoredKeys, Stored, StoredKey, StoredKeys, Told, WeakKey,
};
use crate::fixture::{fields, get};
use crate::identity::{Judging, Step};
use crate::{
    ApiKeySettings, Identifier, Identity, IdentityRefusal, KeyPlace, KeySets, KeySource, PolicyFile, Request,
    StoredKeySettings, Treatment, compile,
};

const GOOD: &str = "tg_7f3Kq9ZpL2mX8vB4nR6tYw";
const REVOKED: &str = "tg_0a1B2c3D4e5F6g7H8i9J0k";

fn digest(key: &str) -> KeyDigest {
    KeyDigest::new(key.as_bytes()).unwrap()
}

fn keyring() -> Keyring {
    let text = format!(
        "- {{ hash: '{}', subject: acme, tier: pro }}\n- {{ hash: '{}', subject: gone, revoked: true }}\n",
        digest(GOOD),
        digest(REVOKED)
    );
    parse(&text).unwrap()
}

/// The problems as `line:column message`, one a line.
fn parse(text: &str) -> Result<Keyring, String> {
    let file = PolicyFile {
        name: "keys.yaml",
        text,
    };
    Keyring::parse(file).map_err(|problems| {
        problems
            .iter()
            .map(|problem| format!("{}:{} {}\n", problem.line, problem.column, problem.message))
            .collect()
    })
}

#[test]
fn a_file_that_begins_as_a_list_does_holds_keys() {
    for text in [
        "- hash: x",
        "# keys\n---\n\n  - { hash: x }",
        "[]",
        "%YAML 1.2\n---\n[ {",
        "-",
    ] {
        assert!(Keyring::is_written_in(text), "{text}");
    }
    for text in [
        "",
        "# - hash",
        "policies:\n- name: a",
        "{ policies: [] }",
        "--- a",
    ] {
        assert!(!Keyring::is_written_in(text), "{text}");
    }
}

#[test]
fn a_tier_that_no_policy_names_is_warned_of_once_without_showing_it() {
    let entry = |number: usize, tier: &str| {
        format!(
            "- {{ hash: '{}', subject: a, tier: {tier} }}\n",
            digest(&format!("{GOOD}{number}"))
        )
    };
    let text: String = ["premium", "premum", "other", "premum"]
        .into_iter()
        .zip(0..)
        .map(|(tier, number)| entry(number, tier))
        .collect();
    let keyring = parse(&text).unwrap();
    let tiers: Vec<&str> = keyring.tiers().map(|tier| &**tier).collect();
    assert_eq!(tiers, ["other", "premium", "premum"]);
    let warnings = |more: &str| {
        let text = format!("policies: [{{ name: a, limit: {{ quota: 1, window: 1s }}, {more} }}]");
        let file = PolicyFile {
            name: "a.yaml",
            text: &text,
        };
        let policies = compile(file, &KeyHasher::new([0; 16])).unwrap().config.policies;
        keyring.unnamed_tiers("keys.yaml", &policies).to_string()
    };
    let tiers = "tiers: { premium: { quota: 2, window: 1s }, max: { quota: 2, window: 1s } }";
    assert_eq!(
        warnings(&format!("{tiers}, key: [identity]")),
        "keys.yaml:2:104: warning: no policy names this tier: its keys get the limits of those without one\n    = did you mean `premium`?\n\n\
         keys.yaml:3:104: warning: no policy names this tier: its keys get the limits of those without one\n    = write `max` or `premium`, or add it to the `tiers` of a policy"
    );
    assert_eq!(warnings("key: [identity]"), "", "only the origin is told");
    for looks in [
        "key: [identity], when: has(identity.tier)",
        "key: [identity], cost: 'identity.tier == \"premum\" ? 1 : 2'",
        "key: ['identity.tier + \"x\"'], on_missing: skip",
    ] {
        assert_eq!(warnings(&format!("{tiers}, {looks}")), "");
    }
}

fn api_keys(place: KeyPlace) -> ApiKeys {
    ApiKeys {
        settings: ApiKeySettings {
            places: vec![place],
            beside_tokens: false,
            keys: Some("keys.yaml".to_owned()),
            stored: None,
            strip: false,
            on_missing: Treatment::Anonymous,
            on_unknown: Treatment::Reject,
            on_revoked: Treatment::Reject,
        },
        keyring: keyring(),
    }
}

fn in_header(name: &'static str) -> ApiKeys {
    api_keys(KeyPlace::Header(HeaderName::from_static(name)))
}

fn acme() -> Identity {
    Identity::of_api_key("acme", Some("pro".into()))
}

/// Nobody issues tokens.
struct NoIssuers;

impl KeySource for NoIssuers {
    fn key_sets(&self) -> Arc<KeySets> {
        Arc::default()
    }

    fn lacks_key(&self, _issuer_index: usize) {}
}

fn identify(keys: &ApiKeys, request: &Request<'_>) -> Result<Identity, KeyFault> {
    identify_with(&NoStoredKeys, keys, request)
}

/// Who sent `request`, with what a store says.
fn identify_with(
    stored: &dyn StoredKeys,
    keys: &ApiKeys,
    request: &Request<'_>,
) -> Result<Identity, KeyFault> {
    let judging = Judging {
        now: Timestamp::from_nanos(1),
        keys: &NoIssuers,
        cache: &RefCell::default(),
        stored,
    };
    let identifier = Identifier {
        api_keys: Some(keys.clone()),
        ..Identifier::default()
    };
    match identifier.by_key(request, &judging) {
        Step::Proven(identity) => Ok(identity),
        Step::Nothing => Ok(Identity::Anonymous),
        Step::Refused(IdentityRefusal::ApiKey(refusal)) | Step::Lacking(IdentityRefusal::ApiKey(refusal)) => {
            Err(refusal.fault)
        }
        Step::Refused(_) | Step::Lacking(_) => panic!("there are no tokens"),
    }
}

#[track_caller]
fn assert_identified(keys: &ApiKeys, request: &Request<'_>, expected: Result<Identity, KeyFault>) {
    assert_eq!(identify(keys, request), expected);
}

#[test]
fn each_kind_of_key_has_its_default_treatment() {
    let keys = in_header("x-api-key");
    assert_identified(&keys, &get(&fields(&[("X-Api-Key", GOOD)])), Ok(acme()));
    assert_identified(&keys, &get(&fields(&[])), Ok(Identity::Anonymous));
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", " \t")])),
        Ok(Identity::Anonymous),
    );
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", "tg_7f3Kq9ZpL2mX8vB4nR6tYW")])),
        Err(KeyFault::Unknown),
    );
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", REVOKED)])),
        Err(KeyFault::Revoked),
    );
}

#[test]
fn each_treatment_can_be_switched() {
    let mut keys = in_header("x-api-key");
    keys.settings.on_missing = Treatment::Reject;
    keys.settings.on_unknown = Treatment::Anonymous;
    keys.settings.on_revoked = Treatment::Anonymous;
    assert_identified(&keys, &get(&fields(&[])), Err(KeyFault::Missing));
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", "nobody's")])),
        Ok(Identity::Anonymous),
    );
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", REVOKED)])),
        Ok(Identity::Anonymous),
    );
}

#[test]
fn authorization_holds_a_bearer_token() {
    let keys = in_header("authorization");
    for (value, expected) in [
        (format!("Bearer {GOOD}"), Ok(acme())),
        (format!("bearer   {GOOD} "), Ok(acme())),
        (format!("Basic {GOOD}"), Ok(Identity::Anonymous)),
        ("Bearer".to_owned(), Ok(Identity::Anonymous)),
        (GOOD.to_owned(), Ok(Identity::Anonymous)),
        (format!("Bearer {GOOD},{GOOD}"), Err(KeyFault::Unknown)),
    ] {
        assert_identified(&keys, &get(&fields(&[("authorization", &value)])), expected);
    }
}

#[test]
fn a_query_parameter_is_decoded() {
    let keys = api_keys(KeyPlace::Query("key".to_owned()));
    let headers = HeaderMap::new();
    for (query, expected) in [
        (format!("a=1&key={GOOD}&b"), Ok(acme())),
        (format!("key={}", GOOD.replace('_', "%5F")), Ok(acme())),
        (format!("key={GOOD}%"), Err(KeyFault::Unknown)),
        (format!("key={GOOD}&key={GOOD}"), Err(KeyFault::Unknown)),
        (format!("key={GOOD}&k%65y=other"), Err(KeyFault::Unknown)),
        (format!("monkey={GOOD}"), Ok(Identity::Anonymous)),
        (format!("keys={GOOD}"), Ok(Identity::Anonymous)),
        ("key=&x".to_owned(), Ok(Identity::Anonymous)),
        ("key".to_owned(), Ok(Identity::Anonymous)),
        (String::new(), Ok(Identity::Anonymous)),
    ] {
        let request = Request {
            query: Some(&query),
            ..get(&headers)
        };
        assert_identified(&keys, &request, expected);
    }
}

#[test]
fn a_cookie_is_found_on_any_line() {
    let keys = api_keys(KeyPlace::Cookie("key".to_owned()));
    for (lines, expected) in [
        (&[format!("a=1; key={GOOD}; b=2")] as &[String], Ok(acme())),
        (&["a=1".to_owned(), format!("key={GOOD}")], Ok(acme())),
        (&[format!("key=\"{GOOD}\"")], Ok(acme())),
        (&[format!("monkey={GOOD}")], Ok(Identity::Anonymous)),
        (
            &[format!("key={GOOD}"), format!("key={GOOD}")],
            Err(KeyFault::Unknown),
        ),
    ] {
        let pairs: Vec<_> = lines.iter().map(|line| ("cookie", line.as_str())).collect();
        assert_identified(&keys, &get(&fields(&pairs)), expected);
    }
}

#[test]
fn several_keys_prove_nothing() {
    let two = fields(&[("x-api-key", GOOD), ("x-api-key", REVOKED)]);
    assert_identified(&in_header("x-api-key"), &get(&two), Err(KeyFault::Unknown));
}

#[test]
fn oversized_and_illegal_credentials_are_unknown() {
    let keys = in_header("x-api-key");
    for value in [
        "x".repeat(10_000),
        "é".repeat(30),
        "0123456789 0123456789".to_owned(),
    ] {
        assert_identified(
            &keys,
            &get(&fields(&[("x-api-key", &value)])),
            Err(KeyFault::Unknown),
        );
    }
}

#[test]
fn keys_that_could_be_guessed_are_refused() {
    let longest = "0123456789abcdef".repeat(16);
    for (key, expected) in [
        ("0123456789abcdef012", Some(WeakKey::TooShort)),
        ("0123456789abcdef0123", None),
        ("aaaaaaaaaaaaaaaaabcde", Some(WeakKey::TooUniform)),
        ("aaaaaaaaaaaaaaaabcdef", None),
        (&longest, None),
        (&format!("{longest}x"), Some(WeakKey::TooLong)),
        ("0123456789abcdef 0123", Some(WeakKey::Unsendable)),
        ("0123456789abcdéf01234", Some(WeakKey::Unsendable)),
        ("", Some(WeakKey::TooShort)),
    ] {
        assert_eq!(KeyDigest::new(key.as_bytes()).err(), expected, "{key}");
    }
}

#[test]
fn a_weak_key_is_unknown_even_if_the_file_has_its_hash() {
    // printf %s secret | sha256sum
    let text =
        "- { hash: sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b, subject: acme }";
    let keys = ApiKeys {
        keyring: parse(text).unwrap(),
        ..in_header("x-api-key")
    };
    assert_identified(
        &keys,
        &get(&fields(&[("x-api-key", "secret")])),
        Err(KeyFault::Unknown),
    );
}

#[test]
fn digests_are_equal_only_if_every_byte_is() {
    let written = digest(GOOD).to_string();
    let last = if written.ends_with('0') { "1" } else { "0" };
    let near = KeyDigest::parse(&format!("{}{last}", &written[..written.len() - 1])).unwrap();
    assert!(KeyDigest::parse(&written).unwrap() == digest(GOOD));
    assert!(near != digest(GOOD));
}

#[test]
fn a_digest_is_written_as_sha256sum_writes_it() {
    // printf %s 0123456789abcdef0123 | sha256sum
    assert_eq!(
        digest("0123456789abcdef0123").to_string(),
        "sha256:1bd8fd47297046f993e608e398d5905b00a33e163c6b1172dd38887fed05ed6a"
    );
}

#[test]
fn everything_wrong_with_a_keys_file_comes_at_once_with_its_place() {
    let hash = digest(GOOD);
    let text = format!(
        "- hash: nonsense\n  subject: a\n- subjcet: b\n  hash: '{hash}'\n- hash: '{hash}'\n  subject: ''\n  revoked: yes\n- text\n- hash: '{hash}'\n  subject: c\n- hash: '{hash}'\n  subject: d\n  tier: [x]\n- hash: [1]\n  subject: e\n- hash: '{hash}'\n  subject: f\n"
    );
    assert_eq!(
        parse(&text).unwrap_err(),
        "1:9 this is not the hash of a key\n\
         3:3 a key's entry has no such field\n\
         3:3 a key's entry has no `subject`\n\
         6:12 this is not a name\n\
         7:12 `revoked` is true or false\n\
         8:3 a key's entry is a mapping, and this is a text\n\
         13:9 this is not a name\n\
         14:9 this is not the hash of a key\n\
         16:9 this key is in the file already\n"
    );
}

#[test]
fn files_that_are_no_list_say_so() {
    assert_eq!(parse("").unwrap_err(), "1:1 the file is empty\n");
    assert_eq!(
        parse("a: b").unwrap_err(),
        "1:1 a keys file is a list, and this is a mapping\n"
    );
    assert_eq!(parse("- a: [").unwrap_err().lines().count(), 1);
    assert!(parse("[]").unwrap().is_empty());
    let comment = format!("# {}\n[]", "x".repeat(4 * 1024 * 1024));
    assert_eq!(
        parse(&comment).unwrap_err(),
        "1:1 the keys file is larger than 4 MiB\n"
    );
}

#[test]
fn names_have_a_greatest_length() {
    let with = |chars: usize| {
        parse(&format!(
            "- {{ hash: '{}', subject: {} }}",
            digest(GOOD),
            "é".repeat(chars)
        ))
    };
    assert_eq!(with(128).unwrap().len(), 1);
    assert!(with(129).is_err());
}

#[test]
fn no_message_and_no_debug_text_shows_a_key() {
    let keys = in_header("x-api-key");
    let file = |text: &str| {
        format!(
            "{}",
            Keyring::parse(PolicyFile {
                name: "keys.yaml",
                text
            })
            .unwrap_err()
        )
    };
    let headers = fields(&[("x-api-key", REVOKED)]);
    let refusal = IdentityRefusal::ApiKey(keys.refusal(identify(&keys, &get(&headers)).unwrap_err()));
    let answer = crate::Answers::default().refuse_identity(&refusal, &get(&headers));
    for shown in [
        format!("{keys:?} {refusal:?} {:?} {:?}", digest(GOOD), digest(REVOKED)),
        format!("{answer:?}"),
        file(&format!("- {{ hash: {GOOD}, subject: acme }}")),
        file(&format!("- {{ hash: x, subject: acme, {GOOD}: true }}")),
        file(&format!("- {{ {GOOD}: 1, {GOOD}: 2 }}")),
        file(&format!("- {{ hash: x, subject: acme, revoked: {GOOD} }}")),
        file(&format!("- *{GOOD}")),
        file(&format!("- !{GOOD} x")),
        file(&format!("- {{ hash: \"{GOOD}")),
        file(&format!("- hash: {GOOD}\n {GOOD}: {GOOD}: x")),
        file(&format!("{GOOD}: acme")),
        file(GOOD),
    ] {
        assert!(
            !shown.contains("7f3Kq9Zp") && !shown.contains("1B2c3D4e"),
            "{shown}"
        );
    }
}

/// What a store says of [`OTHER`], and of no other key.
fn told(stored: Option<Stored>) -> Told {
    Told {
        digest: KeyDigest::new(OTHER.as_bytes()).unwrap(),
        stored,
    }
}

const OTHER: &str = "tg_0123456789abcdefghijklmnop";

fn stored(revoked: bool) -> Stored {
    Stored::Key(Arc::new(StoredKey {
        subject: "other".into(),
        tier: None,
        revoked,
        lent: None,
    }))
}

#[test]
fn the_store_is_asked_for_keys_that_are_not_in_the_file() {
    let mut keys = in_header("x-api-key");
    let headers = [("x-api-key", OTHER)];
    let found = |keys: &ApiKeys, said| identify_with(&told(said), keys, &get(&fields(&headers)));
    assert_eq!(
        found(&keys, Some(stored(false))),
        Err(KeyFault::Unknown),
        "only if the settings say so"
    );
    keys.settings.stored = Some(StoredKeySettings::default());
    assert_eq!(
        found(&keys, Some(stored(false))),
        Ok(Identity::of_api_key("other", None))
    );
    assert_eq!(found(&keys, Some(stored(true))), Err(KeyFault::Revoked));
    assert_eq!(found(&keys, Some(Stored::Absent)), Err(KeyFault::Unknown));

    let good = [("x-api-key", GOOD)];
    let in_file = identify_with(&told(None), &keys, &get(&fields(&good)));
    assert_eq!(in_file, Ok(acme()), "the store has no say in what is in the file");
    let weak = [("x-api-key", "secret")];
    assert_eq!(
        identify_with(&told(None), &keys, &get(&fields(&weak))),
        Err(KeyFault::Unknown),
        "it is not asked for what cannot be a key"
    );
}

#[test]
fn a_key_that_nobody_can_look_up_is_neither_unknown_nor_nobodys() {
    let mut keys = in_header("x-api-key");
    keys.settings.stored = Some(StoredKeySettings::default());
    keys.settings.on_unknown = Treatment::Anonymous;
    let headers = [("x-api-key", OTHER)];
    let fault = identify_with(&told(None), &keys, &get(&fields(&headers))).unwrap_err();
    assert_eq!(fault, KeyFault::Unanswered(told(None).digest));

    let refusal = IdentityRefusal::ApiKey(keys.refusal(fault));
    let response = crate::Answers::default().refuse_identity(&refusal, &get(&fields(&headers)));
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
    assert!(!response.headers().contains_key("www-authenticate"));
}
