//! From what is asked to what happens: pure, and the only place that refuses.
//!
//! Edits are decided in order against the engine as it stands; they see nothing of each other but the names that the
//! batch itself creates. The words of one voice about one topic are decided on a *draft*, a copy of what the voice said
//! so far, so that an observation turns into the smallest set of change points that makes the voice say what it says
//! now. An identical observation decides nothing.
//!
//! 1. A refused batch changes nothing, and the error names what was asked, what is there and what to do.
//! 2. A batch that asks for nothing new yields no change at all: not one log byte.
//! 3. One batch says at most one thing about one (topic, voice, aspect, instant).

use std::collections::{BTreeMap, BTreeSet};

use super::belief::{Moment, Point, Spoken};
use super::draft::{Draft, NEWEST, Reached, Target, same_place};
use super::state::{Engine, ONTOLOGY_NOTE, PTYPES_NOTE};
use super::witnesses::TopicIx;
use crate::change::{Batch, Change, Edit, GroupRow, Presence, Say, same_instant};
use crate::error::{Code, Error, did_you_mean};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::{Group, Observation, Sighted};
use crate::time::{Since, Time};
use crate::value::{Props, Value, check_props};

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
        let mut desk = Desk {
            engine: self,
            stamp,
            decision: Decision::default(),
            named: BTreeMap::new(),
            said: BTreeMap::new(),
            edit: 0,
        };
        for (index, edit) in batch.edits.iter().enumerate() {
            desk.edit = index;
            desk.decide(edit)
                .map_err(|error| if batch.edits.len() > 1 { error.at(format!("edit {index}")) } else { error })?;
        }
        Ok(desk.decision)
    }
}

/// One batch being decided.
struct Desk<'a> {
    engine: &'a Engine,
    stamp: Time,
    decision: Decision,
    /// Ids that this batch names.
    named: BTreeMap<EntityId, EntityKey>,
    /// Which edit said something about (topic, voice, aspect) from an instant on.
    said: BTreeMap<(Topic, Voice, Option<Name>, Time), usize>,
    edit: usize,
}

impl Desk<'_> {
    fn decide(&mut self, edit: &Edit) -> Result<(), Error> {
        match edit {
            Edit::Observe { group, fingerprint } => self.observe(group, fingerprint.as_ref()),
            Edit::Withdraw(key) => {
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
            Edit::Fact { topic, props, since, cause } => self.fact(topic, props, *since, cause.as_ref()),
            Edit::End { topic, since, cause } => {
                self.exists(topic)?;
                self.author(topic, *since, Confidence::ONE, Some(Presence::Veto), Vec::new(), cause.as_ref())
            }
            Edit::Repudiate { change, reason } => self.repudiate(*change, reason),
            Edit::Note { name, body } => self.note(name, body.as_ref()),
        }
    }

    // What sources say.

    fn observe(&mut self, group: &Group, fingerprint: Option<&Name>) -> Result<(), Error> {
        let mut words: BTreeMap<(&Sighted, u32), Vec<&Observation>> = BTreeMap::new();
        for observation in &group.observations {
            words.entry((&observation.sighted, observation.record)).or_default().push(observation);
        }
        let mut spoken: BTreeSet<(Topic, u32)> = BTreeSet::new();
        for ((sighted, record), mut observations) in words {
            observations.sort_by_key(|observation| observation.since.from(self.stamp));
            let voice = Voice::Record { group: group.key.clone(), record };
            let topic = self.sight(sighted)?;
            self.hear(&topic, &voice, &observations)?;
            spoken.insert((topic, record));
        }
        self.withdraw(&group.key, &spoken);
        let row = GroupRow { revision: group.revision.clone(), fingerprint: fingerprint.cloned(), stale: false };
        self.row(&group.key, Some(row));
        Ok(())
    }

    /// The topic of what was seen; names it, and the ends of a relation, where they are new.
    fn sight(&mut self, sighted: &Sighted) -> Result<Topic, Error> {
        Ok(match sighted {
            Sighted::Entity(key) => Topic::Entity(self.name_projected(key)?),
            Sighted::Relation { source, target, kind, origin } => {
                let (source, target) = (self.name_projected(source)?, self.name_projected(target)?);
                Topic::Relation(self.ordered(RelationKey {
                    source,
                    target,
                    kind: kind.clone(),
                    origin: origin.clone(),
                }))
            }
        })
    }

    fn name_projected(&mut self, key: &EntityKey) -> Result<EntityId, Error> {
        let id = EntityId::within(&self.engine.namespace, key);
        self.name(id, key, None)?;
        Ok(id)
    }

    /// A symmetric relation has one row: its ends in the order of their ids.
    fn ordered(&self, mut key: RelationKey) -> RelationKey {
        if self.engine.ontology.symmetric(&key.kind) && key.target < key.source {
            std::mem::swap(&mut key.source, &mut key.target);
        }
        key
    }

    /// What a witness says of a topic now: `observations` are its words, by start.
    fn hear(&mut self, topic: &Topic, voice: &Voice, observations: &[&Observation]) -> Result<(), Error> {
        let mut draft = Draft::of(self.engine, topic, voice);
        let mut wanted: Vec<(Since, Target)> = Vec::with_capacity(observations.len());
        for observation in observations {
            let props = self.declared(topic, &observation.props)?;
            let (trust, confidence) = (observation.trust, observation.confidence);
            wanted.push((observation.since, Target { trust, confidence, props }));
        }
        let mut changes = Vec::new();
        // What the witness no longer tells never was told.
        let told: BTreeSet<Time> = wanted
            .iter()
            .filter(|(since, _)| *since != Since::Observed)
            .map(|(since, _)| since.from(self.stamp))
            .collect();
        for change in draft.untell(&told) {
            changes.push(Change::Unsay { change, topic: topic.clone(), reason: None });
        }
        for (since, target) in wanted.iter().filter(|(since, _)| *since != Since::Observed) {
            let from = since.from(self.stamp);
            if let Some(say) = draft.reach(target, *since, from, true) {
                changes.push(self.claim(topic, voice, say)?);
            }
        }
        // Whatever was observed before, this holds now: the last word whose start has come.
        let holding = wanted.iter().rev().find(|(since, _)| since.from(self.stamp) <= self.stamp);
        if let Some((_, target)) = holding
            && let Some(say) = draft.reach(target, Since::Observed, self.stamp, false)
        {
            changes.push(self.claim(topic, voice, say)?);
        }
        let place = observations.last().and_then(|observation| observation.place.clone());
        let moved = !same_place(draft.place.as_ref(), place.as_ref());
        if changes.is_empty() && !moved {
            match topic {
                Topic::Entity(_) => self.decision.entities_unchanged += 1,
                Topic::Relation(_) => self.decision.relations_unchanged += 1,
            }
            return Ok(());
        }
        if moved {
            let last = changes.iter_mut().rev().find_map(|change| match change {
                Change::Say(say) => Some(say),
                _ => None,
            });
            match last {
                Some(say) if place.is_some() => say.place = place,
                _ => changes.push(Change::Place { topic: topic.clone(), voice: voice.clone(), place }),
            }
        }
        self.decision.changes.append(&mut changes);
        Ok(())
    }

    /// The properties as they are kept: what a declared type doesn't declare goes under `extra`.
    fn declared(&self, topic: &Topic, props: &Props) -> Result<BTreeMap<Name, Value>, Error> {
        check_props(props).map_err(|error| error.at(self.describe(topic)))?;
        let kind = match topic {
            Topic::Entity(id) => self.key_of(*id).and_then(|key| self.engine.ontology.kind(&key.kind)),
            Topic::Relation(_) => None,
        };
        let Some(kind) = kind else { return Ok(props.clone()) };
        let (mut kept, extra): (Props, Props) =
            props.clone().into_iter().partition(|(name, _)| kind.declares(name) || *name == EXTRA);
        if !extra.is_empty() {
            let mut map = match kept.remove(EXTRA) {
                Some(Value::Map(map)) => (*map).clone(),
                Some(other) => BTreeMap::from([(EXTRA.into(), other)]),
                None => BTreeMap::new(),
            };
            map.extend(extra);
            kept.insert(EXTRA.into(), Value::Map(map.into()));
        }
        Ok(kept)
    }

    /// Ends every witness of the group that isn't among `spoken`.
    fn withdraw(&mut self, key: &GroupKey, spoken: &BTreeSet<(Topic, u32)>) {
        let witnesses = &self.engine.witnesses;
        let Some(group) = witnesses.find_group(key) else { return };
        let members: BTreeSet<TopicIx> = witnesses.group_at(group).members.iter().copied().collect();
        for member in members {
            let of_group = |said: &&Spoken| witnesses.group_of(said.voice) == Some(group);
            for said in self.engine.history(member).voices().iter().filter(of_group) {
                let Voice::Record { group: of, record } = witnesses.voice_at(said.voice) else { continue };
                let topic = self.engine.topic(member);
                if spoken.contains(&(topic.clone(), record)) {
                    continue;
                }
                let at = Moment { valid: self.stamp, recorded: NEWEST };
                let Some(word) = said.presence(at).filter(|word| word.presence == Some(Presence::Present)) else {
                    continue;
                };
                self.decision.changes.push(Change::Say(Say {
                    topic,
                    voice: Voice::Record { group: of, record },
                    since: Since::Observed,
                    from: self.stamp,
                    trust: word.trust,
                    confidence: word.confidence,
                    presence: Some(Presence::Absent),
                    props: Vec::new(),
                    place: None,
                    cause: None,
                }));
            }
        }
    }

    fn present_row(&self, key: &GroupKey) -> Option<GroupRow> {
        let group = self.engine.witnesses.find_group(key)?;
        self.engine.witnesses.group_at(group).row(self.engine.seq).cloned()
    }

    fn row(&mut self, key: &GroupKey, row: Option<GroupRow>) {
        if self.present_row(key) != row {
            self.decision.changes.push(Change::Group { key: key.clone(), row });
        }
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
            let nearest = self.engine.ontology.nearest_kind(&key.kind);
            let message = format!("no type {:?} is declared{nearest}", key.kind);
            return Err(Error::invalid(message).with_details(serde_json::json!({ "type": key.kind })));
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
        if known && self.present(&topic) {
            return Ok(());
        }
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
        let mut kinds = Vec::with_capacity(2);
        for (which, end) in [("source", key.source), ("target", key.target)] {
            match self.key_of(end).filter(|_| self.named.contains_key(&end) || self.present(&Topic::Entity(end))) {
                Some(key) => kinds.push(key.kind.clone()),
                None => {
                    let message = format!("the {which} {end} of the relation is not here; create it first");
                    return Err(Error::not_found(message).with_details(serde_json::json!({ "end": which, "id": end })));
                }
            }
        }
        let ontology = &self.engine.ontology;
        if ontology.relation(&key.kind).is_none() {
            let known = ontology.relations().map(|relation| &*relation.name);
            let message = format!("no relation type {:?} is declared{}", key.kind, did_you_mean(&key.kind, known));
            return Err(Error::invalid(message).with_details(serde_json::json!({ "type": key.kind })));
        }
        if !ontology.can_reference(&kinds[0], &key.kind, &kinds[1]) {
            let allowed = ontology.allowed(&kinds[0], &kinds[1]);
            let list = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            let message =
                format!("{} {} {} is not allowed; from {0} to {2} are allowed: {list}", kinds[0], key.kind, kinds[1]);
            return Err(Error::new(Code::ReferenceNotAllowed, message)
                .with_details(serde_json::json!({ "source": kinds[0], "target": kinds[1], "allowed": allowed })));
        }
        check_props(props)?;
        let props = props.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        let topic = Topic::Relation(self.ordered(key.clone()));
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
            for (name, _) in props {
                if kind.immutable_props.contains(name) {
                    let message =
                        format!("{name:?} of a {} is immutable; it was set when the entity was created", kind.name);
                    return Err(Error::invalid(message).with_details(serde_json::json!({ "property": name })));
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
        props.retain(|(name, value)| {
            !draft.prop(name, from).filter(exact).is_some_and(|point| draft.value(point, name) == value.as_ref())
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

    fn present(&self, topic: &Topic) -> bool {
        self.engine.find_topic(topic).is_some_and(|ix| self.engine.now(ix).existence.held().is_some())
    }

    /// Refuses a topic of which nothing was ever said.
    fn exists(&self, topic: &Topic) -> Result<(), Error> {
        let known = self.engine.find_topic(topic).is_some_and(|ix| !self.engine.history(ix).voices().is_empty());
        let created = matches!(topic, Topic::Entity(id) if self.named.contains_key(id));
        if known || created { Ok(()) } else { Err(Error::not_found(format!("no {topic} is here"))) }
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

    fn claim(&mut self, topic: &Topic, voice: &Voice, reached: Reached) -> Result<Change, Error> {
        let Reached { since, from, trust, confidence, presence, props } = reached;
        let (topic, voice) = (topic.clone(), voice.clone());
        self.claim_say(Say { topic, voice, since, from, trust, confidence, presence, props, place: None, cause: None })
    }

    /// Invariant 3.
    fn claim_say(&mut self, say: Say) -> Result<Change, Error> {
        let presence = say.presence.map(|_| None);
        for aspect in presence.into_iter().chain(say.props.iter().map(|(name, _)| Some(name.clone()))) {
            let what = aspect.as_ref().map_or_else(|| "the existence".to_owned(), |name| format!("property {name:?}"));
            let claim = (say.topic.clone(), say.voice.clone(), aspect, say.from);
            if let Some(first) = self.said.insert(claim, self.edit) {
                return Err(same_instant(&say.topic, &what, say.from, first, self.edit));
            }
        }
        Ok(Change::Say(say))
    }
}

fn undeclared_prop(name: &Name, kind: &super::ontology::Type) -> Error {
    let declared = kind.properties().map(|prop| &**prop);
    let message = format!("a {} has no property {name:?}{}", kind.name, did_you_mean(name, declared));
    Error::invalid(message).with_details(serde_json::json!({ "type": kind.name, "property": name }))
}
