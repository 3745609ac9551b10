//! One run over a file: what its sections share while their rows are read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::error::Error;
use crate::key::{EntityKey, Name};
use crate::sources::{Parsed, Progress, Report, cancelled};
use crate::value::Value;

use super::groups::Groups;
use super::paths::Paths;
use super::row::{At, Cell, NAME_BYTES_MAX, Row, brief};
use super::words::Words;
use super::{Graphify, Limits, unread};

/// How many rows lie between two calls of the watcher.
const ROWS_PER_STEP: u64 = 4_096;

/// The state of a run.
pub(super) struct Reading<'r> {
    /// The instance, which is also the authority over the graph's ids.
    pub(super) instance: Name,
    pub(super) paths: Paths,
    pub(super) words: Words,
    pub(super) groups: Groups,
    pub(super) report: Report,
    file: &'r str,
    limits: Limits,
    progress: &'r mut dyn Progress,
    done: u64,
    rows: u64,
    /// How many relation names, classes and file types were met.
    names: usize,
    /// How many rows were left out: what they said may be known from before.
    lost: u64,
}

impl<'r> Reading<'r> {
    /// A run over a file of so many rows.
    pub(super) fn new(
        source: &'r Graphify,
        report: Report,
        rows: usize,
        progress: &'r mut dyn Progress,
    ) -> Reading<'r> {
        Reading {
            instance: source.instance.clone(),
            paths: Paths::new(&source.at),
            words: Words::new(),
            groups: Groups::default(),
            report,
            file: &source.file,
            limits: source.limits,
            progress,
            done: 0,
            rows: rows as u64,
            names: 0,
            lost: 0,
        }
    }

    /// The file that is read.
    pub(super) fn file(&self) -> &'r str {
        self.file
    }

    /// Hands the rows of a section, one by one, to `each`.
    pub(super) fn each<'a>(
        &mut self,
        section: &'static str,
        rows: &[&'a RawValue],
        mut each: impl FnMut(&mut Reading<'r>, At<'r>, Row<'a>),
    ) -> Result<(), Error> {
        for (index, raw) in rows.iter().enumerate() {
            if self.done.is_multiple_of(ROWS_PER_STEP) && self.progress.step(self.done, Some(self.rows)).is_break() {
                return Err(cancelled());
            }
            self.done += 1;
            let at = At { file: self.file, section, index };
            match Row::read(raw, self.limits.row_bytes_max, at, &mut self.report) {
                Some(row) => each(self, at, row),
                None => self.lost += 1,
            }
        }
        Ok(())
    }

    /// A text or whole number; none where the field says nothing or is something else, which is reported.
    pub(super) fn text<'a>(&mut self, at: At<'_>, field: &str, cell: Cell<'a>) -> Option<Cow<'a, str>> {
        match cell {
            Cell::Text(text) => (!text.is_empty()).then_some(text),
            Cell::Value(Value::Null) => None,
            Cell::Value(Value::Int(int)) => Some(int.to_string().into()),
            Cell::Value(_) | Cell::TooDeep => {
                self.report.defect(at.to_string(), "wrong_type", format!("expected a text as {:?}", brief(field)));
                None
            }
        }
    }

    /// A text that may name something: an id, a relation, a path. One that is too long is reported and is none.
    pub(super) fn name<'a>(&mut self, at: At<'_>, field: &str, cell: Cell<'a>) -> Option<Cow<'a, str>> {
        let text = self.text(at, field, cell)?;
        if text.len() > NAME_BYTES_MAX {
            let bytes = text.len();
            let detail = format!("expected at most {NAME_BYTES_MAX} bytes as {field:?}, found {bytes}; left out");
            self.report.defect(at.to_string(), "too_long", detail);
            return None;
        }
        Some(text)
    }

    /// The key of what this graph calls `id`.
    pub(super) fn key(&mut self, kind: &str, id: &str) -> EntityKey {
        EntityKey { kind: self.words.name(kind), authority: self.instance.clone(), external_id: id.into() }
    }

    /// A row is left out.
    pub(super) fn lose(&mut self, at: At<'_>, reason: &str, detail: impl Into<String>) {
        self.lost += 1;
        self.report.defect(at.to_string(), reason, detail);
    }

    /// Counts `what` `times` times.
    pub(super) fn count(&mut self, what: impl Into<String>, times: u64) {
        *self.report.counts.entry(what.into()).or_default() += times;
    }

    /// Counts how often each name of a kind of names was met.
    pub(super) fn tally(&mut self, what: &str, names: BTreeMap<String, u64>) {
        self.names += names.len();
        if self.names <= self.limits.names_max {
            for (name, times) in names {
                self.count(format!("{what}:{name}"), times);
            }
        }
    }

    /// All that was read.
    pub(super) fn finish(mut self, revision: Name) -> Parsed {
        let file = self.file;
        if self.names > self.limits.names_max {
            let (most, names) = (self.limits.names_max, self.names);
            let detail =
                format!("expected at most {most} relations and file types, found {names}; each would become a type");
            self.report.defect(file, "too_many_names", detail);
            return unread(self.report);
        }
        self.paths.report(file, &mut self.report);
        let (groups, repeated) = self.groups.finish(&self.instance);
        if repeated > 0 {
            *self.report.counts.entry("repeated".into()).or_default() += repeated;
        }
        let in_part = self.lost > 0;
        Parsed { revision: Some(revision), groups, in_part, report: self.report, ..Parsed::default() }
    }
}
