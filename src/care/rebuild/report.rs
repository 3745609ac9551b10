//! What a rebuild did: a report for people, for programs, and for the store's own memory.

use serde::{Deserialize, Serialize};

use crate::graph::Counts;
use crate::id::Seq;
use crate::key::Name;
use crate::sources::Report;

/// How a phase ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseState {
    /// The input is what it was; it was not parsed.
    Skipped,
    /// Read and reconciled.
    Complete,
    /// Read in part: what could not be read is kept, marked stale.
    Partial,
    /// Not read at all; the graph is as it was before the phase.
    Failed,
}

/// One phase.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseReport {
    /// `graphify`, `unity-assets`, `ownership`, `link`.
    pub phase: String,
    /// The source instance: `graphify:main`.
    pub source: Name,
    /// How it ended.
    pub state: PhaseState,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The revision of the source, where it has one.
    pub revision: Option<Name>,
    /// The sequence of the graph after the phase.
    pub seq: Seq,
    /// The bytes that the phase added to the log.
    pub log_bytes: u64,
    /// What happened to entities.
    pub entities: Counts,
    /// What happened to relations.
    pub relations: Counts,
    /// What happened to file groups: `changed` counts those that were reconciled.
    pub groups: Counts,
    /// Groups that could not be read and are kept as they were.
    pub stale: u64,
    /// What was read, skipped and found defective.
    pub read: Report,
}

/// A rebuild.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RebuildReport {
    /// `complete`, or `failed` when a phase failed or was read in part.
    pub state: String,
    /// The sequence of the graph before.
    pub seq_before: Seq,
    /// The sequence of the graph after.
    pub seq: Seq,
    /// The bytes added to the log.
    pub log_bytes: u64,
    /// The phases, in order.
    pub phases: Vec<PhaseReport>,
}

impl RebuildReport {
    /// Whether every phase read all of its input.
    pub fn is_complete(&self) -> bool {
        self.phases.iter().all(|phase| matches!(phase.state, PhaseState::Complete | PhaseState::Skipped))
    }
}
