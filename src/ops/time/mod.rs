//! Reads in time.

pub mod history;
