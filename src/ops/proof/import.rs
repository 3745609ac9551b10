//! `import`: JSON Lines into edits; an export, or what people and programs write by hand.
//!
//! Every line is read on its own, then all are looked at together: a line may name what a later one declares. What an
//! export says comes back as it was said (witnesses' lines as whole groups, authors' as restated words); plain lines are
//! the author's own. The edits are then decided on trial against the view, and those that would be refused are left out,
//! so that what remains is taken as one batch. `docs/import-export.md` describes the lines.
//!
//! 1. A bad line is reported by its number and never fails the rest. A group that misses a line is not taken for
//!    complete: where it is known here it stays as it is, and is marked stale.
//! 2. Importing the same lines again asks for nothing new.
//! 3. What is named by a text must mean one thing, in the file and the graph together.

mod declared;
mod fields;
mod line;
mod plan;

use std::io::{BufRead, ErrorKind};

use serde::Serialize;

use self::line::Line;
use self::plan::Plan;
use crate::change::Edit;
use crate::engine::lens::Lens;
use crate::error::{Code, Error};
use crate::time::Time;

/// The most bytes that one line may have.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// How many damaged lines a report lists; the others are counted.
pub const DAMAGED_MAX: usize = 1_000;

/// What the lines ask for.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    /// The additions to the ontology, where they are new: to be committed before the rest.
    pub ontology: Option<Edit>,
    /// Everything else, in an order in which it may also be committed in several batches.
    pub edits: Vec<Edit>,
    /// What was read.
    pub report: ImportReport,
}

/// What was read, what it comes to, and what could not be taken.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct ImportReport {
    /// Lines that were not blank.
    pub lines: u64,
    /// Entities to create.
    pub entities: u64,
    /// Relations to write.
    pub relations: u64,
    /// Facts to write.
    pub facts: u64,
    /// Ends to write.
    pub ends: u64,
    /// Changes to repudiate.
    pub repudiations: u64,
    /// Authors' words of an export.
    pub restated: u64,
    /// Groups of sources.
    pub groups: u64,
    /// What the records of those groups say.
    pub observations: u64,
    /// Lines that said what an earlier one had said.
    pub repeated: u64,
    /// Lines that were left out, by number.
    pub damaged: Vec<Damaged>,
    /// Further such lines, beyond the first [`DAMAGED_MAX`].
    pub damaged_unlisted: u64,
}

impl ImportReport {
    fn damage(&mut self, line: u64, reason: impl Into<String>) {
        if self.damaged.len() < DAMAGED_MAX {
            self.damaged.push(Damaged { line, reason: reason.into() });
        } else {
            self.damaged_unlisted += 1;
        }
    }

    fn count(&mut self, edit: &Edit) {
        match edit {
            Edit::Create { .. } => self.entities += 1,
            Edit::Relate { .. } => self.relations += 1,
            Edit::Fact { .. } => self.facts += 1,
            Edit::End { .. } => self.ends += 1,
            Edit::Repudiate { .. } => self.repudiations += 1,
            Edit::Restate(_) => self.restated += 1,
            Edit::Observe { group, .. } | Edit::ObserveInPart(group) => {
                self.groups += 1;
                self.observations += group.observations.len() as u64;
            }
            Edit::Withdraw(_) | Edit::Mark { .. } | Edit::Note { .. } => {}
        }
    }
}

/// A line that was left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Damaged {
    /// Its number, from 1.
    pub line: u64,
    /// What was expected and found.
    pub reason: String,
}

/// Reads lines and says what they ask of the graph under the lens, to be recorded at `now`. Writes nothing.
///
/// Costs one look at each line, and one trial decision; everything is held in memory.
///
/// # Errors
/// What reading says; `unsupported_version` for an export of another version. A damaged line is no error.
pub fn import(lens: &Lens, input: &mut dyn BufRead, now: Time) -> Result<Imported, Error> {
    let mut report = ImportReport::default();
    let mut plan = Plan::new(lens, now);
    let (mut buffer, mut number, mut announced) = (Vec::new(), 0, None);
    while let Some(whole) = next_line(input, &mut buffer).map_err(|error| Error::io("reading the import", &error))? {
        number += 1;
        if !whole {
            report.lines += 1;
            report.damage(number, format!("expected a line of at most {LINE_BYTES_MAX} bytes, found a longer one"));
            continue;
        }
        let text = match std::str::from_utf8(&buffer) {
            Ok(text) => if number == 1 { text.trim_start_matches('\u{feff}') } else { text }.trim(),
            Err(error) => {
                report.lines += 1;
                report.damage(
                    number,
                    format!("expected UTF-8, found another byte at column {}", error.valid_up_to() + 1),
                );
                continue;
            }
        };
        if text.is_empty() {
            continue;
        }
        report.lines += 1;
        match line::read(text) {
            Ok(Line::Header { lines }) if report.lines == 1 => announced = lines,
            Ok(Line::Header { .. }) => report.damage(number, "expected the header of an export in the first line only"),
            Ok(line) => plan.add(number, line, &mut report),
            Err(error) if error.code() == Code::UnsupportedVersion => {
                return Err(error.at(format_args!("line {number}")));
            }
            Err(error) => {
                report.damage(number, error.message());
                plan.damaged(line::group_of(text));
            }
        }
    }
    if let Some(announced) = announced.filter(|announced| *announced + 1 > report.lines) {
        let found = report.lines - 1;
        let message = format!("expected {announced} lines after the header, found {found}: the file was cut short");
        report.damage(number + 1, message);
    }
    let (ontology, edits) = plan.edits(&mut report);
    edits.iter().for_each(|edit| report.count(edit));
    report.damaged.sort_by_key(|damaged| damaged.line);
    Ok(Imported { ontology, edits, report })
}

/// Reads a line without its line feed into `buffer`; false when it was too long to keep, none at the end.
fn next_line(input: &mut dyn BufRead, buffer: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    buffer.clear();
    let (mut any, mut whole) = (false, true);
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        whole &= buffer.len() + part.len() <= LINE_BYTES_MAX;
        if whole {
            buffer.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}
