//! What sources say: from a group as it is now to the change points that make its witnesses say so.
//!
//! A told start is content, an observed one is not. So what a witness no longer tells never was told; and one that tells
//! since when, tells what was so from then on: what it was merely observed to say (or no longer to say) later than that
//! is taken back, unless it is what the witness says beside its told words. A group that was read a hundred times comes
//! to what it comes to when it is read for the first time.
//!
//! 1. One witness has one word for one start; where a parser gave several, what they say decides which, and not which
//!    came first.
//! 2. Reading a group again that says the same decides nothing.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::{Desk, EXTRA};
use crate::change::{Change, GroupRow, Presence, Say};
use crate::engine::belief::Spoken;
use crate::engine::draft::{Draft, NEWEST, Target, same_place};
use crate::engine::witnesses::TopicIx;
use crate::error::Error;
use crate::evidence::{GroupKey, Voice};
use crate::id::EntityId;
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::{Group, Observation, Sighted};
use crate::time::{Since, Time};
use crate::value::{Props, Value, check_props};

impl Desk<'_> {
    /// A group as it is now: what it says no more is withdrawn.
    pub(super) fn observe(&mut self, group: &Group, fingerprint: Option<&Name>) -> Result<(), Error> {
        let spoken = self.listen(group)?;
        self.withdraw(&group.key, &spoken);
        let row = GroupRow { revision: group.revision.clone(), fingerprint: fingerprint.cloned(), stale: false };
        self.row(&group.key, Some(row));
        Ok(())
    }

    /// A group as far as it could be read: what it doesn't say is kept, and nothing of it is sure to be new.
    pub(super) fn observe_in_part(&mut self, group: &Group) -> Result<(), Error> {
        self.listen(group)?;
        let row = GroupRow { stale: true, ..self.present_row(&group.key).unwrap_or_default() };
        self.row(&group.key, Some(row));
        Ok(())
    }

    /// Hears every witness of a group; returns what they spoke of.
    fn listen(&mut self, group: &Group) -> Result<BTreeSet<(Topic, u32)>, Error> {
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
            // Invariant 1: of several for one start, the last.
            observations.reverse();
            observations.dedup_by_key(|observation| observation.since.from(self.stamp));
            observations.reverse();
            let voice = Voice::Record { group: group.key.clone(), record };
            self.hear(&topic, &voice, &observations)?;
        }
        Ok(places.into_keys().collect())
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

    /// What a witness says of a topic now: `observations` are its words, by start.
    fn hear(&mut self, topic: &Topic, voice: &Voice, observations: &[&Observation]) -> Result<(), Error> {
        let mut draft = Draft::of(self.engine, topic, voice);
        let mut wanted: Vec<(Since, Target)> = Vec::with_capacity(observations.len());
        for observation in observations {
            let props = self.declared(topic, &observation.props)?;
            let (trust, confidence) = (observation.trust, observation.confidence);
            wanted.push((observation.since, Target { trust, confidence, props }));
        }
        let from = |since: Since| since.from(self.stamp);
        let is_told = |(since, _): &&(Since, Target)| *since != Since::Observed;
        let told: BTreeSet<Time> = wanted.iter().filter(is_told).map(|(since, _)| from(*since)).collect();
        let mut taken_back = draft.untell(&told);
        // The last word whose start has come holds now.
        let holding = wanted.iter().rev().find(|(since, _)| from(*since) <= self.stamp);
        let told_now = wanted.iter().rev().filter(is_told).find(|(since, _)| from(*since) <= self.stamp);
        if let (Some((_, now)), Some((_, told_now)), Some(first)) = (holding, told_now, told.first()) {
            taken_back.extend(draft.unobserve(*first, told_now, now));
        }
        let unsay = |change| Change::Unsay { change, topic: topic.clone(), reason: None };
        let mut changes: Vec<Change> = taken_back.into_iter().map(unsay).collect();
        for (since, target) in wanted.iter().filter(is_told) {
            if let Some(say) = draft.reach(target, *since, since.from(self.stamp), true) {
                changes.push(self.claim(topic, voice, say)?);
            }
        }
        let now = match holding {
            Some((_, target)) => {
                self.made.insert(topic.clone(), self.edit);
                draft.reach(target, Since::Observed, self.stamp, false)
            }
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
    pub(super) fn withdraw(&mut self, key: &GroupKey, spoken: &BTreeSet<(Topic, u32)>) {
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
}
