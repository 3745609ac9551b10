//! What an operator does with a graph: bring it up to date, and look after it.
//!
//! The third shape of operations: over a graph, with a report. No thread and no schedule; the host decides when.

pub mod forget;
pub mod rebuild;
