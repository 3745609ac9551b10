//! The integration tests, in one binary: each further file in `tests/` would link the library again.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod bad_input;
mod crash;
mod damage;
mod data;
mod faults;
mod files;
mod format;
mod graphify;
mod handles;
mod isolation;
mod kill;
mod live;
mod log;
mod nav2;
mod operations;
mod ownership;
mod processes;
mod proof;
mod revisions;
mod salvage;
mod samples;
mod store;
mod studio;
mod tidy;
mod unity;
