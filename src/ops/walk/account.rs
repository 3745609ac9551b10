//! What an answer lacks: counted at the end, against what was admitted.
//!
//! For an entity within the depth, *omitted* is its matching relations less those in the answer. What lies deeper than
//! a depth that the caller gave is *beyond*, and no truncation; deeper than a default, it is a truncation like any other.
//!
//! The trick: only a relation whose far end is in the answer can be in the answer itself, or be met again from its other
//! end. One bit an entity tells; every other relation is merely counted.
//!
//! 1. An answer has a reason if and only if some entity of it, within the depth, has a matching relation that is not in
//!    it (or the run was interrupted).
//! 2. Per entity, a relation is counted once; of what lies deeper, each relation is counted once in all.

use std::collections::BTreeMap;

use super::expand::{Expanded, Plan, Reached, Step, ended_by, steps};
use crate::budget::{Limit, Meter, Reason};
use crate::engine::lens::Lens;
use crate::evidence::Trust;
use crate::id::{EntityIx, PositionSet, RelationIx, TypeIx};

/// The reasons, and how many relations lie beyond a given depth.
pub(crate) fn account(
    lens: &Lens,
    plan: &Plan,
    reached: &[Reached],
    depth: u32,
    depth_given: bool,
    meter: &Meter,
) -> (Vec<Reason>, Option<u64>) {
    let answer = Members::of(lens, meter);
    let mut reasons = Vec::new();
    // Counted already, where the other end could count it again.
    let mut counted: PositionSet<RelationIx> = PositionSet::default();
    for node in reached {
        let mut missing = Missing::default();
        let limit = match node.expanded {
            Expanded::Supernode => Limit::Supernode,
            Expanded::Offered => Limit::FanOut,
            Expanded::No => ended_by(meter),
        };
        let steps: Vec<&Step> = steps(plan, node, depth).collect();
        count(lens, &steps, node.entity, &answer, &mut missing, |relation| {
            counted.insert(relation);
            true
        });
        reasons.extend(missing.reason(lens, limit, Some(node)));
    }
    let mut deeper = Missing::default();
    for node in reached.iter().filter(|node| node.distance >= depth) {
        let steps: Vec<&Step> = plan.states[node.state].iter().filter(|step| !step.free).collect();
        count(lens, &steps, node.entity, &answer, &mut deeper, |relation| counted.insert(relation));
    }
    if depth_given {
        return (reasons, Some(deeper.total));
    }
    reasons.extend(deeper.reason(lens, Limit::Depth, None));
    (reasons, None)
}

/// Adds to `missing` the relations at an entity that its steps match and the answer lacks; `new` is asked about those
/// between two entities of the answer.
fn count(
    lens: &Lens,
    steps: &[&Step],
    entity: EntityIx,
    answer: &Members,
    missing: &mut Missing,
    mut new: impl FnMut(RelationIx) -> bool,
) {
    for (i, step) in steps.iter().enumerate() {
        let all = lens.each_match(entity, &step.filter, |found| {
            let met = |earlier: &&Step| earlier.filter.matches(lens.engine(), entity, &found);
            if steps[..i].iter().any(met) {
                return;
            }
            if answer.holds(found.far) && (answer.meter.has(found.relation) || !new(found.relation)) {
                return;
            }
            missing.add(found.kind, found.trust);
        });
        missing.inexact |= !all;
    }
}

/// The entities of an answer: one bit for each that the engine has.
struct Members<'a> {
    meter: &'a Meter<'a>,
    bits: Vec<u64>,
}

impl<'a> Members<'a> {
    fn of(lens: &Lens, meter: &'a Meter<'a>) -> Members<'a> {
        let mut bits = vec![0; lens.engine().entities.len() / 64 + 1];
        for entity in meter.nodes() {
            bits[entity.at() / 64] |= 1 << (entity.at() % 64);
        }
        Members { meter, bits }
    }

    fn holds(&self, entity: EntityIx) -> bool {
        self.bits[entity.at() / 64] >> (entity.at() % 64) & 1 == 1
    }
}

#[derive(Default)]
struct Missing {
    total: u64,
    /// By type and trust; matches come in runs of one type, best trust first, so the last entry is mostly the one.
    by: Vec<((TypeIx, Trust), u64)>,
    inexact: bool,
}

impl Missing {
    fn add(&mut self, kind: TypeIx, trust: Trust) {
        self.total += 1;
        match self.by.iter_mut().rev().find(|(of, _)| *of == (kind, trust)) {
            Some((_, count)) => *count += 1,
            None => self.by.push(((kind, trust), 1)),
        }
    }

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
