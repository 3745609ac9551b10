//! Integration tests, in one binary: each further one would link the library again.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod data;
mod graphify;
