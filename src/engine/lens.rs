//! How a graph is looked at: a snapshot, a moment on both clocks, and which witnesses count.
//!
//! A [`View`] is one published engine: immutable, cheap to clone, never blocked. A [`Lens`] adds *as of when*, *as
//! recorded when*, the trust floor and an exact revision. Every read goes through a lens, and a lens always holds a
//! concrete moment, so that a read is a function of the view and the lens alone.
//!
//! A lens on the present answers from what is cached beside the rows; any other evaluates the belief rule for the rows
//! it touches, and no others.
//!
//! 1. A relation is seen only while both its ends are (engine invariant 4), under the same lens.
//! 2. [`Lens::edges`] lists the matching relations of an entity in one order (spec O-4), whichever way they are found.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::belief::{self, Existence, Hearing, Held, Moment, Prop, Stretch};
use super::now::Now;
use super::state::Engine;
use super::witnesses::TopicIx;
use crate::error::Error;
use crate::evidence::Trust;
use crate::id::{EntityIx, RelationIx, Seq, TypeIx, VoiceIx};
use crate::index::adjacency::{Hop, Run, Way};
use crate::key::Name;
use crate::scope::Scope;
use crate::time::{Since, Time};
use crate::value::Value;

/// An immutable snapshot of one scope at one sequence.
///
/// Cheap to take and to clone, `Send + Sync`, holds no lock.
#[derive(Clone)]
pub struct View {
    pub(crate) engine: Arc<Engine>,
    scope: Scope,
}

impl View {
    pub(crate) fn new(engine: Arc<Engine>, scope: Scope) -> View {
        View { engine, scope }
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The sequence of the last commit seen.
    pub fn seq(&self) -> Seq {
        self.engine.seq
    }

    /// When that commit was recorded.
    pub fn stamp(&self) -> Time {
        self.engine.stamp
    }

    /// A lens on the present: the view's own stamp and sequence, `derived` and up.
    pub fn lens(&self) -> Lens {
        Lens {
            view: self.clone(),
            valid: self.engine.stamp,
            told: false,
            recorded: self.engine.seq,
            floor: Trust::Derived,
            revision: None,
        }
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({} at {:?})", self.scope, self.engine.seq)
    }
}

/// A view, and how to look at it.
#[derive(Clone, Debug)]
pub struct Lens {
    view: View,
    valid: Time,
    told: bool,
    recorded: Seq,
    floor: Trust,
    revision: Option<Name>,
}

impl Lens {
    /// Looks at what was true at `valid`.
    pub fn as_of(mut self, valid: Time) -> Lens {
        (self.valid, self.told) = (valid, true);
        self
    }

    /// Looks at what this store knew at `recorded`; without [`Lens::as_of`], at what was true when it was recorded.
    ///
    /// # Errors
    /// `invalid` for a sequence that is yet to come.
    pub fn as_recorded(mut self, recorded: Seq) -> Result<Lens, Error> {
        if recorded > self.view.seq() {
            let newest = self.view.seq();
            return Err(Error::invalid(format!("sequence {recorded} is yet to come; the newest is {newest}")));
        }
        self.recorded = recorded;
        if !self.told {
            self.valid = self.view.engine.stamp_of(recorded).unwrap_or(Time::UNBOUNDED);
        }
        Ok(self)
    }

    /// Counts only witnesses of at least this trust.
    pub fn trust_floor(mut self, floor: Trust) -> Lens {
        self.floor = floor;
        self
    }

    /// Counts only witnesses whose group has exactly this revision.
    pub fn revision(mut self, revision: impl Into<Name>) -> Lens {
        self.revision = Some(revision.into());
        self
    }

    /// The revision that alone counts, where one was asked for.
    pub(crate) fn only_revision(&self) -> Option<&Name> {
        self.revision.as_ref()
    }

    /// The snapshot under the lens.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The valid time looked at.
    pub fn valid(&self) -> Time {
        self.valid
    }

    /// The valid time, where one was asked for.
    pub(crate) fn asked(&self) -> Option<Time> {
        self.told.then_some(self.valid)
    }

    /// The sequence looked at.
    pub fn recorded(&self) -> Seq {
        self.recorded
    }

    /// The least trust that counts.
    pub fn floor(&self) -> Trust {
        self.floor
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.view.engine
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment { valid: self.valid, recorded: self.recorded }
    }

    /// The same lens at another valid time.
    pub(crate) fn at(&self, valid: Time) -> Lens {
        Lens { valid, ..self.clone() }
    }

    /// Whether the lens looks at the present, through every witness above a trust floor.
    pub(crate) fn is_current(&self) -> bool {
        self.valid >= self.engine().stamp && self.is_newest()
    }

    /// Whether the lens knows what the engine knows, and hears every witness above a trust floor.
    fn is_newest(&self) -> bool {
        self.recorded == self.engine().seq && self.revision.is_none()
    }

    /// Whether the lens looks at a moment of whose existence a row's cache speaks.
    fn within(&self, now: &Now) -> bool {
        now.stood <= self.valid && now.next.is_none_or(|next| self.valid < next) && self.is_newest()
    }

    /// Whether all that is cached of a row is what this lens sees.
    fn sees_cached(&self, now: &Now) -> bool {
        now.trust_min >= self.floor && now.from <= self.valid && self.within(now)
    }

    /// Whether a topic is there, its ends apart.
    pub(crate) fn existence(&self, topic: TopicIx) -> Existence {
        let now = self.engine().now(topic);
        if self.within(now) {
            match now.existence {
                existence if now.trust_min >= self.floor => return existence,
                Existence::Present(held) if now.steady => {
                    return if held.trust >= self.floor { now.existence } else { Existence::Absent };
                }
                _ => {}
            }
        }
        belief::existence(self.engine().history(topic), self.moment(), &Ear(self))
    }

    /// The evidence that an entity is there.
    pub(crate) fn entity(&self, ix: EntityIx) -> Option<Held> {
        self.existence(TopicIx::Entity(ix)).held().copied()
    }

    /// The evidence that a relation and both its ends are there.
    pub(crate) fn relation(&self, ix: RelationIx) -> Option<Held> {
        let row = self.engine().relation(ix);
        let held = self.existence(TopicIx::Relation(ix)).held().copied()?;
        (self.entity(row.source).is_some() && self.entity(row.target).is_some()).then_some(held)
    }

    /// The properties of a topic, sorted by position.
    pub(crate) fn props(&self, topic: TopicIx) -> Cow<'_, [Prop]> {
        let now = self.engine().now(topic);
        if self.sees_cached(now) {
            return Cow::Borrowed(&now.props);
        }
        if self.existence(topic).held().is_none() {
            return Cow::Borrowed(&[]);
        }
        Cow::Owned(belief::properties(self.engine().history(topic), self.moment(), &Ear(self)))
    }

    /// One property of a topic.
    pub(crate) fn prop(&self, topic: TopicIx, name: &str) -> Option<Value> {
        let name = self.engine().names.find(name)?;
        let now = self.engine().now(topic);
        if self.sees_cached(now) {
            let at = now.props.binary_search_by_key(&name, |prop| prop.name).ok()?;
            return Some(now.props[at].value.clone());
        }
        self.existence(topic).held()?;
        Some(belief::property(self.engine().history(topic), name, self.moment(), &Ear(self))?.value)
    }

    /// The stretch of presence around the moment, the ends of a relation apart.
    pub(crate) fn stretch(&self, topic: TopicIx) -> Option<Stretch> {
        let now = self.engine().now(topic);
        if self.within(now) && (now.trust_min >= self.floor || now.steady) {
            return now.stretch.filter(|_| self.existence(topic).held().is_some());
        }
        belief::stretch(self.engine().history(topic), self.moment(), &Ear(self))
    }

    /// The stretch in which a relation is seen: its own, cut by those of its ends.
    pub(crate) fn seen_stretch(&self, ix: RelationIx) -> Option<Stretch> {
        let row = self.engine().relation(ix);
        let mut cut = self.stretch(TopicIx::Relation(ix))?;
        for end in [row.source, row.target] {
            let stretch = self.stretch(TopicIx::Entity(end))?;
            if stretch.from > cut.from {
                (cut.from, cut.since) = (stretch.from, stretch.since);
            }
            cut.until = [cut.until, stretch.until].into_iter().flatten().min();
        }
        Some(cut)
    }

    /// The revision of what a voice says: that which its group had at the moment looked at.
    pub(crate) fn revision_of(&self, voice: VoiceIx) -> Option<&Name> {
        self.engine().witnesses.revision(voice, self.revised())
    }

    /// The sequence of the group rows that are seen: the last that was recorded by the valid time, within those known.
    fn revised(&self) -> Seq {
        match self.engine().seq_at(self.valid) {
            // What is told of a time before the store has the revision that told it.
            Seq::ZERO => self.recorded,
            seq => seq.min(self.recorded),
        }
    }

    /// What an entity is called at this moment: its name, title or path, else its external id.
    pub(crate) fn label(&self, ix: EntityIx) -> String {
        let called = ["name", "title", "path"].iter().find_map(|name| match self.prop(TopicIx::Entity(ix), name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.to_string()),
            _ => None,
        });
        called.unwrap_or_else(|| self.engine().entity(ix).key.external_id.to_string())
    }

    /// The matching relations of an entity, best first.
    ///
    /// Costs one look at each run, and at each relation that has to be evaluated: with a current lens those with a known
    /// end or a start to come; as of an instant, a step over the runs and those that have changed since; else, every
    /// relation that the entity ever had.
    pub(crate) fn edges<'a>(&'a self, entity: EntityIx, filter: &'a Filter) -> Edges<'a> {
        let mut edges = Edges { lens: self, filter, entity, runs: Vec::new(), heads: BinaryHeap::new() };
        let mut heads: Vec<Head<'a>> = Vec::new();
        for way in filter.ways() {
            let run = self.engine().adjacency.run(entity, *way);
            self.evaluated(run, filter, usize::MAX, |relation| {
                if let Some(found) = self.matches(relation, *way, filter) {
                    heads.push(Head { lens: self, edge: self.edge(found), run: None });
                }
            });
            if self.is_newest() {
                let live = run.live().filter(|(kind, _)| filter.types.contains(*kind));
                edges.runs.extend(live.map(|(_, hops)| (*way, hops)));
            }
        }
        for run in 0..edges.runs.len() {
            heads.extend(edges.advance(run));
        }
        edges.heads = heads.into();
        edges
    }

    /// The matching relations of an entity, each once and in no order, and whether these are all.
    ///
    /// They are when the lens is current and the filter is by types and trust alone; else at most [`COUNT_MAX`] entries of
    /// a run are looked at.
    pub(crate) fn each_match(&self, entity: EntityIx, filter: &Filter, mut each: impl FnMut(Match)) -> bool {
        let mut all = true;
        let entries_max = if self.is_current() && filter.kinds.all() { usize::MAX } else { COUNT_MAX };
        for way in filter.ways() {
            let run = self.engine().adjacency.run(entity, *way);
            all &= run.ever_len() <= entries_max;
            if self.is_newest() {
                let live = run.live().filter(|(kind, _)| filter.types.contains(*kind)).flat_map(|(_, hops)| hops);
                live.take(entries_max).filter_map(|hop| self.live_match(entity, hop, *way, filter)).for_each(&mut each);
            }
            self.evaluated(run, filter, entries_max, |relation| {
                if let Some(found) = self.matches(relation, *way, filter) {
                    each(found);
                }
            });
        }
        all
    }

    /// The relations of a run that have to be evaluated under this lens: all but what its live hops answer for.
    fn evaluated(&self, run: &Run, filter: &Filter, entries_max: usize, mut each: impl FnMut(RelationIx)) {
        if !self.is_newest() {
            run.ever().take(entries_max).for_each(each);
            return;
        }
        run.bounded().iter().copied().take(entries_max).for_each(&mut each);
        if !self.is_current() {
            let live = run.live().filter(|(kind, _)| filter.types.contains(*kind)).flat_map(|(_, hops)| hops);
            let changed = live.take(entries_max).filter(|hop| hop.stood > self.valid).map(|hop| hop.relation);
            changed.chain(run.past(self.valid)).take(entries_max).for_each(each);
        }
    }

    /// A relation, where it matches under this lens.
    fn matches(&self, relation: RelationIx, way: Way, filter: &Filter) -> Option<Match> {
        let row = self.engine().relation(relation);
        let far = if way == Way::Out { row.target } else { row.source };
        if !filter.types.contains(row.kind) || !filter.shows(row.source, row.target, way) {
            return None;
        }
        if !filter.kinds.allow(self.engine(), far) {
            return None;
        }
        let held = self.relation(relation)?;
        let (kind, confidence) = (row.kind, held.confidence.millionths());
        Some(Match { relation, way, far, kind, trust: held.trust, confidence })
    }

    /// A live hop of an entity, where it matches under this lens, which knows what the engine knows. Since the hop has
    /// stood, its relation and both its ends were there.
    fn live_match(&self, entity: EntityIx, hop: &Hop, way: Way, filter: &Filter) -> Option<Match> {
        let seen = hop.floor >= self.floor as u8 && hop.stood <= self.valid;
        if !seen || !filter.shows(entity, hop.far, way) || !filter.kinds.allow(self.engine(), hop.far) {
            return None;
        }
        let Hop { relation, far, kind, confidence, .. } = *hop;
        Some(Match { relation, way, far, kind, trust: Trust::ALL[usize::from(hop.trust)], confidence })
    }

    fn edge(&self, found: Match) -> Edge {
        let Match { relation, way, far, kind, trust, confidence } = found;
        let since = self.stretch(TopicIx::Relation(relation)).map_or(Since::Observed, |stretch| stretch.since);
        Edge { relation, way, far, kind, trust, confidence, since }
    }

    /// Spec O-4: trust, confidence, told start, canonical order; then the way.
    pub(crate) fn edge_order(&self, a: &Edge, b: &Edge) -> Ordering {
        (b.trust, b.confidence, b.since)
            .cmp(&(a.trust, a.confidence, a.since))
            .then_with(|| self.engine().canonical(a.relation, a.far, b.relation, b.far))
            .then_with(|| a.way.cmp(&b.way))
    }
}

/// The ear of a lens.
pub(crate) struct Ear<'a>(pub(crate) &'a Lens);

impl Hearing for Ear<'_> {
    fn hears(&self, voice: VoiceIx) -> bool {
        self.0.revision.as_ref().is_none_or(|revision| self.0.revision_of(voice) == Some(revision))
    }

    fn floor(&self) -> Trust {
        self.0.floor
    }

    fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering {
        self.0.engine().witnesses.by_name(a, b)
    }

    fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool {
        self.0.engine().witnesses.same_source(a, b)
    }
}

/// A matching relation of an entity, as far as counting goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Match {
    pub(crate) relation: RelationIx,
    pub(crate) way: Way,
    pub(crate) far: EntityIx,
    pub(crate) kind: TypeIx,
    pub(crate) trust: Trust,
    confidence: u32,
}

/// A matching relation of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) relation: RelationIx,
    pub(crate) way: Way,
    pub(crate) far: EntityIx,
    pub(crate) kind: TypeIx,
    pub(crate) trust: Trust,
    pub(crate) confidence: u32,
    pub(crate) since: Since,
}

/// A set of relation types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TypeSet(Vec<bool>);

impl TypeSet {
    /// The types of an engine for which `wanted` is true.
    pub(crate) fn of(engine: &Engine, wanted: impl Fn(&Name) -> bool) -> TypeSet {
        TypeSet(engine.types.iter().map(wanted).collect())
    }

    pub(crate) fn contains(&self, kind: TypeIx) -> bool {
        self.0[kind.at()]
    }
}

/// A set of entity kinds; by default every kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kinds(Option<Vec<Name>>);

impl Kinds {
    /// Just these.
    pub(crate) fn only(kinds: Vec<Name>) -> Kinds {
        Kinds(Some(kinds))
    }

    /// Whether every kind is in the set.
    pub(crate) fn all(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn allow(&self, engine: &Engine, entity: EntityIx) -> bool {
        self.0.as_ref().is_none_or(|kinds| kinds.contains(&engine.entity(entity).key.kind))
    }
}

/// Which relations of an entity match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Filter {
    /// Read along the relations.
    pub(crate) out: bool,
    /// Read against them.
    pub(crate) into: bool,
    /// Their types.
    pub(crate) types: TypeSet,
    /// The kinds of their far ends.
    pub(crate) kinds: Kinds,
}

impl Filter {
    fn ways(&self) -> &'static [Way] {
        match (self.out, self.into) {
            (true, true) => &[Way::Out, Way::In],
            (true, false) => &[Way::Out],
            (false, true) => &[Way::In],
            (false, false) => &[],
        }
    }

    /// A relation from an entity to itself is listed once, along it, where both ways are asked for.
    fn shows(&self, source: EntityIx, target: EntityIx, way: Way) -> bool {
        way == Way::Out || !self.out || source != target
    }
}

/// How far a count reads before it says "at least".
pub(crate) const COUNT_MAX: usize = 65_536;

/// The matching relations of one entity, best first: a merge of runs that are sorted each, and of what had to be
/// evaluated.
pub(crate) struct Edges<'a> {
    lens: &'a Lens,
    filter: &'a Filter,
    entity: EntityIx,
    /// What is left of the live runs, one for each way and type, best first.
    runs: Vec<(Way, &'a [Hop])>,
    /// The best of each run, and everything evaluated.
    heads: BinaryHeap<Head<'a>>,
}

/// An edge waiting to be listed, and the run that goes on behind it.
struct Head<'a> {
    lens: &'a Lens,
    edge: Edge,
    run: Option<usize>,
}

impl<'a> Edges<'a> {
    /// Takes the next match off a run.
    fn advance(&mut self, run: usize) -> Option<Head<'a>> {
        let (way, hops) = self.runs[run];
        let live_match = |hop| self.lens.live_match(self.entity, hop, way, self.filter);
        let next = hops.iter().enumerate().find_map(|(i, hop)| Some((i, live_match(hop)?)));
        self.runs[run].1 = next.map_or(&[], |(i, _)| &hops[i + 1..]);
        next.map(|(_, found)| Head { lens: self.lens, edge: self.lens.edge(found), run: Some(run) })
    }
}

impl Iterator for Edges<'_> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        let best = self.heads.pop()?;
        if let Some(run) = best.run
            && let Some(next) = self.advance(run)
        {
            self.heads.push(next);
        }
        Some(best.edge)
    }
}

impl Ord for Head<'_> {
    /// The greatest is the best.
    fn cmp(&self, other: &Self) -> Ordering {
        self.lens.edge_order(&other.edge, &self.edge)
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head<'_> {}
