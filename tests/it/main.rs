//! The tests of the library from outside, in one binary.

mod log;
mod samples;
