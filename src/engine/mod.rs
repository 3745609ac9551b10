//! The tri-graph of one scope: a deterministic state machine held in memory.
//!
//! Three layers, never conflated. *Canonical*: what a thing is (a key, a kind). *Semantic*: what it means to others
//! (relations, surface forms). *Temporal*: what was said of it, by whom, for when. The engine is the fold of its
//! commits: [`state`] applies one, [`decide`] makes one out of a batch, [`lens`] reads. It has no files, no clock, no
//! randomness and no thread; time comes in with the batch.
//!
//! 1. `apply` cannot fail: whatever could be refused was refused by `decide`, which changes nothing.
//! 2. An entity's row holds identity only; all that may change is in its history.
//! 3. A relation is one row for each (source, target, type, origin); re-observing it adds a version, never a row.
//! 4. A relation is seen only while both its ends are: its presence is cut by theirs.
//! 5. What is cached of the present (belief, runs) follows from the histories, and is recomputed for whatever a commit
//!    touched.
//! 6. No order that leaves the engine depends on dense positions.

pub(crate) mod belief;
pub(crate) mod decide;
pub(crate) mod draft;
pub(crate) mod lens;
pub(crate) mod now;
pub(crate) mod ontology;
pub(crate) mod state;
pub(crate) mod states;
pub(crate) mod surface;
pub(crate) mod witnesses;

#[cfg(test)]
mod tests;
