//! The rebuild: from sources to the graph, phase by phase.
//!
//! `queued → graphify → unity-assets → ownership → link → complete | failed`. A phase reads one source, compares it
//! group by group with what the graph holds and commits the difference as one batch; a phase that fails leaves the
//! graph as it was before it, and the others go on. [`link`](crate::sources::link) comes last and states the facts
//! that need two sources.
//!
//! 1. *Incremental = full*: after any sequence of rebuilds the projected content is that of a rebuild from nothing over
//!    the same final inputs, where all of them can be read.
//! 2. Unchanged input writes nothing; a new revision over unchanged groups writes one row a group, or one for the source
//!    where the revision is the snapshot's.
//! 3. What could not be read is kept and marked stale, never withdrawn.
//! 4. One rebuild a scope at a time.

mod fingerprint;
mod linking;
mod phases;
mod reconcile;
mod report;

pub(crate) use phases::link as relink;
pub use phases::{Input, Phase, RebuildProgress, Verified, rebuild, verify};
pub use report::{PhaseReport, PhaseState, RebuildReport};
