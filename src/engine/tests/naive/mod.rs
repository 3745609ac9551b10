//! The most naive model that can be right: a list of words for each topic, and every question answered by going through
//! the whole list.
//!
//! It is written from the rules of time and of witnesses, not from the engine. A *word* is what one voice says of one
//! aspect of a topic from an instant on; the aspects are existence, and each property. [`asked`] turns edits into words.

mod asked;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::{Confidence, GroupKey, Trust, Voice};
use crate::id::EntityId;
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::{Since, Time};
use crate::value::Value;

/// What a word says.
#[derive(Clone, PartialEq, Debug)]
enum Says {
    Present,
    Absent,
    Veto,
    Is(Value),
    Nothing,
}

/// One word. `aspect` is a property, or none for existence.
#[derive(Clone, Debug)]
struct Word {
    aspect: Option<Name>,
    voice: Voice,
    since: Since,
    from: Time,
    trust: Trust,
    confidence: Confidence,
    says: Says,
    /// The commit that recorded it, the edit of that commit, and its place among all words.
    seq: u64,
    edit: usize,
    place: usize,
    /// The commit that took it back, and the edit of that commit.
    unsaid: Option<(u64, usize)>,
}

/// A place on both clocks, and who counts.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) valid: Time,
    pub(super) recorded: u64,
    pub(super) floor: Trust,
    pub(super) revision: Option<Name>,
    /// The commit whose group rows are seen: the last recorded by the valid time looked at, within those known.
    pub(super) revised: u64,
}

/// Whether a topic is there, and by whose word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Absent,
    Tombstoned,
    Present { voice: Voice, trust: Trust, confidence: Confidence },
}

/// Everything that was ever said.
#[derive(Default)]
pub(super) struct Naive {
    words: BTreeMap<Topic, Vec<Word>>,
    pub(super) keys: BTreeMap<EntityId, EntityKey>,
    revisions: Vec<(GroupKey, u64, Option<Name>)>,
    seq: u64,
    edit: usize,
    made: BTreeSet<Topic>,
}

impl Naive {
    pub(super) fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.words.keys()
    }

    fn about(&self, topic: &Topic) -> &[Word] {
        self.words.get(topic).map_or(&[], |words| words)
    }

    fn voices(&self, topic: &Topic) -> BTreeSet<&Voice> {
        self.about(topic).iter().map(|word| &word.voice).collect()
    }

    /// What a voice holds about an aspect: of the words known, those with the last start that has come, and of these the
    /// one recorded last.
    fn held(&self, topic: &Topic, aspect: Option<&Name>, voice: &Voice, look: &Look) -> Option<&Word> {
        let mine = self.about(topic).iter().filter(|word| word.voice == *voice && word.aspect.as_ref() == aspect);
        mine.filter(|word| word.known(look) && word.from <= look.valid).max_by_key(|word| word.order())
    }

    /// The revision of a group is its own, or that of its source.
    fn revision(&self, voice: &Voice, recorded: u64) -> Option<Name> {
        let Voice::Record { group, .. } = voice else { return None };
        let row = |key: &GroupKey| {
            let mut rows = self.revisions.iter().filter(|(of, seq, _)| of == key && *seq <= recorded);
            rows.next_back().and_then(|(_, _, revision)| revision.clone())
        };
        row(group).or_else(|| row(&GroupKey::whole(&group.source)))
    }

    /// The floor and the revision choose the witnesses, before anything is chosen among them.
    fn heard(&self, word: &Word, look: &Look) -> bool {
        let of_revision = |wanted: &Name| self.revision(&word.voice, look.revised).as_ref() == Some(wanted);
        word.trust >= look.floor && look.revision.as_ref().is_none_or(of_revision)
    }

    /// Trust, then told start, then recorded, then the name of the witness.
    fn best<'a>(words: impl Iterator<Item = &'a Word>) -> Option<&'a Word> {
        words.max_by_key(|word| (word.trust, word.since, word.seq, Reverse(&word.voice)))
    }

    pub(super) fn existence(&self, topic: &Topic, look: &Look) -> Seen {
        let words = self.voices(topic).into_iter().filter_map(|voice| self.held(topic, None, voice, look));
        let trusted: Vec<&Word> = words.filter(|word| word.trust >= look.floor).collect();
        let lifts = |word: &Word, veto: &Word| {
            let told_later = word.since != Since::Observed && word.from > veto.from;
            let said_later = word.order() > veto.order() && source(&word.voice) == source(&veto.voice);
            word.says == Says::Present && (told_later || said_later)
        };
        let mut vetoes = trusted.iter().filter(|word| word.says == Says::Veto);
        if vetoes.any(|veto| !trusted.iter().any(|word| lifts(word, veto))) {
            return Seen::Tombstoned;
        }
        let present = trusted.into_iter().filter(|word| word.says == Says::Present && self.heard(word, look));
        match Naive::best(present) {
            Some(Word { voice, trust, confidence, .. }) => {
                Seen::Present { voice: voice.clone(), trust: *trust, confidence: *confidence }
            }
            None => Seen::Absent,
        }
    }

    pub(super) fn there(&self, topic: &Topic, look: &Look) -> bool {
        matches!(self.existence(topic, look), Seen::Present { .. })
    }

    /// A relation is seen while both its ends are.
    pub(super) fn seen(&self, key: &RelationKey, look: &Look) -> bool {
        self.there(&Topic::Relation(key.clone()), look)
            && [key.source, key.target].into_iter().all(|end| self.there(&Topic::Entity(end), look))
    }

    pub(super) fn props(&self, topic: &Topic, look: &Look) -> BTreeMap<Name, Value> {
        if !self.there(topic, look) {
            return BTreeMap::new();
        }
        let names: BTreeSet<&Name> = self.about(topic).iter().filter_map(|word| word.aspect.as_ref()).collect();
        let values = names.into_iter().filter_map(|name| {
            let holding = self.voices(topic).into_iter().filter_map(|voice| {
                let word = self.held(topic, Some(name), voice, look)?;
                // A voice that says that the thing is gone holds no value that it gave before it said so.
                let last = self.held(topic, None, voice, look);
                let gone = last.is_some_and(|last| last.says != Says::Present && last.order() >= word.order());
                (!gone && matches!(word.says, Says::Is(_)) && self.heard(word, look)).then_some(word)
            });
            match &Naive::best(holding)?.says {
                Says::Is(value) => Some((name.clone(), value.clone())),
                _ => None,
            }
        });
        values.collect()
    }

    /// Every instant at which something known of the topic begins.
    pub(super) fn instants(&self, topic: &Topic, look: &Look) -> BTreeSet<Time> {
        self.about(topic).iter().filter(|word| word.known(look)).map(|word| word.from).collect()
    }

    /// The stretch of presence around the moment: how its start is known, its start, its end.
    pub(super) fn stretch(&self, topic: &Topic, look: &Look) -> Option<(Since, Time, Option<Time>)> {
        let there = |valid: Time| self.there(topic, &Look { valid, ..look.clone() });
        if !there(look.valid) {
            return None;
        }
        let instants = self.instants(topic, look);
        let before = instants.range(..=look.valid).rev().copied();
        let from = before.take_while(|instant| there(*instant)).last()?;
        let until = instants.range(look.valid..).copied().find(|instant| !there(*instant));
        let opening = Look { valid: from, ..look.clone() };
        let words = self.voices(topic).into_iter().filter_map(|voice| self.held(topic, None, voice, &opening));
        let begins = words.filter(|word| word.says == Says::Present && word.from == from && self.heard(word, look));
        Some((begins.map(|word| word.since).max().unwrap_or(Since::Observed), from, until))
    }

    /// The relations seen at an entity, in the order of spec O-4; one from an entity to itself stands there once.
    pub(super) fn edges(&self, entity: EntityId, look: &Look) -> Vec<RelationKey> {
        let relations = self.words.keys().filter_map(|topic| match topic {
            Topic::Relation(key) => Some(key),
            Topic::Entity(_) => None,
        });
        let here = relations.filter(|key| key.source == entity || key.target == entity);
        let mut edges: Vec<&RelationKey> = here.filter(|key| self.seen(key, look)).collect();
        edges.sort_by_cached_key(|key| {
            let topic = Topic::Relation((*key).clone());
            let Seen::Present { trust, confidence, .. } = self.existence(&topic, look) else { panic!("it was seen") };
            let since = self.stretch(&topic, look).map(|(since, _, _)| since);
            let (far, against) = if key.source == entity { (key.target, false) } else { (key.source, true) };
            let canonical = (self.keys[&far].clone(), far, key.kind.clone(), key.origin.clone(), against);
            (Reverse(trust), Reverse(confidence), Reverse(since), canonical)
        });
        edges.into_iter().cloned().collect()
    }
}

impl Word {
    fn known(&self, look: &Look) -> bool {
        self.seq <= look.recorded && self.unsaid.is_none_or(|(unsaid, _)| unsaid > look.recorded)
    }

    /// By start, and there by record.
    fn order(&self) -> (Time, usize) {
        (self.from, self.place)
    }
}

fn source(voice: &Voice) -> Option<&Name> {
    match voice {
        Voice::Author => None,
        Voice::Record { group, .. } => Some(&group.source),
    }
}
