//! What an answer lacks: counted at the end, against what was admitted.
//!
//! For an entity within the depth, *omitted* is its matching relations less those in the answer. What lies deeper than
//! a depth that the caller gave is *beyond*, and no truncation; deeper than a default, it is a truncation like any other.
//!
//! 1. An answer has a reason if and only if some entity of it, within the depth, has a matching relation that is not in
//!    it (or the run was interrupted).

use std::collections::BTreeMap;

use super::expand::{Expanded, Plan, Reached, Step, ended_by, steps};
use crate::budget::{Limit, Meter, Reason};
use crate::engine::lens::{Lens, Match};
use crate::id::{EntityIx, PositionMap, PositionSet, RelationIx};

/// The reasons, and how many relations lie beyond a given depth.
pub(crate) fn account(
    lens: &Lens,
    plan: &Plan,
    reached: &[Reached],
    depth: u32,
    depth_given: bool,
    meter: &Meter,
) -> (Vec<Reason>, Option<u64>) {
    let mut reasons = Vec::new();
    let mut within: PositionSet<RelationIx> = PositionSet::default();
    // An entity that was reached in several states misses what they match together.
    let mut told: PositionMap<EntityIx, PositionSet<RelationIx>> = PositionMap::default();
    for node in reached {
        let mut missing = Missing::default();
        let limit = match node.expanded {
            Expanded::Supernode => Limit::Supernode,
            Expanded::Offered => Limit::FanOut,
            Expanded::No => ended_by(meter),
        };
        let known = told.get(&node.entity);
        for_each(lens, steps(plan, node, depth), node, &mut missing, |found| {
            !meter.has(found.relation) && known.is_none_or(|known| !known.contains(&found.relation))
        });
        within.extend(&missing.relations);
        if plan.states.len() > 1 && missing.total > 0 {
            told.entry(node.entity).or_default().extend(&missing.relations);
        }
        reasons.extend(missing.reason(lens, limit, Some(node)));
    }
    let mut deeper = Missing::default();
    for node in reached.iter().filter(|node| node.distance >= depth) {
        let beyond = plan.states[node.state].iter().filter(|step| !step.free);
        for_each(lens, beyond, node, &mut deeper, |found| {
            !meter.has(found.relation) && !within.contains(&found.relation)
        });
    }
    if depth_given {
        return (reasons, Some(deeper.total));
    }
    reasons.extend(deeper.reason(lens, Limit::Depth, None));
    (reasons, None)
}

/// Adds to `missing` the relations at an entity that its steps match and the answer lacks, each once.
fn for_each<'a>(
    lens: &Lens,
    steps: impl Iterator<Item = &'a Step>,
    node: &Reached,
    missing: &mut Missing,
    lacks: impl Fn(&Match) -> bool,
) {
    for step in steps {
        let all = lens.each_match(node.entity, &step.filter, |found| {
            if lacks(&found) && missing.relations.insert(found.relation) {
                missing.total += 1;
                *missing.by.entry((found.kind, found.trust)).or_default() += 1;
            }
        });
        missing.inexact |= !all;
    }
}

#[derive(Default)]
struct Missing {
    total: u64,
    by: BTreeMap<(crate::id::TypeIx, crate::Trust), u64>,
    relations: PositionSet<RelationIx>,
    inexact: bool,
}

impl Missing {
    fn reason(&self, lens: &Lens, limit: Limit, at: Option<&Reached>) -> Option<Reason> {
        if self.total == 0 {
            return None;
        }
        let (mut by_type, mut by_trust) = (BTreeMap::new(), BTreeMap::new());
        for ((kind, trust), count) in &self.by {
            *by_type.entry(lens.engine().types[kind.at()].clone()).or_default() += count;
            *by_trust.entry(*trust).or_default() += count;
        }
        let at = at.map(|node| lens.engine().entity(node.entity).id);
        Some(Reason { limit, at, omitted: self.total, by_type, by_trust, exact: !self.inexact })
    }
}
