//! What one voice says, as steps: what it told of the past and the future, and what it says now beside that.
//!
//! A voice's change points depend on when this store heard it: a value observed on Monday and told on Tuesday to have
//! held for years stands there twice. Its *steps* don't. For each aspect (existence, or one property) they are the step
//! function over the told points, without the steps that change nothing; and, where what the voice says at the stamp of
//! the last commit isn't what its told points say there, one observed step more.
//!
//! 1. Neighbouring told steps of an aspect differ in what is said, in trust or in confidence; the first says something.
//! 2. An observed step differs from what the told ones come to at the stamp.
//! 3. A voice that its source withdrew has no steps. What it told before is history, not content.

use std::collections::BTreeSet;

use crate::change::Presence;
use crate::engine::belief::{Moment, Point, Spoken};
use crate::evidence::{Confidence, Trust};
use crate::id::NameIx;
use crate::time::{Since, Time};
use crate::value::Value;

/// What a voice says something of: its topic's existence, or one property.
pub(crate) type Aspect = Option<NameIx>;

/// What is said.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Said<'a> {
    /// That the topic is there, or was ended.
    Presence(Presence),
    /// That a property has a value.
    Value(&'a Value),
}

/// What is said, and how far it may be believed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Word<'a> {
    /// What.
    pub(crate) said: Said<'a>,
    /// How it came to be known.
    pub(crate) trust: Trust,
    /// How sure the voice is.
    pub(crate) confidence: Confidence,
}

/// From an instant on, a voice says this.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// How the start is known; `Observed` for the one that holds now beside what was told.
    pub(crate) since: Since,
    /// What it says; `None` where it says that there is nothing (any more).
    pub(crate) word: Option<Word<'a>>,
    /// The change point behind it.
    pub(crate) point: &'a Point,
}

/// The points of one voice that count at a moment: said by then, not taken back, not before its source withdrew it.
pub(crate) struct Counting<'a> {
    points: Vec<&'a Point>,
    now: Time,
}

impl<'a> Counting<'a> {
    /// The points of a voice that count. `at` is the stamp of a commit and its sequence.
    pub(crate) fn of(spoken: &'a Spoken, at: Moment) -> Counting<'a> {
        let mut points: Vec<&Point> = spoken.points.iter().filter(|point| point.known(at.recorded)).collect();
        let word = points.iter().rev().find(|point| point.from <= at.valid && point.presence.is_some()).copied();
        let left = |word: &Point| word.presence == Some(Presence::Absent) && word.since == Since::Observed;
        if let Some(word) = word.filter(|word| left(word)) {
            points.retain(|point| (point.from, point.said) > (word.from, word.said));
        }
        Counting { points, now: at.valid }
    }

    /// What it speaks of.
    pub(crate) fn aspects(&self) -> BTreeSet<Aspect> {
        let props = self.points.iter().flat_map(|point| point.props.iter().map(|(name, _)| Some(*name)));
        let presence = self.points.iter().any(|point| point.presence.is_some()).then_some(None);
        presence.into_iter().chain(props).collect()
    }

    /// The steps of one aspect: told ones by start, the observed one last.
    pub(crate) fn steps(&self, aspect: Aspect) -> Vec<Step<'a>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut told = self.speaking(aspect).filter(|point| point.since != Since::Observed).peekable();
        while let Some(point) = told.next() {
            // Of two points with one start, the one recorded last wins.
            if told.peek().is_some_and(|later| later.from == point.from) {
                continue;
            }
            let word = word(point, aspect);
            if word != steps.last().and_then(|step| step.word) {
                steps.push(Step { since: point.since, word, point });
            }
        }
        if let Some(point) = self.holding(aspect, self.now, false) {
            let told = self.holding(aspect, self.now, true).and_then(|point| self::word(point, aspect));
            let word = word(point, aspect);
            if word != told {
                steps.push(Step { since: Since::Observed, word, point });
            }
        }
        steps
    }

    /// What it says of an aspect at an instant, by its told points alone or by all.
    pub(crate) fn word(&self, aspect: Aspect, valid: Time, told: bool) -> Option<Word<'a>> {
        word(self.holding(aspect, valid, told)?, aspect)
    }

    fn speaking(&self, aspect: Aspect) -> impl DoubleEndedIterator<Item = &'a Point> {
        self.points.iter().copied().filter(move |point| match aspect {
            None => point.presence.is_some(),
            Some(name) => point.prop(name).is_some(),
        })
    }

    fn holding(&self, aspect: Aspect, valid: Time, told: bool) -> Option<&'a Point> {
        let mut speaking = self.speaking(aspect).rev();
        speaking.find(|point| point.from <= valid && (!told || point.since != Since::Observed))
    }
}

fn word(point: &Point, aspect: Aspect) -> Option<Word<'_>> {
    let said = match aspect {
        None => Said::Presence(point.presence.filter(|presence| *presence != Presence::Absent)?),
        Some(name) => Said::Value(point.prop(name)??),
    };
    Some(Word { said, trust: point.trust, confidence: point.confidence })
}
