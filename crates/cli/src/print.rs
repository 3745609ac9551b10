//! Where output goes: colours only where a terminal wants them, JSON in one line where none reads it.

use std::io::{self, BufWriter, IsTerminal, Write};

use serde_json::Value;

use crate::outcome::Failure;
use crate::report;
use crate::table::{BAD, SENTENCE_CHARS_MAX, message, sentence};

/// Prints JSON: over several lines on a terminal, else in one.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let stdout = io::stdout().lock();
    let pretty = stdout.is_terminal();
    let mut out = BufWriter::new(stdout);
    if pretty {
        serde_json::to_writer_pretty(&mut out, value)?;
    } else {
        serde_json::to_writer(&mut out, value)?;
    }
    out.write_all(b"\n")?;
    out.flush()
}

/// Prints text for people.
pub(crate) fn shown(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The error of an operation for programs, its message raw but for its length.
pub(crate) fn error(error: &triglyph::Error) -> io::Result<()> {
    let mut value = error.to_json();
    let chars = error.message().chars().count();
    if chars > SENTENCE_CHARS_MAX {
        let half = SENTENCE_CHARS_MAX / 2;
        let head = error.message().chars().take(half);
        let tail = error.message().chars().skip(chars - half);
        value["error"]["message"] = head.chain(['…']).chain(tail).collect::<String>().into();
    }
    json(&value)
}

/// Says on standard error that a command line can't be understood; it echoes words, which may hold anything.
pub(crate) fn usage(error: &clap::Error) -> io::Result<()> {
    let text = error.render().to_string();
    if !error.use_stderr() || text.lines().all(|line| sentence(line) == line) {
        return error.print();
    }
    let mut out = anstream::stderr().lock();
    writeln!(out, "{}", message(&text))?;
    out.flush()
}

/// Says on standard error what went wrong, and what could have been meant.
pub(crate) fn complain(failure: &Failure) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    writeln!(out, "{BAD}error:{BAD:#} {}", message(&failure.to_string()))?;
    if let Failure::Operation(error) = failure {
        out.write_all(report::candidates(error).as_bytes())?;
    }
    if matches!(failure, Failure::Usage(_)) {
        writeln!(out, "\nFor more, try --help.")?;
    }
    out.flush()
}
