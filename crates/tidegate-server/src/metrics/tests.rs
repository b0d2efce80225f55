use tidegate_core::{KeyHasher, Mode, Outcome};
use tidegate_policy::{
    Config, ExpressionFailure, ExpressionFault, ExpressionField, PolicyFile, Source, Terms, compile,
};

use super::policies::OUTCOMES;
use super::*;

fn config(policies: &str) -> Config {
    let text = &format!("policies: [{policies}]");
    let name = "test.yaml";
    compile(PolicyFile { name, text }, &KeyHasher::new([7; 16]))
        .unwrap()
        .config
}

fn policy(name: &str) -> String {
    format!("{{ name: {name}, key: [client.ip], limit: {{ quota: 1, window: 1s }} }}")
}

/// Where the first limit of policy number `policy_index` of `config` is.
fn source(config: &Config, policy_index: usize) -> Source<'_> {
    let policy = &config.policies.policies()[policy_index];
    Source {
        policy,
        policy_index,
        limit: &policy.limits[0],
        limit_index: 0,
        terms: Terms::Own,
    }
}

#[test]
fn a_reload_keeps_what_the_policies_that_stay_have_counted() {
    let metrics = Metrics::new(NonZeroUsize::MIN.saturating_add(1));
    let old = config(&[policy("goes"), policy("stays")].join(","));
    let meters = metrics.meters(old.policies.policies());
    meters.count(0, &source(&old, 1), Answered::Allow);
    meters.count(1, &source(&old, 1), Answered::Allow);

    let new = config(&[policy("stays"), policy("comes")].join(","));
    let meters = metrics.meters(new.policies.policies());
    meters.count(1, &source(&new, 0), Answered::Allow);
    meters.count(1, &source(&new, 1), Answered::Deny);
    let told = told(&metrics);
    let line = |policy: &str, outcome: &str| {
        format!(r#"tidegate_policy_decisions_total{{policy="{policy}",limit="1",outcome="{outcome}"}} "#)
    };
    assert!(told.contains(&(line("stays", "allow") + "3")), "{told}");
    assert!(told.contains(&(line("comes", "deny") + "1")), "{told}");
    assert!(!told.contains("goes"), "{told}");
}

#[test]
fn failed_expressions_are_counted_by_policy_and_field_across_reloads() {
    let metrics = Metrics::new(NonZeroUsize::MIN);
    let computed = "{ name: computed, when: 'request.method == \"GET\"', cost: 'size(request.path)', key: [client.ip], limit: { quota: 1, window: 1s } }";
    let failure = |config: &'static Config, policy_index: usize, field| ExpressionFailure {
        policy: &config.policies.policies()[policy_index],
        policy_index,
        field,
        fault: ExpressionFault::Absent,
    };
    let old: &Config = Box::leak(Box::new(config(computed)));
    let meters = metrics.meters(old.policies.policies());
    meters.count_failure(&failure(old, 0, ExpressionField::Cost));

    let new: &Config = Box::leak(Box::new(config(&[&policy("plain"), computed].join(","))));
    let meters = metrics.meters(new.policies.policies());
    meters.count_failure(&failure(new, 1, ExpressionField::Cost));
    meters.count_failure(&failure(new, 0, ExpressionField::When));
    let told = told(&metrics);
    let mut lines = told
        .lines()
        .filter(|line| line.starts_with("tidegate_expression_errors_total{"));
    let series = |field| format!(r#"tidegate_expression_errors_total{{policy="computed",field="{field}"}} "#);
    assert_eq!(lines.next(), Some(&*(series("when") + "0")), "{told}");
    assert_eq!(lines.next(), Some(&*(series("cost") + "2")), "{told}");
    assert_eq!(lines.next(), None, "{told}");
}

#[test]
fn every_outcome_has_its_word() {
    let delay = std::time::Duration::from_nanos(1);
    for (outcome, mode, word) in [
        (Outcome::ALLOW, Mode::Enforce, "allow"),
        (Outcome::ALLOW, Mode::Shadow, "allow"),
        (Outcome::Allow { delay }, Mode::Enforce, "delayed"),
        (Outcome::Allow { delay }, Mode::Shadow, "allow"),
        (Outcome::Deny { retry_after: delay }, Mode::Enforce, "deny"),
        (Outcome::Deny { retry_after: delay }, Mode::Shadow, "shadow_deny"),
        (Outcome::Never, Mode::Enforce, "never"),
        (Outcome::Never, Mode::Shadow, "shadow_deny"),
    ] {
        assert_eq!(OUTCOMES[Answered::of(outcome, mode) as usize], word);
    }
}

/// What a scrape says, in Prometheus's format.
fn told(metrics: &Arc<Metrics>) -> String {
    #[derive(Debug)]
    struct Told(Arc<Metrics>);
    impl prometheus_client::collector::Collector for Told {
        fn encode(&self, encoder: prometheus_client::encoding::DescriptorEncoder<'_>) -> std::fmt::Result {
            self.0.tell(&mut Page::new(encoder))
        }
    }
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(Told(metrics.clone())));
    let mut text = String::new();
    prometheus_client::encoding::prometheus_text::encode(&mut text, &registry).unwrap();
    text
}
