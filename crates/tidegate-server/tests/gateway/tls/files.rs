//! Files that listeners name and what is wrong with them.

use super::*;

#[test]
fn what_is_wrong_with_the_files_comes_all_at_once_with_its_place() {
    let certs = Certs::new();
    certs.issue("a", &["a.test"]);
    certs.issue("b", &["b.test", "a.test"]);
    std::fs::write(certs.folder.join("text.pem"), "no certificate").unwrap();
    std::fs::write(
        certs.folder.join("locked.key"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    let listen = "  - address: 127.0.0.1:0
    tls:
      certificates:
        - { certificate: a.pem, key: a.key }
        - { certificate: b.pem, key: b.key }
        - { certificate: gone.pem, key: gone.key }
        - { certificate: a.pem, key: b.key }
        - { certificate: text.pem, key: a.key }
        - { certificate: a.pem, key: text.pem }
        - { certificate: a.pem, key: locked.key }
      client_ca: text.pem";
    let (_, tls, problems) = certs.load(listen, now());
    assert!(tls[0].is_none());
    let found: Vec<_> = problems
        .iter()
        .map(|problem| (problem.line, problem.column, problem.message.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                7,
                26,
                "`a.test` is in an earlier certificate of this listener too"
            ),
            (8, 26, "cannot read a certificate: there is no such file"),
            (8, 41, "cannot read a private key: there is no such file"),
            (9, 38, "this private key is not that of the certificate"),
            (10, 26, "there is no certificate in this file"),
            (11, 38, "there is no private key in this file"),
            (11, 38, "everybody on this machine may read this private key"),
            (
                12,
                38,
                "this private key is under a password, which nobody is here to type"
            ),
            (12, 38, "everybody on this machine may read this private key"),
            (13, 18, "there is no certificate in this file"),
        ]
    );
}

#[test]
fn a_certificate_that_does_not_hold_is_warned_of() {
    let certs = Certs::new();
    certs.issue_with("a", &["a.test"], |params| {
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 2, 1);
    });
    let told = |seconds: u64| {
        let (_, tls, problems) = certs.load(ONE, Timestamp::from_nanos(seconds * 1_000_000_000));
        assert!(tls[0].is_some() && !problems.has_errors());
        problems
            .iter()
            .map(|problem| problem.message.clone())
            .collect::<Vec<_>>()
    };
    const JANUARY: u64 = 1_767_225_600;
    const DAY: u64 = 24 * 60 * 60;
    assert_eq!(told(JANUARY - 1), ["this certificate does not hold yet"]);
    assert_eq!(told(JANUARY), [""; 0]);
    assert_eq!(told(JANUARY + 24 * DAY), [""; 0]);
    assert_eq!(told(JANUARY + 25 * DAY), ["this certificate expires in 6 d"]);
    assert_eq!(told(JANUARY + 31 * DAY), ["this certificate expires today"]);
    assert_eq!(
        told(JANUARY + 31 * DAY + 1),
        ["this certificate has expired: clients refuse it"]
    );
}
