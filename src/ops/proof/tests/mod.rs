//! Content, through every road: observed in any order, exported and imported again, written out by hand.

mod bench;
mod examples;
mod incremental;
mod roundtrip;
