//! `forget`: a source that will not be read again takes its word back.
//!
//! A source that is merely missing keeps what it said, marked stale; so one that was renamed, or is gone for good, has to
//! be told so. What others say too stays, and history keeps the rest.

use serde::Serialize;

use super::rebuild::relink;
use crate::change::{Batch, Commit, Edit};
use crate::error::{Error, did_you_mean};
use crate::graph::{Counts, Graph};
use crate::id::Seq;
use crate::key::Name;
use crate::persist::Durability;

/// What forgetting a source comes to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Forgotten {
    /// The source instance.
    pub source: Name,
    /// Whether anything was written, or only tried.
    pub dry_run: bool,
    /// The file groups that it had.
    pub groups: u64,
    /// What happens to entities: those that nobody else speaks of are removed.
    pub entities: Counts,
    /// What happens to relations.
    pub relations: Counts,
    /// The sequence of the graph afterwards.
    pub seq: Seq,
}

/// Withdraws every group of a source instance, and restates what follows from it; with `dry_run`, says what would happen.
///
/// # Errors
/// `not_found` for a source that never spoke here (the nearest name is given), else as [`Graph::commit`].
pub fn forget(graph: &Graph, source: &str, dry_run: bool) -> Result<Forgotten, Error> {
    let _admission = graph.admit_rebuild()?;
    if !dry_run {
        graph.take_writer()?;
    }
    let view = graph.view();
    let engine = &view.engine;
    if !engine.witnesses.sources().any(|known| *known == source) {
        let nearest = did_you_mean(source, engine.witnesses.sources().map(|known| &**known));
        return Err(Error::not_found(format!("no source {source:?} speaks here{nearest}")));
    }
    let mut batch = graph.batch()?;
    let mut groups = 0;
    for group in engine.witnesses.groups_of(source).filter(|group| group.row(view.seq()).is_some()) {
        groups += u64::from(!group.key.group.is_empty());
        batch.push(Edit::Withdraw(group.key.clone()));
    }
    batch.push(Edit::Note { name: format!("input/{source}").into(), body: None });
    let mut forgotten = Forgotten {
        source: source.into(),
        dry_run,
        groups,
        entities: Counts::default(),
        relations: Counts::default(),
        seq: view.seq(),
    };
    if dry_run {
        (forgotten.entities, forgotten.relations) = foreseen(graph, &batch)?;
        return Ok(forgotten);
    }
    let committed = graph.commit(batch, Durability::Sync)?;
    (forgotten.entities, forgotten.relations) = (committed.entities, committed.relations);
    relink(graph)?;
    forgotten.seq = graph.view().seq();
    Ok(forgotten)
}

/// What a batch would do, on a copy of the view that is never published.
fn foreseen(graph: &Graph, batch: &Batch) -> Result<(Counts, Counts), Error> {
    let view = graph.view();
    let stamp = batch.stamp.max(view.stamp());
    let decision = view.engine.decide(batch, stamp)?;
    let commit = Commit { seq: view.seq().next(), stamp, changes: decision.changes };
    let (entities, relations) = (*view.engine).clone().apply(&commit);
    Ok((Counts::new(entities, 0), Counts::new(relations, 0)))
}
