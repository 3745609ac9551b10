//! The states of an entity, and the events between them: read off the belief rule.
//!
//! A state is a stretch of valid time in which nothing changed. Stretches are found by evaluating the rule at every
//! instant of the history and joining equal neighbours, so states can neither overlap nor leave gaps: a tombstoned or
//! absent stretch is a state of its own.
//!
//! 1. Each state ends where the next begins; the last has no end.
//! 2. Neighbouring states differ.

use std::sync::Arc;

use uuid::Uuid;

use super::belief::{self, Existence, Hearing, Held, Moment, Point, Prop, Spoken};
use super::lens::{Ear, Lens};
use super::witnesses::TopicIx;
use crate::change::Presence;
use crate::evidence::Cause;
use crate::id::ChangeId;
use crate::time::{Since, Time};

/// A stretch in which nothing changed.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Its id: computed from the topic and the change that began it.
    pub(crate) id: Uuid,
    /// Its start.
    pub(crate) from: Time,
    /// How the start is known.
    pub(crate) since: Since,
    /// Its end; none for the last.
    pub(crate) until: Option<Time>,
    /// Whether the thing is there.
    pub(crate) existence: Existence,
    /// Its properties.
    pub(crate) props: Vec<Prop>,
    /// The change that began it.
    pub(crate) said: ChangeId,
    /// What happened at its start.
    pub(crate) event: Event,
}

/// The event on the edge between two states.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// `observed`, `removed`, `tombstoned`, `reactivated`, `corrected`, `repudiated`, or a word of the caller's.
    pub(crate) event_type: crate::Name,
    /// Why, as the writer said.
    pub(crate) cause: Option<Arc<Cause>>,
}

/// Every state of a topic under a lens, the earliest first. Whatever the lens's valid time, all of time is shown.
///
/// Costs one belief for each instant of the history.
pub(crate) fn states(lens: &Lens, topic: TopicIx) -> Vec<State> {
    let (history, ear) = (lens.engine().history(topic), Ear(lens));
    let mut states: Vec<State> = Vec::new();
    for from in history.instants(lens.recorded()) {
        let at = Moment { valid: from, recorded: lens.recorded() };
        let existence = belief::existence(history, at, &ear);
        let there = existence.held().is_some();
        let props = if there { belief::properties(history, at, &ear) } else { Vec::new() };
        let last = states.last_mut();
        if last.as_ref().map_or(!there, |last| same(lens, last, &existence, &props)) {
            continue;
        }
        let (said, since) = opened(lens, topic, from, &existence);
        if let Some(last) = last {
            last.until = Some(from);
        }
        let event = event(lens, topic, states.last(), &existence, (from, said));
        let id = state_id(lens, topic, said);
        states.push(State { id, from, since, until: None, existence, props, said, event });
    }
    states
}

/// Whether a state goes on: the same evidence (but for who found it first) and the same values.
fn same(lens: &Lens, last: &State, existence: &Existence, props: &[Prop]) -> bool {
    let evidence =
        |held: &Held| (held.trust, held.confidence, lens.engine().witnesses.voice_at(held.voice).to_string());
    let existing = match (&last.existence, existence) {
        (Existence::Present(a), Existence::Present(b)) => evidence(a) == evidence(b),
        (Existence::Absent, Existence::Absent) | (Existence::Tombstoned(_), Existence::Tombstoned(_)) => true,
        _ => false,
    };
    existing
        && last.props.len() == props.len()
        && last.props.iter().zip(props).all(|(a, b)| a.name == b.name && a.value == b.value)
}

/// The word that a state begins with, and how the instant is known: the veto where one begins there, else the newest word
/// that the lens hears.
fn opened(lens: &Lens, topic: TopicIx, from: Time, existence: &Existence) -> (ChangeId, Since) {
    let vetoed = |point: &&Point| matches!(existence, Existence::Tombstoned(veto) if *veto == point.said);
    // Whichever witnesses are heard, a veto hides its topic.
    let mut all = lens.engine().history(topic).voices().iter().flat_map(|spoken| &spoken.points);
    let veto = all.find(|point| vetoed(point) && point.from == from);
    let newest = || begun(lens, topic, from).filter(|(_, point)| point.known(lens.recorded())).max_by_key(newest_last);
    let word = veto.or_else(|| newest().map(|(_, point)| point));
    word.map_or((ChangeId { seq: lens.recorded(), index: 0 }, Since::Observed), |point| (point.said, point.since))
}

/// Every word from an instant on that the lens hears, taken back or not.
fn begun(lens: &Lens, topic: TopicIx, from: Time) -> impl Iterator<Item = (&Spoken, &Point)> {
    let (voices, recorded) = (lens.engine().history(topic).voices().iter(), lens.recorded());
    let heard = voices.filter(|spoken| Ear(lens).hears(spoken.voice));
    let points = heard.flat_map(|spoken| spoken.points.iter().map(move |point| (spoken, point)));
    points
        .filter(move |(_, point)| point.from == from && point.trust >= Ear(lens).floor() && point.said.seq <= recorded)
}

fn newest_last((_, point): &(&Spoken, &Point)) -> ChangeId {
    point.said
}

fn event(
    lens: &Lens,
    topic: TopicIx,
    before: Option<&State>,
    after: &Existence,
    (from, said): (Time, ChangeId),
) -> Event {
    // A person took back what was said last of this instant: what shows again was never otherwise.
    let newest = begun(lens, topic, from).max_by_key(newest_last).filter(|(_, point)| !point.known(lens.recorded()));
    if let Some((_, Some(reason))) = newest.and_then(|(_, point)| point.unsaid.clone()) {
        let cause = Cause { description: Some(reason), ..Cause::default() };
        return Event { event_type: "repudiated".into(), cause: Some(Arc::new(cause)) };
    }
    let voices = lens.engine().history(topic).voices().iter();
    let mut words = voices.flat_map(|spoken| spoken.points.iter().map(move |point| (spoken, point)));
    let word = words.find(|(_, point)| point.said == said);
    let cause = word.and_then(|(_, point)| point.cause.clone());
    let was_there = before.map(|state| state.existence.held().is_some());
    let event_type = match (was_there, after) {
        _ if cause.as_ref().is_some_and(|cause| cause.event_type.is_some()) => {
            cause.as_ref().and_then(|cause| cause.event_type.clone()).unwrap_or_else(|| "observed".into())
        }
        (_, Existence::Tombstoned(_)) => "tombstoned".into(),
        (_, Existence::Absent) => "removed".into(),
        (Some(false), Existence::Present(_)) => "reactivated".into(),
        _ if word.is_some_and(|(spoken, point)| corrects(lens, spoken, point)) => "corrected".into(),
        _ if word.is_some_and(|(_, point)| point.presence == Some(Presence::Present)) => "observed".into(),
        _ => "changed".into(),
    };
    Event { event_type, cause }
}

/// Whether a word replaced an earlier one of the same voice that said something else of the same, at the same told start.
fn corrects(lens: &Lens, spoken: &Spoken, point: &Point) -> bool {
    let evidence = |point: &Point| (point.presence, point.trust, point.confidence);
    point.since != Since::Observed
        && spoken.points.iter().any(|other| {
            let both_of_existence = other.presence.is_some() && point.presence.is_some();
            let otherwise = |name| other.prop(name).is_some_and(|value| Some(value) != point.prop(name));
            other.from == point.from
                && other.said.seq < point.said.seq
                && other.known(lens.recorded())
                && (both_of_existence && evidence(other) != evidence(point)
                    || point.props.iter().any(|(name, _)| otherwise(*name)))
        })
}

/// UUIDv5 within the scope: of the topic and the change that began the state.
fn state_id(lens: &Lens, topic: TopicIx, said: ChangeId) -> Uuid {
    let engine = lens.engine();
    let name = crate::id::length_prefixed(&["state", &engine.topic(topic).to_string(), &said.to_string()]);
    Uuid::new_v5(&engine.namespace, &name)
}
