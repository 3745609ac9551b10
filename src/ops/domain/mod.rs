//! The production questions: declarative patterns in one table, and the function that runs a row.

pub mod owner;
pub mod patterns;
pub mod run;
