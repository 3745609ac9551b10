//! The durable side: one contract, and the folder that keeps it.
//!
//! A store's folder holds `STORE` (which store) and a folder for each scope with `SCOPE` (whose), the log of its commits,
//! `lock` and `writer` (who writes, and how far the log is durable). Every byte is described in `docs/format.md`. There is
//! no manifest: the unbroken log *is* the scope, and its state is the fold of its commits.
//!
//! What is durable when: [`Writer::append`] hands a commit to the system, so it survives the death of the process;
//! [`Syncer::sync`] makes it survive the loss of power. A commit that was not synced may be gone after a crash, with all
//! that follow it, and never without them.
//!
//! 1. What can be read after any crash is a prefix of the commits that were appended, whole, and holds all that were
//!    synced.
//! 2. Reading writes nothing: no lock, no folder, no repair. It works on a medium that can't be written.
//! 3. Nothing is truncated, replaced or written in place, but for the note `writer`, whose loss costs nothing.
//! 4. Damage to a commit that was promised is an error that says where; a tail that a crash cut off is not.
//! 5. After a failed write or sync nothing more is written through that writer, and the sync is never tried again.
//! 6. No name of a workspace or game becomes part of a path.

pub mod folder;
mod format;
mod lock;
mod log;
pub mod medium;
pub mod memory;
pub mod roots;
pub mod store;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::change::Commit;
use crate::error::Error;
use crate::id::Seq;
use crate::time::Time;

pub use folder::Folder;
pub use medium::Medium;
pub use memory::Memory;
pub use store::LocalStore;

pub use log::salvage::{Lost, Salvage};

/// What a commit waits for before it is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Its own sync: it survives the loss of power.
    #[default]
    Sync,
    /// A sync that it shares with commits made at the same time: as durable, and cheaper under load.
    Group,
    /// Nothing: it survives the death of the process, and the loss of power once something later is synced.
    Buffered,
}

/// The durable side of one scope, as anybody may have it who may read.
pub trait Repository: Send + Sync {
    /// Hands every commit after `seq` to `each`, in order, up to the last valid frame. Writes nothing.
    ///
    /// Costs a pass over the segments that hold them; where `seq` is where the last call ended, over what is new.
    ///
    /// # Errors
    /// `corrupt` where a promised commit is damaged or missing, `foreign` where a file belongs to another store, scope or
    /// place, `unsupported_version`, `io`, and whatever `each` says.
    fn after(&self, seq: Seq, each: &mut dyn FnMut(Commit) -> Result<(), Error>) -> Result<Recovery, Error>;

    /// The one writer. Another process may have written since the caller last read: it must read [`Self::after`] that
    /// point once it has the writer, and only then append.
    ///
    /// # Errors
    /// `locked` when another writer, of this process or another, is still there after `busy_timeout`; what
    /// [`Self::after`] says; what the system says.
    fn writer(&self, busy_timeout: Duration) -> Result<Box<dyn Writer>, Error>;

    /// The time, from the medium's clock.
    fn now(&self) -> Time;

    /// Fills `bytes` with randomness.
    ///
    /// # Errors
    /// What the system says.
    fn entropy(&self, bytes: &mut [u8]) -> Result<(), Error>;

    /// The bytes of the log.
    ///
    /// # Errors
    /// What the system says.
    fn bytes(&self) -> Result<u64, Error>;
}

/// The right to append to a scope; one exists at a time.
pub trait Writer: Send {
    /// The last commit of the log.
    fn last(&self) -> Seq;

    /// Appends one commit, and returns the bytes that it took. It is not durable yet.
    ///
    /// # Errors
    /// `too_large` or `conflict` (not the next sequence): nothing was written, and the writer goes on. Any other error
    /// ends it; after that every call says `poisoned`.
    fn append(&mut self, commit: &Commit) -> Result<u64, Error>;

    /// What makes commits durable, on this thread or another, while further ones are appended.
    fn syncer(&self) -> Arc<dyn Syncer>;
}

/// Makes appended commits durable.
pub trait Syncer: Send + Sync {
    /// Returns once commit `upto` is durable, and says how far the log is durable then.
    ///
    /// Callers that wait at the same time share one sync: the first one syncs for all that was appended by then.
    ///
    /// # Errors
    /// What the system said to the sync that should have saved it, alike for all who waited for it; `poisoned` for
    /// later ones.
    fn sync(&self, upto: Seq) -> Result<Seq, Error>;
}

/// What reading a log found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Recovery {
    /// The last valid commit.
    pub last: Seq,
    /// How far the log is known to be durable: what a power cut now would leave at least.
    pub durable: Seq,
    /// The segments that there are.
    pub segments: usize,
    /// The commits that were handed out.
    pub frames: u64,
    /// The bytes of the frames that were read.
    pub bytes: u64,
    /// A tail that a crash cut off, if there is one. The next writer leaves it and begins a new segment.
    pub torn: Option<Torn>,
}

/// The end of a file that holds no whole commit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Torn {
    /// The file, from the store's folder on.
    pub file: String,
    /// Where the tail begins.
    pub offset: u64,
    /// How many bytes it has.
    pub bytes: u64,
}
