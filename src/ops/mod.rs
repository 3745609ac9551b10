//! What the product does: reads over a lens, and writes that make a batch.
//!
//! Two shapes. A *read* takes a lens, a request and a meter and gives an answer; a *write* takes a lens and a request
//! and gives a batch for the caller to commit. Nothing here sees a graph, so no read can write. Requests and answers
//! stand beside their function; [`operations`](crate::operations) lists every operation once.

pub mod author;
pub(crate) mod cursor;
pub mod domain;
pub mod look;
pub mod proof;
pub mod shape;
pub mod status;
pub mod subject;
pub mod time;
pub mod walk;
