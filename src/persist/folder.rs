//! A folder of a real file system.
//!
//! Locks are those of the system (`flock`, `LockFileEx`): they die with their process, and two handles of one process
//! exclude each other. On macOS the standard library's syncs flush the drive's own cache too (`F_FULLFSYNC`). On
//! Windows a folder can't be synced; NTFS journals names by itself.
//!
//! Only regular files are opened, whatever links lead to them. A FIFO or a device in the place of one is refused at once,
//! where opening it would wait for ever, or for its other end.
//!
//! Network file systems are out of scope: their locks and syncs promise less than [`medium`](super::medium) asks for.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::medium::{Lock, Medium, Sink, Source};
use crate::time::Time;

/// How often a lock file may be replaced under our hands before we give up.
const LOCK_TRIES: usize = 16;

/// A folder on disk. Making one touches nothing.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The medium beneath this folder.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    /// The one path of the folder, whatever links lead to it.
    ///
    /// # Errors
    /// What the system says, `NotFound` above all.
    pub fn canonical(&self) -> io::Result<PathBuf> {
        fs::canonicalize(&self.root)
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

impl Medium for Folder {
    fn root(&self) -> String {
        self.root.display().to_string()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(folder))? {
            // A name that isn't UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Source>> {
        Ok(Box::new(FileSource(open_regular(OpenOptions::new().read(true), &self.path(path))?)))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        let file = OpenOptions::new().append(true).create_new(true).open(self.path(path))?;
        Ok(Arc::new(FileSink(file)))
    }

    fn append(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        Ok(Arc::new(FileSink(open_regular(OpenOptions::new().append(true), &self.path(path))?)))
    }

    fn overwrite(&self, path: &str, record: &[u8]) -> io::Result<()> {
        // Not truncated: a reader must never find the file empty.
        let mut file = open_regular(OpenOptions::new().write(true).create(true).truncate(false), &self.path(path))?;
        file.write_all(record)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    fn create_folder(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if path == self.root {
            // The root's own name lies in a folder that no caller can name, so it is made durable here.
            return create_durably(&path);
        }
        create(&path)
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        sync_folder(&self.path(path))
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let path = self.path(path);
        for _ in 0..LOCK_TRIES {
            let file = open_regular(OpenOptions::new().write(true).create(true).truncate(false), &path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Somebody may have removed the file between our open and our lock: what we hold then guards nothing.
            let lock = FileLock { file, path: path.clone(), process: std::process::id() };
            if lock.is_current()? {
                return Ok(Some(Box::new(lock)));
            }
        }
        Err(io::Error::other("the lock file is replaced again and again"))
    }

    fn now(&self) -> Time {
        system_time()
    }

    fn entropy(&self, bytes: &mut [u8]) -> io::Result<()> {
        system_entropy(bytes)
    }

    fn process(&self) -> u32 {
        std::process::id()
    }
}

/// The time of the system's clock.
pub(super) fn system_time() -> Time {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_micros());
    Time::from_micros(since(SystemTime::now()).ok().and_then(|micros| i64::try_from(micros).ok()).unwrap_or(0))
}

/// Randomness of the system.
pub(super) fn system_entropy(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
}

/// Opens a file that can't make us wait: a regular one.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let opened = options.open(path);
    let kind = match &opened {
        Ok(file) => Some(file.metadata()?.file_type()),
        // A FIFO that nobody reads, a socket and a folder are not even opened for writing.
        Err(_) => fs::metadata(path).ok().map(|found| found.file_type()),
    };
    match kind {
        Some(kind) if !kind.is_file() => {
            let found = if kind.is_dir() { "a folder" } else { "a FIFO, a device or a socket" };
            Err(io::Error::other(format!(
                "a regular file expected, {found} found; move it away, and restore the file from a backup"
            )))
        }
        _ => opened,
    }
}

/// Makes a folder, unless it is there.
fn create(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// Makes a folder with all above it, and makes its name durable.
fn create_durably(path: &Path) -> io::Result<()> {
    let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    if !path.is_dir() {
        if let Some(parent) = parent {
            create_durably(parent)?;
        }
        create(path)?;
    }
    parent.map_or(Ok(()), sync_folder)
}

#[cfg(not(windows))]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(windows)]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

struct FileSource(File);

impl Source for FileSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.read(into)
    }
}

struct FileSink(File);

impl Sink for FileSink {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

struct FileLock {
    file: File,
    path: PathBuf,
    process: u32,
}

impl Drop for FileLock {
    /// Unlocks by name: a child that is just being started holds a copy of our handle until it runs its own program, and
    /// closing ours alone would leave the lock with it. A fork that drops its copy must not free the lock of its parent.
    fn drop(&mut self) {
        if self.process == std::process::id() {
            let _ = self.file.unlock();
        }
    }
}

impl Lock for FileLock {
    #[cfg(unix)]
    fn is_current(&self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt;
        let ours = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(theirs) => Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Elsewhere an open file can't be replaced, so that its presence is enough.
    #[cfg(not(unix))]
    fn is_current(&self) -> io::Result<bool> {
        self.file.metadata()?;
        fs::exists(&self.path)
    }
}
