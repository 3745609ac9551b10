//! Opening beneath a folder where the system offers no handles to open beneath.
//!
//! Every component is looked at before the file is opened, and a link anywhere is refused. That is weaker than on
//! Unix: whoever can rename inside the root *while* it is read can win a race between the look and the opening.
//! The root is kept as a canonical path, which on Windows also takes the meaning from names such as `NUL` or `COM1`.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{Each, Refusal, SYMLINK, VANISHED};
use crate::sources::FileKind;

/// A folder by its canonical path.
#[derive(Debug)]
pub(super) struct Beneath {
    root: PathBuf,
}

impl Beneath {
    pub(super) fn open(path: &Path) -> Result<Beneath, Refusal> {
        let root = std::fs::canonicalize(path).map_err(refusal)?;
        if !std::fs::metadata(&root).map_err(refusal)?.is_dir() {
            return Err(Refusal::Unfit("something else"));
        }
        Ok(Beneath { root })
    }

    /// Calls back with everything that lies directly in `folder`; the empty path is the root.
    pub(super) fn list(&self, folder: &str, each: &mut Each<'_>) -> Result<ControlFlow<()>, Refusal> {
        for entry in std::fs::read_dir(self.resolve(folder)?).map_err(refusal)? {
            let entry = entry.map_err(refusal)?;
            let kind = match std::fs::symlink_metadata(entry.path()) {
                Ok(metadata) => kind(&metadata),
                Err(error) if error.kind() == ErrorKind::NotFound => FileKind::Refused(VANISHED.into()),
                Err(error) => FileKind::Refused(error.to_string()),
            };
            if each(&entry.file_name(), kind).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What lies at `path`.
    pub(super) fn kind(&self, path: &str) -> Result<FileKind, Refusal> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let metadata = std::fs::symlink_metadata(self.resolve(folder)?.join(name)).map_err(refusal)?;
        Ok(kind(&metadata))
    }

    /// The regular file at `path`, open, and its size.
    pub(super) fn file(&self, path: &str) -> Result<(File, u64), Refusal> {
        let path = self.resolve(path)?;
        regular(&std::fs::symlink_metadata(&path).map_err(refusal)?)?;
        let file = File::open(&path).map_err(refusal)?;
        let metadata = file.metadata().map_err(refusal)?;
        regular(&metadata)?;
        Ok((file, metadata.len()))
    }

    /// The full path, once no component of it is a link.
    fn resolve(&self, path: &str) -> Result<PathBuf, Refusal> {
        let mut full = self.root.clone();
        for component in path.split('/').filter(|component| !component.is_empty()) {
            full.push(component);
            if std::fs::symlink_metadata(&full).map_err(refusal)?.is_symlink() {
                return Err(Refusal::Unfit(SYMLINK));
            }
        }
        Ok(full)
    }
}

fn refusal(error: std::io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotFound => Refusal::Missing,
        ErrorKind::NotADirectory => Refusal::Unfit("a file where a folder should be"),
        _ => Refusal::Io(error),
    }
}

fn kind(metadata: &Metadata) -> FileKind {
    if metadata.is_dir() {
        return FileKind::Folder;
    }
    match regular(metadata) {
        Err(refusal) => FileKind::Refused(refusal.reason()),
        Ok(()) => FileKind::File { bytes: metadata.len(), modified_nanos: modified_nanos(metadata) },
    }
}

fn regular(metadata: &Metadata) -> Result<(), Refusal> {
    if metadata.is_symlink() {
        Err(Refusal::Unfit(SYMLINK))
    } else if metadata.is_dir() {
        Err(Refusal::Unfit("a folder"))
    } else if !metadata.is_file() {
        Err(Refusal::Unfit("neither a file nor a folder"))
    } else {
        Ok(())
    }
}

fn modified_nanos(metadata: &Metadata) -> i128 {
    let nanos = |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
    match metadata.modified() {
        Ok(modified) => match modified.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => nanos(after),
            Err(before) => -nanos(before.duration()),
        },
        Err(_) => 0,
    }
}
