//! Walks against stories and tables, and against a naive walk on random graphs.
//!
//! A [`Town`] is an engine and the commits that made it. Stories name things by one word and say relations as sentences;
//! answers are read back as the words that were reached, in order.

mod answers;
mod bounds;
mod naive;
mod random;

use std::sync::Arc;

use crate::budget::{Answer, Limit};
use crate::change::{Batch, Commit, Edit};
use crate::engine::lens::{Lens, View};
use crate::engine::state::Engine;
use crate::error::Error;
use crate::evidence::{Confidence, GroupKey, Trust};
use crate::id::{EntityId, namespace};
use crate::key::{EntityKey, Topic};
use crate::observation::{Group, Observation};
use crate::ops::domain::patterns::ROWS;
use crate::ops::domain::run::{DomainRequest, run};
use crate::ops::shape::{Body, EdgeShown, Expansion, Node, Path};
use crate::ops::subject::Subject;
use crate::ops::walk::generic::{Direction, WalkRequest, walk};
use crate::scope::Scope;
use crate::time::{Since, Time};

fn scope() -> Scope {
    Scope::new("acme", "demo").unwrap()
}

fn at(instant: i64) -> Time {
    Time::from_micros(instant)
}

/// An engine, and the commits that made it.
struct Town {
    engine: Engine,
    commits: Vec<Commit>,
}

impl Town {
    fn new() -> Town {
        Town { engine: Engine::new(namespace(&scope())), commits: Vec::new() }
    }

    fn ask(&mut self, stamp: i64, edit: Edit) {
        let mut batch = Batch::new(at(stamp), [0; 10]);
        batch.push(edit);
        let changes = self.engine.decide(&batch, at(stamp)).unwrap().changes;
        if !changes.is_empty() {
            let commit = Commit { seq: self.engine.seq.next(), stamp: at(stamp), changes };
            self.engine.apply(&commit);
            self.commits.push(commit);
        }
    }

    fn observe(&mut self, stamp: i64, name: &str, revision: Option<&str>, observations: Vec<Observation>) {
        let group = Group { key: GroupKey::new("unity", name), revision: revision.map(Into::into), observations };
        self.ask(stamp, Edit::Observe { group, fingerprint: None });
    }

    /// A town of files in which `a b` says that a depends on b, surest first.
    fn of(sentences: &[&str]) -> Town {
        let mut town = Town::new();
        let words: Vec<&str> = sentences.iter().flat_map(|sentence| sentence.split(' ')).collect();
        let mut observations: Vec<Observation> = words.iter().map(|word| Observation::entity(thing(word))).collect();
        observations.dedup_by(|a, b| a == b);
        for (i, sentence) in (0..).zip(sentences) {
            let (source, target) = sentence.split_once(' ').unwrap();
            let mut relation = depends(source, target);
            relation.confidence = Confidence::from_millionths(1_000_000 - i).unwrap();
            observations.push(relation);
        }
        town.observe(10, "town", None, observations);
        town
    }

    fn reopened(&self) -> Town {
        let mut town = Town::new();
        for commit in &self.commits {
            town.engine.apply(commit);
        }
        town
    }

    fn lens(&self) -> Lens {
        View::new(Arc::new(self.engine.clone()), scope()).lens()
    }
}

fn thing(name: &str) -> EntityKey {
    EntityKey::new("File", "repo", name)
}

fn id(name: &str) -> EntityId {
    EntityId::projected(&scope(), &thing(name))
}

fn depends(source: &str, target: &str) -> Observation {
    Observation::relation(thing(source), "DEPENDS_ON", thing(target), "unity")
}

fn from(subject: EntityId) -> WalkRequest {
    WalkRequest::from(Subject::from(subject))
}

fn never() -> bool {
    false
}

fn full(answer: &Answer<Expansion>) -> (&[Node], &[EdgeShown], &[Path]) {
    match &answer.found().body {
        Body::Full { nodes, edges, paths, .. } => (nodes, edges, paths),
        other => panic!("expected full detail, found {other:?}"),
    }
}

/// The labels of what was reached, in order.
fn labels(answer: &Answer<Expansion>) -> String {
    let labels: Vec<&str> = full(answer).0.iter().map(|node| &*node.label).collect();
    labels.join(" ")
}

/// The reasons of an answer: `limit at omitted`.
fn reasons(answer: &Answer<Expansion>) -> Vec<String> {
    let nodes = full(answer).0;
    let place = |at: Option<EntityId>| match at {
        None => "-".to_owned(),
        Some(at) => nodes.iter().find(|node| node.id == at).map_or("?".to_owned(), |node| node.label.clone()),
    };
    let show =
        |reason: &crate::budget::Reason| format!("{} {} {}", reason.limit.as_str(), place(reason.at), reason.omitted);
    answer.reasons().iter().map(show).collect()
}
