//! `status`: what a scope holds, and how fresh it is.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{Answer, Meter};
use crate::change::Presence;
use crate::engine::belief::Existence;
use crate::engine::lens::Lens;
use crate::engine::witnesses::TopicIx;
use crate::error::Error;
use crate::evidence::Voice;
use crate::id::{EntityIx, RelationIx, Seq};
use crate::key::Name;
use crate::ops::look::{Look, question};
use crate::ops::shape::to_json;
use crate::time::Time;

/// The question of `status`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatusRequest {
    /// How to look at the graph.
    #[serde(flatten)]
    pub look: Look,
}

/// What the lens doesn't know: how the scope lies in its store.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The bytes of its files.
    pub bytes: u64,
    /// The last content digest that was computed, and its sequence.
    pub digest: Option<(Seq, String)>,
    /// The tail that a crash cut off, if opening found one.
    pub torn: Option<TornTail>,
}

/// The end of a log that holds no whole commit: what was written last was never finished, and never acknowledged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TornTail {
    /// The file, from the store's folder on.
    pub file: String,
    /// Where the tail begins.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What a scope holds, and how fresh it is.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Status {
    /// How much there is.
    pub counts: Counts,
    /// When the last commit was recorded; null while there is none.
    pub stamp: Option<Time>,
    /// The bytes of the scope's files.
    pub bytes: u64,
    /// The last content digest that was computed by this handle.
    pub digest: Option<String>,
    /// The sequence of that digest.
    pub digest_seq: Option<Seq>,
    /// The sources that speak here.
    pub sources: Vec<SourceShown>,
    /// How far the graph is known to lie behind its sources.
    pub lag: Lag,
    /// The tail that a crash cut off, if this handle found one when it opened the scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn: Option<TornTail>,
    /// The report of the last rebuild that did anything; null as recorded before the present, since only the last is kept.
    pub last_rebuild: Option<serde_json::Value>,
}

/// How much a scope holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Entities that are there.
    pub entities: u64,
    /// Relations that are there, with both their ends.
    pub relations: u64,
    /// Entities that were ended explicitly.
    pub tombstones: u64,
    /// Relations that are said to be there while an end is not.
    pub referential_defects: u64,
    /// Entities by kind.
    pub by_kind: BTreeMap<Name, u64>,
    /// Relations by type.
    pub by_relation_type: BTreeMap<Name, u64>,
    /// Entities by the source instances that speak for them: one with two witnesses counts twice.
    pub entities_by_source: BTreeMap<Name, u64>,
    /// Relations by the source instances that speak for them.
    pub relations_by_source: BTreeMap<Name, u64>,
    /// Relation types and kinds that no type declares.
    pub undeclared: Vec<Name>,
}

/// A source instance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct SourceShown {
    /// Its name.
    pub source: Name,
    /// Its revision, where it has one as a whole.
    pub revision: Option<Name>,
    /// Its file groups.
    pub groups: u64,
    /// Those that could not be read last time.
    pub stale: u64,
}

/// How far the graph is known to lie behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Lag {
    /// File groups that could not be read last time.
    pub stale_groups: u64,
}

/// Counts. Costs one look at every entity and relation of the scope.
///
/// # Errors
/// None; the shape is that of every read.
pub fn status(lens: &Lens, stored: &Stored) -> Result<Answer<Status>, Error> {
    let engine = lens.engine();
    let sources: Vec<SourceShown> = engine.witnesses.sources().map(|source| show_source(lens, source)).collect();
    let newest = lens.recorded() == engine.seq;
    let last_rebuild = engine.notes.get("report/rebuild").filter(|_| newest).map(to_json);
    let found = Status {
        counts: count(lens),
        stamp: engine.stamp_of(lens.recorded()),
        bytes: stored.bytes,
        digest: stored.digest.as_ref().map(|(_, digest)| digest.clone()),
        digest_seq: stored.digest.as_ref().map(|(seq, _)| *seq),
        lag: Lag { stale_groups: sources.iter().map(|source| source.stale).sum() },
        sources,
        torn: stored.torn.clone(),
        last_rebuild,
    };
    Ok(Meter::list(question("status", lens)).answer(found, Vec::new(), None))
}

fn show_source(lens: &Lens, source: &Name) -> SourceShown {
    let rows = lens.engine().witnesses.groups_of(source).filter_map(|group| Some((group, group.row(lens.recorded())?)));
    let (mut shown, mut all_stale) =
        (SourceShown { source: source.clone(), revision: None, groups: 0, stale: 0 }, false);
    for (group, row) in rows {
        if group.key.group.is_empty() {
            (shown.revision, all_stale) = (row.revision.clone(), row.stale);
        } else {
            shown.groups += 1;
            shown.stale += u64::from(row.stale);
        }
    }
    if all_stale {
        shown.stale = shown.groups;
    }
    shown
}

fn count(lens: &Lens) -> Counts {
    let engine = lens.engine();
    let mut counts = Counts::default();
    let mut undeclared: BTreeSet<Name> = BTreeSet::new();
    for ix in (0..engine.entities.len()).map(EntityIx::nth) {
        let topic = TopicIx::Entity(ix);
        match lens.existence(topic) {
            Existence::Tombstoned(_) => counts.tombstones += 1,
            Existence::Absent => {}
            Existence::Present(_) => {
                let kind = &engine.entity(ix).key.kind;
                counts.entities += 1;
                *counts.by_kind.entry(kind.clone()).or_default() += 1;
                if engine.ontology.kind(kind).is_none() {
                    undeclared.insert(kind.clone());
                }
                tally(lens, topic, &mut counts.entities_by_source);
            }
        }
    }
    for ix in (0..engine.relations.len()).map(RelationIx::nth) {
        let topic = TopicIx::Relation(ix);
        if lens.existence(topic).held().is_none() {
            continue;
        }
        if lens.relation(ix).is_none() {
            counts.referential_defects += 1;
            continue;
        }
        let kind = &engine.types[engine.relation(ix).kind.at()];
        counts.relations += 1;
        *counts.by_relation_type.entry(kind.clone()).or_default() += 1;
        if engine.ontology.relation(kind).is_none() {
            undeclared.insert(kind.clone());
        }
        tally(lens, topic, &mut counts.relations_by_source);
    }
    counts.undeclared = undeclared.into_iter().collect();
    counts
}

/// Counts a topic under every source that says it is there.
fn tally(lens: &Lens, topic: TopicIx, by_source: &mut BTreeMap<Name, u64>) {
    let engine = lens.engine();
    let speaking =
        engine.history(topic).voices().iter().filter(|spoken| {
            spoken.presence(lens.moment()).is_some_and(|point| point.presence == Some(Presence::Present))
        });
    let sources: BTreeSet<Name> = speaking
        .map(|spoken| match engine.witnesses.voice_at(spoken.voice) {
            Voice::Author => "author".into(),
            Voice::Record { group, .. } => group.source,
        })
        .collect();
    for source in sources {
        *by_source.entry(source).or_default() += 1;
    }
}
