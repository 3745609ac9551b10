//! What one voice says of one topic, being changed: from what it should say to the fewest change points that say it.
//!
//! A draft is a copy of the voice's words. It takes back what is no longer told, and for each wanted start finds the
//! difference to what the voice says there already. Points that the draft adds are seen by what it decides next.
//!
//! 1. A told start is content: a word that should begin at a told instant has a point right there. An observed one is
//!    satisfied by whatever makes the voice say so.
//! 2. A draft that is asked for what the voice says already adds nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::belief::{Moment, Point, Spoken};
use super::state::Engine;
use crate::change::Presence;
use crate::evidence::{Confidence, Trust, Voice};
use crate::id::{ChangeId, Seq, VoiceIx};
use crate::key::{Name, Topic};
use crate::time::{Since, Time};
use crate::value::Value;

/// The keys of a place that never make a thing count as changed: a clustering renumbers them on every run.
const UNCOUNTED: [&str; 3] = ["community", "community_name", "local_community"];

/// A place without what never counts as a change.
pub(crate) fn counted_place(place: &Value) -> Value {
    match place {
        Value::Map(map) => {
            let kept = map.iter().filter(|(name, _)| !UNCOUNTED.contains(&&***name));
            Value::Map(std::sync::Arc::new(kept.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        other => other.clone(),
    }
}

pub(super) fn same_place(a: Option<&Value>, b: Option<&Value>) -> bool {
    a == b || a.map(counted_place) == b.map(counted_place)
}

/// What a voice should say of its topic from an instant on.
pub(super) struct Target {
    pub(super) trust: Trust,
    pub(super) confidence: Confidence,
    pub(super) props: BTreeMap<Name, Value>,
}

/// The change point that makes a voice say so.
pub(super) struct Reached {
    pub(super) since: Since,
    pub(super) from: Time,
    pub(super) trust: Trust,
    pub(super) confidence: Confidence,
    pub(super) presence: Option<Presence>,
    pub(super) props: Vec<(Name, Option<Value>)>,
}

/// What one voice says of one topic, being changed.
pub(super) struct Draft<'a> {
    engine: &'a Engine,
    /// Copied when the draft first changes it: most drafts find nothing to change.
    spoken: Cow<'a, Spoken>,
    pub(super) place: Option<Value>,
    /// Points that the draft added carry names, since new properties have no position yet.
    added: BTreeMap<ChangeId, Vec<(Name, Option<Value>)>>,
}

/// Everything that is recorded is known to whoever writes next.
pub(super) const NEWEST: Seq = Seq(u64::MAX);

impl<'a> Draft<'a> {
    pub(super) fn of(engine: &'a Engine, topic: &Topic, voice: &Voice) -> Draft<'a> {
        let known = engine.find_topic(topic).zip(engine.witnesses.find_voice(voice));
        let spoken = known.and_then(|(topic, voice)| engine.history(topic).voice(voice)).map(Cow::Borrowed);
        let spoken = spoken.unwrap_or_else(|| Cow::Owned(Spoken::new(VoiceIx(0))));
        let place = spoken.place.clone();
        Draft { engine, spoken, place, added: BTreeMap::new() }
    }

    pub(super) fn presence(&self, valid: Time) -> Option<&Point> {
        self.spoken.presence(Moment { valid, recorded: NEWEST })
    }

    /// The point that holds a property at an instant, added ones included.
    pub(super) fn prop(&self, name: &Name, valid: Time) -> Option<&Point> {
        let until = self.spoken.points.partition_point(|point| point.from <= valid);
        let known = self.engine.names.find(name);
        self.spoken.points[..until].iter().rev().find(|point| {
            point.unsaid.is_none()
                && match self.added.get(&point.said) {
                    Some(props) => props.iter().any(|(of, _)| of == name),
                    None => known.is_some_and(|known| point.prop(known).is_some()),
                }
        })
    }

    pub(super) fn value<'b>(&'b self, point: &'b Point, name: &Name) -> Option<&'b Value> {
        match self.added.get(&point.said) {
            Some(props) => props.iter().find(|(of, _)| of == name)?.1.as_ref(),
            None => point.prop(self.engine.names.find(name)?)?,
        }
    }

    /// Every value that the voice ever gave a property and did not take back.
    pub(super) fn values<'b>(&'b self, name: &'b Name) -> impl Iterator<Item = &'b Value> {
        let said = self.spoken.points.iter().filter(|point| point.unsaid.is_none());
        said.filter_map(move |point| self.value(point, name))
    }

    /// Every word about a property that is neither taken back nor among `unsaid`, by start, then as it was said.
    pub(super) fn said(&self, unsaid: &BTreeSet<ChangeId>) -> Vec<(Time, Name, Option<&Value>)> {
        let points = self.spoken.points.iter();
        let said = points.filter(|point| point.unsaid.is_none() && !unsaid.contains(&point.said));
        let props = said.flat_map(|point| point.props.iter().map(move |(name, value)| (point.from, name, value)));
        props.map(|(from, name, value)| (from, self.engine.names.at(*name).clone(), value.as_ref())).collect()
    }

    /// Every property that the voice ever spoke of.
    pub(super) fn prop_names(&self) -> BTreeSet<Name> {
        let known = self.spoken.prop_names().into_iter().map(|ix| self.engine.names.at(ix).clone());
        known.chain(self.added.values().flatten().map(|(name, _)| name.clone())).collect()
    }

    /// Takes back every told point whose start isn't in `told`.
    pub(super) fn untell(&mut self, told: &BTreeSet<Time>) -> Vec<ChangeId> {
        self.unsay(|_, point| point.since != Since::Observed && !told.contains(&point.from))
    }

    /// Takes back what was observed later than `after`, but for points that speak only of what is `now` otherwise than
    /// `told`.
    pub(super) fn unobserve(&mut self, after: Time, told: &Target, now: &Target) -> Vec<ChangeId> {
        let same = (told.trust, told.confidence) == (now.trust, now.confidence);
        self.unsay(|engine, point| {
            let told_as_well = |name: &Name| {
                let (told, now) = (told.props.get(name), now.props.get(name));
                told == now && (same || now.is_none())
            };
            let mut names = point.props.iter().map(|(name, _)| engine.names.at(*name));
            let needless = point.presence.is_some() && same || names.any(told_as_well);
            point.since == Since::Observed && point.from > after && needless
        })
    }

    fn unsay(&mut self, which: impl Fn(&Engine, &Point) -> bool) -> Vec<ChangeId> {
        let mut changes = Vec::new();
        for (i, point) in self.spoken.points.iter().enumerate() {
            if point.unsaid.is_none() && which(self.engine, point) {
                changes.push((i, point.said));
            }
        }
        for (i, _) in &changes {
            self.spoken.to_mut().points[*i].unsaid = Some((Seq::ZERO, None));
        }
        changes.into_iter().map(|(_, said)| said).collect()
    }

    /// The change point after which the voice no longer says that its topic is there; none if it says nothing.
    pub(super) fn leave(&mut self, from: Time) -> Option<Reached> {
        let word = self.spoken.still_speaking(from)?;
        let (trust, confidence, presence) = (word.trust, word.confidence, Some(Presence::Absent));
        Some(Reached { since: Since::Observed, from, trust, confidence, presence, props: Vec::new() })
    }

    /// The change point from `from` on after which the voice says `target`; none if it says so already. A told start
    /// is itself content: with `exact`, a point must say all of it right there, whatever was told or observed before.
    pub(super) fn reach(&mut self, target: &Target, since: Since, from: Time, exact: bool) -> Option<Reached> {
        let stands = |point: &Point| !exact || (point.from == from && point.since == since);
        let presence = self.presence(from).is_none_or(|point| {
            let evidence = (point.presence, point.trust, point.confidence);
            evidence != (Some(Presence::Present), target.trust, target.confidence) || !stands(point)
        });
        let says = |name: &Name, wanted: Option<&Value>| {
            let point = self.prop(name, from);
            let held = point.and_then(|point| Some((self.value(point, name)?, point.trust, point.confidence)));
            let here = wanted.is_none() || point.is_some_and(stands);
            held == wanted.map(|value| (value, target.trust, target.confidence)) && here
        };
        let mut props = Vec::new();
        for name in self.prop_names().iter().chain(target.props.keys()).collect::<BTreeSet<_>>() {
            let wanted = target.props.get(name);
            if !says(name, wanted) {
                props.push((name.clone(), wanted.cloned()));
            }
        }
        if !presence && props.is_empty() {
            return None;
        }
        let said = ChangeId { seq: NEWEST, index: u32::try_from(self.added.len()).unwrap_or(u32::MAX) };
        let (trust, confidence) = (target.trust, target.confidence);
        let presence = presence.then_some(Presence::Present);
        self.spoken.to_mut().say(Point {
            said,
            since,
            from,
            trust,
            confidence,
            presence,
            props: std::sync::Arc::default(),
            cause: None,
            unsaid: None,
        });
        self.added.insert(said, props.clone());
        Some(Reached { since, from, trust, confidence, presence, props })
    }
}
