//! Bounded expansion: from subjects along matching relations, and what was left out.
//!
//! `expand` runs a *plan* (which relations match at an entity, in which state); `account` counts what the answer
//! lacks; `path` says how each entity was reached. The generic walk is the plan with one state.

pub(crate) mod account;
pub(crate) mod expand;
pub mod generic;
pub(crate) mod path;

#[cfg(test)]
mod tests;
