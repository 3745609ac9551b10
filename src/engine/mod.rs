//! The tri-graph: what is, what it means, and what it was.

pub mod ontology;
