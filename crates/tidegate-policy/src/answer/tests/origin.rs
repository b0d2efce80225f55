//! What the origin is told.

use tidegate_core::Mode;

use crate::fixture::{allow, bucket, decisions, deny, fields, lines, plan};
use crate::{Identity, Policy, StoreFailure, tell_origin};

fn known(subject: &str, tier: Option<&str>) -> Identity {
    Identity::of_api_key(subject, tier.map(Into::into))
}

fn trial(name: &str) -> Policy {
    Policy {
        mode: Mode::Shadow,
        ..bucket(name, 1, 60_000, 1)
    }
}

#[test]
fn the_origin_learns_verdict_subject_tier_and_remaining() {
    let policies = [bucket("api", 60, 60_000, 10)];
    let mut told = fields(&[("accept", "*/*")]);
    let verdict = plan(&policies).conclude(Ok(&decisions([allow(9, 1_000)])));
    tell_origin(&verdict, &known("acme", Some("pro")), &mut told);
    assert_eq!(
        lines(&told),
        "accept: */*\n\
         x-tidegate-remaining: 9\n\
         x-tidegate-subject: acme\n\
         x-tidegate-tier: pro\n\
         x-tidegate-verdict: pass\n"
    );
}

#[test]
fn what_clients_send_under_our_names_is_removed_in_every_spelling() {
    let mut told = fields(&[
        ("X-Tidegate-Subject", "admin"),
        ("x-tidegate-subject", "root"),
        ("X_Tidegate_Subject", "admin"),
        ("x-tidegate_tier", "enterprise"),
        ("X-TIDEGATE-INVENTED", "1"),
        ("x-tidegate-", "1"),
        ("x-tidegate", "kept"),
        ("x-tidegatekeeper", "kept"),
        ("y-tidegate-subject", "kept"),
    ]);
    let verdict = plan(&[]).conclude(Ok(&decisions([])));
    tell_origin(&verdict, &Identity::Anonymous, &mut told);
    assert_eq!(
        lines(&told),
        "x-tidegate-verdict: pass\nx-tidegate: kept\nx-tidegatekeeper: kept\ny-tidegate-subject: kept\n"
    );
}

#[test]
fn the_origin_learns_of_shadow_limits_and_failures() {
    let policies = [bucket("api", 60, 60_000, 10), trial("new")];
    let mut told = fields(&[]);
    let verdict = plan(&policies).conclude(Ok(&decisions([allow(9, 1_000), deny(0, 5_000, 5_000)])));
    tell_origin(&verdict, &Identity::Anonymous, &mut told);
    assert_eq!(
        lines(&told),
        "x-tidegate-remaining: 9\nx-tidegate-shadow: new\nx-tidegate-verdict: shadow\n"
    );

    let mut told = fields(&[]);
    tell_origin(
        &plan(&policies).conclude(Err(StoreFailure::Unavailable)),
        &Identity::Anonymous,
        &mut told,
    );
    assert_eq!(
        lines(&told),
        "x-tidegate-failure: unavailable\nx-tidegate-verdict: pass\n"
    );
}

#[test]
fn subjects_of_any_bytes_become_legal_values() {
    for (subject, value) in [
        ("a b", "a%20b"),
        ("100%", "100%25"),
        ("Zoë\r\nx-admin: 1", "Zo%C3%AB%0D%0Ax-admin:%201"),
        ("", ""),
        ("\u{7f}\0", "%7F%00"),
    ] {
        let mut told = fields(&[]);
        tell_origin(
            &plan(&[]).conclude(Ok(&decisions([]))),
            &known(subject, None),
            &mut told,
        );
        assert_eq!(told["x-tidegate-subject"], value, "{subject:?}");
    }
}
