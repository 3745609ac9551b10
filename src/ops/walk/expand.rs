//! The expansion itself: one sequence of admissions.
//!
//! *Level by level*: entities in the order of admission, relations of an entity in priority order, at most `fan_out` an
//! entity; several subjects take turns. *By strength*: the strongest candidate first, where strength is the product
//! over hops of min(1, confidence × weight) × decay, ties by distance, then id. Either way the meter ends the sequence at the
//! first admission that would exceed a budget, so the answer under smaller budgets is a prefix of that under larger ones.
//!
//! 1. Filters apply before admission: what doesn't match uses no budget and bridges nothing.
//! 2. A generic plan does not expand through an entity with more matching relations than the fan-out; a subject with more
//!    gives its best as terminal entities. A domain plan expands both, within the fan-out.
//! 3. A *free* step (a file and the asset it is the body of) costs no depth.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::ops::ControlFlow;

use crate::budget::{Admitted, Limit, Meter};
use crate::engine::lens::{Edge, Edges, Filter, Lens};
use crate::evidence::Trust;
use crate::id::{EntityId, EntityIx};
use crate::index::adjacency::Way;

/// One kind of step that an entity in some state may take.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Which relations.
    pub(crate) filter: Filter,
    /// The state of the entity at the far end.
    pub(crate) to: usize,
    /// Whether the step costs no depth.
    pub(crate) free: bool,
}

/// What matches where.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The steps of each state; a state without steps is terminal.
    pub(crate) states: Vec<Vec<Step>>,
    /// Whether the supernode rule holds.
    pub(crate) generic: bool,
    /// The decay a hop, where admissions go by strength.
    pub(crate) decay: Option<f64>,
}

/// An entity of the answer, and how it was reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The entity.
    pub(crate) entity: EntityIx,
    /// Its state in the plan.
    pub(crate) state: usize,
    /// Hops from the nearest subject, free ones apart.
    pub(crate) distance: u32,
    /// The relation that led here (its place in the answer), the way it was read, and the entity it came from.
    pub(crate) by: Option<(usize, Way, usize)>,
    /// The strength of that path: 1 for a subject.
    pub(crate) strength: f64,
    /// The least trust on that path.
    pub(crate) trust: Trust,
    /// Whether it must not be expanded, being the neighbour of a capped subject.
    pub(crate) terminal: bool,
    /// How its own expansion went.
    pub(crate) expanded: Expanded,
}

/// How the expansion of an entity went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expanded {
    /// Not at all: the sequence ended before, or the depth did.
    No,
    /// It offered everything that it has, or its fan-out's worth.
    Offered,
    /// Skipped as a supernode.
    Supernode,
    /// The sequence ended amid its offers.
    Cut,
}

/// Runs a plan from its subjects (entity, state). The meter holds the relations; what was reached is returned.
pub(crate) fn expand(
    lens: &Lens,
    plan: &Plan,
    seeds: &[(EntityIx, usize)],
    depth: u32,
    meter: &mut Meter,
) -> Vec<Reached> {
    let mut walk = Walk { lens, plan, depth, fan_out: meter.fan_out(), reached: Vec::new() };
    for (entity, state) in seeds {
        if meter.seed(*entity) {
            walk.reached.push(Reached {
                entity: *entity,
                state: *state,
                distance: 0,
                by: None,
                strength: 1.0,
                trust: Trust::Authoritative,
                terminal: false,
                expanded: Expanded::No,
            });
        }
    }
    // Whether it ended early is the meter's to know.
    let _ = match plan.decay {
        Some(decay) => walk.by_strength(decay, meter),
        None => walk.by_level(meter),
    };
    walk.reached
}

/// The steps that an entity may still take at its distance.
pub(crate) fn steps<'a>(plan: &'a Plan, reached: &Reached, depth: u32) -> impl Iterator<Item = &'a Step> {
    let free_only = reached.distance >= depth;
    plan.states[reached.state].iter().filter(move |step| step.free || !free_only)
}

struct Walk<'a> {
    lens: &'a Lens,
    plan: &'a Plan,
    depth: u32,
    fan_out: usize,
    reached: Vec<Reached>,
}

impl<'a> Walk<'a> {
    /// What the entity at a place offers, best first.
    fn offers(&self, place: usize) -> Offers<'a> {
        let reached = &self.reached[place];
        let steps = steps(self.plan, reached, self.depth);
        Offers {
            lens: self.lens,
            runs: steps.map(|step| (step, self.lens.edges(reached.entity, &step.filter).peekable())).collect(),
        }
    }

    /// Invariant 2: what may be taken of an entity's offers, and whether what they lead to is terminal.
    fn taken(&mut self, place: usize) -> (Vec<(&'a Step, Edge)>, bool) {
        let mut offers = self.offers(place);
        let taken: Vec<_> = offers.by_ref().take(self.fan_out).collect();
        let capped = taken.len() == self.fan_out && offers.next().is_some();
        let seed = self.reached[place].by.is_none();
        if self.reached[place].terminal || self.plan.generic && capped && !seed {
            let supernode = !taken.is_empty();
            self.reached[place].expanded = if supernode { Expanded::Supernode } else { Expanded::Offered };
            return (Vec::new(), false);
        }
        self.reached[place].expanded = Expanded::Offered;
        (taken, self.plan.generic && capped && seed)
    }

    /// Admits one offer; breaks when the sequence ends, and says whether an entity came with it.
    fn admit(
        &mut self,
        from: usize,
        step: &Step,
        edge: &Edge,
        terminal: bool,
        decay: f64,
        meter: &mut Meter,
    ) -> ControlFlow<(), bool> {
        match meter.admit(edge.relation, edge.far) {
            ControlFlow::Break(()) => {
                self.reached[from].expanded = Expanded::Cut;
                ControlFlow::Break(())
            }
            ControlFlow::Continue(Admitted::Both(_)) => {
                let origin = self.reached[from];
                self.reached.push(Reached {
                    entity: edge.far,
                    state: step.to,
                    distance: origin.distance + u32::from(!step.free),
                    by: Some((meter.edges().len() - 1, edge.way, from)),
                    strength: origin.strength * hop_strength(edge, step, decay),
                    trust: origin.trust.min(edge.trust),
                    terminal,
                    expanded: Expanded::No,
                });
                ControlFlow::Continue(true)
            }
            ControlFlow::Continue(_) => ControlFlow::Continue(false),
        }
    }

    fn by_level(&mut self, meter: &mut Meter) -> ControlFlow<()> {
        let decay = DECAY;
        let seeds = self.reached.len();
        // Subjects take turns: the first offer of each, then the second of each.
        let mut hands: Vec<_> = (0..seeds).map(|place| self.taken(place)).collect();
        for hand in &mut hands {
            hand.0.reverse();
        }
        let mut left = true;
        while left {
            left = false;
            for (place, (offers, terminal)) in hands.iter_mut().enumerate() {
                if let Some((step, edge)) = offers.pop() {
                    left = true;
                    self.admit(place, step, &edge, *terminal, decay, meter)?;
                }
            }
        }
        // `reached` is the queue: free steps put an entity of this level behind those of the next, so levels are kept
        // apart by distance.
        let mut level: Vec<usize> = (seeds..self.reached.len()).collect();
        while !level.is_empty() {
            let distance = level.iter().map(|place| self.reached[*place].distance).min().unwrap_or(0);
            let (mut now, mut later): (Vec<usize>, Vec<usize>) =
                level.into_iter().partition(|place| self.reached[*place].distance == distance);
            let mut i = 0;
            while i < now.len() {
                let place = now[i];
                i += 1;
                let (offers, terminal) = self.taken(place);
                for (step, edge) in offers {
                    if self.admit(place, step, &edge, terminal, decay, meter)? {
                        let new = self.reached.len() - 1;
                        if self.reached[new].distance == distance { now.push(new) } else { later.push(new) }
                    }
                }
            }
            level = later;
        }
        ControlFlow::Continue(())
    }

    fn by_strength(&mut self, decay: f64, meter: &mut Meter) -> ControlFlow<()> {
        let mut heap: BinaryHeap<Candidate<'a>> = BinaryHeap::new();
        for place in 0..self.reached.len() {
            self.candidates(place, decay, &mut heap);
        }
        while let Some(candidate) = heap.pop() {
            let Candidate { from, step, edge, .. } = candidate;
            if self.admit(from, step, &edge, false, decay, meter)? {
                self.candidates(self.reached.len() - 1, decay, &mut heap);
            }
        }
        ControlFlow::Continue(())
    }

    fn candidates(&mut self, place: usize, decay: f64, heap: &mut BinaryHeap<Candidate<'a>>) {
        let (offers, _) = self.taken(place);
        let origin = self.reached[place];
        for (order, (step, edge)) in offers.into_iter().enumerate() {
            heap.push(Candidate {
                strength: origin.strength * hop_strength(&edge, step, decay),
                distance: origin.distance + u32::from(!step.free),
                id: self.lens.engine().entity(edge.far).id,
                from: place,
                order,
                step,
                edge,
            });
        }
    }
}

/// The decay of strength a hop, unless a plan says otherwise.
pub(crate) const DECAY: f64 = 0.85;

/// min(1, confidence × weight) × decay; a free step only passes its confidence on.
fn hop_strength(edge: &Edge, step: &Step, decay: f64) -> f64 {
    let confidence = f64::from(edge.confidence) / 1_000_000.0;
    if step.free { confidence } else { confidence * decay }
}

/// What an entity offers: the runs of its steps, merged best first. A relation that two steps match is offered once, by
/// the first of them.
struct Offers<'a> {
    lens: &'a Lens,
    runs: Vec<(&'a Step, Peekable<Edges<'a>>)>,
}

impl<'a> Iterator for Offers<'a> {
    type Item = (&'a Step, Edge);

    fn next(&mut self) -> Option<(&'a Step, Edge)> {
        let mut best: Option<(usize, Edge)> = None;
        for (i, (_, run)) in self.runs.iter_mut().enumerate() {
            let Some(edge) = run.peek() else { continue };
            if best.as_ref().is_none_or(|(_, best)| self.lens.edge_order(edge, best).is_lt()) {
                best = Some((i, *edge));
            }
        }
        let (_, edge) = best?;
        let mut step = None;
        for (of, run) in &mut self.runs {
            if run.peek().is_some_and(|head| head.relation == edge.relation && head.way == edge.way) {
                run.next();
                step.get_or_insert(*of);
            }
        }
        Some((step?, edge))
    }
}

/// An offer waiting its turn by strength.
struct Candidate<'a> {
    strength: f64,
    distance: u32,
    id: EntityId,
    from: usize,
    order: usize,
    step: &'a Step,
    edge: Edge,
}

impl Candidate<'_> {
    fn key(&self) -> (Reverse<u32>, Reverse<EntityId>, Reverse<usize>, Reverse<usize>) {
        (Reverse(self.distance), Reverse(self.id), Reverse(self.from), Reverse(self.order))
    }
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.strength.total_cmp(&other.strength).then_with(|| self.key().cmp(&other.key()))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}

/// What ended the sequence, for an entity that was cut by it.
pub(crate) fn ended_by(meter: &Meter) -> Limit {
    meter.stopped().unwrap_or(Limit::FanOut)
}
