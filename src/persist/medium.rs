//! The only door to the operating system: files, locks, time, entropy.
//!
//! A medium is a root folder and what can be done beneath it. Paths are ours: at most two plain components joined by
//! `/`, the empty path being the root; no name of a caller ever becomes one (spec M-3). What a medium promises is what
//! a disk promises, no more:
//!
//! 1. Bytes written to a sink survive a crash once `sync` on that sink returned `Ok`; before that, any of them may be
//!    missing, in any order, and the last write may be torn.
//! 2. A name made, changed or removed survives once [`Medium::sync_folder`] on its folder returned `Ok`.
//! 3. [`Medium::rename`] is atomic: after a crash the name means the old file or the new one.
//! 4. A lock dies with the process that holds it.
//!
//! [`Folder`](super::folder::Folder) is a real one; [`Memory`](super::memory::Memory) keeps everything in memory, and
//! can crash and fail on purpose.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::error::{Code, Error};
use crate::time::Time;

/// A place to keep files in.
pub trait Medium: Send + Sync {
    /// How a person calls the root: the path as it was given. For messages only.
    fn root(&self) -> String;

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder, `NotADirectory` when a file stands there.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound` when there is no such file.
    fn open(&self, path: &str) -> io::Result<Box<dyn Source>>;

    /// Makes a new, empty file.
    ///
    /// # Errors
    /// `AlreadyExists` when the name is taken.
    fn create(&self, path: &str) -> io::Result<Arc<dyn Sink>>;

    /// Opens a file that exists, to write at its end.
    ///
    /// # Errors
    /// `NotFound` when there is no such file.
    fn append(&self, path: &str) -> io::Result<Arc<dyn Sink>>;

    /// Puts a small record at the start of a file with one write, making the file where there is none. Not synced.
    ///
    /// # Errors
    /// What the system says.
    fn overwrite(&self, path: &str, record: &[u8]) -> io::Result<()>;

    /// Gives a file another name in the same folder; a file of that name is replaced.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Makes a folder, and the root where it is missing; does nothing when it is there.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a folder durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&self, path: &str) -> io::Result<()>;

    /// Takes the lock that a file stands for, making the file where it is missing; `None` when another holds it.
    ///
    /// Two calls in one process exclude each other as two processes do.
    ///
    /// # Errors
    /// What the system says.
    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>>;

    /// The time.
    fn now(&self) -> Time;

    /// Fills `bytes` with randomness.
    ///
    /// # Errors
    /// What the system says.
    fn entropy(&self, bytes: &mut [u8]) -> io::Result<()>;

    /// The id of this process.
    fn process(&self) -> u32;
}

/// A file open for reading.
pub trait Source: Send {
    /// How many bytes the file has now.
    ///
    /// # Errors
    /// What the system says.
    fn len(&self) -> io::Result<u64>;

    /// Whether the file has no bytes.
    ///
    /// # Errors
    /// What the system says.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Reads bytes at `offset`, maybe fewer than asked for; 0 at the end of the file.
    ///
    /// # Errors
    /// What the system says; `Interrupted` asks for another try.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

/// A file open for writing at its end. Writing and syncing may happen on two threads.
pub trait Sink: Send + Sync {
    /// Writes some of the bytes at the end, and says how many.
    ///
    /// # Errors
    /// What the system says; `Interrupted` asks for another try.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes all that was written durable. After a failure nobody knows what is: never try again, reopen.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&self) -> io::Result<()>;
}

/// A lock, held until it is dropped.
pub trait Lock: Send + Sync {
    /// Whether the path still leads to the file that is locked; where it doesn't, somebody else may hold a lock too.
    ///
    /// # Errors
    /// What the system says.
    fn is_current(&self) -> io::Result<bool>;
}

/// Writes all the bytes, however short the single writes are.
pub(crate) fn write_all(sink: &dyn Sink, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `into` from `offset` on; returns how many bytes there were before the file ended.
pub(crate) fn read_full(source: &mut dyn Source, mut offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = into.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read_at(offset, rest) {
            Ok(0) => break,
            Ok(n) => {
                filled = filled.saturating_add(n);
                offset = offset.saturating_add(n as u64);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A small file whole; `None` when there is none.
pub(crate) fn read_small(medium: &dyn Medium, path: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
    let refused = |error: io::Error| failed(medium, format_args!("reading {path}"), &error);
    let mut source = match medium.open(path) {
        Ok(source) => source,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(error)),
    };
    let len = source.len().map_err(refused)?;
    if len > bytes_max {
        return Err(Error::new(
            Code::Corrupt,
            format!("{path}: expected a file of at most {bytes_max} bytes, found {len}"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let filled = read_full(&mut *source, 0, &mut bytes).map_err(refused)?;
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// Makes a file appear whole and durable, or not at all: a temporary one, synced, renamed, its folder synced.
///
/// `fill` writes the content. The caller holds a lock, so that nobody else writes the temporary file; one that a crash
/// left behind is removed first. Returns the sink, which still leads to the file.
pub(crate) fn publish(
    medium: &dyn Medium,
    folder: &str,
    name: &str,
    fill: &mut dyn FnMut(&dyn Sink) -> Result<(), Error>,
) -> Result<Arc<dyn Sink>, Error> {
    let (path, temporary) = (join(folder, name), join(folder, &format!("{name}.tmp")));
    let doing = |error: io::Error| failed(medium, format_args!("writing {path}"), &error);
    match medium.remove(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(doing(error)),
        _ => {}
    }
    let sink = medium.create(&temporary).map_err(doing)?;
    fill(&*sink)?;
    sink.sync().map_err(doing)?;
    medium.rename(&temporary, &path).map_err(doing)?;
    medium.sync_folder(folder).map_err(doing)?;
    Ok(sink)
}

/// An error of the system: what was being done, in which store, and what to do about it.
pub(crate) fn failed(medium: &dyn Medium, doing: impl fmt::Display, error: &io::Error) -> Error {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free space there and open the store again: nothing that was promised is lost"
        }
        ErrorKind::PermissionDenied => {
            "; give this user the right to read the folder and its files, and to write them where anything is written"
        }
        ErrorKind::ReadOnlyFilesystem => "; the store can be read there, and written once its disk can be",
        _ => "",
    };
    let told = io::Error::new(error.kind(), format!("{error}{remedy}"));
    Error::io(format_args!("{doing}, in the store at {}", medium.root()), &told)
}

/// A path out of a folder and a name.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
