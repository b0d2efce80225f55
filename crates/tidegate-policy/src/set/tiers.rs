//! Which tiers policies speak of.

use std::collections::BTreeSet;

use super::{PolicySet, Rule};

impl PolicySet {
    /// The tiers that policies have limits for. None where nobody can say which tiers matter: no policy names any, so only the origin
    /// learns of them, or an expression looks at tiers in its own way.
    pub fn named_tiers(&self) -> Option<BTreeSet<&str>> {
        let tiers = self.policies.iter().flat_map(|policy| &policy.tiers);
        let named: BTreeSet<&str> = tiers.map(|(tier, _)| &**tier).collect();
        let looked_at = self.rules.iter().any(Rule::looks_at_tiers);
        (!named.is_empty() && !looked_at).then_some(named)
    }
}

impl Rule {
    fn looks_at_tiers(&self) -> bool {
        let expressions = [&self.expressions.when, &self.expressions.cost];
        let expressions = expressions.into_iter().flatten();
        let mut all = expressions.chain(self.recipe.expressions());
        all.any(|expression| expression.looks_at_tiers())
    }
}
