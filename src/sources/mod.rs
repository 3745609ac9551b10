//! What the world says: pure parsers from bytes to observations.
//!
//! A parser is handed a [`SourceFiles`] to read from and touches no file itself; it knows no graph and keeps no state
//! between runs. What it returns is [`Parsed`]: file groups, each complete, and a report of what was read, skipped and
//! found defective. Facts that need two sources are made by `link`, a pure function of what the graph holds.
//!
//! 1. One bad file or record never fails the rest: it is reported by name and reason, and the groups that it would have
//!    filled are listed as *stale*, so that nothing known of them is withdrawn.
//! 2. The same bytes give the same groups, in any order of the walk.
//! 3. Every parser has limits (bytes, depth, line length, entries), and meeting one is a defect, not a crash.

pub mod graphify;
pub mod link;
pub mod ownership;
pub mod unity;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use crate::error::Error;
use crate::key::Name;
use crate::observation::Group;

/// The files beneath one fixed root, read-only and confined.
pub trait SourceFiles: Sync {
    /// Everything beneath the root, sorted by path.
    ///
    /// # Errors
    /// When the root itself can't be listed; what lies beneath and can't is an entry with a reason.
    fn walk(&self) -> Result<Vec<FileEntry>, Error>;

    /// The bytes of one regular file.
    ///
    /// # Errors
    /// When it is missing, not a regular file, outside the root, unreadable, or larger than `bytes_max`.
    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error>;
}

/// One entry of a walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileEntry {
    /// The path below the root, with `/` between components; lossy where it is not UTF-8 (then it is refused).
    pub path: String,
    /// What lies there.
    pub kind: FileKind,
}

/// What lies at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// A regular file.
    File {
        /// Its size.
        bytes: u64,
        /// When it was last modified, in nanoseconds since 1970; where the system says when it was last changed in any way,
        /// then that.
        modified_nanos: i128,
    },
    /// A folder.
    Folder,
    /// Something that is not read, and why: a symlink, a FIFO, a name that is not UTF-8, no permission.
    Refused(String),
}

/// How far a parser is. Called often; breaks to cancel.
pub trait Progress {
    /// `done` of `total` units are read.
    fn step(&mut self, done: u64, total: Option<u64>) -> ControlFlow<()>;
}

/// Nobody watches.
impl Progress for () {
    fn step(&mut self, _: u64, _: Option<u64>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A source: one parser, configured, for one instance.
pub trait Source: Sync {
    /// The name of the instance: `graphify:main`, `unity:client`. Witnesses are recorded under it.
    fn instance(&self) -> &Name;

    /// Reads everything.
    ///
    /// # Errors
    /// When nothing could be read at all (a missing root, a cancelled run): the graph then stays as it was.
    fn parse(&self, files: &dyn SourceFiles, progress: &mut dyn Progress) -> Result<Parsed, Error>;
}

/// What a parser found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parsed {
    /// The revision of the source as a whole, where it has one.
    pub revision: Option<Name>,
    /// The file groups, each complete. A group that is neither here nor in `stale` is gone.
    pub groups: Vec<Group>,
    /// Groups that could not be read this time: what is known of them stays, marked stale. A name that ends in `/` stands
    /// for every group beneath it.
    pub stale: Vec<Name>,
    /// True when some record could not be read and nobody knows of which group it was: what is known of a group and not
    /// said this time stays, and the group is stale. (A group that is both in `groups` and in `stale` was itself read in
    /// part.)
    pub in_part: bool,
    /// True when nothing could be read, so that every group of the source is stale.
    pub all_stale: bool,
    /// What was read, skipped and found defective.
    pub report: Report,
}

/// The most skips and defects that a report lists one by one; further ones are only counted.
pub const LISTED_MAX: usize = 1_000;

/// What a parser read, skipped and found defective.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Report {
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Files that were not read, with the reason; at most [`LISTED_MAX`] are listed.
    pub skipped: Vec<Finding>,
    /// Records that were read and found wanting; at most [`LISTED_MAX`] are listed.
    pub defects: Vec<Finding>,
    /// How many of each kind of thing was met: `relation:calls`, `confidence:EXTRACTED`, `yaml_objects`, and every
    /// reason of a skip or defect.
    pub counts: BTreeMap<String, u64>,
}

/// One skip or defect: where, what kind, and the particulars.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// The file, with a line where there is one.
    pub place: String,
    /// A short stable word: `unreadable`, `binary`, `duplicate_guid`, `orphan_meta`.
    pub reason: String,
    /// What was expected and found.
    pub detail: String,
}

impl Report {
    /// Counts one more of `what`.
    pub fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// A file was not read.
    pub fn skip(&mut self, place: impl Into<String>, reason: &str, detail: impl Into<String>) {
        self.count(format!("skipped:{reason}"));
        if self.skipped.len() < LISTED_MAX {
            self.skipped.push(Finding { place: place.into(), reason: reason.into(), detail: detail.into() });
        }
    }

    /// A record was found wanting.
    pub fn defect(&mut self, place: impl Into<String>, reason: &str, detail: impl Into<String>) {
        self.count(format!("defect:{reason}"));
        if self.defects.len() < LISTED_MAX {
            self.defects.push(Finding { place: place.into(), reason: reason.into(), detail: detail.into() });
        }
    }
}

/// The error of a run that its watcher stopped.
pub(crate) fn cancelled() -> Error {
    Error::new(crate::Code::Interrupted, "the run was cancelled; nothing of it was kept")
}

/// `path` below `prefix`, where there is one.
pub(crate) fn below(prefix: &str, path: &str) -> String {
    let prefix = prefix.trim_matches('/');
    if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") }
}
