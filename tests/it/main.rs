//! The integration tests, in one binary: each further file in `tests/` would link the library again.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod data;
mod folder;
mod unity;
