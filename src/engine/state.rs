//! The engine: every layer of one scope, and the fold of a commit into it.
//!
//! Rows are copy-on-write, so a published engine *is* a view: cloning one costs a few pointers, and a later commit
//! copies only what it touches. Beside each row stands what is believed of it now, and beside each entity its runs;
//! both are caches of the histories (engine invariant 5), refreshed for what a commit touched and for what hangs on it.
//!
//! 1. Entity and relation rows are only ever added; positions hold for the life of the engine.
//! 2. A relation stands live only where every trust floor orders it alike: what depends on the floor is tested by reads.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::belief::{History, Point};
use super::now::Now;
use super::surface::Surfaces;
use super::witnesses::{TopicIx, Witnesses};
use crate::change::{Change, Commit, Say};
use crate::id::{EntityId, EntityIx, NameIx, RelationIx, Seq, TypeIx};
use crate::index::adjacency::{Adjacency, Hop, Standing, Way};
use crate::index::keys::{Keys, hash};
use crate::index::names::Names;
use crate::index::paged::Paged;
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::Time;
use crate::value::Value;

use super::ontology::{Ontology, Type};

/// An entity: identity, and what was said of it.
#[derive(Clone, Debug)]
pub(crate) struct EntityRow {
    /// Its id.
    pub(crate) id: EntityId,
    /// Its key.
    pub(crate) key: EntityKey,
    /// When its id was first recorded.
    pub(crate) created_at: Time,
    /// The memory (document) that it comes from.
    pub(crate) source_memory_id: Option<Name>,
    /// What was said of it.
    pub(crate) history: History,
    /// What is believed now.
    pub(crate) now: Now,
}

/// A relation: identity, and what was said of it.
#[derive(Clone, Debug)]
pub(crate) struct RelationRow {
    /// Where the sentence begins.
    pub(crate) source: EntityIx,
    /// Where it ends.
    pub(crate) target: EntityIx,
    /// Its type.
    pub(crate) kind: TypeIx,
    /// The source that speaks of it.
    pub(crate) origin: NameIx,
    /// What was said of it.
    pub(crate) history: History,
    /// What is believed now, its ends apart.
    pub(crate) now: Now,
}

/// Entities or relations that a commit added, changed and removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Touched {
    /// Not there before, there now.
    pub(crate) added: u64,
    /// There before and now, and something was said of it.
    pub(crate) changed: u64,
    /// There before, not there now.
    pub(crate) removed: u64,
}

/// The tri-graph of one scope at one sequence.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) namespace: Uuid,
    pub(crate) seq: Seq,
    pub(crate) stamp: Time,
    pub(crate) ontology: Arc<Ontology>,
    pub(crate) names: Names,
    pub(crate) witnesses: Witnesses,
    pub(crate) entities: Paged<Arc<EntityRow>>,
    entity_keys: Keys,
    pub(crate) relations: Paged<Arc<RelationRow>>,
    relation_keys: Keys,
    pub(crate) types: Arc<Vec<Name>>,
    pub(crate) adjacency: Adjacency,
    pub(crate) surfaces: Surfaces,
    pub(crate) notes: Arc<BTreeMap<Name, Value>>,
    kinds: Arc<BTreeMap<Name, u64>>,
    stamps: Paged<Time>,
}

/// The name of the note that holds a user's additions to the ontology.
pub(crate) const ONTOLOGY_NOTE: &str = "ontology";

/// The name of the note that holds the ptypes of the scope; without it, every ptype applies.
pub(crate) const PTYPES_NOTE: &str = "ptypes";

impl Engine {
    /// The engine of an empty scope.
    pub(crate) fn new(namespace: Uuid) -> Engine {
        Engine {
            namespace,
            seq: Seq::ZERO,
            stamp: Time::UNBOUNDED,
            ontology: Ontology::seeded(),
            names: Names::default(),
            witnesses: Witnesses::default(),
            entities: Paged::default(),
            entity_keys: Keys::default(),
            relations: Paged::default(),
            relation_keys: Keys::default(),
            types: Arc::default(),
            adjacency: Adjacency::default(),
            surfaces: Surfaces::default(),
            notes: Arc::default(),
            kinds: Arc::default(),
            stamps: Paged::default(),
        }
    }

    /// The row of an entity id.
    pub(crate) fn find_entity(&self, id: EntityId) -> Option<EntityIx> {
        let is_it = |row| self.entities.at(row as usize).id == id;
        self.entity_keys.find(hash(id.uuid().as_bytes()), is_it).map(EntityIx)
    }

    /// The row of a relation key.
    pub(crate) fn find_relation(&self, key: &RelationKey) -> Option<RelationIx> {
        let (source, target) = (self.find_entity(key.source)?, self.find_entity(key.target)?);
        let (kind, origin) = (self.find_type(&key.kind)?, self.names.find(&key.origin)?);
        self.lookup_relation(source, target, kind, origin)
    }

    fn lookup_relation(&self, source: EntityIx, target: EntityIx, kind: TypeIx, origin: NameIx) -> Option<RelationIx> {
        let is_it = |row| {
            let row: &RelationRow = self.relations.at(row as usize);
            (row.source, row.target, row.kind, row.origin) == (source, target, kind, origin)
        };
        self.relation_keys.find(relation_hash(source, target, kind, origin), is_it).map(RelationIx)
    }

    /// The row of a topic.
    pub(crate) fn find_topic(&self, topic: &Topic) -> Option<TopicIx> {
        match topic {
            Topic::Entity(id) => self.find_entity(*id).map(TopicIx::Entity),
            Topic::Relation(key) => self.find_relation(key).map(TopicIx::Relation),
        }
    }

    /// The topic of a row.
    pub(crate) fn topic(&self, topic: TopicIx) -> Topic {
        match topic {
            TopicIx::Entity(ix) => Topic::Entity(self.entity(ix).id),
            TopicIx::Relation(ix) => Topic::Relation(self.relation_key(ix)),
        }
    }

    /// The key of a relation row.
    pub(crate) fn relation_key(&self, ix: RelationIx) -> RelationKey {
        let row = self.relation(ix);
        RelationKey {
            source: self.entity(row.source).id,
            target: self.entity(row.target).id,
            kind: self.types[row.kind.at()].clone(),
            origin: self.names.at(row.origin).clone(),
        }
    }

    /// An entity row.
    pub(crate) fn entity(&self, ix: EntityIx) -> &EntityRow {
        self.entities.at(ix.at())
    }

    /// A relation row.
    pub(crate) fn relation(&self, ix: RelationIx) -> &RelationRow {
        self.relations.at(ix.at())
    }

    /// What was said of a topic.
    pub(crate) fn history(&self, topic: TopicIx) -> &History {
        match topic {
            TopicIx::Entity(ix) => &self.entity(ix).history,
            TopicIx::Relation(ix) => &self.relation(ix).history,
        }
    }

    /// What is believed of a topic now.
    pub(crate) fn now(&self, topic: TopicIx) -> &Now {
        match topic {
            TopicIx::Entity(ix) => &self.entity(ix).now,
            TopicIx::Relation(ix) => &self.relation(ix).now,
        }
    }

    /// The position of a relation type that was met in this scope.
    pub(crate) fn find_type(&self, name: &str) -> Option<TypeIx> {
        self.types.iter().position(|known| *known == name).map(TypeIx::nth)
    }

    /// The kinds of the entities that were ever named, by name.
    pub(crate) fn kinds_met(&self) -> impl Iterator<Item = &Name> {
        self.kinds.keys()
    }

    /// Whether a type applies in this scope: a system type always, another where the scope has its ptype.
    pub(crate) fn applies(&self, kind: &Type) -> bool {
        match (&kind.ptype, self.notes.get(PTYPES_NOTE)) {
            (Some(ptype), Some(Value::List(ptypes))) => ptypes.iter().any(|of| of.as_str() == Some(&**ptype)),
            _ => true,
        }
    }

    /// When a commit was recorded.
    pub(crate) fn stamp_of(&self, seq: Seq) -> Option<Time> {
        let at = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        (at < self.stamps.len()).then(|| *self.stamps.at(at))
    }

    /// The last commit that was recorded by an instant.
    pub(crate) fn seq_at(&self, instant: Time) -> Seq {
        if instant >= self.stamp {
            return self.seq;
        }
        // Stamps never go back.
        let (mut from, mut until) = (0, self.stamps.len());
        while from < until {
            let middle = from.midpoint(until);
            if *self.stamps.at(middle) <= instant { from = middle + 1 } else { until = middle }
        }
        Seq(from as u64)
    }

    /// Folds a commit. It must follow the last one.
    ///
    /// Costs one belief for each topic it touches, and one pass over the run of each entity that such a relation ends
    /// at; an entity that appears or goes touches its relations.
    ///
    /// # Panics
    /// When the commit does not follow.
    pub(crate) fn apply(&mut self, commit: &Commit) -> (Touched, Touched) {
        assert_eq!(commit.seq, self.seq.next(), "a commit must follow the last one");
        (self.seq, self.stamp) = (commit.seq, commit.stamp);
        self.stamps.push(commit.stamp);
        let mut touched: BTreeSet<TopicIx> = BTreeSet::new();
        for (index, change) in commit.changes.iter().enumerate() {
            let index = u32::try_from(index).expect("a commit holds fewer than 2^32 changes");
            let said = crate::ChangeId { seq: commit.seq, index };
            if let Some(topic) = self.fold(said, change) {
                touched.insert(topic);
            }
        }
        self.refresh(&touched)
    }

    /// Folds one change; returns the topic that it is about.
    fn fold(&mut self, said: crate::ChangeId, change: &Change) -> Option<TopicIx> {
        match change {
            Change::Name { id, key, source_memory_id } => {
                self.name(*id, key, source_memory_id.as_ref());
                None
            }
            Change::Say(say) => Some(self.say(said, say)),
            Change::Unsay { change, topic, reason } => {
                let topic = self.find_topic(topic)?;
                let seq = self.seq;
                self.history_mut(topic).unsay(*change, seq, reason.clone());
                Some(topic)
            }
            Change::Place { topic, voice, place } => {
                let topic = self.find_topic(topic)?;
                let voice = self.witnesses.voice(voice);
                self.history_mut(topic).voice_mut(voice).0.place = place.clone();
                Some(topic)
            }
            Change::Group { key, row } => {
                self.witnesses.set_row(key, self.seq, row.clone());
                None
            }
            Change::Note { name, body } => {
                self.note(name, body.as_ref());
                None
            }
        }
    }

    fn note(&mut self, name: &Name, body: Option<&Value>) {
        let notes = Arc::make_mut(&mut self.notes);
        match body {
            Some(body) => notes.insert(name.clone(), body.clone()),
            None => notes.remove(name),
        };
        if *name == ONTOLOGY_NOTE {
            let text = body.and_then(Value::as_str);
            // `decide` took only a text that parses against the seeded ontology.
            let extended = text.and_then(|text| Ontology::seeded().extended(text).ok().map(Arc::new));
            self.ontology = extended.unwrap_or_else(Ontology::seeded);
        }
    }

    fn name(&mut self, id: EntityId, key: &EntityKey, source_memory_id: Option<&Name>) -> EntityIx {
        if let Some(known) = self.find_entity(id) {
            return known;
        }
        let ix = EntityIx::nth(self.entities.len());
        self.entities.push(Arc::new(EntityRow {
            id,
            key: key.clone(),
            created_at: self.stamp,
            source_memory_id: source_memory_id.cloned(),
            history: History::default(),
            now: Now::nothing(),
        }));
        let entities = &self.entities;
        let hash_of = |row: u32| hash(entities.at(row as usize).id.uuid().as_bytes());
        self.entity_keys.insert(hash(id.uuid().as_bytes()), ix.0, hash_of);
        self.adjacency.push();
        *Arc::make_mut(&mut self.kinds).entry(key.kind.clone()).or_default() += 1;
        ix
    }

    fn say(&mut self, said: crate::ChangeId, say: &Say) -> TopicIx {
        let topic = match &say.topic {
            Topic::Entity(id) => TopicIx::Entity(self.find_entity(*id).expect("a commit names what it speaks of")),
            Topic::Relation(key) => TopicIx::Relation(self.relate(key)),
        };
        let voice = self.witnesses.voice(&say.voice);
        let mut props: Vec<(NameIx, Option<Value>)> = Vec::with_capacity(say.props.len());
        for (name, value) in &say.props {
            props.push((self.names.intern(name), value.clone()));
            if let (TopicIx::Entity(entity), Some(Value::Text(text))) = (topic, value)
                && self.identifying(entity, name)
            {
                self.surfaces.add(text, entity);
            }
        }
        props.sort_by_key(|(name, _)| *name);
        let point = Point {
            said,
            since: say.since,
            from: say.from,
            trust: say.trust,
            confidence: say.confidence,
            presence: say.presence,
            props: props.into(),
            cause: say.cause.clone().map(Arc::new),
            unsaid: None,
        };
        let (spoken, first) = self.history_mut(topic).voice_mut(voice);
        spoken.say(point);
        if say.place.is_some() {
            spoken.place = say.place.clone();
        }
        if first {
            self.witnesses.enrol(voice, topic);
        }
        topic
    }

    /// Whether a property is a name of its entity.
    pub(crate) fn identifying(&self, entity: EntityIx, prop: &Name) -> bool {
        super::surface::IDENTIFYING.contains(&&**prop)
            || self.ontology.identifying(&self.entity(entity).key.kind).contains(prop)
    }

    fn relate(&mut self, key: &RelationKey) -> RelationIx {
        let end = |id| self.find_entity(id).expect("a commit names the ends of its relations");
        let (source, target) = (end(key.source), end(key.target));
        let kind = self.find_type(&key.kind).unwrap_or_else(|| {
            Arc::make_mut(&mut self.types).push(key.kind.clone());
            TypeIx::nth(self.types.len() - 1)
        });
        let origin = self.names.intern(&key.origin);
        if let Some(known) = self.lookup_relation(source, target, kind, origin) {
            return known;
        }
        let ix = RelationIx::nth(self.relations.len());
        let (history, now) = (History::default(), Now::nothing());
        self.relations.push(Arc::new(RelationRow { source, target, kind, origin, history, now }));
        let relations = &self.relations;
        self.relation_keys.insert(relation_hash(source, target, kind, origin), ix.0, |row| {
            let row = relations.at(row as usize);
            relation_hash(row.source, row.target, row.kind, row.origin)
        });
        ix
    }

    fn history_mut(&mut self, topic: TopicIx) -> &mut History {
        match topic {
            TopicIx::Entity(ix) => &mut Arc::make_mut(self.entities.at_mut(ix.at())).history,
            TopicIx::Relation(ix) => &mut Arc::make_mut(self.relations.at_mut(ix.at())).history,
        }
    }

    /// Recomputes what is cached of the topics, and where their relations stand.
    fn refresh(&mut self, touched: &BTreeSet<TopicIx>) -> (Touched, Touched) {
        let (mut entities, mut relations) = (Touched::default(), Touched::default());
        let mut stand: BTreeSet<RelationIx> = BTreeSet::new();
        for topic in touched {
            let now = self.believe_now(*topic);
            let before = self.now(*topic).existence.held().is_some();
            let after = now.existence.held().is_some();
            let tally = match topic {
                TopicIx::Entity(_) => &mut entities,
                TopicIx::Relation(_) => &mut relations,
            };
            match (before, after) {
                (false, true) => tally.added += 1,
                (true, false) => tally.removed += 1,
                (true, true) => tally.changed += 1,
                (false, false) => {}
            }
            match *topic {
                TopicIx::Entity(ix) => {
                    let row = Arc::make_mut(self.entities.at_mut(ix.at()));
                    let cut = row.now.cuts() != now.cuts();
                    row.now = now;
                    if cut {
                        for way in [Way::Out, Way::In] {
                            stand.extend(self.adjacency.run(ix, way).ever());
                        }
                    }
                }
                TopicIx::Relation(ix) => {
                    Arc::make_mut(self.relations.at_mut(ix.at())).now = now;
                    stand.insert(ix);
                }
            }
        }
        self.restand(&stand);
        (entities, relations)
    }

    fn restand(&mut self, relations: &BTreeSet<RelationIx>) {
        let mut standings: BTreeMap<(EntityIx, Way), Vec<Standing>> = BTreeMap::new();
        for ix in relations {
            let row = self.relation(*ix);
            for (entity, way) in [(row.source, Way::Out), (row.target, Way::In)] {
                standings.entry((entity, way)).or_default().push(self.standing(*ix, way));
            }
        }
        let mut adjacency = std::mem::take(&mut self.adjacency);
        for ((entity, way), new) in standings {
            adjacency.restand(entity, way, &new, &mut |a, b| self.priority(a, b));
        }
        self.adjacency = adjacency;
    }

    fn standing(&self, ix: RelationIx, way: Way) -> Standing {
        let row = self.relation(ix);
        let nows = [&row.now, &self.entity(row.source).now, &self.entity(row.target).now];
        if nows.iter().any(|now| now.next.is_some() || !now.steady) {
            return Standing::Bounded(ix);
        }
        let [Some(held), Some(source), Some(target)] = nows.map(|now| now.existence.held()) else {
            let absent = nows.iter().filter(|now| now.existence.held().is_none());
            return Standing::Past(ix, absent.map(|now| now.stood).min().unwrap_or(Time::UNBOUNDED));
        };
        let here = nows[1..].iter().filter_map(|now| now.stretch).map(|stretch| stretch.from);
        Standing::Live(Hop {
            relation: ix,
            far: if way == Way::Out { row.target } else { row.source },
            kind: row.kind,
            trust: held.trust as u8,
            floor: held.trust.min(source.trust).min(target.trust) as u8,
            confidence: held.confidence.millionths(),
            stood: here.fold(row.now.stood, Time::max),
        })
    }

    /// The order of two live hops from one entity (spec O-4): trust, confidence, told start, then canonical order.
    pub(crate) fn priority(&self, a: &Hop, b: &Hop) -> Ordering {
        let told = |hop: &Hop| self.relation(hop.relation).now.stretch.map(|stretch| stretch.since);
        (b.trust, b.confidence)
            .cmp(&(a.trust, a.confidence))
            .then_with(|| told(b).cmp(&told(a)))
            .then_with(|| self.canonical(a.relation, a.far, b.relation, b.far))
    }

    /// Canonical order of two hops: the key of the far end, then type, then origin, all by name.
    pub(crate) fn canonical(&self, a: RelationIx, a_far: EntityIx, b: RelationIx, b_far: EntityIx) -> Ordering {
        let far = || {
            self.entity(a_far)
                .key
                .cmp(&self.entity(b_far).key)
                .then_with(|| self.entity(a_far).id.cmp(&self.entity(b_far).id))
        };
        let (a, b) = (self.relation(a), self.relation(b));
        far()
            .then_with(|| self.types[a.kind.at()].cmp(&self.types[b.kind.at()]))
            .then_with(|| self.names.at(a.origin).cmp(self.names.at(b.origin)))
    }
}

fn relation_hash(source: EntityIx, target: EntityIx, kind: TypeIx, origin: NameIx) -> u64 {
    let mut bytes = [0; 14];
    bytes[..4].copy_from_slice(&source.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&target.0.to_le_bytes());
    bytes[8..10].copy_from_slice(&kind.0.to_le_bytes());
    bytes[10..].copy_from_slice(&origin.0.to_le_bytes());
    hash(&bytes)
}
