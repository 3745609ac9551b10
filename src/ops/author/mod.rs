//! The tri-graph's own words: types, entities, and what authors say of them.

pub mod canonical;
