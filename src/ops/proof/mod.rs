//! placeholder
pub mod digest;
