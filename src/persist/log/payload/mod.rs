//! What a frame carries: a commit as bytes.
//!
//! Commits repeat themselves: a rebuild says the same source, kind and property name a thousand times. So every string
//! and every id stands once, in a dictionary at the front, in the order in which the changes first use it; the changes
//! name them by number. Numbers are varints (LEB128, shortest form), signed ones zigzag.
//!
//! 1. One commit has one spelling: bytes that decode are the bytes that the commit encodes to. (Shortest varints, every
//!    entry of a dictionary distinct and first used in its order, properties sorted by name.)
//! 2. Decoding takes no more memory than a fixed multiple of the bytes read so far, whatever counts they announce, and
//!    no more stack than [`DEPTH_MAX`] values.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod decode;
mod encode;

pub(crate) use decode::{Malformed, decode};
pub(crate) use encode::encode;

/// Change tags.
const NAME: u8 = 1;
const SAY: u8 = 2;
const UNSAY: u8 = 3;
const PLACE: u8 = 4;
const GROUP: u8 = 5;
const NOTE: u8 = 6;

/// Value tags; `NONE` where a value may be missing.
const NONE: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const INT: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const MAP: u8 = 8;

/// Topic, voice and start tags.
const ENTITY: u8 = 0;
const RELATION: u8 = 1;
const AUTHOR: u8 = 0;
const RECORD: u8 = 1;
const OBSERVED: u8 = 0;
const UNBOUNDED: u8 = 1;
const TOLD: u8 = 2;

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ (value as i64 & 1).wrapping_neg()
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests;
