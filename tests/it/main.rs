//! The tests of the library from outside, in one binary.

mod crash;
mod faults;
mod log;
mod samples;
