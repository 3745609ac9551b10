//! The engine against stories and tables, and against a naive model on random histories.
//!
//! A [`World`] is an engine beside the commits that made it: what a test says goes in as batches, what it asks is asked
//! of a lens. Instants are small numbers; a batch is recorded at the instant that the test gives.

mod batches;
mod corrections;
mod incremental;
mod model;
mod naive;
mod periods;
mod states;
mod vetoes;
mod witnesses;

use std::sync::Arc;

use super::belief::Existence;
use super::lens::{Filter, Kinds, Lens, TypeSet, View};
use super::state::Engine;
use super::witnesses::TopicIx;
use crate::change::{Batch, Change, Commit, Edit, Say};
use crate::error::Error;
use crate::evidence::{Confidence, GroupKey, Trust};
use crate::id::{ChangeId, EntityId, Seq, namespace};
use crate::key::{EntityKey, RelationKey, Topic};
use crate::observation::{Group, Observation};
use crate::scope::Scope;
use crate::time::{Since, Time};
use crate::value::{Props, Value};

/// An instant.
fn at(instant: i64) -> Time {
    Time::from_micros(instant)
}

fn told(instant: i64) -> Since {
    Since::Told(at(instant))
}

/// The key of a file: a projected entity, whose type declares `name` and `status`.
fn file(path: &str) -> EntityKey {
    EntityKey::new("File", "repo", path)
}

fn id_of(key: &EntityKey) -> EntityId {
    EntityId::projected(&scope(), key)
}

fn scope() -> Scope {
    Scope::new("acme", "demo").unwrap()
}

fn props(pairs: &[(&str, &str)]) -> Props {
    pairs.iter().map(|(name, value)| ((*name).into(), Value::from(*value))).collect()
}

/// `a DEPENDS_ON b`, as the source `unity` has it.
fn depends(a: &EntityKey, b: &EntityKey) -> Observation {
    Observation::relation(a.clone(), "DEPENDS_ON", b.clone(), "unity")
}

fn depends_key(a: &EntityKey, b: &EntityKey) -> RelationKey {
    RelationKey { source: id_of(a), target: id_of(b), kind: "DEPENDS_ON".into(), origin: "unity".into() }
}

fn group(source: &str, name: &str, observations: Vec<Observation>) -> Group {
    Group { key: GroupKey::new(source, name), revision: None, observations }
}

/// An engine, and the commits that made it.
struct World {
    engine: Engine,
    commits: Vec<Commit>,
}

impl World {
    fn new() -> World {
        World { engine: Engine::new(namespace(&scope())), commits: Vec::new() }
    }

    /// Decides a batch recorded at `stamp`, and folds what it comes to; returns the changes.
    fn try_commit(&mut self, stamp: i64, fill: impl FnOnce(&mut Batch)) -> Result<Vec<Change>, Error> {
        let mut batch = Batch::new(at(stamp), [u8::try_from(self.commits.len()).unwrap_or(0); 10]);
        fill(&mut batch);
        let stamp = at(stamp).max(self.engine.stamp);
        let changes = self.engine.decide(&batch, stamp)?.changes;
        if !changes.is_empty() {
            let commit = Commit { seq: self.engine.seq.next(), stamp, changes: changes.clone() };
            self.engine.apply(&commit);
            self.commits.push(commit);
        }
        Ok(changes)
    }

    fn commit(&mut self, stamp: i64, fill: impl FnOnce(&mut Batch)) -> Vec<Change> {
        self.try_commit(stamp, fill).unwrap()
    }

    fn ask(&mut self, stamp: i64, edit: Edit) -> Vec<Change> {
        self.commit(stamp, |batch| {
            batch.push(edit);
        })
    }

    fn observe(&mut self, stamp: i64, group: Group) -> Vec<Change> {
        self.commit(stamp, |batch| {
            batch.observe(group);
        })
    }

    fn end(&mut self, stamp: i64, topic: &impl About, since: Since) {
        let topic = topic.topic();
        self.ask(stamp, Edit::End { topic, since, cause: None });
    }

    /// The same commits folded into a fresh engine: the store, reopened.
    fn reopened(&self) -> World {
        let mut world = World::new();
        for commit in &self.commits {
            world.engine.apply(commit);
        }
        World { commits: self.commits.clone(), ..world }
    }

    /// The change of the newest commit for which `which` is true.
    fn change(&self, which: impl Fn(&Say) -> bool) -> ChangeId {
        let commit = self.commits.last().unwrap();
        let index = commit.changes.iter().position(|change| matches!(change, Change::Say(say) if which(say))).unwrap();
        ChangeId { seq: commit.seq, index: u32::try_from(index).unwrap() }
    }

    fn lens(&self) -> Lens {
        View::new(Arc::new(self.engine.clone()), scope()).lens()
    }

    /// What was true at `valid`, as recorded at `recorded`.
    fn lens_at(&self, valid: i64, recorded: u64) -> Lens {
        self.lens().as_of(at(valid)).as_recorded(Seq(recorded)).unwrap()
    }

    fn topic(&self, topic: &impl About) -> TopicIx {
        self.engine.find_topic(&topic.topic()).unwrap()
    }
}

/// What a question may be about.
trait About {
    fn topic(&self) -> Topic;
}

impl About for EntityId {
    fn topic(&self) -> Topic {
        Topic::Entity(*self)
    }
}

impl About for EntityKey {
    fn topic(&self) -> Topic {
        Topic::Entity(id_of(self))
    }
}

impl About for RelationKey {
    fn topic(&self) -> Topic {
        Topic::Relation(self.clone())
    }
}

/// Whether a topic is there, as one word. A relation that one of its ends hides is `cut`.
fn existence(lens: &Lens, topic: &impl About) -> &'static str {
    let Some(ix) = lens.engine().find_topic(&topic.topic()) else { return "unknown" };
    match (lens.existence(ix), ix) {
        (Existence::Absent, _) => "absent",
        (Existence::Tombstoned(_), _) => "tombstoned",
        (Existence::Present(_), TopicIx::Relation(relation)) if lens.relation(relation).is_none() => "cut",
        (Existence::Present(_), _) => "present",
    }
}

/// A property as text; `-` where it has no value.
fn prop(lens: &Lens, topic: &impl About, name: &str) -> String {
    let ix = lens.engine().find_topic(&topic.topic());
    let value = ix.and_then(|ix| lens.prop(ix, name));
    value.map_or_else(|| "-".into(), |value| value.as_str().map_or_else(|| value.canonical(), str::to_owned))
}

/// Every relation both ways.
fn every_way(lens: &Lens) -> Filter {
    Filter { out: true, into: true, types: TypeSet::of(lens.engine(), |_| true), kinds: Kinds::default() }
}

/// The far ends of the relations at an entity, best first, by external id.
fn neighbours(lens: &Lens, key: &EntityKey) -> Vec<String> {
    let Some(ix) = lens.engine().find_entity(id_of(key)) else { return Vec::new() };
    let filter = every_way(lens);
    lens.edges(ix, &filter).map(|edge| lens.engine().entity(edge.far).key.external_id.to_string()).collect()
}

fn confidence(value: f64) -> Confidence {
    Confidence::new(value).unwrap()
}

/// The same observation from another record, with another start or other evidence.
trait Adjusted: Sized {
    fn record(self, record: u32) -> Self;
    fn since(self, since: Since) -> Self;
    fn trusted(self, trust: Trust) -> Self;
    fn sure(self, confidence: f64) -> Self;
    fn with_text(self, name: &str, value: &str) -> Self;
}

impl Adjusted for Observation {
    fn record(mut self, record: u32) -> Self {
        self.record = record;
        self
    }

    fn since(mut self, since: Since) -> Self {
        self.since = since;
        self
    }

    fn trusted(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    fn sure(mut self, value: f64) -> Self {
        self.confidence = confidence(value);
        self
    }

    fn with_text(self, name: &str, value: &str) -> Self {
        self.with(name, Some(value))
    }
}
