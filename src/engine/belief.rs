//! What is believed, and since when: the one rule of time.
//!
//! History is a set of *change points*. A point says: from `from` on, these properties have these values (or the thing
//! is there, or gone). As of valid time T and recorded sequence S, take a voice's points recorded at or before S; among
//! those about one aspect with the same `from`, the one recorded last wins; a point repudiated by then counts as never
//! said; then the one with the greatest `from` ≤ T holds. That is done voice by voice. A thing is there when at least
//! one voice says so; a value and the evidence of a thing are those of the best voice that holds one.
//!
//! Intervals, current states and ends are read off this rule, so gaps and overlaps can't exist.
//!
//! 1. A voice's points are sorted by (`from`, change), and no two points are the same change.
//! 2. A voice that says *absent* holds no values said before it said so.
//! 3. A veto hides its topic whatever others say. It is lifted by a later word of the same source, or by a presence
//!    *told* for a later time; never by a later observation alone (so that incremental and full rebuilds agree).
//! 4. The best voice is the most trusted, then the one with the later told start (an observed start comes last), then
//!    the one recorded later, then the first by name. No dense position decides anything.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::change::Presence;
use crate::evidence::{Cause, Confidence, Trust};
use crate::id::{ChangeId, NameIx, Seq, VoiceIx};
use crate::time::{Since, Time};
use crate::value::Value;

/// One change point, as the engine keeps it.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The change that said it.
    pub(crate) said: ChangeId,
    /// How its start is known.
    pub(crate) since: Since,
    /// Its start.
    pub(crate) from: Time,
    /// How it came to be known.
    pub(crate) trust: Trust,
    /// How sure the voice is.
    pub(crate) confidence: Confidence,
    /// What it says of existence, if anything.
    pub(crate) presence: Option<Presence>,
    /// The properties that it speaks of, sorted by position.
    pub(crate) props: Arc<[(NameIx, Option<Value>)]>,
    /// Why.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The commit that repudiated it, if one did, and why.
    pub(crate) unsaid: Option<(Seq, Option<crate::Name>)>,
}

impl Point {
    /// Whether it was said by then, and not taken back.
    pub(crate) fn known(&self, recorded: Seq) -> bool {
        self.said.seq <= recorded && self.unsaid.as_ref().is_none_or(|(seq, _)| *seq > recorded)
    }

    fn told(&self) -> Option<Time> {
        match self.since {
            Since::Told(at) => Some(at),
            Since::Unbounded => Some(Time::UNBOUNDED),
            Since::Observed => None,
        }
    }

    /// Its word about a property: `None` when it is silent, `Some(None)` when it says that there is no value.
    pub(crate) fn prop(&self, name: NameIx) -> Option<Option<&Value>> {
        let at = self.props.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(self.props[at].1.as_ref())
    }
}

/// All that one voice ever said of a topic.
#[derive(Clone, Debug)]
pub(crate) struct Spoken {
    /// Whose words.
    pub(crate) voice: VoiceIx,
    /// The points, sorted by (`from`, change).
    pub(crate) points: Vec<Point>,
    /// Where in the source its newest word stands.
    pub(crate) place: Option<Value>,
}

impl Spoken {
    /// A voice that has said nothing yet.
    pub(crate) fn new(voice: VoiceIx) -> Spoken {
        Spoken { voice, points: Vec::new(), place: None }
    }

    /// Adds a point in its order.
    pub(crate) fn say(&mut self, point: Point) {
        let at = self.points.partition_point(|there| (there.from, there.said) < (point.from, point.said));
        self.points.insert(at, point);
    }

    /// The point that holds at the moment, among those for which `speaks` is true.
    fn holding(&self, at: Moment, speaks: impl Fn(&Point) -> bool) -> Option<&Point> {
        let until = self.points.partition_point(|point| point.from <= at.valid);
        self.points[..until].iter().rev().find(|point| point.known(at.recorded) && speaks(point))
    }

    /// Its word about existence.
    pub(crate) fn presence(&self, at: Moment) -> Option<&Point> {
        self.holding(at, |point| point.presence.is_some())
    }

    /// The newest word that holds, unless the voice has said since that its topic is not there.
    ///
    /// A voice whose word about existence was taken back may still hold properties.
    pub(crate) fn still_speaking(&self, valid: Time) -> Option<&Point> {
        let at = Moment { valid, recorded: Seq(u64::MAX) };
        let left = self.presence(at).is_some_and(|word| word.presence == Some(Presence::Absent));
        self.holding(at, |_| !left)
    }

    /// Its word about a property, whether or not it still says that the thing is there.
    pub(crate) fn prop(&self, name: NameIx, at: Moment) -> Option<&Point> {
        self.holding(at, |point| point.prop(name).is_some())
    }

    /// The properties that it ever spoke of, sorted.
    pub(crate) fn prop_names(&self) -> Vec<NameIx> {
        let mut names: Vec<NameIx> = Vec::new();
        // Points are many where properties are few.
        for (name, _) in self.points.iter().flat_map(|point| point.props.iter()) {
            if let Err(place) = names.binary_search(name) {
                names.insert(place, *name);
            }
        }
        names
    }
}

/// All that was ever said of one topic.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    voices: Vec<Spoken>,
}

impl History {
    /// Every voice, in the order of its first word.
    pub(crate) fn voices(&self) -> &[Spoken] {
        &self.voices
    }

    /// What one voice said.
    pub(crate) fn voice(&self, voice: VoiceIx) -> Option<&Spoken> {
        self.voices.iter().find(|spoken| spoken.voice == voice)
    }

    /// What one voice said, to add to it; true when this is its first word.
    pub(crate) fn voice_mut(&mut self, voice: VoiceIx) -> (&mut Spoken, bool) {
        let at = self.voices.iter().position(|spoken| spoken.voice == voice);
        let first = at.is_none();
        let at = at.unwrap_or_else(|| {
            self.voices.push(Spoken::new(voice));
            self.voices.len() - 1
        });
        (&mut self.voices[at], first)
    }

    /// Takes back a change; false when it isn't here.
    pub(crate) fn unsay(&mut self, change: ChangeId, by: Seq, reason: Option<crate::Name>) -> bool {
        let mut points = self.voices.iter_mut().flat_map(|spoken| &mut spoken.points);
        match points.find(|point| point.said == change) {
            Some(point) => point.unsaid = Some((by, reason)),
            None => return false,
        }
        true
    }

    /// Whether a change of this history has this id.
    pub(crate) fn holds(&self, change: ChangeId) -> bool {
        self.voices.iter().flat_map(|spoken| &spoken.points).any(|point| point.said == change)
    }

    /// The instants at which anything known at `recorded` may change, sorted.
    pub(crate) fn instants(&self, recorded: Seq) -> Vec<Time> {
        self.instants_of(recorded, |_| true)
    }

    fn instants_of(&self, recorded: Seq, which: impl Fn(&Point) -> bool) -> Vec<Time> {
        let points = self.voices.iter().flat_map(|spoken| &spoken.points);
        let known = points.filter(|point| which(point) && point.known(recorded));
        let mut instants: Vec<Time> = known.map(|point| point.from).collect();
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// The last instant up to `at`, and the first after it, at which anything known changes.
    pub(crate) fn around(&self, at: Moment) -> (Option<Time>, Option<Time>) {
        let sides = self.voices.iter().map(|spoken| {
            let now = spoken.points.partition_point(|point| point.from <= at.valid);
            let (before, after) = spoken.points.split_at(now);
            let known = |point: &&Point| point.known(at.recorded);
            (before.iter().rev().find(known).map(|point| point.from), after.iter().find(known).map(|point| point.from))
        });
        sides.fold((None, None), |(last, next), (before, after)| {
            (last.max(before), [next, after].into_iter().flatten().min())
        })
    }
}

/// A point on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// Valid time.
    pub(crate) valid: Time,
    /// Recorded time.
    pub(crate) recorded: Seq,
}

/// Which voices are heard, and which comes first by name. The engine's tables answer.
pub(crate) trait Hearing {
    /// Whether a voice counts (revision filter).
    fn hears(&self, voice: VoiceIx) -> bool;
    /// The least trust that counts.
    fn floor(&self) -> Trust;
    /// Order of two voices by name.
    fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering;
    /// Whether two voices belong to one source.
    fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool;
}

/// The best voice's word that a thing is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    /// Whose word.
    pub(crate) voice: VoiceIx,
    /// The change that said it.
    pub(crate) said: ChangeId,
    /// How it came to be known.
    pub(crate) trust: Trust,
    /// How sure the voice is.
    pub(crate) confidence: Confidence,
}

/// A property, and whose word it is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Prop {
    /// Its name.
    pub(crate) name: NameIx,
    /// Its value.
    pub(crate) value: Value,
    /// Whose word.
    pub(crate) voice: VoiceIx,
    /// The change that said it.
    pub(crate) said: ChangeId,
}

/// What is believed of a topic's existence at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existence {
    /// Nobody says that it is there.
    Absent,
    /// It was ended, by the change named, whatever others say.
    Tombstoned(ChangeId),
    /// It is there, by the best voice's word.
    Present(Held),
}

impl Existence {
    /// The evidence, where it is there.
    pub(crate) fn held(&self) -> Option<&Held> {
        match self {
            Existence::Present(held) => Some(held),
            _ => None,
        }
    }
}

/// Whether the topic is there at the moment, and by whose word.
pub(crate) fn existence(history: &History, at: Moment, hearing: &impl Hearing) -> Existence {
    let mut best: Option<(VoiceIx, &Point)> = None;
    let mut vetoed = false;
    for spoken in &history.voices {
        let Some(point) = spoken.presence(at) else { continue };
        match point.presence {
            Some(Presence::Veto) => vetoed = true,
            Some(Presence::Present) if point.trust >= hearing.floor() && hearing.hears(spoken.voice) => {
                let candidate = (spoken.voice, point);
                if best.is_none_or(|best| better(candidate, best, hearing)) {
                    best = Some(candidate);
                }
            }
            _ => {}
        }
    }
    if vetoed && let Some(veto) = standing_veto(history, at, hearing) {
        return Existence::Tombstoned(veto.said);
    }
    best.map_or(Existence::Absent, |(voice, point)| {
        Existence::Present(Held { voice, said: point.said, trust: point.trust, confidence: point.confidence })
    })
}

/// A veto that nothing lifted. A revision filter does not reach vetoes: what was ended stays hidden.
fn standing_veto<'a>(history: &'a History, at: Moment, hearing: &impl Hearing) -> Option<&'a Point> {
    let words = || history.voices.iter().filter_map(|spoken| Some((spoken.voice, spoken.presence(at)?)));
    words()
        .filter(|(_, point)| point.presence == Some(Presence::Veto) && point.trust >= hearing.floor())
        .find(|(voice, veto)| {
            !words().any(|(other, point)| {
                let told_later = point.told().is_some_and(|told| told > veto.from);
                let said_later = (point.from, point.said) > (veto.from, veto.said);
                point.presence == Some(Presence::Present)
                    && point.trust >= hearing.floor()
                    && (told_later || said_later && hearing.same_source(other, *voice))
            })
        })
        .map(|(_, veto)| veto)
}

/// The value of one property at the moment, by the best voice that holds one.
pub(crate) fn property(history: &History, name: NameIx, at: Moment, hearing: &impl Hearing) -> Option<Prop> {
    let mut best: Option<(VoiceIx, &Point)> = None;
    for spoken in &history.voices {
        let Some(point) = spoken.prop(name, at) else { continue };
        let withdrawn = spoken.presence(at).is_some_and(|word| {
            word.presence != Some(Presence::Present) && (word.from, word.said) >= (point.from, point.said)
        });
        let holds = point.prop(name).flatten().is_some();
        if withdrawn || !holds || point.trust < hearing.floor() || !hearing.hears(spoken.voice) {
            continue;
        }
        if best.is_none_or(|best| better((spoken.voice, point), best, hearing)) {
            best = Some((spoken.voice, point));
        }
    }
    let (voice, point) = best?;
    Some(Prop { name, value: point.prop(name)??.clone(), voice, said: point.said })
}

/// Every property at the moment, sorted by position.
pub(crate) fn properties(history: &History, at: Moment, hearing: &impl Hearing) -> Vec<Prop> {
    let mut names: Vec<NameIx> = history.voices.iter().flat_map(Spoken::prop_names).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| property(history, name, at, hearing)).collect()
}

/// Invariant 4.
fn better(a: (VoiceIx, &Point), b: (VoiceIx, &Point), hearing: &impl Hearing) -> bool {
    let rank = |point: &Point| (point.trust, point.told(), point.said.seq);
    rank(a.1).cmp(&rank(b.1)).then_with(|| hearing.by_name(b.0, a.0)).is_gt()
}

/// The stretch of presence around a moment at which the topic is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// How its start is known; `Told` and `Unbounded` are content, `Observed` is the stamp of a commit.
    pub(crate) since: Since,
    /// Its start.
    pub(crate) from: Time,
    /// Its end, where one is known.
    pub(crate) until: Option<Time>,
}

/// The stretch of presence around `at`, or around the moment nothing when the topic isn't there.
///
/// Costs one look at each point, and one evaluation of existence for each instant at which a voice speaks of it.
pub(crate) fn stretch(history: &History, at: Moment, hearing: &impl Hearing) -> Option<Stretch> {
    existence(history, at, hearing).held()?;
    let there = |valid: Time| existence(history, Moment { valid, ..at }, hearing).held().is_some();
    // Facts change no existence, and there may be many.
    let instants = history.instants_of(at.recorded, |point| point.presence.is_some());
    let now = instants.partition_point(|instant| *instant <= at.valid);
    let from = instants[..now].iter().rev().take_while(|instant| there(**instant)).last().copied()?;
    let until = instants[now..].iter().find(|instant| !there(**instant)).copied();
    // The start is told when any voice that says so from there on was told.
    let moment = Moment { valid: from, ..at };
    let heard = history.voices.iter().filter(|spoken| hearing.hears(spoken.voice));
    let opening = heard.filter_map(|spoken| spoken.presence(moment));
    let since = opening
        .filter(|point| point.from == from && point.presence == Some(Presence::Present))
        .filter(|point| point.trust >= hearing.floor())
        .map(|point| point.since)
        .max()
        .unwrap_or(Since::Observed);
    Some(Stretch { since, from, until })
}
