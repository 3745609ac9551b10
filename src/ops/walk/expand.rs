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
//! 3. A *free* step (a file and the asset it is the body of) costs no depth. A level takes all of its free steps before
//!    any other, so that an answer of less depth is a prefix of one of more.
//! 4. An entity that is reached in another state than before is expanded in that state too, so what is reached does not
//!    depend on which path came first. It is shown once, as it was reached first; the rest costs no budget.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::iter::Peekable;
use std::ops::{ControlFlow, Range};

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

/// An entity of the answer in one state, and how it was reached so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// The entity.
    pub(crate) entity: EntityIx,
    /// Its state in the plan.
    pub(crate) state: usize,
    /// Whether the entity was reached in another state before, by which answers show it.
    pub(crate) again: bool,
    /// Hops from the nearest subject, free ones apart.
    pub(crate) distance: u32,
    /// The relation that led here (its place in the answer), the way it was read, and what was reached before it.
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
    /// Not at all, or not to its end: the sequence ended before, or the depth did.
    No,
    /// It offered everything that it has, or its fan-out's worth.
    Offered,
    /// Skipped as a supernode.
    Supernode,
}

/// Runs a plan from its subjects (entity, state). The meter holds the relations; what was reached is returned, an entity
/// once for each state in which it was.
pub(crate) fn expand(
    lens: &Lens,
    plan: &Plan,
    seeds: &[(EntityIx, usize)],
    depth: u32,
    meter: &mut Meter,
) -> Vec<Reached> {
    let mut walk = Walk { lens, plan, depth, fan_out: meter.fan_out(), reached: Vec::new(), visited: HashSet::new() };
    for (entity, state) in seeds {
        if meter.seed(*entity) {
            walk.visited.insert((*entity, *state));
            walk.reached.push(Reached {
                entity: *entity,
                state: *state,
                again: false,
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
    visited: HashSet<(EntityIx, usize)>,
}

/// What an entity may still offer, best first, and whether what that leads to is terminal.
struct Hand<'a> {
    place: usize,
    offers: std::vec::IntoIter<(&'a Step, Edge)>,
    terminal: bool,
}

/// Which steps are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    Free,
    Other,
    All,
}

impl Steps {
    fn take(self, step: &Step) -> bool {
        match self {
            Steps::Free => step.free,
            Steps::Other => !step.free,
            Steps::All => true,
        }
    }
}

impl<'a> Walk<'a> {
    /// What the entity at a place offers, best first.
    fn offers(&self, place: usize, which: Steps) -> Offers<'a> {
        let reached = &self.reached[place];
        let steps = steps(self.plan, reached, self.depth).filter(|step| which.take(step));
        Offers {
            lens: self.lens,
            runs: steps.map(|step| (step, self.lens.edges(reached.entity, &step.filter).peekable())).collect(),
        }
    }

    /// Invariant 2: what may be taken of an entity's offers.
    fn hand(&mut self, place: usize, which: Steps) -> Hand<'a> {
        let free = if which == Steps::Other { self.offers(place, Steps::Free).take(self.fan_out).count() } else { 0 };
        let mut offers = self.offers(place, which);
        let taken: Vec<_> = offers.by_ref().take(self.fan_out - free).collect();
        let generic = self.plan.generic;
        let capped = generic && taken.len() == self.fan_out && offers.next().is_some();
        let Reached { by, terminal, .. } = self.reached[place];
        if terminal || capped && by.is_some() {
            self.reached[place].expanded = Expanded::Supernode;
            return Hand { place, offers: Vec::new().into_iter(), terminal: false };
        }
        Hand { place, offers: taken.into_iter(), terminal: capped }
    }

    /// Admits one offer; breaks when the sequence ends, and says whether there is something new to expand.
    fn admit(
        &mut self,
        from: usize,
        (step, edge): (&Step, Edge),
        terminal: bool,
        decay: f64,
        meter: &mut Meter,
    ) -> ControlFlow<(), bool> {
        let again = !matches!(meter.admit(edge.relation, edge.far)?, Admitted::Both(_));
        let leads_nowhere = again && self.plan.states[step.to].is_empty();
        let place = meter.edge_place(edge.relation).filter(|_| !leads_nowhere);
        let Some(place) = place.filter(|_| self.visited.insert((edge.far, step.to))) else {
            return ControlFlow::Continue(false);
        };
        let origin = self.reached[from];
        self.reached.push(Reached {
            entity: edge.far,
            state: step.to,
            again,
            distance: origin.distance + u32::from(!step.free),
            by: Some((place, edge.way, from)),
            strength: origin.strength * hop_strength(&edge, step, decay),
            trust: origin.trust.min(edge.trust),
            terminal,
            expanded: Expanded::No,
        });
        ControlFlow::Continue(true)
    }

    fn by_level(&mut self, meter: &mut Meter) -> ControlFlow<()> {
        // `reached` is the queue: what a level adds at its own distance lies at its end, and so does the next level.
        let seeds = self.reached.len();
        let (mut level, mut turns) = (0..seeds, seeds);
        while !level.is_empty() {
            if self.plan.states.iter().flatten().any(|step| step.free) {
                level.end = self.expand_level(level.clone(), turns, Steps::Free, meter)?;
            }
            let next = self.expand_level(level.clone(), turns, Steps::Other, meter)?;
            (level, turns) = (level.end..next, 0);
        }
        ControlFlow::Continue(())
    }

    /// Takes the steps of a level, the first `turns` entities in turns: the first offer of each, then the second of each.
    /// With free steps the level grows while it is expanded. Returns where `reached` ends.
    fn expand_level(
        &mut self,
        mut level: Range<usize>,
        turns: usize,
        which: Steps,
        meter: &mut Meter,
    ) -> ControlFlow<(), usize> {
        let mut hands: VecDeque<Hand<'a>> = level.by_ref().take(turns).map(|place| self.hand(place, which)).collect();
        while let Some(mut hand) = hands.pop_front() {
            if let Some(offer) = hand.offers.next() {
                self.admit(hand.place, offer, hand.terminal, DECAY, meter)?;
            }
            match hand.offers.len() {
                0 => self.offered(hand.place, which),
                _ => hands.push_back(hand),
            }
        }
        let mut place = level.start;
        while place < if which == Steps::Free { self.reached.len() } else { level.end } {
            let hand = self.hand(place, which);
            for offer in hand.offers {
                self.admit(place, offer, hand.terminal, DECAY, meter)?;
            }
            self.offered(place, which);
            place += 1;
        }
        ControlFlow::Continue(self.reached.len())
    }

    /// An entity has offered what it may, but for the steps that come after its free ones.
    fn offered(&mut self, place: usize, which: Steps) {
        let reached = &mut self.reached[place];
        if reached.expanded == Expanded::No && (which != Steps::Free || reached.distance >= self.depth) {
            reached.expanded = Expanded::Offered;
        }
    }

    fn by_strength(&mut self, decay: f64, meter: &mut Meter) -> ControlFlow<()> {
        let mut heap: BinaryHeap<Candidate<'a>> = BinaryHeap::new();
        for place in 0..self.reached.len() {
            self.candidates(place, decay, &mut heap);
        }
        while let Some(Candidate { from, step, edge, .. }) = heap.pop() {
            match self.admit(from, (step, edge), false, decay, meter) {
                ControlFlow::Continue(true) => self.candidates(self.reached.len() - 1, decay, &mut heap),
                ControlFlow::Continue(false) => {}
                ControlFlow::Break(()) => {
                    // Whose offers still wait for their turn was not expanded to its end.
                    for waiting in std::iter::once(from).chain(heap.iter().map(|candidate| candidate.from)) {
                        self.reached[waiting].expanded = Expanded::No;
                    }
                    return ControlFlow::Break(());
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn candidates(&mut self, place: usize, decay: f64, heap: &mut BinaryHeap<Candidate<'a>>) {
        let hand = self.hand(place, Steps::All);
        self.offered(place, Steps::All);
        let origin = self.reached[place];
        for (order, (step, edge)) in hand.offers.enumerate() {
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
            if run.peek().is_some_and(|head| head.relation == edge.relation) {
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
