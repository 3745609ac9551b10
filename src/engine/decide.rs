//! From what is asked to what happens: pure, and the only place that refuses.
//!
//! Edits are decided in order against the engine as it stands; they see nothing of each other but the names that the
//! batch itself creates. The words of one voice about one topic are decided on a *draft*, a copy of what the voice said
//! so far, so that an observation turns into the smallest set of change points that makes the voice say what it says
//! now. An identical observation decides nothing.
//!
//! 1. A refused batch changes nothing, and the error names what was asked, what is there and what to do.
//! 2. A batch that asks for nothing new yields no change at all: not one log byte.
//! 3. One batch says at most one thing about one (topic, voice, aspect, instant), and observes or withdraws a group once.

mod hear;
mod permitted;
mod refusals;
mod restate;

use std::collections::{BTreeMap, BTreeSet};

use super::belief::Point;
use super::draft::{Draft, Reached};
use super::state::{Engine, ONTOLOGY_NOTE, PTYPES_NOTE};
use super::witnesses::TopicIx;
use crate::change::{Batch, Change, Edit, GroupRow, Presence, Say, same_instant};
use crate::error::{Code, Error, did_you_mean};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::{Since, Time};
use crate::value::{BYTES_MAX, Props, Value, check_props, prop_bytes};

/// What a batch comes to.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// What happens; nothing when nothing new was asked.
    pub(crate) changes: Vec<Change>,
    /// Entities that were observed again and unchanged.
    pub(crate) entities_unchanged: u64,
    /// Relations that were observed again and unchanged.
    pub(crate) relations_unchanged: u64,
}

/// The property under which a projected entity keeps what its type doesn't declare.
const EXTRA: &str = "extra";

impl Engine {
    /// Turns a batch into changes, recorded at `stamp`.
    ///
    /// # Errors
    /// What the batch may not do: see invariant 1.
    pub(crate) fn decide(&self, batch: &Batch, stamp: Time) -> Result<Decision, Error> {
        if let Some(expected) = batch.if_seq.filter(|expected| *expected != self.seq) {
            let message = format!("the batch expected sequence {expected}, the graph is at {}; read again", self.seq);
            return Err(Error::new(Code::Conflict, message)
                .with_details(serde_json::json!({ "expected": expected, "found": self.seq })));
        }
        let mut desk = Desk::new(self, stamp);
        for (index, edit) in batch.edits.iter().enumerate() {
            desk.edit = index;
            desk.decide(edit)
                .map_err(|error| if batch.edits.len() > 1 { error.at(format!("edit {index}")) } else { error })?;
        }
        desk.check_sizes()?;
        Ok(desk.decided())
    }
}

/// A voice speaks of one aspect of a topic (a property, or its existence) from an instant on.
type Claim = (Topic, Voice, Option<Name>, Time);

/// One batch being decided.
struct Desk<'a> {
    engine: &'a Engine,
    stamp: Time,
    decision: Decision,
    /// Ids that this batch names.
    named: BTreeMap<EntityId, EntityKey>,
    /// Which edit said something about (topic, voice, aspect) from an instant on.
    said: BTreeMap<Claim, usize>,
    /// What the present edit said, where it may have to be undone.
    claimed: Option<Vec<Claim>>,
    /// Topics that this batch says are there, and which edit did.
    made: BTreeMap<Topic, usize>,
    /// Which edit observed or withdrew a group.
    grouped: BTreeMap<GroupKey, usize>,
    /// The rows of groups, as this batch leaves them.
    rows: BTreeMap<GroupKey, Option<GroupRow>>,
    edit: usize,
}

impl<'a> Desk<'a> {
    fn new(engine: &'a Engine, stamp: Time) -> Desk<'a> {
        Desk {
            engine,
            stamp,
            decision: Decision::default(),
            named: BTreeMap::new(),
            said: BTreeMap::new(),
            claimed: None,
            made: BTreeMap::new(),
            grouped: BTreeMap::new(),
            rows: BTreeMap::new(),
            edit: 0,
        }
    }

    /// What all edits come to: their changes, and the rows that are not what they were.
    fn decided(mut self) -> Decision {
        for (key, row) in std::mem::take(&mut self.rows) {
            if self.recorded_row(&key) != row {
                self.decision.changes.push(Change::Group { key, row });
            }
        }
        self.decision
    }

    /// Refuses words after which a state of the author would be larger than a state may be: changes are small, and add up.
    fn check_sizes(&self) -> Result<(), Error> {
        let mut told: BTreeMap<&Topic, Vec<&Say>> = BTreeMap::new();
        let mut unsaid: BTreeSet<ChangeId> = BTreeSet::new();
        for change in &self.decision.changes {
            match change {
                Change::Say(say) if say.voice == Voice::Author && !say.props.is_empty() => {
                    told.entry(&say.topic).or_default().push(say);
                }
                Change::Unsay { change, .. } => {
                    unsaid.insert(*change);
                }
                _ => {}
            }
        }
        for (topic, says) in told {
            let draft = Draft::of(self.engine, topic, &Voice::Author);
            let mut said: Vec<(Time, Name, Option<&Value>)> = draft.said(&unsaid);
            said.extend(
                says.iter()
                    .flat_map(|say| say.props.iter().map(|(name, value)| (say.from, name.clone(), value.as_ref()))),
            );
            // By start; of one start in the order in which it was said.
            said.sort_by_key(|(from, ..)| *from);
            let first = says.iter().map(|say| say.from).min().unwrap_or(Time::UNBOUNDED);
            let (mut sizes, mut total): (BTreeMap<Name, usize>, usize) = (BTreeMap::new(), 2);
            for (i, (from, name, value)) in said.iter().enumerate() {
                let size = value.map_or(0, |value| prop_bytes(name, value));
                total = total + size - sizes.insert(name.clone(), size).unwrap_or(0);
                let whole = said.get(i + 1).is_none_or(|next| next.0 > *from);
                if whole && *from >= first && total > BYTES_MAX {
                    let message = format!(
                        "the properties of {} from {from} on would take {total} bytes as JSON; a state may take {BYTES_MAX}",
                        self.describe(topic)
                    );
                    return Err(Error::new(Code::TooLarge, message));
                }
            }
        }
        Ok(())
    }

    fn decide(&mut self, edit: &Edit) -> Result<(), Error> {
        match edit {
            Edit::Observe { group, fingerprint } => {
                self.claim_group(&group.key)?;
                self.observe(group, fingerprint.as_ref())
            }
            Edit::ObserveInPart(group) => {
                self.claim_group(&group.key)?;
                self.observe_in_part(group)
            }
            Edit::Withdraw(key) => {
                self.claim_group(key)?;
                self.withdraw(key, &BTreeSet::new());
                self.row(key, None);
                Ok(())
            }
            Edit::Mark { key, revision, fingerprint, stale } => {
                let mut row = self.present_row(key).unwrap_or_default();
                row.revision = revision.clone().or(row.revision);
                row.fingerprint = fingerprint.clone().or(row.fingerprint);
                row.stale = stale.unwrap_or(row.stale);
                self.row(key, Some(row));
                Ok(())
            }
            Edit::Create { key, id, props, since, source_memory_id, cause } => {
                self.create(key, *id, props, *since, source_memory_id.as_ref(), cause.as_ref())
            }
            Edit::Relate { key, confidence, props, since, cause } => {
                self.relate(key, *confidence, props, *since, cause.as_ref())
            }
            Edit::Fact { topic, props, since, cause } => self.fact(&self.settled(topic), props, *since, cause.as_ref()),
            Edit::Restate(word) => self.restate(word),
            Edit::End { topic, since, cause } => {
                let topic = self.settled(topic);
                self.exists(&topic)?;
                self.author(&topic, *since, Confidence::ONE, Some(Presence::Veto), Vec::new(), cause.as_ref())
            }
            Edit::Repudiate { change, reason } => self.repudiate(*change, reason),
            Edit::Note { name, body } => self.note(name, body.as_ref()),
        }
    }

    fn present_row(&self, key: &GroupKey) -> Option<GroupRow> {
        self.rows.get(key).cloned().unwrap_or_else(|| self.recorded_row(key))
    }

    fn recorded_row(&self, key: &GroupKey) -> Option<GroupRow> {
        let group = self.engine.witnesses.find_group(key)?;
        self.engine.witnesses.group_at(group).row(self.engine.seq).cloned()
    }

    fn row(&mut self, key: &GroupKey, row: Option<GroupRow>) {
        self.rows.insert(key.clone(), row);
    }

    // What authors say.

    fn create(
        &mut self,
        key: &EntityKey,
        id: EntityId,
        props: &Props,
        since: Since,
        source_memory_id: Option<&Name>,
        cause: Option<&Cause>,
    ) -> Result<(), Error> {
        let Some(kind) = self.engine.ontology.kind(&key.kind) else {
            return Err(self.undeclared_kind(&key.kind));
        };
        if !self.engine.applies(kind) {
            let ptype = kind.ptype.as_deref().unwrap_or_default();
            return Err(Error::invalid(format!("a {} is of ptype {ptype}, which this scope doesn't have", kind.name)));
        }
        let undeclared = props.keys().find(|name| !kind.declares(name));
        if let Some(name) = undeclared {
            return Err(undeclared_prop(name, kind));
        }
        check_props(props)?;
        let known = self.key_of(id).is_some();
        self.name(id, key, source_memory_id)?;
        let topic = Topic::Entity(id);
        // What was set for good stays so when the entity is ended and created again.
        let draft = Draft::of(self.engine, &topic, &Voice::Author);
        let fixed = kind.immutable_props.iter().filter_map(|name| Some((name, props.get(name)?)));
        if let Some((name, _)) = fixed.into_iter().find(|(name, value)| draft.values(name).any(|set| set != *value)) {
            return Err(immutable(name, kind));
        }
        if known && self.present(&topic) {
            return Ok(());
        }
        self.made.insert(topic.clone(), self.edit);
        let props = props.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        self.author(&topic, since, Confidence::ONE, Some(Presence::Present), props, cause)
    }

    fn relate(
        &mut self,
        key: &RelationKey,
        confidence: Confidence,
        props: &Props,
        since: Since,
        cause: Option<&Cause>,
    ) -> Result<(), Error> {
        // What the author said already may be said again, even where an end has gone since.
        let topic = Topic::Relation(self.ordered(key.clone()));
        let author = self.engine.find_topic(&topic).zip(self.engine.witnesses.find_voice(&Voice::Author));
        let said = author.is_some_and(|(topic, voice)| self.engine.history(topic).voice(voice).is_some());
        let mut kinds = Vec::with_capacity(2);
        for (which, end) in [("source", key.source), ("target", key.target)] {
            let here = || said || self.present(&Topic::Entity(end));
            match self.key_of(end).filter(|_| here()) {
                Some(key) => kinds.push(key.kind.clone()),
                None => {
                    let message = format!("the {which} {end} of the relation is not here; create it first");
                    return Err(Error::not_found(message).with_details(serde_json::json!({ "end": which, "id": end })));
                }
            }
        }
        self.allowed(&kinds[0], &key.kind, &kinds[1])?;
        check_props(props)?;
        self.made.insert(topic.clone(), self.edit);
        let props = props.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        self.author(&topic, since, confidence, Some(Presence::Present), props, cause)
    }

    fn fact(
        &mut self,
        topic: &Topic,
        props: &[(Name, Option<Value>)],
        since: Since,
        cause: Option<&Cause>,
    ) -> Result<(), Error> {
        self.exists(topic)?;
        if let Topic::Entity(id) = topic
            && let Some(kind) = self.key_of(*id).and_then(|key| self.engine.ontology.kind(&key.kind))
        {
            let draft = Draft::of(self.engine, topic, &Voice::Author);
            for (name, value) in props {
                let from = since.from(self.stamp);
                let same = draft.prop(name, from).and_then(|point| draft.value(point, name)) == value.as_ref();
                if kind.immutable_props.contains(name) && !same {
                    return Err(immutable(name, kind));
                }
                if !kind.declares(name) {
                    return Err(undeclared_prop(name, kind));
                }
            }
        }
        check_props(props.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))?;
        self.author(topic, since, Confidence::ONE, None, props.to_vec(), cause)
    }

    /// The author's word, where it says anything new.
    fn author(
        &mut self,
        topic: &Topic,
        since: Since,
        confidence: Confidence,
        presence: Option<Presence>,
        mut props: Vec<(Name, Option<Value>)>,
        cause: Option<&Cause>,
    ) -> Result<(), Error> {
        let from = since.from(self.stamp);
        let draft = Draft::of(self.engine, topic, &Voice::Author);
        props.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = props.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(same_instant(topic, &format!("property {:?}", pair[0].0), from, self.edit, self.edit));
        }
        let trust = Trust::Authoritative;
        let exact = |point: &&Point| since == Since::Observed || (point.from == from && point.since == since);
        props.retain(|(name, value)| match draft.prop(name, from) {
            Some(point) => !exact(&point) || draft.value(point, name) != value.as_ref(),
            // What has no value needs none taken away, unless this batch gives it one.
            None => value.is_some() || since != Since::Observed || self.speaks_of(topic, name),
        });
        let presence = presence.filter(|presence| {
            !draft.presence(from).filter(exact).is_some_and(|point| {
                point.presence == Some(*presence) && (point.trust, point.confidence) == (trust, confidence)
            })
        });
        if presence.is_none() && props.is_empty() {
            return Ok(());
        }
        let (topic, voice, cause) = (topic.clone(), Voice::Author, cause.cloned());
        let say = Say { topic, voice, since, from, trust, confidence, presence, props, place: None, cause };
        let change = self.claim_say(say)?;
        self.decision.changes.push(change);
        Ok(())
    }

    /// Whether an earlier edit of the batch has the author speak of a property, at whatever instant.
    fn speaks_of(&self, topic: &Topic, name: &Name) -> bool {
        let first: Claim = (topic.clone(), Voice::Author, Some(name.clone()), Time::UNBOUNDED);
        let next = self.said.range(&first..).next();
        next.is_some_and(|((of, voice, aspect, _), _)| (of, voice, aspect) == (&first.0, &first.1, &first.2))
    }

    fn repudiate(&mut self, change: ChangeId, reason: &Name) -> Result<(), Error> {
        let entities = (0..self.engine.entities.len()).map(|row| TopicIx::Entity(crate::id::EntityIx::nth(row)));
        let relations = (0..self.engine.relations.len()).map(|row| TopicIx::Relation(crate::id::RelationIx::nth(row)));
        let Some(topic) = entities.chain(relations).find(|topic| self.engine.history(*topic).holds(change)) else {
            return Err(Error::not_found(format!("no change {change} of an entity or relation is recorded here")));
        };
        let points = self.engine.history(topic).voices().iter().flat_map(|spoken| &spoken.points);
        if points.into_iter().any(|point| point.said == change && point.unsaid.is_some()) {
            return Ok(());
        }
        let topic = self.engine.topic(topic);
        self.decision.changes.push(Change::Unsay { change, topic, reason: Some(reason.clone()) });
        Ok(())
    }

    fn note(&mut self, name: &Name, body: Option<&Value>) -> Result<(), Error> {
        if let Some(body) = body {
            body.check()?;
            if *name == ONTOLOGY_NOTE {
                let text = body.as_str().ok_or_else(|| Error::invalid("the ontology's additions must be a text"))?;
                super::ontology::Ontology::seeded().extended(text)?;
            }
            if *name == PTYPES_NOTE {
                self.ptypes(body)?;
            }
        }
        if self.engine.notes.get(name) != body {
            self.decision.changes.push(Change::Note { name: name.clone(), body: body.cloned() });
        }
        Ok(())
    }

    /// Refuses a list of ptypes that no type has.
    fn ptypes(&self, body: &Value) -> Result<(), Error> {
        let known: BTreeSet<&Name> = self.engine.ontology.kinds().filter_map(|kind| kind.ptype.as_ref()).collect();
        let Value::List(ptypes) = body else { return Err(Error::invalid("expected a list of ptypes")) };
        match ptypes.iter().find(|of| !known.iter().any(|known| of.as_str() == Some(&***known))) {
            None => Ok(()),
            Some(other) => {
                let text = other.canonical();
                let nearest = did_you_mean(&text, known.iter().map(|known| &***known));
                Err(Error::invalid(format!("no type has the ptype {text}{nearest}")))
            }
        }
    }

    // What both need.

    fn key_of(&self, id: EntityId) -> Option<&EntityKey> {
        self.named.get(&id).or_else(|| Some(&self.engine.entity(self.engine.find_entity(id)?).key))
    }

    fn name(&mut self, id: EntityId, key: &EntityKey, source_memory_id: Option<&Name>) -> Result<(), Error> {
        match self.key_of(id) {
            Some(known) if known == key => Ok(()),
            Some(known) => {
                let message = format!("the id {id} is {known}; it can't be {key} too");
                Err(Error::new(Code::Conflict, message).with_details(serde_json::json!({ "id": id })))
            }
            None => {
                self.named.insert(id, key.clone());
                let source_memory_id = source_memory_id.cloned();
                self.decision.changes.push(Change::Name { id, key: key.clone(), source_memory_id });
                Ok(())
            }
        }
    }

    /// A symmetric relation has one row: its ends in the order of their ids.
    fn ordered(&self, mut key: RelationKey) -> RelationKey {
        if self.engine.ontology.symmetric(&key.kind) && key.target < key.source {
            std::mem::swap(&mut key.source, &mut key.target);
        }
        key
    }

    /// A topic as its row has it.
    fn settled(&self, topic: &Topic) -> Topic {
        match topic {
            Topic::Entity(id) => Topic::Entity(*id),
            Topic::Relation(key) => Topic::Relation(self.ordered(key.clone())),
        }
    }

    /// Whether a topic is there at the instant of the batch, or made by it.
    fn present(&self, topic: &Topic) -> bool {
        let there = self.engine.find_topic(topic).is_some_and(|ix| self.engine.is_there(ix, self.stamp));
        there || self.made.contains_key(topic)
    }

    /// Refuses a topic of which nothing was ever said.
    fn exists(&self, topic: &Topic) -> Result<(), Error> {
        let known = self.engine.find_topic(topic).is_some_and(|ix| !self.engine.history(ix).voices().is_empty());
        if known || self.made.contains_key(topic) {
            Ok(())
        } else {
            Err(Error::not_found(format!("no {topic} is here")))
        }
    }

    fn describe(&self, topic: &Topic) -> String {
        match topic {
            Topic::Entity(id) => self.key_of(*id).map_or_else(|| id.to_string(), EntityKey::to_string),
            Topic::Relation(key) => {
                let end = |id| self.key_of(id).map_or_else(|| id.to_string(), EntityKey::to_string);
                format!("{} {} {}", end(key.source), key.kind, end(key.target))
            }
        }
    }

    /// Invariant 3, for groups: two edits about one could each withdraw what the other says.
    fn claim_group(&mut self, key: &GroupKey) -> Result<(), Error> {
        let (second, GroupKey { source, group }) = (self.edit, key);
        let Some(first) = self.grouped.get(key) else {
            self.grouped.insert(key.clone(), second);
            return Ok(());
        };
        let message = format!(
            "edits {first} and {second} of the batch both say what the group {group:?} of {source} says; make them one"
        );
        Err(Error::new(Code::Conflict, message).with_details(serde_json::json!({ "edits": [first, second] })))
    }

    fn claim(&mut self, topic: &Topic, voice: &Voice, reached: Reached) -> Result<Change, Error> {
        let Reached { since, from, trust, confidence, presence, props } = reached;
        let (topic, voice) = (topic.clone(), voice.clone());
        self.claim_say(Say { topic, voice, since, from, trust, confidence, presence, props, place: None, cause: None })
    }

    /// Invariant 3.
    fn claim_say(&mut self, say: Say) -> Result<Change, Error> {
        if let Since::Told(at) = say.since {
            at.told().map_err(|error| error.at(self.describe(&say.topic)))?;
        }
        let presence = say.presence.map(|_| None);
        for aspect in presence.into_iter().chain(say.props.iter().map(|(name, _)| Some(name.clone()))) {
            let what = aspect.as_ref().map_or_else(|| "the existence".to_owned(), |name| format!("property {name:?}"));
            let claim = (say.topic.clone(), say.voice.clone(), aspect, say.from);
            if let Some(first) = self.said.get(&claim) {
                return Err(same_instant(&say.topic, &what, say.from, *first, self.edit));
            }
            if let Some(claimed) = &mut self.claimed {
                claimed.push(claim.clone());
            }
            self.said.insert(claim, self.edit);
        }
        Ok(Change::Say(say))
    }
}

fn immutable(name: &Name, kind: &super::ontology::Type) -> Error {
    let message = format!("{name:?} of a {} is immutable; it was set when the entity was created", kind.name);
    Error::invalid(message).with_details(serde_json::json!({ "property": name }))
}

fn undeclared_prop(name: &Name, kind: &super::ontology::Type) -> Error {
    let declared = kind.properties().map(|prop| &**prop);
    let message = format!("a {} has no property {name:?}{}", kind.name, did_you_mean(name, declared));
    Error::invalid(message).with_details(serde_json::json!({ "type": kind.name, "property": name }))
}
