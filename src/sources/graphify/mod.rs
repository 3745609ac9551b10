//! Graphify: the code graph of one `graph.json`, in all the shapes that its versions have written.
//!
//! The file is read in two steps. It is skimmed once, which keeps the bounds of each row (a node, a link, a
//! hyperedge); then each row is parsed by itself, straight into an observation. No tree of the whole file is built,
//! and a row that is broken costs that row. What only a whole can have wrong (its syntax, a missing section) makes
//! every group stale, since a file cut short must not withdraw what it no longer holds.
//!
//! 1. The order of nodes, links, hyperedges and keys in the file does not matter: groups are sorted by name,
//!    observations by what they are about and what they say.
//! 2. The group of a node is its `source_file`; the group of a link or hyperedge is its own `source_file`, which need
//!    not be that of its source. What names no file is in the group [`NO_FILE`].
//! 3. An id of the graph has one key: that of its node, or a `Symbol` of that id where there is no such node.
//! 4. Where something stands (`source_file`, `source_location`) and how it was clustered (`community`,
//!    `community_name`, `local_community`) is in the place, never in the properties. Clusters are renumbered by every
//!    run, so whoever compares places leaves those three out.

mod certainty;
mod draft;
mod file;
mod groups;
mod hyperedges;
mod links;
mod nodes;
mod paths;
mod reading;
mod row;
mod words;

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::error::{Code, Error};
use crate::key::Name;
use crate::sources::{Parsed, Progress, Report, Source, SourceFiles};

use nodes::Nodes;
use reading::Reading;

/// The group of all that names no file. A path of the project never begins with a slash, so none is called so.
pub const NO_FILE: &str = "/no-file";

/// The name that Graphify's relations bear as their origin.
pub const ORIGIN: &str = "graphify";

/// A `graph.json` and where its code lies in the project.
///
/// ```
/// use triglyph::sources::Source;
/// use triglyph::sources::graphify::Graphify;
///
/// let source = Graphify::new("main", "graphify-out/graph.json", "game");
/// assert_eq!(*source.instance(), "graphify:main");
/// ```
#[derive(Clone, Debug)]
pub struct Graphify {
    instance: Name,
    file: String,
    at: String,
    limits: Limits,
}

/// How much of a `graph.json` is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The largest file; beyond it, nothing is read and all is stale.
    pub bytes_max: u64,
    /// The most nodes, links and hyperedges together; beyond it, nothing is read and all is stale.
    pub rows_max: usize,
    /// The longest row that is kept whole; of a longer one, long texts are cut and nested values left out, so that
    /// what remains fits the properties of one state ([`BYTES_MAX`](crate::value::BYTES_MAX)).
    pub row_bytes_max: usize,
    /// The most different relations and file types, each of which becomes a type; beyond it, nothing is read and all
    /// is stale.
    pub names_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        // 128 KiB a row: no spelling of a number grows more than fivefold in canonical JSON, and 5 x 128 KiB is well
        // below the megabyte of one state. The largest real row seen is below 2 KiB.
        Limits { bytes_max: 2 << 30, rows_max: 20_000_000, row_bytes_max: 128 << 10, names_max: 4_096 }
    }
}

impl Graphify {
    /// The graph in `file` (a path below the root), as the instance `graphify:<instance>`; its code lies under the
    /// path `at` of the project, empty for the project itself.
    pub fn new(instance: &str, file: &str, at: &str) -> Graphify {
        Graphify {
            instance: format!("{ORIGIN}:{instance}").into(),
            file: file.to_owned(),
            at: at.to_owned(),
            limits: Limits::default(),
        }
    }

    /// The same with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Graphify {
        self.limits = limits;
        self
    }
}

impl Source for Graphify {
    fn instance(&self) -> &Name {
        &self.instance
    }

    /// Reads the graph. A file that is there and can't be understood is no error: all groups are then stale, and the
    /// report says where it broke.
    ///
    /// # Errors
    /// When the file is missing or can't be read, or the run is cancelled.
    fn parse(&self, files: &dyn SourceFiles, progress: &mut dyn Progress) -> Result<Parsed, Error> {
        let mut report = Report::default();
        let bytes = match files.read(&self.file, self.limits.bytes_max) {
            Ok(bytes) => bytes,
            Err(error) if error.code() == Code::TooLarge => {
                report.skip(&self.file, "too_large", error.message());
                return Ok(unread(report));
            }
            Err(error) => return Err(error),
        };
        report.files = 1;
        report.bytes = bytes.len() as u64;
        let text = self.text(&bytes, &mut report);
        let file = match file::skim(&text, self.limits.rows_max) {
            Ok(file) => file,
            Err(flaw) => {
                report.defect(format!("{}{}", self.file, flaw.at), flaw.reason, flaw.detail);
                return Ok(unread(report));
            }
        };

        let mut reading = Reading::new(self, report, file.rows(), progress);
        let mut nodes = Nodes::read(&file.nodes, &mut reading)?;
        links::read(&file.links, &mut nodes, &mut reading)?;
        hyperedges::read(&file.hyperedges, &mut nodes, &mut reading)?;
        nodes.report_missing(&mut reading);

        let revision = file.built_at_commit.map_or_else(|| digest(&bytes), Name::from);
        Ok(reading.finish(revision))
    }
}

impl Graphify {
    /// The text of the file; bytes that are not UTF-8 are replaced and reported.
    fn text<'a>(&self, bytes: &'a [u8], report: &mut Report) -> Cow<'a, str> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(error) => {
                let at = error.valid_up_to();
                report.defect(&self.file, "not_utf8", format!("expected UTF-8, found another byte at offset {at}"));
                String::from_utf8_lossy(bytes)
            }
        }
    }
}

/// Nothing could be read: all that is known stays, and is stale.
fn unread(report: Report) -> Parsed {
    Parsed { all_stale: true, report, ..Parsed::default() }
}

/// The revision of a file that names none: the first 64 bits of its SHA-256.
fn digest(bytes: &[u8]) -> Name {
    let digest = Sha256::digest(bytes);
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&digest[..8])).into()
}
