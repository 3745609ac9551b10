//! What a scope holds, told so that others can check it: its digest, its export, and the way back in.
//!
//! *Content* is what is said, by whom, since when it was told to hold; not when this store came to hear of it. Two
//! stores that heard the same sources say the same, in whatever order and however often, have the same content.

pub mod digest;
pub mod export;
pub mod import;
pub(crate) mod lines;
pub(crate) mod steps;

#[cfg(test)]
mod tests;
