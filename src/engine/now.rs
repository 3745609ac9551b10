//! What is believed of a row now: kept beside the row, so that a read of the present evaluates nothing.
//!
//! 1. A row's `now` is the belief at the stamp and sequence of the last commit that touched it, and is what is believed of
//!    every instant from `from` until `next`, whenever that is asked; its existence and stretch, from `stood` on.
//! 2. Where it is `steady`, a reader under any trust floor can tell from it whether the row is there, and since when.

use std::cmp::Ordering;
use std::sync::Arc;

use super::belief::{self, Existence, Hearing, Moment, Prop, Stretch};
use super::state::Engine;
use super::witnesses::{TopicIx, Witnesses};
use crate::evidence::Trust;
use crate::id::VoiceIx;
use crate::time::Time;

/// What is believed of a row at the last commit that touched it.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    /// Whether it is there.
    pub(crate) existence: Existence,
    /// The stretch of presence, where it is there.
    pub(crate) stretch: Option<Stretch>,
    /// Its properties, sorted by position; none where it isn't there.
    pub(crate) props: Arc<[Prop]>,
    /// The instant from which on all of this has held.
    pub(crate) from: Time,
    /// The instant from which on existence and stretch have.
    pub(crate) stood: Time,
    /// The first later instant at which any of this may change.
    pub(crate) next: Option<Time>,
    /// The least trust of any voice: at a trust floor up to this one, nothing changes.
    pub(crate) trust_min: Trust,
    /// Whether existence and stretch are the same at every floor up to the best voice's trust, and absent at each above.
    pub(crate) steady: bool,
}

impl Now {
    /// Of a row of which nothing was said.
    pub(super) fn nothing() -> Now {
        Now {
            existence: Existence::Absent,
            stretch: None,
            props: Arc::default(),
            from: Time::UNBOUNDED,
            stood: Time::UNBOUNDED,
            next: None,
            trust_min: Trust::Authoritative,
            steady: true,
        }
    }

    /// All of an entity's present that the standing of its relations depends on.
    pub(super) fn cuts(&self) -> (Option<Trust>, Time, bool, bool) {
        let here = self.stretch.map_or(self.stood, |stretch| stretch.from);
        (self.existence.held().map(|held| held.trust), here, self.next.is_some(), self.steady)
    }
}

impl Engine {
    /// What is believed of a topic at the last commit.
    pub(super) fn believe_now(&self, topic: TopicIx) -> Now {
        let (history, everyone) = (self.history(topic), Everyone(&self.witnesses));
        let at = Moment { valid: self.stamp, recorded: self.seq };
        let (existence, stretch) = (belief::existence(history, at, &everyone), belief::stretch(history, at, &everyone));
        let props = match existence {
            Existence::Present(_) => belief::properties(history, at, &everyone).into(),
            _ => Arc::default(),
        };
        let points = history.voices().iter().flat_map(|spoken| &spoken.points);
        let trust_min = points.map(|point| point.trust).min().unwrap_or(Trust::Authoritative);
        let mut above = Trust::ALL.into_iter().filter(|floor| *floor > trust_min);
        let steady = above.all(|floor| {
            let few = Trusted(&self.witnesses, floor);
            let seen = belief::existence(history, at, &few);
            match existence.held() {
                Some(held) if held.trust >= floor => seen == existence && belief::stretch(history, at, &few) == stretch,
                Some(_) => seen == Existence::Absent,
                None => seen.held().is_none(),
            }
        });
        let (from, next) = history.around(at);
        let words = history.voices().iter().filter_map(|spoken| spoken.presence(at));
        let stood = words.map(|word| word.from).max().unwrap_or(Time::UNBOUNDED);
        Now { existence, stretch, props, from: from.unwrap_or(Time::UNBOUNDED), stood, next, trust_min, steady }
    }

    /// Whether a topic is there at an instant that no commit has come after, by anybody's word; its ends apart.
    pub(crate) fn is_there(&self, topic: TopicIx, valid: Time) -> bool {
        let now = self.now(topic);
        if now.next.is_none_or(|next| valid < next) {
            return now.existence.held().is_some();
        }
        let at = Moment { valid, recorded: self.seq };
        belief::existence(self.history(topic), at, &Everyone(&self.witnesses)).held().is_some()
    }
}

/// Everybody is heard: the hearing of the present.
pub(crate) struct Everyone<'a>(pub(crate) &'a Witnesses);

/// Everybody is heard whose word is of this trust, or better.
struct Trusted<'a>(&'a Witnesses, Trust);

impl Hearing for Everyone<'_> {
    fn hears(&self, _: VoiceIx) -> bool {
        true
    }

    fn floor(&self) -> Trust {
        Trust::Hypothesis
    }

    fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering {
        self.0.by_name(a, b)
    }

    fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool {
        self.0.same_source(a, b)
    }
}

impl Hearing for Trusted<'_> {
    fn hears(&self, _: VoiceIx) -> bool {
        true
    }

    fn floor(&self) -> Trust {
        self.1
    }

    fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering {
        self.0.by_name(a, b)
    }

    fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool {
        self.0.same_source(a, b)
    }
}
