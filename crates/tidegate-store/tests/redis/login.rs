//! Passwords, users and certificates.

use std::fs;

use tidegate_store::redis::{Login, Password, Servers, Tls};
use tidegate_test_servers::{Kind, Options, Tls as Encrypted};

use super::*;

fn login(username: Option<&str>, password: &str) -> Login {
    Login {
        username: username.map(str::to_owned),
        password: Some(Password::new(password)),
    }
}

/// Whether a store with these settings comes to a decision, once it knows.
fn lets_in(settings: &Settings) -> bool {
    let store = Store::new(settings);
    until("it is known", || {
        match store.timed(key(0, 1), &per_minute(1_000_000)) {
            (Ok(_), _) => Some(true),
            // At once: not because a connection is still being made.
            (Err(_), took) if took < settings.timeout => Some(false),
            (Err(_), _) => None,
        }
    })
}

#[test]
fn a_password_is_asked_for_and_a_wrong_one_fails_at_once() {
    let options = Options {
        password: Some("open-sesame"),
        ..Options::default()
    };
    let server = Server::start(Kind::Redis70, options);
    let with = |login| Settings {
        login,
        ..patient(Servers::Single(address(&server)))
    };
    assert!(lets_in(&with(login(None, "open-sesame"))));
    assert!(!lets_in(&with(login(None, "open-barley"))));
    assert!(!lets_in(&with(Login::default())));
}

#[test]
fn an_acl_user_needs_no_more_rights_than_the_manual_says() {
    let server = Server::redis();
    let login = manual_user(&[&server], "");
    let settings = Settings {
        login,
        ..patient(Servers::Single(address(&server)))
    };
    assert!(lets_in(&settings));
    let _: () = server.ask(&["ACL", "SETUSER", "limits", "-evalsha"]);
    assert!(!lets_in(&settings));
}

/// Where the manual says what an ACL user must be allowed.
const MANUAL: &str = include_str!("../../../../docs/store.md");

/// Lets the user that the manual describes in at `servers`, with `more` rights than every instance needs.
pub(crate) fn manual_user(servers: &[&Server], more: &str) -> Login {
    let (_, rule) = MANUAL.split_once("\nuser limits on >… ").expect("the user");
    let (rule, _) = rule.split_once("\n```").expect("the block ends");
    for server in servers {
        let mut words = vec!["ACL", "SETUSER", "limits", "on", ">open-sesame"];
        words.extend(rule.split_ascii_whitespace());
        words.extend(more.split_ascii_whitespace());
        let _: () = server.ask(&words);
    }
    login(Some("limits"), "open-sesame")
}

/// The rights that the manual names after `words`.
pub(crate) fn rights(words: &str) -> &'static str {
    let (_, rest) = MANUAL.split_once(words).expect("it is in the manual");
    rest.split('`').nth(1).expect("rights")
}

#[test]
fn tls_needs_the_right_roots_the_right_name_and_the_clients_certificate() {
    let options = Options {
        tls: Encrypted::Mutual,
        ..Options::default()
    };
    let server = Server::start(Kind::Redis70, options);
    let files = server.certificates();
    let read = |path| fs::read(path).expect("a certificate");
    let right = Tls {
        ca: Some(read(&files.authority)),
        client: Some((read(&files.client), read(&files.client_key))),
        server_name: None,
    };
    let with = |tls: Tls| Settings {
        tls: Some(tls),
        ..patient(Servers::Single(address(&server)))
    };
    assert!(lets_in(&with(right.clone())));
    let named = |name: &str| Tls {
        server_name: Some(name.to_owned()),
        ..right.clone()
    };
    assert!(lets_in(&with(named("localhost"))));
    assert!(!lets_in(&with(named("elsewhere.example"))));
    let without = Tls {
        client: None,
        ..right.clone()
    };
    assert!(!lets_in(&with(without)));
    let others = Server::start(
        Kind::Redis70,
        Options {
            tls: Encrypted::Server,
            ..Options::default()
        },
    );
    let stranger = Tls {
        ca: Some(read(&others.certificates().authority)),
        ..right.clone()
    };
    assert!(!lets_in(&with(stranger)));
    assert!(
        !lets_in(&patient(Servers::Single(address(&server)))),
        "without TLS"
    );
}

#[test]
fn certificates_that_cannot_be_read_are_told_in_words() {
    let words = |tls| {
        let settings = Settings {
            tls: Some(tls),
            ..patient(Servers::Single(Address::new("127.0.0.1", 1)))
        };
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let error = Redis::new(&settings, runtime.handle().clone()).expect_err("unsound settings");
        error.to_string()
    };
    let text = |text: &str| text.as_bytes().to_vec();
    assert_eq!(
        words(Tls {
            ca: Some(text("nothing")),
            ..Tls::default()
        }),
        "`ca` holds no certificate"
    );
    let server_name = Some("not a name".to_owned());
    assert_eq!(
        words(Tls {
            server_name,
            ..Tls::default()
        }),
        "`not a name` is not a name that a certificate can hold"
    );
}
