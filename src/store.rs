//! A store: a folder (or memory) that holds scopes.
//!
//! Opening the same folder twice in one process gives the same store, and the same scope of it the same graph, so that
//! one process never has two engines of one scope, nor stands in its own way at the writer's lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::{Code, Error};
use crate::graph::{Graph, Shared};
use crate::persist::{Folder, LocalStore, Medium, Memory, Salvage};
use crate::scope::Scope;

/// How a store is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long a writer waits for another process to give up its lock; zero answers at once.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { busy_timeout: Duration::from_secs(5) }
    }
}

impl Options {
    /// The same options with another busy timeout.
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Options {
        self.busy_timeout = busy_timeout;
        self
    }
}

/// Many scopes in one place. Cheap to clone; every clone is the same store.
///
/// ```
/// use triglyph::{Durability, Scope, Store};
///
/// let store = Store::in_memory()?;
/// let graph = store.graph(&Scope::new("acme", "demo")?)?;
///
/// let mut batch = graph.batch()?;
/// let project = batch.entity("Project", [("name".into(), "Prism".into())].into());
/// graph.commit(batch, Durability::Sync)?;
/// assert_eq!(graph.view().seq().0, 1);
/// # Ok::<(), triglyph::Error>(())
/// ```
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    local: LocalStore,
    options: Options,
    root: String,
    graphs: Mutex<BTreeMap<Scope, Weak<Shared>>>,
}

/// The stores that this process has open, by the one path of their folder.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Inner>>> = Mutex::new(BTreeMap::new());

impl Store {
    /// Makes a store in a folder that is empty or missing, and opens it.
    ///
    /// # Errors
    /// `conflict` where a store or anything else is there already; what the system says.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Store, Error> {
        LocalStore::create(Arc::new(Folder::new(path.as_ref())))?;
        Store::open(path, options)
    }

    /// Opens a store. Writes nothing; the options of the first opening hold for all handles.
    ///
    /// # Errors
    /// `not_found` where there is no store, `corrupt` and `unsupported_version` where it can't be read.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Store, Error> {
        let folder = Folder::new(path.as_ref());
        let mut open = OPEN.lock();
        open.retain(|_, inner| inner.strong_count() > 0);
        let canonical = folder.canonical().ok();
        if let Some(inner) = canonical.as_ref().and_then(|path| open.get(path)).and_then(Weak::upgrade) {
            return Ok(Store(inner));
        }
        let store = Store::on(Arc::new(folder), options)?;
        if let Some(path) = canonical {
            open.insert(path, Arc::downgrade(&store.0));
        }
        Ok(store)
    }

    /// A new store in memory: as the folder, without the disk.
    ///
    /// # Errors
    /// When the system has no entropy to give.
    pub fn in_memory() -> Result<Store, Error> {
        let medium: Arc<dyn Medium> = Arc::new(Memory::new());
        LocalStore::create(medium.clone())?;
        Store::on(medium, Options::default())
    }

    /// Opens the store on a medium: the way for tests and for storage of other kinds.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn on(medium: Arc<dyn Medium>, options: Options) -> Result<Store, Error> {
        let root = medium.root();
        let local = LocalStore::open(medium)?;
        Ok(Store(Arc::new(Inner { local, options, root, graphs: Mutex::default() })))
    }

    /// Opens a scope, making it where it is missing. Folds its log: the time goes with its length.
    ///
    /// # Errors
    /// `corrupt` and `foreign` where the scope's files can't be what they should be; what the system says.
    pub fn graph(&self, scope: &Scope) -> Result<Graph, Error> {
        self.open_graph(scope, true)
    }

    /// Opens a scope that is there. Writes nothing.
    ///
    /// # Errors
    /// `not_found` where it is missing, else as [`Store::graph`].
    pub fn existing(&self, scope: &Scope) -> Result<Graph, Error> {
        self.open_graph(scope, false)
    }

    fn open_graph(&self, scope: &Scope, create: bool) -> Result<Graph, Error> {
        let mut graphs = self.0.graphs.lock();
        if let Some(shared) = graphs.get(scope).and_then(Weak::upgrade) {
            return Ok(Graph::from_shared(shared));
        }
        let repository = self.0.local.repository(scope, create)?;
        let graph = Graph::open(scope.clone(), repository, self.0.options.busy_timeout)?;
        graphs.insert(scope.clone(), Arc::downgrade(graph.shared()));
        Ok(graph)
    }

    /// Gives up what stands behind the damage of a scope's log, so that the scope can be written again; says what is
    /// lost. A log that can be read is left as it is, and nothing is deleted: see [`LocalStore::salvage`].
    ///
    /// # Errors
    /// `conflict` while this process has the scope open, `locked` while another one writes to it, `not_found`; what
    /// the system says.
    pub fn salvage(&self, scope: &Scope) -> Result<Salvage, Error> {
        // Held until the end, so that nobody opens what is being moved.
        let graphs = self.0.graphs.lock();
        if graphs.get(scope).is_some_and(|shared| shared.strong_count() > 0) {
            return Err(Error::new(
                Code::Conflict,
                format!("{scope} is open; a log is salvaged while nobody reads it"),
            ));
        }
        self.0.local.salvage(scope, self.0.options.busy_timeout)
    }

    /// The scopes that the store holds, sorted.
    ///
    /// # Errors
    /// `corrupt` and `foreign` where a scope's files can't be what they should be; what the system says.
    pub fn scopes(&self) -> Result<Vec<Scope>, Error> {
        self.0.local.scopes()
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.0.root)
    }
}
