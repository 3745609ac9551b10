//! One source against the graph: the edits that make the graph say what the source says now.
//!
//! Group by group: a group whose fingerprint the graph knows is left alone (a new revision is one row), a changed one is
//! observed whole (`decide` finds the difference), one that is gone is withdrawn, and one that could not be read is kept
//! and marked stale.

use std::collections::BTreeSet;

use super::fingerprint::of_group;
use crate::change::{Edit, Presence};
use crate::engine::belief::Moment;
use crate::engine::state::Engine;
use crate::engine::witnesses::TopicIx;
use crate::evidence::GroupKey;
use crate::graph::Counts;
use crate::id::EntityId;
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::{Group, Sighted};
use crate::sources::Parsed;

/// The edits, and what is known of the groups without committing them.
pub(super) struct Reconciled {
    pub(super) edits: Vec<Edit>,
    pub(super) groups: Counts,
    /// Observations of groups that were left alone.
    pub(super) entities_unchanged: u64,
    pub(super) relations_unchanged: u64,
    pub(super) stale: u64,
}

/// Compares what a source says with what the engine knows of it.
pub(super) fn reconcile(engine: &Engine, source: &Name, parsed: Parsed) -> Reconciled {
    let mut done = Reconciled {
        edits: Vec::new(),
        groups: Counts::default(),
        entities_unchanged: 0,
        relations_unchanged: 0,
        stale: 0,
    };
    let row = |key: &GroupKey| {
        let group = engine.witnesses.find_group(key)?;
        engine.witnesses.group_at(group).row(engine.seq)
    };
    let whole = GroupKey::whole(source);
    if parsed.all_stale {
        done.stale = engine.witnesses.groups_of(source).filter(|group| group.row(engine.seq).is_some()).count() as u64;
        if done.stale > 0 {
            done.edits.push(Edit::Mark { key: whole, revision: None, fingerprint: None, stale: Some(true) });
        }
        return done;
    }
    let revision = parsed.revision.clone();
    if row(&whole).is_none_or(|row| row.stale || row.revision != revision) {
        done.edits.push(Edit::Mark { key: whole.clone(), revision, fingerprint: None, stale: Some(false) });
    }
    let stale: BTreeSet<&Name> = parsed.stale.iter().collect();
    let mut seen: BTreeSet<Name> = BTreeSet::new();
    for group in parsed.groups {
        seen.insert(group.key.group.clone());
        let in_part = parsed.in_part || stale.contains(&group.key.group);
        if in_part && lacks(engine, &group) {
            done.stale += 1;
            done.edits.push(Edit::ObserveInPart(group));
        } else if !in_part || !group.observations.is_empty() {
            observe(&mut done, row(&group.key), group);
        }
    }
    for known in engine.witnesses.groups_of(source) {
        let name = &known.key.group;
        let Some(row) = known.row(engine.seq).filter(|_| known.key != whole && !seen.contains(name)) else { continue };
        // A name that ends in a slash stands for every group beneath it: a folder that could not be listed.
        let beneath = stale.iter().any(|stale| stale.ends_with('/') && name.starts_with(&***stale));
        if stale.contains(name) || beneath || parsed.in_part {
            done.stale += 1;
            if !row.stale {
                let key = known.key.clone();
                done.edits.push(Edit::Mark { key, revision: None, fingerprint: None, stale: Some(true) });
            }
        } else {
            done.groups.removed += 1;
            done.edits.push(Edit::Withdraw(known.key.clone()));
        }
    }
    done
}

/// Whether a witness of the group speaks of something that the group, as read this time, does not say.
fn lacks(engine: &Engine, group: &Group) -> bool {
    let Some(known) = engine.witnesses.find_group(&group.key) else { return false };
    let id = |key: &EntityKey| EntityId::within(&engine.namespace, key);
    let said: BTreeSet<TopicIx> = group
        .observations
        .iter()
        .filter_map(|observation| match &observation.sighted {
            Sighted::Entity(key) => engine.find_topic(&Topic::Entity(id(key))),
            Sighted::Relation { source, target, kind, origin } => {
                let (kind, origin) = (kind.clone(), origin.clone());
                engine.find_topic(&Topic::Relation(RelationKey {
                    source: id(source),
                    target: id(target),
                    kind,
                    origin,
                }))
            }
        })
        .collect();
    let at = Moment { valid: engine.stamp, recorded: engine.seq };
    let speaks = |topic: TopicIx| {
        let voices = engine.history(topic).voices().iter();
        let mut voices = voices.filter(|spoken| engine.witnesses.group_of(spoken.voice) == Some(known));
        voices.any(|spoken| spoken.presence(at).is_some_and(|point| point.presence == Some(Presence::Present)))
    };
    engine.witnesses.group_at(known).members.iter().any(|topic| !said.contains(topic) && speaks(*topic))
}

fn observe(done: &mut Reconciled, row: Option<&crate::change::GroupRow>, group: Group) {
    let fingerprint = of_group(&group);
    let same = row.filter(|row| row.fingerprint.as_ref() == Some(&fingerprint) && !row.stale);
    let Some(row) = same else {
        if row.is_some() {
            done.groups.changed += 1
        } else {
            done.groups.added += 1
        }
        done.edits.push(Edit::Observe { group, fingerprint: Some(fingerprint) });
        return;
    };
    done.groups.unchanged += 1;
    for observation in &group.observations {
        match observation.sighted {
            Sighted::Entity(_) => done.entities_unchanged += 1,
            Sighted::Relation { .. } => done.relations_unchanged += 1,
        }
    }
    if row.revision != group.revision {
        let (key, revision) = (group.key, group.revision);
        done.edits.push(Edit::Mark { key, revision, fingerprint: None, stale: None });
    }
}
