//! What a policy looks at in bodies.

use crate::document::node::Place;
use crate::document::policy::{OnMissing, PolicyText};
use crate::document::report::{Report, nearest, quoted};
use crate::set::Expressions;
use crate::set::body::{BodyPart, BodyRule, GraphqlPart, Reads};
use crate::set::conditions::Conditions;
use crate::set::key::{From, Recipe};

/// How long a body may be to be looked at, if the policy does not say.
pub(crate) const DEFAULT_MAX_BYTES: usize = 64 * 1024;

/// The most that a policy can say.
pub(crate) const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The most names and numbers in a path through JSON.
const MAX_STEPS: usize = 16;

const PARTS: &str = "write `body.json.<path>`, such as `body.json.user.name`, `body.form.<name>`, `body.graphql.operation`, `body.graphql.type` or `body.graphql.operations`";

const GRAPHQL_PARTS: [(&str, GraphqlPart); 3] = [
    ("operation", GraphqlPart::Operation),
    ("type", GraphqlPart::Type),
    ("operations", GraphqlPart::Operations),
];

/// The part of a body that `text`, written at `at`, names: `json.user.name`.
pub(super) fn part(text: &str, at: Place, report: &mut Report<'_>) -> Option<BodyPart> {
    match text.split_once('.') {
        Some((_, "")) => {}
        Some(("json", path)) => return json(path, at, report),
        Some(("form", name)) => return Some(BodyPart::Form(name.to_owned())),
        Some(("graphql", name)) => {
            let known = GRAPHQL_PARTS.iter().find(|(known, _)| *known == name);
            if let Some((_, part)) = known {
                return Some(BodyPart::Graphql(*part));
            }
            let cure = match nearest(name, GRAPHQL_PARTS.iter().map(|(known, _)| *known)) {
                Some(known) => format!("did you mean `graphql.{known}`?"),
                None => PARTS.to_owned(),
            };
            let message = format!("{} is not told of GraphQL requests", quoted(name));
            report.error(at, message, cure);
            return None;
        }
        Some(_) | None => {}
    }
    let message = format!("{} is no part of a body", quoted(text));
    report.error(at, message, PARTS);
    None
}

fn json(path: &str, at: Place, report: &mut Report<'_>) -> Option<BodyPart> {
    let steps: Vec<String> = path.split('.').map(str::to_owned).collect();
    if steps.len() > MAX_STEPS || steps.iter().any(String::is_empty) {
        let message = format!("{} is no path through JSON", quoted(path));
        let cure =
            format!("write at most {MAX_STEPS} names and numbers with a dot between two: `items.0.id`");
        report.error(at, message, cure);
        return None;
    }
    Some(BodyPart::Json(steps))
}

/// How the policy in `text` looks at bodies, if it does.
pub(super) fn rule(
    text: &PolicyText,
    conditions: &Conditions,
    recipe: Option<&Recipe>,
    expressions: &Expressions,
    report: &mut Report<'_>,
) -> Option<BodyRule> {
    let mut reads = Reads::default();
    let of_key = recipe
        .into_iter()
        .flat_map(|recipe| &recipe.parts)
        .filter_map(|part| match &part.from {
            From::Body(part) => Some(part),
            _ => None,
        });
    let of_conditions = conditions.body.iter().map(|(part, _)| part);
    for part in of_key.clone().chain(of_conditions) {
        part.add_to(&mut reads);
    }
    let of_key_parts = recipe.into_iter().flat_map(|recipe| &recipe.parts);
    let computed = of_key_parts.filter_map(|part| match &part.from {
        From::Expression(expression) => Some(expression),
        _ => None,
    });
    for expression in computed.chain(&expressions.when).chain(&expressions.cost) {
        reads.add(expression.reads());
    }
    if of_key.count() > 0
        && let Some(on_missing) = &text.on_missing
        && on_missing.value == OnMissing::Skip
    {
        let message =
            "a client that sends its body in a form that is not read here is not counted by this policy";
        report.warning(on_missing.at, message, "write `deny` or `fallback`");
    }
    let body = text.body.as_ref();
    if reads == Reads::default() {
        if let Some(body) = body
            && text.is_right
        {
            let message = "`body` says nothing here: this policy does not look at bodies";
            report.warning(
                body.at,
                message,
                "remove it, or count by a part such as `body.json.user`",
            );
        }
        return None;
    }
    let max_bytes = body.and_then(|body| body.max_bytes.as_ref());
    if let Some(size) = max_bytes.filter(|size| !(1..=MOST_BYTES).contains(&size.value)) {
        let message = "a policy looks at bodies of 1 byte to 4 MiB";
        report.error(size.at, message, "write such as `max_bytes: 64KiB`");
    }
    let on_too_large = body.and_then(|body| body.on_too_large.as_ref());
    Some(BodyRule {
        reads,
        max_bytes: max_bytes
            .and_then(|size| usize::try_from(size.value).ok())
            .unwrap_or(DEFAULT_MAX_BYTES),
        on_too_large: on_too_large.map_or_else(Default::default, |said| said.value),
    })
}
