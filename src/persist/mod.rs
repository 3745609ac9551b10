//! The only code that touches files.

pub mod roots;
