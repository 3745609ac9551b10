//! The integration tests, in one binary: each further file in `tests/` would link the library again.

mod tidy;
