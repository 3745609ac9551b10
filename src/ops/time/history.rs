//! `history`: every state of an entity, and the event between each two.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::budget::{Answer, Limit, Meter, Reason, within};
use crate::engine::belief::Existence;
use crate::engine::lens::Lens;
use crate::engine::states::{State, states};
use crate::engine::witnesses::TopicIx;
use crate::error::Error;
use crate::evidence::Trust;
use crate::id::{ChangeId, Seq};
use crate::key::Name;
use crate::ops::cursor;
use crate::ops::look::{Look, question};
use crate::ops::shape::to_json;
use crate::ops::subject::{Subject, SubjectShown, describe};
use crate::time::{Since, Time};

/// The question of `history`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryRequest {
    /// What is asked about.
    pub subject: Subject,
    /// The most states to list, 1 to 1,000; the earliest come first.
    #[serde(default = "limit")]
    pub limit: u32,
    /// Goes on where an answer left off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How to look at the graph; `as_of` keeps the states that had begun by then.
    #[serde(flatten)]
    pub look: Look,
}

fn limit() -> u32 {
    100
}

/// The states of an entity.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct History {
    /// What the question was about.
    pub subject: SubjectShown,
    /// The states, the earliest first.
    pub states: Vec<StateShown>,
    /// Goes on after the last state listed, where there are more.
    pub cursor: Option<String>,
}

/// A state, as answers show it.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct StateShown {
    /// Its id.
    pub id: Uuid,
    /// Its start; null where it was always so, as far as is known.
    pub valid_from: Option<Time>,
    /// Whether that start is merely that of its observation.
    pub observed: bool,
    /// Its end; null while it holds.
    pub valid_until: Option<Time>,
    /// `committed`: what was said and not merely tried.
    pub commit_status: &'static str,
    /// `present`, `absent` or `tombstoned`.
    pub existence: &'static str,
    /// The properties.
    pub props: serde_json::Map<String, serde_json::Value>,
    /// The trust of the best witness; null where it is absent.
    pub trust: Option<Trust>,
    /// The best witness.
    pub witness: Option<String>,
    /// The revision of the group that speaks.
    pub revision: Option<Name>,
    /// The change that began it: what a repudiation names.
    pub change: ChangeId,
    /// When it was recorded.
    pub recorded_at: Option<Time>,
    /// The sequence in which it was recorded.
    pub seq: Seq,
    /// What happened at its start.
    pub event: EventShown,
}

/// The event between two states.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct EventShown {
    /// `observed`, `changed`, `removed`, `tombstoned`, `reactivated`, `corrected`, or the writer's word.
    pub event_type: Name,
    /// When.
    pub at: Option<Time>,
    /// The memory (document) that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_memory_id: Option<Name>,
    /// The commit that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause_commit: Option<Name>,
    /// What happened, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_description: Option<Name>,
    /// The sequence of the signed event that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_seq: Option<u64>,
}

/// Lists the states. Costs one belief for each instant of the entity's history.
///
/// # Errors
/// An unknown or ambiguous subject, a bad cursor, a limit above its ceiling.
pub fn history(lens: &Lens, request: &HistoryRequest) -> Result<Answer<History>, Error> {
    let limit = within("limit", request.limit, 1, 1_000)? as usize;
    let subject = request.subject.resolve(lens)?;
    let filter = lens.engine().entity(subject).id.to_string();
    let (lens, after) = &cursor::resume("history", &filter, lens, request.cursor.as_deref())?;
    let mut all = states(lens, TopicIx::Entity(subject));
    if let Some(as_of) = lens.asked() {
        all.retain(|state| state.from <= as_of);
    }
    let from = match after {
        None => 0,
        Some(key) => {
            let after: i64 = key.parse().map_err(|_| Error::invalid("the cursor is damaged; start again without"))?;
            all.partition_point(|state| state.from.micros() <= after)
        }
    };
    let page = &all[from.min(all.len())..];
    let shown: Vec<StateShown> = page
        .iter()
        .enumerate()
        .take(limit)
        .map(|(i, state)| show(lens, state, page.get(i + 1).map(|next| next.said.seq)))
        .collect();
    let omitted = (page.len() - shown.len()) as u64;
    let last = page.get(shown.len().wrapping_sub(1)).filter(|_| omitted > 0);
    let cursor = last.map(|state| cursor::after("history", &filter, lens, &state.from.micros().to_string()));
    let reasons = if omitted > 0 { vec![Reason::left_out(Limit::Rows, omitted)] } else { Vec::new() };
    let found = History { subject: describe(lens, subject), states: shown, cursor };
    Ok(Meter::list(question("history", lens)).answer(found, reasons, None))
}

/// A state; `next` is the commit that ended it. Its revision is the newest that still said so.
fn show(lens: &Lens, state: &State, next: Option<Seq>) -> StateShown {
    let engine = lens.engine();
    let last = next.map_or(lens.recorded(), |next| Seq(next.0.saturating_sub(1)).max(state.said.seq));
    let held = state.existence.held();
    let from = (state.from != Time::UNBOUNDED).then_some(state.from);
    let cause = state.event.cause.as_deref().cloned().unwrap_or_default();
    StateShown {
        id: state.id,
        valid_from: from,
        observed: state.since == Since::Observed,
        valid_until: state.until,
        commit_status: "committed",
        existence: match state.existence {
            Existence::Present(_) => "present",
            Existence::Absent => "absent",
            Existence::Tombstoned(_) => "tombstoned",
        },
        props: state.props.iter().map(|p| (engine.names.at(p.name).to_string(), to_json(&p.value))).collect(),
        trust: held.map(|held| held.trust),
        witness: held.map(|held| engine.witnesses.voice_at(held.voice).to_string()),
        revision: held.and_then(|held| engine.witnesses.revision(held.voice, last).cloned()),
        change: state.said,
        recorded_at: engine.stamp_of(state.said.seq),
        seq: state.said.seq,
        event: EventShown {
            event_type: state.event.event_type.clone(),
            at: from,
            cause_memory_id: cause.memory_id,
            cause_commit: cause.commit,
            event_description: cause.description,
            event_seq: cause.event_seq,
        },
    }
}
