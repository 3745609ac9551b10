//! The handle of one scope: take a view, commit a batch.
//!
//! The newest durable engine stands behind an atomic pointer; taking a view is one load and is never blocked. Writers
//! line up at one mutex: decide, append, fold. Syncing happens outside it, so that commits of several threads can share a
//! sync. What was folded and isn't durable yet waits in line to be published.
//!
//! 1. A view published for a `Sync` or `Group` commit holds only what is durable.
//! 2. A commit that was answered with a sequence is in every later view.
//! 3. After a failed write or sync the graph is poisoned: no further commit, reads go on, and the cause is in every
//!    refusal. Opening again recovers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use crate::change::{Batch, Commit, Edit};
use crate::engine::lens::View;
use crate::engine::state::{Engine, ONTOLOGY_NOTE, PTYPES_NOTE, Touched};
use crate::error::{Code, Error};
use crate::id::{Seq, namespace};
use crate::persist::{Durability, Recovery, Repository, Syncer, Writer};
use crate::scope::Scope;
use crate::value::Value;

/// What a commit came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Committed {
    /// The sequence of the graph after it.
    pub seq: Seq,
    /// Whether anything was written: false when the batch said nothing new.
    pub written: bool,
    /// The bytes added to the log.
    pub bytes: u64,
    /// What was asked for and what it got.
    pub durability: Durability,
    /// What happened to entities.
    pub entities: Counts,
    /// What happened to relations.
    pub relations: Counts,
}

/// What a commit did, by count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Counts {
    /// Not there before (or no longer), there now.
    pub added: u64,
    /// There before and now, and something new was said of it.
    pub changed: u64,
    /// There before, gone now.
    pub removed: u64,
    /// Observed again, and nothing new was said.
    pub unchanged: u64,
}

impl Counts {
    pub(crate) fn new(touched: Touched, unchanged: u64) -> Counts {
        Counts { added: touched.added, changed: touched.changed, removed: touched.removed, unchanged }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
        self.unchanged += other.unchanged;
    }
}

/// One scope of a store. Cheap to clone; every clone is the same graph.
#[derive(Clone)]
pub struct Graph(Arc<Shared>);

pub(crate) struct Shared {
    scope: Scope,
    repository: Arc<dyn Repository>,
    busy_timeout: Duration,
    recovery: Recovery,
    published: ArcSwap<Engine>,
    desk: Mutex<Desk>,
    rebuilding: AtomicBool,
    digest: Mutex<Option<(Seq, String)>>,
}

/// Admission to the one rebuild of a scope; ends when dropped.
pub(crate) struct Admission<'a>(&'a AtomicBool);

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// What writers share.
struct Desk {
    /// The engine after the last append: ahead of what is published while a sync is under way.
    head: Arc<Engine>,
    writer: Option<(Box<dyn Writer>, Arc<dyn Syncer>)>,
    /// Engines that are not durable yet, by sequence.
    waiting: VecDeque<Arc<Engine>>,
    poison: Option<Error>,
}

impl Graph {
    /// Opens a scope: folds its log.
    pub(crate) fn open(scope: Scope, repository: Arc<dyn Repository>, busy_timeout: Duration) -> Result<Graph, Error> {
        let mut engine = Engine::new(namespace(&scope));
        let recovery = repository.after(Seq::ZERO, &mut |commit| {
            engine.apply(&commit);
            Ok(())
        })?;
        let head = Arc::new(engine);
        let published = ArcSwap::new(head.clone());
        let desk = Mutex::new(Desk { head, writer: None, waiting: VecDeque::new(), poison: None });
        Ok(Graph(Arc::new(Shared {
            scope,
            repository,
            busy_timeout,
            recovery,
            published,
            desk,
            rebuilding: AtomicBool::new(false),
            digest: Mutex::new(None),
        })))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn from_shared(shared: Arc<Shared>) -> Graph {
        Graph(shared)
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// The newest snapshot. Costs one atomic load.
    pub fn view(&self) -> View {
        View::new(self.0.published.load_full(), self.0.scope.clone())
    }

    /// What opening found.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// The bytes that the scope takes in the store.
    ///
    /// # Errors
    /// What the medium says.
    pub fn bytes(&self) -> Result<u64, Error> {
        self.0.repository.bytes()
    }

    /// The present, by the store's clock.
    pub fn now(&self) -> crate::Time {
        self.0.repository.now()
    }

    /// A batch, recorded now. Clock and entropy are read here and nowhere else.
    ///
    /// # Errors
    /// When the system has no entropy to give.
    pub fn batch(&self) -> Result<Batch, Error> {
        let mut random = [0; 10];
        self.0.repository.entropy(&mut random)?;
        Ok(Batch::new(self.0.repository.now(), random))
    }

    /// Takes the batch whole, or refuses it whole.
    ///
    /// The first commit of a graph takes the writer's lock of the scope, waiting for another process up to the
    /// `busy_timeout` of the store's options; the lock is held until the last handle of the graph is dropped, or
    /// [`Graph::release_writer`].
    ///
    /// # Errors
    /// What the batch may not do; `locked` while another process writes; `poisoned` after a failed write or sync;
    /// `too_large` for a batch above the store's ceiling.
    pub fn commit(&self, batch: Batch, durability: Durability) -> Result<Committed, Error> {
        let shared = &*self.0;
        let mut desk = shared.desk.lock();
        shared.ready(&mut desk)?;
        let stamp = batch.stamp.max(desk.head.stamp);
        let decision = desk.head.decide(&batch, stamp)?;
        drop(batch);
        let (entities_unchanged, relations_unchanged) = (decision.entities_unchanged, decision.relations_unchanged);
        let mut committed = Committed {
            seq: desk.head.seq,
            written: false,
            bytes: 0,
            durability,
            entities: Counts::new(Touched::default(), entities_unchanged),
            relations: Counts::new(Touched::default(), relations_unchanged),
        };
        if decision.changes.is_empty() {
            return Ok(committed);
        }
        let commit = Commit { seq: desk.head.seq.next(), stamp, changes: decision.changes };
        committed.bytes = shared.append(&mut desk, &commit)?;
        let mut next = (*desk.head).clone();
        let (entities, relations) = next.apply(&commit);
        desk.head = Arc::new(next);
        committed.seq = commit.seq;
        committed.written = true;
        committed.entities = Counts::new(entities, entities_unchanged);
        committed.relations = Counts::new(relations, relations_unchanged);
        match durability {
            Durability::Buffered => shared.publish(desk.head.clone()),
            Durability::Sync | Durability::Group => {
                let head = desk.head.clone();
                desk.waiting.push_back(head);
                shared.durable(desk, commit.seq)?;
            }
        }
        Ok(committed)
    }

    /// Adds types, relation types and CAN_REFERENCE rows of a file's own to those that are seeded; replaces what was added
    /// before.
    ///
    /// # Errors
    /// With line and column, where the text isn't such a file; else as [`Graph::commit`].
    pub fn extend_ontology(&self, toml: &str) -> Result<Committed, Error> {
        self.note(ONTOLOGY_NOTE, Value::from(toml))
    }

    /// Says which ptypes the scope has (`application`, `studio`): types of another don't apply in it. All do at first.
    ///
    /// # Errors
    /// `invalid` for a ptype that no type has; else as [`Graph::commit`].
    pub fn set_ptypes(&self, ptypes: &[&str]) -> Result<Committed, Error> {
        self.note(PTYPES_NOTE, Value::from(ptypes.iter().map(|ptype| Value::from(*ptype)).collect::<Vec<_>>()))
    }

    fn note(&self, name: &str, body: Value) -> Result<Committed, Error> {
        let mut batch = self.batch()?;
        batch.push(Edit::Note { name: name.into(), body: Some(body) });
        self.commit(batch, Durability::Sync)
    }

    /// Makes every buffered commit durable.
    ///
    /// # Errors
    /// `poisoned`, or what the medium says.
    pub fn sync(&self) -> Result<(), Error> {
        let desk = self.0.desk.lock();
        let seq = desk.head.seq;
        if desk.writer.is_none() { Ok(()) } else { self.0.durable(desk, seq) }
    }

    /// Sees every commit that was durable before the call, other processes' included.
    ///
    /// # Errors
    /// What reading the log says.
    pub fn refresh(&self) -> Result<View, Error> {
        let mut desk = self.0.desk.lock();
        if desk.writer.is_none() {
            self.0.catch_up(&mut desk)?;
        }
        drop(desk);
        Ok(self.view())
    }

    /// The last content digest that was computed through this graph, and its sequence.
    pub(crate) fn last_digest(&self) -> Option<(Seq, String)> {
        self.0.digest.lock().clone()
    }

    /// Keeps a content digest for `status` to show.
    pub(crate) fn keep_digest(&self, seq: Seq, digest: String) {
        *self.0.digest.lock() = Some((seq, digest));
    }

    /// Admits one rebuild at a time.
    pub(crate) fn admit_rebuild(&self) -> Result<Admission<'_>, Error> {
        if self.0.rebuilding.swap(true, Ordering::Acquire) {
            let message = format!("a rebuild of {} is under way; wait for it to end", self.0.scope);
            return Err(Error::new(Code::Conflict, message));
        }
        Ok(Admission(&self.0.rebuilding))
    }

    /// Takes the writer's lock now and sees what others wrote, so that nothing comes between a look and a commit.
    pub(crate) fn take_writer(&self) -> Result<(), Error> {
        let mut desk = self.0.desk.lock();
        self.0.ready(&mut desk)
    }

    /// Gives the writer's lock back, so that another process may write; the next commit takes it again.
    ///
    /// # Errors
    /// When a buffered commit can't be made durable.
    pub fn release_writer(&self) -> Result<(), Error> {
        self.sync()?;
        self.0.desk.lock().writer = None;
        Ok(())
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Graph({} at {:?})", self.0.scope, self.view().seq())
    }
}

impl Shared {
    /// Takes the writer's lock and reads what others wrote, where that wasn't done yet.
    fn ready(&self, desk: &mut Desk) -> Result<(), Error> {
        if let Some(cause) = &desk.poison {
            return Err(poisoned(cause));
        }
        if desk.writer.is_none() {
            let writer = self.repository.writer(self.busy_timeout)?;
            self.catch_up(desk)?;
            let syncer = writer.syncer();
            desk.writer = Some((writer, syncer));
        }
        Ok(())
    }

    fn catch_up(&self, desk: &mut Desk) -> Result<(), Error> {
        let mut next: Option<Engine> = None;
        self.repository.after(desk.head.seq, &mut |commit| {
            next.get_or_insert_with(|| (*desk.head).clone()).apply(&commit);
            Ok(())
        })?;
        if let Some(next) = next {
            desk.head = Arc::new(next);
            self.publish(desk.head.clone());
        }
        Ok(())
    }

    fn append(&self, desk: &mut Desk, commit: &Commit) -> Result<u64, Error> {
        let Some((writer, _)) = &mut desk.writer else { return Err(Error::invalid("no writer")) };
        let appended = writer.append(commit);
        appended.inspect_err(|error| {
            // A commit that was too large was refused before a byte was written.
            if !matches!(error.code(), Code::TooLarge | Code::Conflict) {
                desk.poison = Some(error.clone());
            }
        })
    }

    /// Waits until `seq` is durable, and publishes what is.
    fn durable(&self, desk: MutexGuard<'_, Desk>, seq: Seq) -> Result<(), Error> {
        let Some((_, syncer)) = &desk.writer else { return Ok(()) };
        let syncer = syncer.clone();
        drop(desk);
        let synced = syncer.sync(seq);
        let mut desk = self.desk.lock();
        match synced {
            Ok(upto) => {
                let durable = desk.waiting.partition_point(|engine| engine.seq <= upto);
                if let Some(newest) = desk.waiting.drain(..durable).next_back() {
                    self.publish(newest);
                }
                Ok(())
            }
            Err(error) => {
                desk.poison.get_or_insert_with(|| error.clone());
                Err(error)
            }
        }
    }

    /// Puts an engine where views are taken, unless a newer one is there. Called with the desk locked.
    fn publish(&self, engine: Arc<Engine>) {
        if engine.seq > self.published.load().seq {
            self.published.store(engine);
        }
    }
}

fn poisoned(cause: &Error) -> Error {
    let message = format!(
        "an earlier write failed and nothing can be written through this handle any more; reads go on; \
         open the store again to recover ({cause})"
    );
    Error::new(Code::Poisoned, message).with_details(serde_json::json!({ "cause": cause.code().as_str() }))
}
