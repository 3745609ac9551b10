//! The tests of the library from outside, in one binary.

mod crash;
mod damage;
mod faults;
mod format;
mod live;
mod log;
mod processes;
mod salvage;
mod samples;
mod store;
