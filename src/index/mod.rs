//! Data structures over dense integers.
//!
//! What lies here knows positions and bytes; it doesn't know scopes, trust, files or locks. Everything is
//! copy-on-write: a clone is cheap and shares what neither side has changed since, so that a view taken before a
//! commit goes on unchanged beside it.

pub(crate) mod adjacency;
pub(crate) mod keys;
pub(crate) mod names;
pub(crate) mod paged;
