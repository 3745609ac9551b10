//! The stage: runs one command after another, shows it, and keeps count of what was as expected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use triglyph::Code;

use crate::outcome::{Failure, Output};
use crate::table::{BAD, DIM, GOOD, HEAD, message, table, text};
use crate::{args, commands, print, report};

/// What a check says: what was as expected, or what was not.
pub(super) type Verdict = Result<String, String>;

/// One step that was run.
struct Done {
    title: &'static str,
    command: String,
    verdict: Verdict,
    took: Duration,
}

/// The steps so far.
pub(super) struct Stage {
    quiet: bool,
    begun: Instant,
    done: Vec<Done>,
}

/// How much of an output is shown.
const LINES_MAX: usize = 16;

impl Stage {
    /// An empty stage; a quiet one shows nothing until the end.
    pub(super) fn new(quiet: bool) -> Stage {
        Stage { quiet, begun: Instant::now(), done: Vec::new() }
    }

    /// Runs a command as if it had been typed, shows it and what it printed, and checks what it found.
    ///
    /// Returns what it found, for later steps; null where it failed.
    pub(super) fn step(
        &mut self,
        title: &'static str,
        about: &str,
        words: &[&str],
        check: impl FnOnce(&Value) -> Verdict,
    ) -> Result<Value, Failure> {
        let command = command(words);
        self.announce(title, about, &command)?;
        let begun = Instant::now();
        let run = run(words);
        let took = begun.elapsed();
        let (found, verdict) = match run {
            Ok(Output { json, shown, .. }) => {
                self.say(&clipped(&shown))?;
                let verdict = check(&json);
                (json, verdict)
            }
            Err(failure) => (Value::Null, Err(failure.to_string())),
        };
        self.conclude(title, command, verdict, took)?;
        Ok(found)
    }

    /// Runs a command that has to be refused with this code.
    pub(super) fn refused(
        &mut self,
        title: &'static str,
        about: &str,
        words: &[&str],
        code: Code,
    ) -> Result<(), Failure> {
        let command = command(words);
        self.announce(title, about, &command)?;
        let begun = Instant::now();
        let verdict = match run(words) {
            Err(Failure::Operation(error)) if error.code() == code => {
                self.say(&clipped(&format!("{}\n{}", message(error.message()), report::candidates(&error))))?;
                Ok(format!("refused as {}", code.as_str()))
            }
            Err(failure) => Err(failure.to_string()),
            Ok(_) => Err(format!("expected {}, found an answer", code.as_str())),
        };
        self.conclude(title, command, verdict, begun.elapsed())
    }

    /// A step that is no command of its own.
    pub(super) fn act(
        &mut self,
        title: &'static str,
        about: &str,
        command: String,
        act: impl FnOnce() -> Verdict,
    ) -> Result<(), Failure> {
        self.announce(title, about, &command)?;
        let begun = Instant::now();
        let verdict = act();
        self.conclude(title, command, verdict, begun.elapsed())
    }

    /// The table of all steps.
    pub(super) fn end(self, kept: bool) -> Result<Output, Failure> {
        let mut rows = table(&["#step", "", "what", "#took"]);
        for (i, done) in self.done.iter().enumerate() {
            let mark = if done.verdict.is_ok() { "ok" } else { "NOT AS EXPECTED" };
            rows.add_row([(i + 1).to_string(), mark.to_owned(), done.title.to_owned(), millis(done.took)]);
        }
        let failed = self.done.iter().filter(|done| done.verdict.is_err()).count();
        let (total, took) = (self.done.len(), self.begun.elapsed());
        let mut shown = format!("\n{}\n", text(&rows));
        shown += &match failed {
            0 => format!("{GOOD}All {total} steps were as expected{GOOD:#}, in {:.1} s.\n", took.as_secs_f64()),
            _ => format!("{BAD}{failed} of {total} steps were not as expected{BAD:#}; see above.\n"),
        };
        if !kept {
            shown += "The store was a temporary one; `triglyph demo --keep FOLDER` leaves it for you to go on with.\n";
        }
        let steps = self.done.iter().map(|done| {
            let (ok, said) = (done.verdict.is_ok(), done.verdict.as_ref().unwrap_or_else(|why| why));
            json!({ "title": done.title, "command": done.command, "ok": ok, "found": said, "millis": done.took.as_millis() as u64 })
        });
        let json = json!({ "ok": failed == 0, "steps": steps.collect::<Vec<_>>(), "millis": took.as_millis() as u64 });
        Ok(Output { json, shown, failed: failed > 0 })
    }

    fn announce(&self, title: &str, about: &str, command: &str) -> Result<(), Failure> {
        let number = self.done.len() + 1;
        self.say(&format!("\n{HEAD}{number}. {title}{HEAD:#}\n{about}\n\n{DIM}${DIM:#} {command}\n"))
    }

    fn conclude(
        &mut self,
        title: &'static str,
        command: String,
        verdict: Verdict,
        took: Duration,
    ) -> Result<(), Failure> {
        self.say(&match &verdict {
            Ok(found) => format!("{GOOD}as expected:{GOOD:#} {}  {DIM}{}{DIM:#}\n", message(found), millis(took)),
            Err(why) => format!("{BAD}NOT AS EXPECTED:{BAD:#} {}\n", message(why)),
        })?;
        self.done.push(Done { title, command, verdict, took });
        Ok(())
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if !self.quiet {
            print::shown(text)?;
        }
        Ok(())
    }
}

/// A command as it is typed.
pub(super) fn command(words: &[&str]) -> String {
    let line = words.iter().map(|word| commands::quote(word)).collect::<Vec<_>>().join(" ");
    format!("triglyph {line}")
}

/// Parses and runs a command.
fn run(words: &[&str]) -> Result<Output, Failure> {
    let line = std::iter::once(&"triglyph").chain(words).map(Into::into);
    let args = args::parse(line).map_err(|error| Failure::Usage(error.to_string()))?;
    commands::run(&args)
}

/// The first lines, and how many were left out; the last lines say what an answer lacks, so they stay.
fn clipped(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= LINES_MAX + 1 {
        return text.to_owned();
    }
    let (head, tail) = (&lines[..LINES_MAX - 4], &lines[lines.len() - 4..]);
    let left = lines.len() - LINES_MAX;
    format!("{}\n{DIM}  … {left} lines more{DIM:#}\n{}\n", head.join("\n"), tail.join("\n"))
}

fn millis(took: Duration) -> String {
    format!("{} ms", took.as_millis())
}
