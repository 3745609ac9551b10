//! Sources over a plain folder, for tests whose files hold no surprises.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use triglyph::sources::{FileEntry, FileKind, SourceFiles};
use triglyph::{Code, Error};

/// The files beneath a folder.
pub struct Folder(pub PathBuf);

impl SourceFiles for Folder {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        let mut found = Vec::new();
        walk(&self.0, "", &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let bytes = std::fs::read(self.0.join(path)).map_err(|error| Error::io(path, &error))?;
        match bytes.len() as u64 > bytes_max {
            true => Err(Error::new(Code::TooLarge, format!("{path}: expected at most {bytes_max} bytes"))),
            false => Ok(bytes),
        }
    }
}

fn walk(folder: &Path, below: &str, found: &mut Vec<FileEntry>) -> Result<(), Error> {
    let failed = |error| Error::io(below, &error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = format!("{below}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found)?;
            found.push(FileEntry { path, kind: FileKind::Folder });
        } else if kind.is_file() {
            let metadata = entry.metadata().map_err(failed)?;
            let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let modified_nanos = modified.map_or(0, |since| since.as_nanos() as i128);
            found.push(FileEntry { path, kind: FileKind::File { bytes: metadata.len(), modified_nanos } });
        } else {
            found.push(FileEntry { path, kind: FileKind::Refused("not a regular file".into()) });
        }
    }
    Ok(())
}
