//! Files of a source, in memory: what a test says lies beneath the root.

use std::collections::BTreeMap;

use triglyph::sources::{FileEntry, FileKind, SourceFiles};
use triglyph::{Code, Error};

/// A tree of files in memory.
#[derive(Clone, Default)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Files {
    /// A tree of one file.
    pub fn one(path: &str, bytes: impl Into<Vec<u8>>) -> Files {
        Files([(path.to_owned(), bytes.into())].into())
    }
}

impl SourceFiles for Files {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        let file = |bytes: &Vec<u8>| FileKind::File { bytes: bytes.len() as u64, modified_nanos: 0 };
        Ok(self.0.iter().map(|(path, bytes)| FileEntry { path: path.clone(), kind: file(bytes) }).collect())
    }

    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>, Error> {
        self.0.get(path).cloned().ok_or_else(|| Error::new(Code::NotFound, format!("no file {path}")))
    }
}
