//! The walk that the rules describe, over the whole table of relations at every step.
//!
//! Nothing here is kept sorted, cached or counted ahead: what matches at an entity is found by looking at every relation,
//! and what an answer lacks by looking again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::budget::{Budgets, Limit};
use crate::engine::lens::Lens;
use crate::engine::witnesses::TopicIx;
use crate::evidence::Trust;
use crate::id::{EntityId, EntityIx, RelationIx};
use crate::key::{EntityKey, Name};
use crate::ops::domain::patterns::Row;
use crate::ops::walk::generic::{Direction, WalkRequest};
use crate::time::Since;

/// What an entity in some state may take.
pub(super) struct Step {
    out: bool,
    into: bool,
    types: Vec<Name>,
    kinds: Vec<Name>,
    to: usize,
    free: bool,
}

/// A question.
pub(super) struct Question {
    pub(super) states: Vec<Vec<Step>>,
    pub(super) generic: bool,
    pub(super) ranked: bool,
    pub(super) depth: u32,
    pub(super) depth_given: bool,
    pub(super) budgets: Budgets,
    /// The walk is interrupted before the admission of this number.
    pub(super) interrupted: Option<usize>,
}

impl Question {
    pub(super) fn generic(request: &WalkRequest) -> Question {
        let step = Step {
            out: request.direction != Direction::In,
            into: request.direction != Direction::Out,
            types: request.types.clone(),
            kinds: request.kinds.clone(),
            to: 0,
            free: false,
        };
        Question {
            states: vec![vec![step]],
            generic: true,
            ranked: false,
            depth: request.depth.unwrap_or(2),
            depth_given: request.depth.is_some(),
            budgets: request.budgets,
            interrupted: None,
        }
    }

    pub(super) fn pattern(row: &Row, depth: Option<u32>, budgets: Budgets) -> Question {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        let step = |pattern: &crate::ops::domain::patterns::Pattern| Step {
            out: pattern.out,
            into: !pattern.out,
            types: names(pattern.types),
            kinds: names(pattern.kinds),
            to: pattern.to,
            free: pattern.free,
        };
        Question {
            states: row.states.iter().map(|steps| steps.iter().map(step).collect()).collect(),
            generic: false,
            ranked: row.ranked,
            depth: depth.unwrap_or(row.depth),
            depth_given: depth.is_some(),
            budgets,
            interrupted: None,
        }
    }
}

/// An entity of the answer.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    pub(super) entity: EntityIx,
    state: usize,
    /// Whether it was reached in another state before.
    pub(super) again: bool,
    pub(super) distance: u32,
    pub(super) strength: f64,
    pub(super) trust: Trust,
    /// The relation that led here, and the entity that it came from.
    pub(super) by: Option<(usize, usize)>,
    terminal: bool,
    done: Done,
}

/// How far an entity came with its offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    NotYet,
    All,
    Skipped,
}

/// A reason: what cut, at whom, and what was left out by type and trust.
pub(super) type Lack = (Limit, Option<EntityIx>, BTreeMap<Name, u64>, BTreeMap<Trust, u64>);

pub(super) struct Naive<'a> {
    lens: &'a Lens,
    question: Question,
    pub(super) nodes: Vec<Reached>,
    pub(super) edges: Vec<RelationIx>,
    stopped: Option<Limit>,
    admissions: usize,
}

/// An offer: a relation, its far end, the state there, and how strong the hop is.
#[derive(Clone)]
struct Offer {
    relation: RelationIx,
    far: EntityIx,
    to: usize,
    free: bool,
    trust: Trust,
    hop: f64,
}

struct Stop;

impl<'a> Naive<'a> {
    /// Walks from the subjects, each in its first state.
    pub(super) fn walk(lens: &'a Lens, question: Question, subjects: &[(EntityIx, usize)]) -> Naive<'a> {
        let mut naive = Naive { lens, question, nodes: vec![], edges: vec![], stopped: None, admissions: 0 };
        for (entity, state) in subjects {
            if !naive.nodes.iter().any(|node| node.entity == *entity) {
                naive.nodes.push(Reached {
                    entity: *entity,
                    state: *state,
                    again: false,
                    distance: 0,
                    strength: 1.0,
                    trust: Trust::Authoritative,
                    by: None,
                    terminal: false,
                    done: Done::NotYet,
                });
            }
        }
        let _ = if naive.question.ranked { naive.by_strength() } else { naive.by_level() };
        naive
    }

    /// Every relation that a step matches at an entity, in the order of spec O-4.
    fn matching(&self, entity: EntityIx, steps: &[&Step]) -> Vec<Offer> {
        let engine = self.lens.engine();
        type Key = (Reverse<Trust>, Reverse<u32>, Reverse<Since>, EntityKey, EntityId, Name, Name, bool);
        let mut found: Vec<(Key, Offer)> = Vec::new();
        for relation in (0..engine.relations.len()).map(RelationIx::nth) {
            let row = engine.relation(relation);
            let Some(held) = self.lens.relation(relation) else { continue };
            let kind = &engine.types[row.kind.at()];
            let step = steps.iter().find_map(|step| {
                let along = row.source == entity && step.out;
                let against = row.target == entity && step.into;
                let far = if along { row.target } else { row.source };
                let typed = step.types.is_empty() || step.types.iter().any(|of| engine.ontology.is_a(kind, of));
                let fits = step.kinds.is_empty() || step.kinds.contains(&engine.entity(far).key.kind);
                ((along || against) && typed && fits).then_some((step, far, !along))
            });
            let Some((step, far, against)) = step else { continue };
            let since = self.lens.stretch(TopicIx::Relation(relation)).unwrap().since;
            let (far_row, origin) = (engine.entity(far), engine.names.at(row.origin));
            let evidence = (Reverse(held.trust), Reverse(held.confidence.millionths()), Reverse(since));
            let key = (
                evidence.0,
                evidence.1,
                evidence.2,
                far_row.key.clone(),
                far_row.id,
                kind.clone(),
                origin.clone(),
                against,
            );
            let sure = held.confidence.value();
            let hop = if step.free { sure } else { sure * 0.85 };
            found.push((key, Offer { relation, far, to: step.to, free: step.free, trust: held.trust, hop }));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.into_iter().map(|(_, offer)| offer).collect()
    }

    /// The steps that an entity may take within the depth.
    fn steps(&self, place: usize) -> Vec<&Step> {
        let Reached { state, distance, .. } = self.nodes[place];
        self.question.states[state].iter().filter(|step| step.free || distance < self.question.depth).collect()
    }

    /// What an entity offers, and whether what it leads to is terminal; none where it must not be walked through. Free
    /// steps come first where levels count.
    fn offers(&self, place: usize) -> Option<(Vec<Offer>, bool)> {
        let fan_out = self.question.budgets.fan_out as usize;
        let (by_free, others): (Vec<&Step>, Vec<&Step>) = self.steps(place).into_iter().partition(|step| step.free);
        let node = &self.nodes[place];
        let mut offers = if self.question.ranked {
            self.matching(node.entity, &self.steps(place))
        } else {
            [self.matching(node.entity, &by_free), self.matching(node.entity, &others)].concat()
        };
        let capped = self.question.generic && offers.len() > fan_out;
        offers.truncate(fan_out);
        (!node.terminal && (!capped || node.by.is_none())).then_some((offers, capped))
    }

    /// The same, in the turn of the entity: now it is known whether it is skipped.
    fn hand(&mut self, place: usize) -> (Vec<Offer>, bool) {
        self.offers(place).unwrap_or_else(|| {
            self.nodes[place].done = Done::Skipped;
            (Vec::new(), false)
        })
    }

    fn admit(&mut self, from: usize, offer: &Offer, terminal: bool) -> Result<(), Stop> {
        let new = !self.nodes.iter().any(|node| node.entity == offer.far);
        if self.edges.contains(&offer.relation) {
            self.arrive(from, offer, terminal, new);
            return Ok(());
        }
        let Budgets { nodes, edges, .. } = self.question.budgets;
        self.stopped = if self.question.interrupted == Some(self.admissions) {
            Some(Limit::Interrupt)
        } else if self.edges.len() == edges as usize {
            Some(Limit::Edges)
        } else if new && self.shown().count() == nodes as usize {
            Some(Limit::Nodes)
        } else {
            None
        };
        if self.stopped.is_some() {
            return Err(Stop);
        }
        self.admissions += 1;
        self.edges.push(offer.relation);
        self.arrive(from, offer, terminal, new);
        Ok(())
    }

    /// An entity is reached once in each state; again only where the state leads on.
    fn arrive(&mut self, from: usize, offer: &Offer, terminal: bool, new: bool) {
        let known = self.nodes.iter().any(|node| (node.entity, node.state) == (offer.far, offer.to));
        if known || !new && self.question.states[offer.to].is_empty() {
            return;
        }
        let origin = self.nodes[from].clone();
        let edge = self.edges.iter().position(|edge| *edge == offer.relation).unwrap();
        self.nodes.push(Reached {
            entity: offer.far,
            state: offer.to,
            again: !new,
            distance: origin.distance + u32::from(!offer.free),
            strength: origin.strength * offer.hop,
            trust: origin.trust.min(offer.trust),
            by: Some((edge, from)),
            terminal,
            done: Done::NotYet,
        });
    }

    fn by_level(&mut self) -> Result<(), Stop> {
        for distance in 0.. {
            // Free steps first, and what they lead to belongs to the level.
            let mut place = 0;
            while place < self.nodes.len() {
                let at = |naive: &Naive, place: usize| naive.nodes[place].distance == distance;
                if at(self, place) {
                    let (offers, _) = self.offers(place).unwrap_or_default();
                    for offer in offers.iter().filter(|offer| offer.free) {
                        self.admit(place, offer, false)?;
                    }
                }
                place += 1;
            }
            let level: Vec<usize> = (0..self.nodes.len()).filter(|i| self.nodes[*i].distance == distance).collect();
            if level.is_empty() {
                return Ok(());
            }
            let subjects = level.iter().take_while(|place| self.nodes[**place].by.is_none()).count();
            // Subjects take turns; everyone after them is a hand of one.
            let (turns, rest) = level.split_at(subjects);
            for hand in std::iter::once(turns).chain(rest.chunks(1)) {
                let hands: Vec<(Vec<Offer>, bool)> = hand.iter().map(|place| self.hand(*place)).collect();
                let longest = hands.iter().map(|(offers, _)| offers.len()).max().unwrap_or(0);
                for round in 0..=longest {
                    for (place, (offers, terminal)) in hand.iter().zip(&hands) {
                        let offers: Vec<&Offer> = offers.iter().filter(|offer| !offer.free).collect();
                        if let Some(offer) = offers.get(round) {
                            self.admit(*place, offer, *terminal)?;
                        }
                        if round + 1 >= offers.len() && self.nodes[*place].done == Done::NotYet {
                            self.nodes[*place].done = Done::All;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn by_strength(&mut self) -> Result<(), Stop> {
        let mut waiting: Vec<(usize, usize, Offer)> = Vec::new();
        let mut expanded = 0;
        loop {
            while expanded < self.nodes.len() {
                let (offers, _) = self.hand(expanded);
                waiting.extend(offers.into_iter().enumerate().map(|(order, offer)| (expanded, order, offer)));
                self.nodes[expanded].done = Done::All;
                expanded += 1;
            }
            let strongest = (0..waiting.len()).max_by(|a, b| {
                let rank = |i: &usize| {
                    let (from, order, offer) = &waiting[*i];
                    let distance = self.nodes[*from].distance + u32::from(!offer.free);
                    let id = self.lens.engine().entity(offer.far).id;
                    (Reverse(distance), Reverse(id), Reverse(*from), Reverse(*order))
                };
                let strength = |i: &usize| self.nodes[waiting[*i].0].strength * waiting[*i].2.hop;
                strength(a).total_cmp(&strength(b)).then_with(|| rank(a).cmp(&rank(b)))
            });
            let Some(strongest) = strongest else { return Ok(()) };
            let (from, _, offer) = waiting[strongest].clone();
            if self.admit(from, &offer, false).is_err() {
                for (from, _, _) in waiting {
                    self.nodes[from].done = Done::NotYet;
                }
                return Err(Stop);
            }
            waiting.remove(strongest);
        }
    }

    /// What the answer lacks, entity by entity; and how many relations lie deeper than the depth.
    pub(super) fn account(&self) -> (Vec<Lack>, u64) {
        let engine = self.lens.engine();
        let mut lacks: Vec<Lack> = Vec::new();
        let mut within: BTreeSet<RelationIx> = BTreeSet::new();
        let tally = |limit, at, missing: &BTreeMap<RelationIx, Trust>| {
            let (mut types, mut trusts) = (BTreeMap::new(), BTreeMap::new());
            for (relation, trust) in missing {
                *types.entry(engine.types[engine.relation(*relation).kind.at()].clone()).or_default() += 1;
                *trusts.entry(*trust).or_default() += 1;
            }
            (limit, at, types, trusts)
        };
        let lacking = |entity, steps: &[&Step]| -> BTreeMap<RelationIx, Trust> {
            let matching = self.matching(entity, steps).into_iter();
            let lacking = matching.filter(|offer| !self.edges.contains(&offer.relation));
            lacking.map(|offer| (offer.relation, offer.trust)).collect()
        };
        // An entity in several states lacks what they match together, told where it is lacked first.
        let mut told: BTreeSet<(EntityIx, RelationIx)> = BTreeSet::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let mut missing = lacking(node.entity, &self.steps(place));
            missing.retain(|relation, _| told.insert((node.entity, *relation)));
            within.extend(missing.keys());
            let limit = match node.done {
                Done::Skipped => Limit::Supernode,
                Done::All => Limit::FanOut,
                Done::NotYet => self.stopped.unwrap_or(Limit::FanOut),
            };
            if !missing.is_empty() {
                lacks.push(tally(limit, Some(node.entity), &missing));
            }
        }
        let mut deeper: BTreeMap<RelationIx, Trust> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| node.distance >= self.question.depth) {
            let steps: Vec<&Step> = self.question.states[node.state].iter().filter(|step| !step.free).collect();
            deeper.extend(lacking(node.entity, &steps));
        }
        deeper.retain(|relation, _| !within.contains(relation));
        if self.question.depth_given {
            return (lacks, deeper.len() as u64);
        }
        if !deeper.is_empty() {
            lacks.push(tally(Limit::Depth, None, &deeper));
        }
        (lacks, 0)
    }

    /// The entities of the answer, each as it was reached first.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Reached> {
        self.nodes.iter().filter(|node| !node.again)
    }

    pub(super) fn interrupted(&self) -> bool {
        self.stopped == Some(Limit::Interrupt)
    }
}
