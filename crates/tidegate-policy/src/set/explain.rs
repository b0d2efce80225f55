//! The first reason for which a policy does not speak about a request.

use http::HeaderName;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use smallvec::SmallVec;

use super::conditions::Wanted;
use super::key::{From, Part, Value};
use super::{Asked, Hit, PolicySet, Rule};
use crate::explain::{KeyPart, Match};
use crate::expression::Fuel;

impl PolicySet {
    /// What policy number `index`, which the index found at `hits`, makes of a request.
    pub(crate) fn outcome(&self, index: usize, hits: &[Hit], asked: Asked<'_, '_>) -> Match {
        let rule = &self.rules[index];
        if rule.is_about_calls {
            return Match::No("it is about calls of the rate limit service".to_owned());
        }
        if hits.is_empty() {
            return Match::No("its host or path is another".to_owned());
        }
        if let Some(reason) = rule.unmet(asked) {
            return Match::No(reason);
        }
        let whole;
        let asked = match &rule.body {
            Some(body) if body.is_too_large_in(asked.request) => {
                whole = asked.request.without_body();
                Asked {
                    request: &whole,
                    ..asked
                }
            }
            _ => asked,
        };
        if rule.body.is_some() && !rule.conditions.allow_body(asked.request) {
            return Match::No("its body holds something else".to_owned());
        }
        let mut places = hits.iter().map(|hit| asked.found(hit));
        let found = match &rule.expressions.when {
            None => places.next(),
            Some(when) => {
                let mut fuel = Fuel::new();
                places.find(|found| when.holds(&asked.scope(*found), &mut fuel) != Ok(false))
            }
        };
        let Some(found) = found else {
            return Match::No("`when` does not hold".to_owned());
        };
        let scope = asked.scope(found);
        let values = rule
            .recipe
            .values(&scope, found, self.prefixes, &mut SmallVec::new());
        match values {
            Ok(values) => Match::Yes(rule.recipe.parts.iter().zip(&values).map(shown).collect()),
            Err(_) => {
                let lacking = rule.recipe.lacking(&scope, found, self.prefixes);
                Match::Lacking(lacking.into_iter().map(|part| part.text.clone()).collect())
            }
        }
    }
}

impl Rule {
    /// The first thing that does not hold, of those that need no body.
    fn unmet(&self, asked: Asked<'_, '_>) -> Option<String> {
        let (request, conditions) = (asked.request, &self.conditions);
        if !self.speaks_at(asked.now) {
            return Some("its schedule is closed at this time".to_owned());
        }
        if !conditions.allow_method(request.method) {
            let methods: Vec<&str> = conditions.methods.iter().map(|method| method.as_str()).collect();
            return Some(format!("{} is not {}", request.method, methods.join(" or ")));
        }
        if let Some((kind, name, wanted)) = conditions.first_unmet(request) {
            return Some(match wanted {
                Wanted::OneOf(values) => format!("its {kind} {name} is not {}", values.join(" or ")),
                Wanted::Prefix(prefix) => format!("its {kind} {name} does not begin with {prefix}"),
                Wanted::Present => format!("it has no {kind} {name}"),
                Wanted::Absent => format!("it has a {kind} {name}"),
            });
        }
        self.exempts(asked).then(|| "it is exempt".to_owned())
    }
}

fn shown((part, value): (&Part, &Value<'_>)) -> KeyPart {
    let value = value.shown();
    KeyPart {
        part: part.text.clone(),
        value: if is_secret(part) { masked(&value) } else { value },
    }
}

/// Fields that carry credentials, by the habit of most.
const SECRETS: [HeaderName; 3] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION];

/// Words in names of fields that carry credentials.
const SECRET_WORDS: [&str; 5] = ["key", "token", "secret", "auth", "session"];

fn is_secret(part: &Part) -> bool {
    let has_word = |name: &str| {
        SECRET_WORDS
            .iter()
            .any(|word| name.to_ascii_lowercase().contains(word))
    };
    match &part.from {
        From::Header(name) => SECRETS.contains(name) || has_word(name.as_str()),
        From::Cookie(_) => true,
        From::Query(name) => has_word(name),
        From::Expression(_) => has_word(&part.text) || part.text.contains("cookie"),
        _ => false,
    }
}

/// The first characters of a long value, and how many follow.
fn masked(value: &str) -> String {
    let count = value.chars().count();
    let shown = if count >= 16 { 4 } else { 0 };
    let beginning: String = value.chars().take(shown).collect();
    format!("{beginning}… ({count} characters)")
}
