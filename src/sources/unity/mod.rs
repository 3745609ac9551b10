//! Unity: the assets of one project folder, and what needs what.
//!
//! An asset is known by the GUID in the meta beside it; its path is state, so a moved asset stays the same asset. What
//! it needs stands as GUIDs in its own serialised form and in its meta. Every meta is read and every serialised file is
//! scanned, in parallel and each by itself; then, knowing all GUIDs, each pair of meta and body says its facts.
//!
//! What is said, with the origin `unity`:
//! - a `UnityAsset` for each GUID, with `path`, `name`, `folder`, `importer`, `body: false` where only the meta is left,
//!   and `duplicate_paths` where other metas claim the same GUID;
//! - a `File` for each body with a meta, and for each file without a GUID that refers to assets (`ProjectSettings`);
//! - `DEPENDS_ON` from an asset, or from a file without a GUID, to each asset that it refers to, with the first
//!   `file_ids` of the objects within it; an asset's reference to itself is left out;
//! - a `UnityAsset` with `builtin: true` or `external: true` for each GUID that is needed and that nothing in the
//!   project has: built into Unity, or else of a package, or missing.
//!
//! All of it is authoritative, but for two: that a GUID is external is derived, and so is a reference that only a key
//! nobody knows holds. `IMPORTED_AS` is made by `link`, from equal paths.
//!
//! 1. A pair is one file group, named by the path of its body; its revision is the digest of what was read of it.
//! 2. The order of the walk and the number of threads do not matter.

mod claims;
mod classify;
mod guid;
mod mapping;
mod meta;
mod read;
mod say;
mod scan;

use rayon::prelude::*;

use crate::error::{Code, Error};
use crate::evidence::GroupKey;
use crate::key::Name;
use crate::observation::Group;
use crate::sources::{LISTED_MAX, Parsed, Progress, Report, Source, SourceFiles, below, cancelled};

use claims::Claims;
use classify::{Layout, Lies, Pair};
use read::Reading;
use say::Speaker;

/// The name that Unity's relations bear as their origin.
pub const ORIGIN: &str = "unity";

/// Who names assets.
const AUTHORITY: &str = "unity";

/// What an asset is.
const ASSET: &str = "UnityAsset";

/// A Unity project and where it lies in the repository.
///
/// ```
/// use triglyph::sources::Source;
/// use triglyph::sources::unity::Unity;
///
/// let source = Unity::new("client", "game");
/// assert_eq!(*source.instance(), "unity:client");
/// ```
#[derive(Clone, Debug)]
pub struct Unity {
    instance: Name,
    at: String,
    limits: Limits,
}

/// How much of a project is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The largest meta or serialised file; a larger one is skipped, and what is known of it is stale.
    pub file_bytes_max: u64,
    /// The most files and folders; beyond it, nothing is read and all is stale.
    pub entries_max: usize,
    /// The most different targets of one file; further ones are left out and reported.
    pub targets_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        // The largest real scene seen takes 1.4 MB and has 60 targets.
        Limits { file_bytes_max: 256 << 20, entries_max: 10_000_000, targets_max: 100_000 }
    }
}

/// How many pairs are read between two steps of progress: enough to keep the threads busy, soon enough to cancel.
const PAIRS_A_STEP: usize = 256;

impl Unity {
    /// The project at the root that is handed in, as the instance `unity:<instance>`; it lies at the path `at` of the
    /// repository, empty for the repository itself.
    pub fn new(instance: &str, at: &str) -> Unity {
        let instance = format!("{ORIGIN}:{instance}").into();
        Unity { instance, at: at.trim_matches('/').to_owned(), limits: Limits::default() }
    }

    /// The same with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Unity {
        self.limits = limits;
        self
    }
}

impl Source for Unity {
    fn instance(&self) -> &Name {
        &self.instance
    }

    /// Reads the project. The counts of the report: `files_met` and `metas`, `bom_metas`, `crlf_metas`; `yaml_files`,
    /// `yaml_objects`, `stripped_objects`; `refs:flow`, `refs:flow:meta`, `refs:block`, `refs:asmdef`, `refs:uxml`,
    /// `refs:shadergraph`, `refs:named:<key>` as they stand in the files, and `refs:wrapped` of them broken over lines;
    /// `local_refs`, `null_refs`, `zero_guid_refs`; `assets`, `files_assets`, `folder_assets`, `distinct_guids`;
    /// `edges`, of them `edges:resolved`, `edges:builtin` and `edges:unresolved`, and `edges_from_non_assets`.
    ///
    /// # Errors
    /// When the root is no Unity project, or the run is cancelled.
    fn parse(&self, files: &dyn SourceFiles, progress: &mut dyn Progress) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let entries = files.walk()?;
        if entries.len() > self.limits.entries_max {
            let found = format!("expected at most {} entries, found {}", self.limits.entries_max, entries.len());
            parsed.report.skip(&self.at, "too_many_entries", found);
            parsed.all_stale = true;
            return Ok(parsed);
        }
        let layout = Layout::new(entries);
        if !layout.is_project {
            let expected = "expected a Unity project: a folder with Assets, Packages or ProjectSettings";
            return Err(Error::new(Code::NotFound, format!("{expected}; none of them is here")));
        }
        if let Some((root, why)) = layout.refused_root {
            parsed.report.skip(below(&self.at, &root), "refused", why);
            parsed.all_stale = true;
            return Ok(parsed);
        }
        add(&mut parsed.report, "files_met", layout.files);
        let readings = self.read(&layout.pairs, files, progress, &mut parsed.report)?;
        self.say(&layout.pairs, &readings, &mut parsed);
        Ok(parsed)
    }
}

impl Unity {
    /// Reads all pairs; what they report is merged in the order of their paths.
    fn read(
        &self,
        pairs: &[Pair],
        files: &dyn SourceFiles,
        progress: &mut dyn Progress,
        report: &mut Report,
    ) -> Result<Vec<Reading>, Error> {
        let total = Some(pairs.len() as u64);
        let mut readings = Vec::with_capacity(pairs.len());
        for step in pairs.chunks(PAIRS_A_STEP) {
            if progress.step(readings.len() as u64, total).is_break() {
                return Err(cancelled());
            }
            let read = |pair| Reading::new(pair, &self.at, files, &self.limits);
            let mut read: Vec<Reading> = step.par_iter().map(read).collect();
            for reading in &mut read {
                merge(report, std::mem::take(&mut reading.report));
            }
            readings.append(&mut read);
        }
        if progress.step(readings.len() as u64, total).is_break() {
            return Err(cancelled());
        }
        Ok(readings)
    }

    fn say(&self, pairs: &[Pair], readings: &[Reading], parsed: &mut Parsed) {
        let claims = Claims::new(pairs, readings);
        add(&mut parsed.report, "distinct_guids", claims.len() as u64);
        let mut speaker = Speaker::new(&self.instance, &self.at, &claims, &mut parsed.report);
        for (pair, reading) in pairs.iter().zip(readings) {
            if matches!(pair.body, Some(Lies::Refused(_))) {
                // It may be a folder: then everything beneath it went unread.
                parsed.stale.push(format!("{}/", below(&self.at, &pair.path)).into());
            }
            if reading.stale {
                parsed.stale.push(below(&self.at, &pair.path).into());
                continue;
            }
            let group = speaker.group(pair, reading);
            if reading.in_part {
                let key = GroupKey::new(&self.instance, below(&self.at, &pair.path));
                parsed.stale.push(key.group.clone());
                parsed.groups.push(group.unwrap_or(Group { key, revision: None, observations: Vec::new() }));
            } else {
                parsed.groups.extend(group);
            }
        }
        for (pair, reading) in pairs.iter().zip(readings) {
            self.inspect(pair, reading, &claims, &mut parsed.report);
        }
    }

    /// Reports what is wrong with a pair as a pair.
    fn inspect(&self, pair: &Pair, reading: &Reading, claims: &Claims<'_>, report: &mut Report) {
        let path = below(&self.at, &pair.path);
        let claimed = reading.meta.as_ref().and_then(|meta| Some((meta.guid?, claims.of(meta.guid?)?)));
        if let Some((guid, claim)) = claimed.filter(|(_, claim)| claim.losers_count > 0 && claim.winner == pair.path) {
            let others: Vec<String> = claim.losers.iter().map(|path| below(&self.at, path)).collect();
            let detail = format!("{guid} is claimed by {} more: {}", claim.losers_count, others.join(", "));
            report.defect(&path, "duplicate_guid", detail);
        }
        if pair.lacks_meta() {
            report.defect(path, "path_without_meta", "expected a meta beside it, found none");
        } else if pair.meta == Some(Lies::File) && pair.body.is_none() {
            report.defect(path, "orphan_meta", "expected a file or folder beside the meta, found none");
        }
    }
}

fn add(report: &mut Report, what: &str, count: u64) {
    if count > 0 {
        *report.counts.entry(what.to_owned()).or_default() += count;
    }
}

/// Adds what a pair reported; lists are cut where the report's own are.
fn merge(report: &mut Report, of_pair: Report) {
    report.files += of_pair.files;
    report.bytes += of_pair.bytes;
    for (what, count) in of_pair.counts {
        *report.counts.entry(what).or_default() += count;
    }
    let skips_free = LISTED_MAX.saturating_sub(report.skipped.len());
    report.skipped.extend(of_pair.skipped.into_iter().take(skips_free));
    let defects_free = LISTED_MAX.saturating_sub(report.defects.len());
    report.defects.extend(of_pair.defects.into_iter().take(defects_free));
}

#[cfg(test)]
mod tests;
