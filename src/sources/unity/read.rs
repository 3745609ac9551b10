//! Reads one pair: its meta, and its body where references can stand in it.
//!
//! A pair is read by itself and knows nothing of others, so pairs are read in parallel and in any order.
//!
//! 1. A pair of which a part can't be read this time is stale as a whole. The GUID is kept even so, where it was read:
//!    the asset is still there for those that need it.
//! 2. The digest is of what was read and of nothing else: the meta, and the body where it was opened.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::classify::{Lies, META, Pair, unserialised};
use super::meta::Meta;
use super::scan::{Form, Uses, scan};
use super::{Limits, ORIGIN};
use crate::error::Code;
use crate::key::Name;
use crate::sources::{Report, SourceFiles, below};

/// What a pair says, by itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Reading {
    /// The meta, if one was read.
    pub(super) meta: Option<Meta>,
    /// The targets of all references.
    pub(super) uses: Uses,
    /// The content, as a revision.
    pub(super) revision: Option<Name>,
    /// A part could not be read.
    pub(super) stale: bool,
    /// A part was read and not understood: what it said before may still hold.
    pub(super) in_part: bool,
    /// What was counted, skipped and found defective on the way.
    pub(super) report: Report,
}

impl Reading {
    /// Reads a pair; its paths are reported below `at`.
    pub(super) fn new(pair: &Pair, at: &str, files: &dyn SourceFiles, limits: &Limits) -> Reading {
        let mut reading = Reading::default();
        let mut reader = Reader { files, limits, at, digest: Sha256::new(), reading: &mut reading };
        reader.meta(pair);
        reader.body(pair);
        let digest = reader.digest.finalize();
        reading.revision = Some(format!("sha256:{}", HEXLOWER.encode(&digest[..8])).into());
        reading
    }
}

struct Reader<'a> {
    files: &'a dyn SourceFiles,
    limits: &'a Limits,
    at: &'a str,
    digest: Sha256,
    reading: &'a mut Reading,
}

impl Reader<'_> {
    fn meta(&mut self, pair: &Pair) {
        let path = format!("{}{META}", pair.path);
        let bytes = match &pair.meta {
            None | Some(Lies::Folder) => return,
            Some(Lies::File) => self.read(&path),
            Some(Lies::Refused(why)) => self.refused(&path, why),
        };
        let Some(bytes) = bytes else {
            self.reading.stale = true;
            return;
        };
        let place = below(self.at, &path);
        let meta = Meta::read(&bytes);
        let report = &mut self.reading.report;
        report.count("metas");
        if meta.bom {
            report.count("bom_metas");
        }
        if meta.crlf {
            report.count("crlf_metas");
        }
        if meta.guid.is_none() {
            let found = meta.odd_guid.as_ref().map_or_else(|| "none".to_owned(), |odd| format!("{odd:?}"));
            let expected = "expected guid: and 32 hexadecimal digits that are not reserved";
            report.defect(&place, "meta_without_guid", format!("{expected}, found {found}"));
            self.reading.in_part = true;
        }
        let report = &mut self.reading.report;
        if let (Some(guid), Some(other)) = (meta.guid, meta.other_guid) {
            let detail = format!("expected one guid, found {guid} and {other}; the first one stands");
            report.defect(&place, "several_guids", detail);
        }
        self.scan(Form::Meta, &bytes, &place);
        self.reading.meta = Some(meta);
    }

    fn body(&mut self, pair: &Pair) {
        let bytes = match (&pair.body, pair.form()) {
            (Some(Lies::Refused(why)), _) => self.refused(&pair.path, why),
            (_, None) => return,
            (_, Some(_)) => self.read(&pair.path),
        };
        let Some(form) = pair.form() else { return };
        let Some(bytes) = bytes else {
            self.reading.stale = true;
            return;
        };
        let place = below(self.at, &pair.path);
        if form == Form::Yaml {
            if let Some(reason) = unserialised(&bytes) {
                let detail = format!("expected %YAML, found another beginning of {} bytes", bytes.len());
                self.reading.in_part = true;
                return self.reading.report.skip(place, reason, detail);
            }
            self.reading.report.count("yaml_files");
        }
        self.scan(form, &bytes, &place);
    }

    fn scan(&mut self, form: Form, bytes: &[u8], place: &str) {
        let Reading { uses, report, .. } = &mut *self.reading;
        scan(form, bytes, place, self.limits.targets_max, uses, report);
    }

    /// The bytes of a file, counted and digested; None where they can't be had.
    fn read(&mut self, path: &str) -> Option<Vec<u8>> {
        let report = &mut self.reading.report;
        match self.files.read(path, self.limits.file_bytes_max) {
            Ok(bytes) => {
                report.files += 1;
                report.bytes += bytes.len() as u64;
                // Each part is preceded by its name and length, so that no two pairs of parts look alike.
                let part = if path.ends_with(META) { "meta" } else { "body" };
                self.digest.update(format!("{ORIGIN} {part} {}\n", bytes.len()));
                self.digest.update(&bytes);
                Some(bytes)
            }
            Err(error) => {
                let reason = if error.code() == Code::TooLarge { "too_large" } else { "unreadable" };
                report.skip(below(self.at, path), reason, error.message());
                None
            }
        }
    }

    fn refused(&mut self, path: &str, why: &str) -> Option<Vec<u8>> {
        self.reading.report.skip(below(self.at, path), "refused", why);
        None
    }
}
