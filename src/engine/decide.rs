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

mod permitted;
mod refusals;
mod restate;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::belief::{Point, Spoken};
use super::draft::{Draft, NEWEST, Points, Reached, Target, same_place};
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
        let mut desk = Desk::new(self, stamp);
        for (index, edit) in batch.edits.iter().enumerate() {
            desk.edit = index;
            desk.decide(edit)
                .map_err(|error| if batch.edits.len() > 1 { error.at(format!("edit {index}")) } else { error })?;
        }
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
            Edit::Restate(word) => self.restate(word),
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
        let mut sighted: BTreeMap<(&Sighted, u32), Vec<&Observation>> = BTreeMap::new();
        for observation in &group.observations {
            sighted.entry((&observation.sighted, observation.record)).or_default().push(observation);
        }
        // A symmetric relation that is seen from either end is one topic, and the word about it one word.
        let mut words: Vec<((Topic, u32), Vec<&Observation>)> = Vec::with_capacity(sighted.len());
        let mut places: BTreeMap<(Topic, u32), usize> = BTreeMap::new();
        for ((sighted, record), observations) in sighted {
            let told = (self.sight(sighted)?, record);
            match places.get(&told) {
                Some(place) => words[*place].1.extend(observations),
                None => {
                    places.insert(told.clone(), words.len());
                    words.push((told, observations));
                }
            }
        }
        for ((topic, record), mut observations) in words {
            observations.sort_by(|a, b| self.order(a, b));
            let voice = Voice::Record { group: group.key.clone(), record };
            self.hear(&topic, &voice, &observations)?;
        }
        let spoken: BTreeSet<(Topic, u32)> = places.into_keys().collect();
        self.withdraw(&group.key, &spoken);
        let row = GroupRow { revision: group.revision.clone(), fingerprint: fingerprint.cloned(), stale: false };
        self.row(&group.key, Some(row));
        Ok(())
    }

    /// The order of one witness's words about one thing: by start. Where a parser gave two for one start, what they say
    /// decides, and not which came first.
    fn order(&self, a: &Observation, b: &Observation) -> Ordering {
        let canonical = |observation: &Observation| {
            let mut text = String::new();
            for (name, value) in &observation.props {
                crate::value::write_text(name, &mut text);
                value.write_canonical(&mut text);
            }
            text
        };
        (a.since.from(self.stamp), a.since, a.trust, a.confidence)
            .cmp(&(b.since.from(self.stamp), b.since, b.trust, b.confidence))
            .then_with(|| canonical(a).cmp(&canonical(b)))
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
        let now = match holding {
            Some((_, target)) => draft.reach(target, Since::Observed, self.stamp, false),
            // All that it tells is yet to come.
            None => draft.leave(self.stamp),
        };
        if let Some(say) = now {
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
                // What it told of the time to come was told by nobody.
                for point in said.points.iter().rev().take_while(|point| point.from > self.stamp) {
                    if point.known(NEWEST) {
                        let (change, topic) = (point.said, topic.clone());
                        self.decision.changes.push(Change::Unsay { change, topic, reason: None });
                    }
                }
                let Some(word) = said.still_speaking(self.stamp) else { continue };
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
        // What the author said already may be said again, even where an end has gone since.
        let topic = Topic::Relation(self.ordered(key.clone()));
        let author = self.engine.find_topic(&topic).zip(self.engine.witnesses.find_voice(&Voice::Author));
        let said = author.is_some_and(|(topic, voice)| self.engine.history(topic).voice(voice).is_some());
        let mut kinds = Vec::with_capacity(2);
        for (which, end) in [("source", key.source), ("target", key.target)] {
            let here = || said || self.named.contains_key(&end) || self.present(&Topic::Entity(end));
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
                let same =
                    draft.prop(name, from, Points::All).and_then(|point| draft.value(point, name)) == value.as_ref();
                if kind.immutable_props.contains(name) && !same {
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
            !draft
                .prop(name, from, Points::All)
                .filter(exact)
                .is_some_and(|point| draft.value(point, name) == value.as_ref())
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

fn undeclared_prop(name: &Name, kind: &super::ontology::Type) -> Error {
    let declared = kind.properties().map(|prop| &**prop);
    let message = format!("a {} has no property {name:?}{}", kind.name, did_you_mean(name, declared));
    Error::invalid(message).with_details(serde_json::json!({ "type": kind.name, "property": name }))
}
