//! How the naive model takes a batch: what each voice says now becomes the words that it hadn't said.
//!
//! Edits of a batch don't see each other's words, only that a topic was made.

use std::collections::{BTreeMap, BTreeSet};

use super::{Look, Naive, Says, Word};
use crate::change::{Change, Commit, Edit};
use crate::evidence::{Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::{Group, Observation, Sighted};
use crate::scope::Scope;
use crate::time::{Since, Time};
use crate::value::Props;

const SYMMETRIC: [&str; 4] = ["SAME_AS", "SIMILAR_TO", "RELATES_TO", "DUPLICATES"];

/// What a voice is to say from an instant on.
struct Wanted<'a> {
    from: Time,
    since: Since,
    trust: Trust,
    confidence: Confidence,
    props: &'a Props,
}

impl Wanted<'_> {
    /// The value of a property and its evidence.
    fn says(&self, name: &Name) -> Option<(&crate::Value, Trust, Confidence)> {
        Some((self.props.get(name)?, self.trust, self.confidence))
    }
}

impl Naive {
    /// Takes a batch that was not refused, as commit `seq` at `stamp`. The commits tell what a repudiated change said.
    pub(in super::super) fn take(&mut self, scope: &Scope, edits: &[Edit], seq: u64, stamp: Time, commits: &[Commit]) {
        (self.seq, self.made) = (seq, BTreeSet::new());
        for (index, edit) in edits.iter().enumerate() {
            self.edit = index;
            match edit {
                Edit::Observe { group, .. } => {
                    let said = self.listen(scope, group, stamp);
                    self.withdraw(&group.key, &said, stamp);
                    self.revisions.push((group.key.clone(), seq, group.revision.clone()));
                }
                Edit::ObserveInPart(group) => {
                    self.listen(scope, group, stamp);
                }
                Edit::Withdraw(key) => {
                    self.withdraw(key, &BTreeSet::new(), stamp);
                    self.revisions.push((key.clone(), seq, None));
                }
                Edit::Mark { key, revision: Some(revision), .. } => {
                    self.revisions.push((key.clone(), seq, Some(revision.clone())));
                }
                Edit::Create { key, id, props, since, .. } => {
                    let topic = Topic::Entity(*id);
                    let known = self.keys.insert(*id, key.clone()).is_some();
                    if !known || !self.is_there(&topic, stamp) {
                        self.made.insert(topic.clone());
                        self.author(&topic, *since, Confidence::ONE, Some(Says::Present), &some(props), stamp);
                    }
                }
                Edit::Relate { key, confidence, props, since, .. } => {
                    let topic = ordered(&Topic::Relation(key.clone()));
                    self.made.insert(topic.clone());
                    self.author(&topic, *since, *confidence, Some(Says::Present), &some(props), stamp);
                }
                Edit::Fact { topic, props, since, .. } => {
                    self.author(&ordered(topic), *since, Confidence::ONE, None, props, stamp);
                }
                Edit::End { topic, since, .. } => {
                    self.author(&ordered(topic), *since, Confidence::ONE, Some(Says::Veto), &[], stamp);
                }
                Edit::Repudiate { change, .. } => self.repudiate(*change, commits),
                Edit::Mark { .. } | Edit::Note { .. } | Edit::Restate(_) => {}
            }
        }
    }

    fn is_there(&self, topic: &Topic, stamp: Time) -> bool {
        let recorded = self.seq - 1;
        let before = Look { valid: stamp, recorded, floor: Trust::Hypothesis, revision: None, revised: recorded };
        self.made.contains(topic) || self.there(topic, &before)
    }

    /// What the edit being taken knows of: everything before the batch, and its own words.
    fn known(&self, word: &Word) -> bool {
        let mine = |(seq, edit): (u64, usize)| seq < self.seq || edit == self.edit;
        mine((word.seq, word.edit)) && !word.unsaid.is_some_and(mine)
    }

    fn now_held(&self, topic: &Topic, aspect: Option<&Name>, voice: &Voice, from: Time) -> Option<&Word> {
        let mine = self.about(topic).iter().filter(|word| word.voice == *voice && word.aspect.as_ref() == aspect);
        mine.filter(|word| self.known(word) && word.from <= from).max_by_key(|word| word.order())
    }

    fn push(&mut self, topic: &Topic, aspect: Option<&Name>, voice: &Voice, wanted: &Wanted, says: Says) {
        let place = self.words.values().map(Vec::len).sum();
        let Wanted { from, since, trust, confidence, .. } = *wanted;
        let (aspect, voice, seq, edit) = (aspect.cloned(), voice.clone(), self.seq, self.edit);
        let word = Word { aspect, voice, since, from, trust, confidence, says, seq, edit, place, unsaid: None };
        self.words.entry(topic.clone()).or_default().push(word);
    }

    fn unsay(&mut self, topic: &Topic, voice: &Voice, which: impl Fn(&Word) -> bool) {
        let gone: Vec<usize> = self
            .about(topic)
            .iter()
            .filter(|word| word.voice == *voice && self.known(word) && which(word))
            .map(|word| word.place)
            .collect();
        let by = (self.seq, self.edit);
        for word in self.words.get_mut(topic).into_iter().flatten().filter(|word| gone.contains(&word.place)) {
            word.unsaid = Some(by);
        }
    }

    // Sources.

    /// Hears all that a group says; returns who spoke of what.
    fn listen(&mut self, scope: &Scope, group: &Group, stamp: Time) -> BTreeSet<(Topic, u32)> {
        let mut words: BTreeMap<(Topic, u32), Vec<&Observation>> = BTreeMap::new();
        for observation in &group.observations {
            let topic = self.sight(scope, &observation.sighted);
            words.entry((topic, observation.record)).or_default().push(observation);
        }
        for ((topic, record), observations) in &words {
            let voice = Voice::Record { group: group.key.clone(), record: *record };
            self.hear(topic, &voice, observations, stamp);
        }
        words.into_keys().collect()
    }

    fn sight(&mut self, scope: &Scope, sighted: &Sighted) -> Topic {
        let mut name = |key: &EntityKey| {
            let id = EntityId::projected(scope, key);
            self.keys.insert(id, key.clone());
            id
        };
        match sighted {
            Sighted::Entity(key) => Topic::Entity(name(key)),
            Sighted::Relation { source, target, kind, origin } => {
                let (source, target) = (name(source), name(target));
                ordered(&Topic::Relation(RelationKey { source, target, kind: kind.clone(), origin: origin.clone() }))
            }
        }
    }

    /// A witness says now what was observed, and no more: told starts are content, observed ones are not.
    fn hear(&mut self, topic: &Topic, voice: &Voice, observations: &[&Observation], stamp: Time) {
        let mut wanted: Vec<Wanted> = observations
            .iter()
            .map(|Observation { since, trust, confidence, props, .. }| Wanted {
                from: since.from(stamp),
                since: *since,
                trust: *trust,
                confidence: *confidence,
                props,
            })
            .collect();
        // Of several words for one start the last in the order of what they say.
        let text = |props: &Props| {
            let word = |(name, value): (&Name, &crate::Value)| format!("{:?}{}", &**name, value.canonical());
            props.iter().map(word).collect::<String>()
        };
        wanted.sort_by_cached_key(|w| (w.from, w.since, w.trust, w.confidence, text(w.props)));
        let later: Vec<Time> = wanted.iter().skip(1).map(|wanted| wanted.from).collect();
        let mut place = 0;
        wanted.retain(|wanted| {
            place += 1;
            later.get(place - 1) != Some(&wanted.from)
        });
        let told: BTreeSet<Time> =
            wanted.iter().filter(|wanted| wanted.since != Since::Observed).map(|wanted| wanted.from).collect();
        let holding = wanted.iter().rev().find(|wanted| wanted.from <= stamp);
        let told_now = wanted.iter().rev().find(|wanted| wanted.from <= stamp && wanted.since != Since::Observed);
        self.unsay(topic, voice, |word| word.since != Since::Observed && !told.contains(&word.from));
        if let (Some(now), Some(told_now), Some(first)) = (holding, told_now, told.first()) {
            // A saying is taken back whole where anything of it is what the witness tells as well.
            let told_as_well = |word: &Word| match &word.aspect {
                None => (told_now.trust, told_now.confidence) == (now.trust, now.confidence),
                Some(name) => told_now.says(name) == now.says(name),
            };
            let needless: BTreeSet<(u64, Time)> = self
                .about(topic)
                .iter()
                .filter(|word| word.voice == *voice && word.since == Since::Observed && told_as_well(word))
                .map(|word| (word.seq, word.from))
                .collect();
            self.unsay(topic, voice, |word| {
                word.since == Since::Observed && word.from > *first && needless.contains(&(word.seq, word.from))
            });
        }
        for wanted in wanted.iter().filter(|wanted| wanted.since != Since::Observed) {
            self.speak(topic, voice, wanted, true);
        }
        match holding {
            Some(Wanted { trust, confidence, props, .. }) => {
                self.made.insert(topic.clone());
                let (trust, confidence) = (*trust, *confidence);
                let now = Wanted { from: stamp, since: Since::Observed, trust, confidence, props };
                self.speak(topic, voice, &now, false);
            }
            None => self.cease(topic, voice, stamp),
        }
    }

    /// Makes a voice say so from an instant on. What is told must be told right there.
    fn speak(&mut self, topic: &Topic, voice: &Voice, wanted: &Wanted, telling: bool) {
        let evidence = (wanted.trust, wanted.confidence);
        let stands = |word: &Word, says: &Says| {
            let begins = !telling || (word.from, word.since) == (wanted.from, wanted.since);
            word.says == *says && (word.trust, word.confidence) == evidence && begins
        };
        let held = self.now_held(topic, None, voice, wanted.from);
        if !held.is_some_and(|word| stands(word, &Says::Present)) {
            self.push(topic, None, voice, wanted, Says::Present);
        }
        let spoken = self.about(topic).iter().filter(|word| word.voice == *voice);
        let mut names: BTreeSet<Name> = spoken.filter_map(|word| word.aspect.clone()).collect();
        names.extend(wanted.props.keys().cloned());
        for name in &names {
            let held = self.now_held(topic, Some(name), voice, wanted.from);
            let says = wanted.props.get(name).map_or(Says::Nothing, |value| Says::Is(value.clone()));
            let said = match (&says, held) {
                (Says::Nothing, held) => held.is_none_or(|word| word.says == Says::Nothing),
                (says, held) => held.is_some_and(|word| stands(word, says)),
            };
            if !said {
                self.push(topic, Some(name), voice, wanted, says);
            }
        }
    }

    /// From now on, the voice no longer says that the thing is there, if it says anything.
    fn cease(&mut self, topic: &Topic, voice: &Voice, stamp: Time) {
        let left = self.now_held(topic, None, voice, stamp).is_some_and(|word| word.says == Says::Absent);
        let mine = self.about(topic).iter().filter(|word| word.voice == *voice && self.known(word));
        let newest = mine.filter(|word| word.from <= stamp).max_by_key(|word| word.order());
        if let Some(Word { trust, confidence, .. }) = newest.filter(|_| !left) {
            let (trust, confidence, props) = (*trust, *confidence, &Props::new());
            let wanted = Wanted { from: stamp, since: Since::Observed, trust, confidence, props };
            self.push(topic, None, voice, &wanted, Says::Absent);
        }
    }

    fn withdraw(&mut self, key: &GroupKey, spoken: &BTreeSet<(Topic, u32)>, stamp: Time) {
        let topics: Vec<Topic> = self.words.keys().cloned().collect();
        for topic in topics {
            let voices: BTreeSet<Voice> = self.voices(&topic).into_iter().cloned().collect();
            for voice in voices {
                let Voice::Record { group, record } = &voice else { continue };
                if group == key && !spoken.contains(&(topic.clone(), *record)) {
                    self.unsay(&topic, &voice, |word| word.from > stamp);
                    self.cease(&topic, &voice, stamp);
                }
            }
        }
    }

    // Authors.

    fn author(
        &mut self,
        topic: &Topic,
        since: Since,
        confidence: Confidence,
        presence: Option<Says>,
        props: &[(Name, Option<crate::Value>)],
        stamp: Time,
    ) {
        let (from, trust, none) = (since.from(stamp), Trust::Authoritative, Props::new());
        let wanted = Wanted { from, since, trust, confidence, props: &none };
        let begins = |word: &Word| since == Since::Observed || (word.from, word.since) == (from, since);
        let held = presence.as_ref().and_then(|_| self.now_held(topic, None, &Voice::Author, from));
        let same = held
            .is_some_and(|word| Some(&word.says) == presence.as_ref() && word.confidence == confidence && begins(word));
        let values: Vec<(&Name, Says)> = props
            .iter()
            .map(|(name, value)| (name, value.clone().map_or(Says::Nothing, Says::Is)))
            .filter(|(name, says)| match self.now_held(topic, Some(name), &Voice::Author, from) {
                Some(word) => !(word.says == *says && begins(word)),
                None => *says != Says::Nothing || since != Since::Observed || self.speaks_of(topic, name),
            })
            .collect();
        if let Some(says) = presence.filter(|_| !same) {
            self.push(topic, None, &Voice::Author, &wanted, says);
        }
        for (name, says) in values {
            self.push(topic, Some(name), &Voice::Author, &wanted, says);
        }
    }

    /// Whether the batch being taken has the author speak of a property.
    fn speaks_of(&self, topic: &Topic, name: &Name) -> bool {
        let about = |word: &&Word| word.seq == self.seq && word.voice == Voice::Author;
        self.about(topic).iter().filter(about).any(|word| word.aspect.as_ref() == Some(name))
    }

    fn repudiate(&mut self, change: ChangeId, commits: &[Commit]) {
        let commit = commits.iter().find(|commit| commit.seq == change.seq).expect("an earlier commit");
        let Change::Say(say) = &commit.changes[change.index as usize] else { panic!("a change point") };
        let aspects: BTreeSet<Option<Name>> = say
            .presence
            .map(|_| None)
            .into_iter()
            .chain(say.props.iter().map(|(name, _)| Some(name.clone())))
            .collect();
        self.unsay(&say.topic, &say.voice, |word| {
            word.seq == change.seq.0 && word.from == say.from && aspects.contains(&word.aspect)
        });
    }
}

fn some(props: &Props) -> Vec<(Name, Option<crate::Value>)> {
    props.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
}

/// A symmetric relation is one, its ends in order.
fn ordered(topic: &Topic) -> Topic {
    match topic {
        Topic::Relation(key) if SYMMETRIC.contains(&&*key.kind) && key.target < key.source => {
            Topic::Relation(RelationKey { source: key.target, target: key.source, ..key.clone() })
        }
        other => other.clone(),
    }
}
