//! `export` and `import`: JSON Lines out and in.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use triglyph::graph::Counts;
use triglyph::ops::proof::export::{Exported, canonical, export as write_export};
use triglyph::ops::proof::import::{ImportReport, Imported, import as read_import};
use triglyph::{Durability, Edit, Error, Graph};

use crate::args::{ExportArgs, Global, ImportArgs};
use crate::outcome::{Failure, Output};
use crate::place::{Place, empty};
use crate::table::{BAD, DIM, GOOD, bytes, count, plural, sentence, whole};

/// How many edits are one commit. What fits is taken whole or not at all; a larger import is taken in parts.
const EDITS_MAX: usize = 250_000;

/// How many damaged lines are shown.
const DAMAGED_MAX: usize = 10;

pub(crate) fn export(args: &ExportArgs, global: &Global) -> Result<Output, Failure> {
    let graph = Place::open(&args.store, global)?.reading(global)?;
    let Some(path) = &args.output else {
        let mut out = Watched { out: BufWriter::new(io::stdout().lock()), failed: None };
        let written = write(&graph, args.canonical, &mut out);
        // What the stream said, and not what the library made of it: a reader that left is no error.
        return match out.failed {
            Some(kind) => Err(Failure::Output(kind.into())),
            None => written.map(|_| Output::printed()),
        };
    };
    let exported = to_file(path, |out| write(&graph, args.canonical, out))?;
    let shown = format!(
        "{GOOD}exported{GOOD:#} {} of {} at sequence {} to {}\n",
        plural(exported.lines, "line"),
        whole(graph.scope()),
        exported.seq,
        whole(path.display())
    );
    Output::new(&json!({ "file": path, "seq": exported.seq, "lines": exported.lines }), shown)
}

fn write(graph: &Graph, as_canonical: bool, out: &mut dyn Write) -> Result<Exported, Failure> {
    let lens = graph.view().lens();
    if !as_canonical {
        return Ok(write_export(&lens, out)?);
    }
    let counts = canonical(&lens, out)?.lines;
    let lines = counts.projected + counts.authored + counts.groups;
    Ok(Exported { seq: graph.view().seq(), lines })
}

/// Writes a file whole or not at all: beside it first, then in its place.
fn to_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>) -> Result<T, Failure> {
    let fail = |error: io::Error| Failure::from(Error::io(format_args!("writing {}", path.display()), &error));
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let written = || -> Result<T, Failure> {
        let mut out = BufWriter::new(File::create(&beside).map_err(fail)?);
        let written = write(&mut out)?;
        out.into_inner().map_err(|error| fail(error.into_error()))?.sync_all().map_err(fail)?;
        std::fs::rename(&beside, path).map_err(fail)?;
        Ok(written)
    };
    written().inspect_err(|_| {
        // The file may not even have been made.
        let _ = std::fs::remove_file(&beside);
    })
}

/// A stream that remembers how it failed.
struct Watched<W> {
    out: W,
    failed: Option<ErrorKind>,
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| self.failed = Some(error.kind()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(|error| self.failed = Some(error.kind()))
    }
}

pub(crate) fn import(args: &ImportArgs, global: &Global) -> Result<Output, Failure> {
    let place = Place::open(&args.store, global)?;
    let mut lines: Box<dyn BufRead> = if args.file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(&args.file);
        let file = file.map_err(|error| Error::io(format_args!("reading {}", args.file.display()), &error))?;
        Box::new(BufReader::new(file))
    };
    let (scope, found) = place.find(global)?;
    let there = found.is_some();
    let mut graph = found.map_or_else(|| empty(&scope), Ok)?;
    let Imported { ontology, edits, report } = read_import(&graph.view().lens(), &mut *lines, graph.now())?;
    if !there && (ontology.is_some() || !edits.is_empty()) {
        // Tried in memory first: lines that are refused make no scope.
        Taken::default().commit_all(&graph, ontology.clone(), edits.clone())?;
        graph = place.store.graph(&scope)?;
    }
    let mut taken = Taken::default();
    taken.commit_all(&graph, ontology, edits)?;
    let damaged = report.damaged.len() as u64 + report.damaged_unlisted;
    let Taken { bytes, entities, relations } = taken;
    let json = json!({
        "report": report, "seq": graph.view().seq(), "bytes": bytes, "entities": entities, "relations": relations,
    });
    let mut output = Output::new(&json, shown(&graph, &report, &taken, damaged))?;
    output.failed = damaged > 0;
    Ok(output)
}

/// What the commits of an import came to.
#[derive(Clone, Copy, Default)]
struct Taken {
    bytes: u64,
    entities: Counts,
    relations: Counts,
}

impl Taken {
    /// The ontology first, since the edits may need it.
    fn commit_all(&mut self, graph: &Graph, ontology: Option<Edit>, edits: Vec<Edit>) -> Result<(), Failure> {
        if let Some(ontology) = ontology {
            self.commit(graph, vec![ontology])?;
        }
        let mut edits = edits.into_iter().peekable();
        while edits.peek().is_some() {
            self.commit(graph, edits.by_ref().take(EDITS_MAX).collect())?;
        }
        Ok(())
    }

    fn commit(&mut self, graph: &Graph, edits: Vec<Edit>) -> Result<(), Failure> {
        let mut batch = graph.batch()?;
        for edit in edits {
            batch.push(edit);
        }
        let committed = graph.commit(batch, Durability::Sync)?;
        self.bytes += committed.bytes;
        self.entities += committed.entities;
        self.relations += committed.relations;
        Ok(())
    }
}

fn shown(graph: &Graph, report: &ImportReport, taken: &Taken, damaged: u64) -> String {
    let mut out = String::new();
    for damaged in report.damaged.iter().take(DAMAGED_MAX) {
        out += &format!("{BAD}line {}:{BAD:#} {}\n", damaged.line, sentence(&damaged.reason));
    }
    if damaged > DAMAGED_MAX as u64 {
        out += &format!("{DIM}and {} more{DIM:#}\n", plural(damaged - DAMAGED_MAX as u64, "damaged line"));
    }
    let parts = [
        ("entity", report.entities),
        ("relation", report.relations),
        ("fact", report.facts),
        ("end", report.ends),
        ("repudiation", report.repudiations),
        ("author's word", report.restated),
        ("file group", report.groups),
    ];
    let parts: Vec<String> = parts.iter().filter(|(_, n)| *n > 0).map(|(noun, n)| plural(*n, noun)).collect();
    let asked = if parts.is_empty() { "nothing new".to_owned() } else { parts.join(", ") };
    let written =
        if taken.bytes == 0 { "nothing written".to_owned() } else { format!("{} written", bytes(taken.bytes)) };
    let (style, state) = if damaged > 0 { (BAD, "imported in part") } else { (GOOD, "imported") };
    out + &format!(
        "{style}{state}{style:#}: {} into {}: {asked}; {written}, sequence {}\n",
        plural(report.lines, "line"),
        whole(graph.scope()),
        count(graph.view().seq().0),
    )
}
