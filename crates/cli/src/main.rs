//! The command line of Triglyph.

fn main() {}
