//! An engine that takes batches, with a clock of its own: what tests of this folder stand on.

use std::sync::Arc;

use crate::change::{Batch, Commit, Edit};
use crate::engine::lens::{Lens, View};
use crate::engine::state::Engine;
use crate::error::Error;
use crate::id::namespace;
use crate::ops::proof::digest::{self, ContentDigest};
use crate::ops::proof::lines::Lines;
use crate::scope::Scope;
use crate::time::Time;

/// A graph without a store.
pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) scope: Scope,
    /// The stamp of the next commit, in microseconds.
    pub(super) now: i64,
}

impl Bench {
    pub(super) fn new() -> Bench {
        Bench::named("demo")
    }

    pub(super) fn named(game: &str) -> Bench {
        let scope = Scope::new("acme", game).unwrap();
        Bench { engine: Engine::new(namespace(&scope)), scope, now: 1_000_000 }
    }

    /// Commits the edits; says how many changes they came to. The clock moves on by one second.
    pub(super) fn commit(&mut self, edits: Vec<Edit>) -> Result<usize, Error> {
        let mut batch = Batch::new(Time::from_micros(self.now), [7; 10]);
        batch.edits = edits;
        let stamp = batch.stamp.max(self.engine.stamp);
        let changes = self.engine.decide(&batch, stamp)?.changes;
        let count = changes.len();
        if count > 0 {
            self.engine.apply(&Commit { seq: self.engine.seq.next(), stamp, changes });
        }
        self.now += 1_000_000;
        Ok(count)
    }

    pub(super) fn lens(&self) -> Lens {
        View::new(Arc::new(self.engine.clone()), self.scope.clone()).lens()
    }

    pub(super) fn lines(&self) -> Lines {
        Lines::of(&self.lens())
    }

    pub(super) fn digest(&self) -> ContentDigest {
        digest::of(&self.lines())
    }
}
