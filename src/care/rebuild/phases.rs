//! The phases of a rebuild as a state machine without a thread: each step is called, reports, and returns.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde::Serialize;

use super::fingerprint::of_input;
use super::linking;
use super::reconcile::{Reconciled, reconcile};
use super::report::{PhaseReport, PhaseState, RebuildReport};
use crate::change::Edit;
use crate::engine::state::{ONTOLOGY_NOTE, PTYPES_NOTE};
use crate::error::{Code, Error};
use crate::graph::{Counts, Graph};
use crate::key::Name;
use crate::ops::proof::digest;
use crate::persist::Durability;
use crate::sources::link::LINK;
use crate::sources::{Parsed, Progress, Report, Source, SourceFiles};
use crate::value::Value;

/// The phases, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Code graphs.
    Graphify,
    /// A Unity project's assets.
    UnityAssets,
    /// Who owns what.
    Ownership,
    /// Facts across sources.
    Link,
}

impl Phase {
    /// The name of the phase.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Graphify => "graphify",
            Phase::UnityAssets => "unity-assets",
            Phase::Ownership => "ownership",
            Phase::Link => "link",
        }
    }
}

/// One source of a rebuild, and where it reads.
pub struct Input {
    /// Its phase.
    pub phase: Phase,
    /// The parser.
    pub source: Box<dyn Source>,
    /// Its files; an error (a missing folder) fails the phase and no other.
    pub files: Result<Box<dyn SourceFiles>, Error>,
    /// Whatever about the parser's settings decides what it says: a change of it makes unchanged files be read again.
    pub config: String,
}

/// Who watches a rebuild.
pub trait RebuildProgress {
    /// A phase begins.
    fn begin(&mut self, phase: &str, source: &str);

    /// `done` of `total` units of the phase are read. Breaks to cancel.
    fn step(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()>;

    /// The phase has ended.
    fn end(&mut self, report: &PhaseReport);
}

/// Nobody watches.
impl RebuildProgress for () {
    fn begin(&mut self, _: &str, _: &str) {}

    fn step(&mut self, _: u64, _: Option<u64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: &PhaseReport) {}
}

struct Steps<'a>(&'a mut dyn RebuildProgress);

impl Progress for Steps<'_> {
    fn step(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()> {
        self.0.step(done, total)
    }
}

/// The note that holds the report of the last rebuild that did anything.
pub(crate) const REPORT_NOTE: &str = "report/rebuild";

/// How many findings of a phase the stored report keeps.
const NOTED_MAX: usize = 50;

/// Brings the graph up to date with its sources.
///
/// Every phase is one commit, durable when its report is made. A source that is not among the inputs is left as it is.
///
/// # Errors
/// `conflict` while another rebuild of the scope runs; `interrupted` when the watcher cancelled (phases that had ended
/// stand); whatever stops the writer (`locked`, `poisoned`, `no_space`). A source that can't be read is no error but a
/// failed phase.
pub fn rebuild(
    graph: &Graph,
    mut inputs: Vec<Input>,
    progress: &mut dyn RebuildProgress,
) -> Result<RebuildReport, Error> {
    let _admission = graph.admit_rebuild()?;
    // What is reconciled must be what is there when it is committed: no other process writes meanwhile.
    graph.take_writer()?;
    inputs.sort_by(|a, b| (a.phase, a.source.instance()).cmp(&(b.phase, b.source.instance())));
    if let Some(pair) = inputs.windows(2).find(|pair| pair[0].source.instance() == pair[1].source.instance()) {
        let name = pair[0].source.instance();
        return Err(Error::invalid(format!("two sources are called {name}; give each its own name, as in name=PATH")));
    }
    let seq_before = graph.view().seq();
    let mut phases = Vec::with_capacity(inputs.len() + 1);
    for input in &inputs {
        progress.begin(input.phase.as_str(), input.source.instance());
        let report = read(graph, input, progress)?;
        progress.end(&report);
        phases.push(report);
    }
    progress.begin(Phase::Link.as_str(), LINK);
    let report = link(graph)?;
    progress.end(&report);
    phases.push(report);
    let log_bytes = phases.iter().map(|phase| phase.log_bytes).sum();
    let mut report = RebuildReport { state: String::new(), seq_before, seq: graph.view().seq(), log_bytes, phases };
    report.state = if report.is_complete() { "complete" } else { "failed" }.into();
    if report.log_bytes > 0 || !report.is_complete() {
        report.log_bytes += note(graph, &report)?;
        report.seq = graph.view().seq();
    }
    Ok(report)
}

/// One source's phase.
fn read(graph: &Graph, input: &Input, progress: &mut dyn RebuildProgress) -> Result<PhaseReport, Error> {
    let instance = input.source.instance();
    let note = Name::from(format!("input/{instance}"));
    let view = graph.view();
    let fingerprint = input.files.as_ref().ok().and_then(|files| of_input(instance, &input.config, &**files));
    let known = fingerprint.as_ref().map(Value::from);
    if known.is_some() && view.engine.notes.get(&note) == known.as_ref() {
        let mut report = empty(input.phase, instance, view.seq());
        report.state = PhaseState::Skipped;
        report.groups.unchanged = unchanged_groups(graph, instance);
        report.revision = whole_revision(graph, instance);
        return Ok(report);
    }
    let parsed = match &input.files {
        Ok(files) => input.source.parse(&**files, &mut Steps(progress)),
        Err(error) => Err(error.clone()),
    };
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) if error.code() == Code::Interrupted => return Err(error),
        Err(error) => {
            let mut report = commit(graph, input.phase, instance, all_stale(), Some((note, None)))?;
            report.state = PhaseState::Failed;
            report.error = Some(error.message().to_owned());
            return Ok(report);
        }
    };
    // Input that changed while it was read is read again next time.
    let settled = known.is_some()
        && input.files.as_ref().ok().and_then(|files| of_input(instance, &input.config, &**files)) == fingerprint;
    commit(graph, input.phase, instance, parsed, Some((note, known.filter(|_| settled))))
}

/// What a source that can't be read at all says: nothing, so that all that is known of it becomes stale.
fn all_stale() -> Parsed {
    Parsed { all_stale: true, ..Parsed::default() }
}

/// The phase `link`.
pub(crate) fn link(graph: &Graph) -> Result<PhaseReport, Error> {
    commit(graph, Phase::Link, &LINK.into(), linking::link(&graph.view()), None)
}

/// Commits the difference between what a source says and what the graph knows.
fn commit(
    graph: &Graph,
    phase: Phase,
    instance: &Name,
    mut parsed: Parsed,
    hint: Option<(Name, Option<Value>)>,
) -> Result<PhaseReport, Error> {
    let view = graph.view();
    let mut report = empty(phase, instance, view.seq());
    report.revision = parsed.revision.clone();
    report.read = std::mem::take(&mut parsed.report);
    let all_stale = parsed.all_stale;
    let read: BTreeSet<&Name> = parsed.groups.iter().map(|group| &group.key.group).collect();
    let unread = parsed.stale.iter().filter(|name| !name.ends_with('/') && !read.contains(name)).count() as u64;
    let Reconciled { edits, groups, entities_unchanged, relations_unchanged, stale } =
        reconcile(&view.engine, instance, parsed);
    report.groups = groups;
    report.stale = stale.max(unread);
    report.entities.unchanged = entities_unchanged;
    report.relations.unchanged = relations_unchanged;
    report.state = match (all_stale, report.stale) {
        (true, _) => PhaseState::Failed,
        (false, 0) => PhaseState::Complete,
        (false, _) => PhaseState::Partial,
    };
    if edits.is_empty() {
        return Ok(report);
    }
    let mut batch = graph.batch()?;
    // What is stale must be read again, whether or not its input changes.
    let whole = !all_stale && report.stale == 0;
    let hint = hint.map(|(name, body)| Edit::Note { name, body: body.filter(|_| whole) });
    for edit in edits.into_iter().chain(hint) {
        batch.push(edit);
    }
    let committed = match graph.commit(batch, Durability::Sync) {
        Ok(committed) => committed,
        // What a source says may be refused; that is a failed phase, and nothing of it was written.
        Err(error) if matches!(error.code(), Code::Invalid | Code::Conflict | Code::TooLarge) => {
            let mut failed = empty(phase, instance, view.seq());
            (failed.state, failed.error) = (PhaseState::Failed, Some(error.message().to_owned()));
            failed.read = report.read;
            return Ok(failed);
        }
        Err(error) => return Err(error),
    };
    report.seq = committed.seq;
    report.log_bytes = committed.bytes;
    report.entities += committed.entities;
    report.relations += committed.relations;
    Ok(report)
}

fn empty(phase: Phase, source: &Name, seq: crate::id::Seq) -> PhaseReport {
    PhaseReport {
        phase: phase.as_str().into(),
        source: source.clone(),
        state: PhaseState::Complete,
        error: None,
        revision: None,
        seq,
        log_bytes: 0,
        entities: Counts::default(),
        relations: Counts::default(),
        groups: Counts::default(),
        stale: 0,
        read: Report::default(),
    }
}

fn unchanged_groups(graph: &Graph, instance: &Name) -> u64 {
    let view = graph.view();
    let groups = view.engine.witnesses.groups_of(instance);
    groups.filter(|group| !group.key.group.is_empty() && group.row(view.seq()).is_some()).count() as u64
}

fn whole_revision(graph: &Graph, instance: &Name) -> Option<Name> {
    let view = graph.view();
    let group = view.engine.witnesses.find_group(&crate::GroupKey::whole(instance))?;
    view.engine.witnesses.group_at(group).row(view.seq())?.revision.clone()
}

/// Keeps the report in the store. It holds no sequence and no size, so that the same failure again writes nothing.
fn note(graph: &Graph, report: &RebuildReport) -> Result<u64, Error> {
    let mut kept = report.clone();
    (kept.seq_before, kept.seq, kept.log_bytes) = Default::default();
    for phase in &mut kept.phases {
        (phase.seq, phase.log_bytes) = Default::default();
        phase.read.skipped.truncate(NOTED_MAX);
        phase.read.defects.truncate(NOTED_MAX);
    }
    let body = serde_json::to_value(&kept).map_err(|error| Error::invalid(error.to_string()))?;
    let mut batch = graph.batch()?;
    batch.push(Edit::Note { name: REPORT_NOTE.into(), body: Some(Value::try_from(body)?) });
    Ok(graph.commit(batch, Durability::Sync)?.bytes)
}

/// What `--verify` found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Verified {
    /// Whether the projected content equals that of a rebuild from nothing.
    pub equal: bool,
    /// The projected digest of the graph.
    pub projected: String,
    /// The projected digest of a rebuild from nothing.
    pub fresh: String,
}

/// Proves that the graph holds what a rebuild from nothing over the same inputs would (spec E-4).
///
/// `fresh` is an empty graph of the same scope. Costs a full rebuild.
///
/// # Errors
/// As [`rebuild`].
pub fn verify(
    graph: &Graph,
    fresh: &Graph,
    inputs: Vec<Input>,
    progress: &mut dyn RebuildProgress,
) -> Result<Verified, Error> {
    let mut batch = fresh.batch()?;
    for name in [ONTOLOGY_NOTE, PTYPES_NOTE] {
        // What a type declares decides what goes under `extra`.
        batch.push(Edit::Note { name: name.into(), body: graph.view().engine.notes.get(name).cloned() });
    }
    fresh.commit(batch, Durability::Buffered)?;
    rebuild(fresh, inputs, progress)?;
    let view = graph.view();
    let stale: u64 =
        view.engine.witnesses.groups().filter(|group| group.row(view.seq()).is_some_and(|row| row.stale)).count()
            as u64;
    if stale > 0 {
        let message = format!(
            "{stale} file groups could not be read last time; the graph keeps what they said, and a rebuild from nothing \
             can't: mend the inputs, rebuild, and verify again"
        );
        return Err(Error::new(Code::Conflict, message));
    }
    let projected = digest::projected(&graph.view().lens());
    let fresh = digest::projected(&fresh.view().lens());
    Ok(Verified { equal: projected == fresh, projected, fresh })
}
