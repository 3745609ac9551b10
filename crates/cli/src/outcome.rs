//! What a command comes to: an output for people and for programs, or a failure.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// What a command found, in both its forms.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// For programs; null where the command has printed its output itself.
    pub(crate) json: Value,
    /// For people; styled, lines end with a newline.
    pub(crate) shown: String,
    /// Whether what was found is itself bad news: a failed rebuild, a digest that differs.
    pub(crate) failed: bool,
}

impl Output {
    /// An output whose JSON is `value`.
    pub(crate) fn new(value: &impl Serialize, shown: String) -> Result<Output, Failure> {
        Ok(Output { json: serde_json::to_value(value).map_err(io::Error::from)?, shown, failed: false })
    }

    /// What a command comes to that has printed its output itself.
    pub(crate) fn printed() -> Output {
        Output::default()
    }

    /// The exit status.
    pub(crate) fn status(&self) -> i32 {
        i32::from(self.failed)
    }
}

/// Why a command found nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked in a way that can't be understood: flags, or `triglyph.toml`.
    Usage(String),
    /// The library refused.
    Operation(triglyph::Error),
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    /// The exit status.
    pub(crate) fn status(&self) -> i32 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Operation(_) | Failure::Output(_) => 1,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Usage(message) => f.write_str(message),
            Failure::Operation(error) => f.write_str(error.message()),
            Failure::Output(error) => write!(f, "writing the output: {error}"),
        }
    }
}

impl From<triglyph::Error> for Failure {
    fn from(error: triglyph::Error) -> Failure {
        Failure::Operation(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}
