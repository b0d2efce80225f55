//! How many limits calls of the rate limit service can meet, found at load as far as the file says it: a call names as many descriptors as
//! its sender likes.

use tidegate_core::MAX_CHARGES;

use super::Rule;
use super::descriptors::Descriptors;
use crate::document::policy::OnMissing;

/// Policies with more limits together than one call may meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// All calls meet all of them, or all that have a descriptor of these entries.
    Always(Vec<usize>),
    /// A call may meet all of them.
    Perhaps(Vec<usize>),
}

/// All crowds of a file whose policies are `rules`; of those that calls need not meet, the largest of each domain.
pub(crate) fn search(descriptors: &Descriptors, rules: &[Rule]) -> Vec<Crowd> {
    let replaced: Vec<u32> = rules
        .iter()
        .flat_map(|rule| rule.replaces.iter().copied())
        .collect();
    let judge = Judge { rules, replaced };
    let domains = descriptors.domains().map(|domain| judge.domain(domain));
    domains.flatten().collect()
}

struct Judge<'a> {
    rules: &'a [Rule],
    /// Policies that do not count where another one speaks.
    replaced: Vec<u32>,
}

impl Judge<'_> {
    fn domain(&self, domain: &super::descriptors::Domain) -> Vec<Crowd> {
        let always: Vec<u32> = self.sure(&domain.whole);
        if self.limits(&always) > MAX_CHARGES {
            return vec![Crowd::Always(places(&always))];
        }
        let mut crowds = Vec::new();
        let mut largest = domain.whole.clone();
        for policies in domain.ends() {
            let of_descriptor = [self.sure(policies), always.clone()].concat();
            if self.limits(&of_descriptor) > MAX_CHARGES {
                crowds.push(Crowd::Always(places(&of_descriptor)));
            }
            let all = [policies, &domain.whole].concat();
            if self.limits(&all) > self.limits(&largest) {
                largest = all;
            }
        }
        if crowds.is_empty() && self.limits(&largest) > MAX_CHARGES {
            crowds.push(Crowd::Perhaps(places(&largest)));
        }
        crowds
    }

    /// Those of `policies` that speak whenever they are asked, and are never replaced.
    fn sure(&self, policies: &[u32]) -> Vec<u32> {
        let is_sure = |policy: &u32| {
            let rule = &self.rules[*policy as usize];
            rule.expressions.when.is_none()
                && rule.schedule.is_none()
                && rule.recipe.on_missing != OnMissing::Skip
                && !self.replaced.contains(policy)
        };
        policies.iter().copied().filter(is_sure).collect()
    }

    fn limits(&self, policies: &[u32]) -> usize {
        let limits = policies
            .iter()
            .map(|policy| self.rules[*policy as usize].most_charges);
        limits.sum()
    }
}

/// Where the policies stand in the file, in its order.
fn places(policies: &[u32]) -> Vec<usize> {
    let mut places: Vec<usize> = policies.iter().map(|policy| *policy as usize).collect();
    places.sort_unstable();
    places
}
