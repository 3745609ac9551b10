//! Opening beneath a folder, on Unix.
//!
//! Linux resolves a whole path beneath a handle in one call (`openat2`) and refuses symlinks on the way. Where that
//! call is missing (other systems, an older kernel, a sandbox that forbids it) the path is opened component by
//! component, each beneath the handle of the one before and none through a symlink: the same outcome, more calls.
//!
//! 1. A handle once held cannot be redirected; only the last step, from a folder's handle, opens a file.
//! 2. A file is looked at before it is opened and again once it is open, and opened without blocking: swapping a FIFO
//!    in between the two neither hangs nor is read.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Each, Refusal, SYMLINK, VANISHED};
use crate::sources::FileKind;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// A folder held open.
#[derive(Debug)]
pub(super) struct Beneath {
    root: OwnedFd,
    /// Whether a whole path is resolved in one call.
    pub(super) one_call: bool,
}

impl Beneath {
    pub(super) fn open(path: &Path) -> Result<Beneath, Refusal> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR => Refusal::Unfit("something else"),
            errno => refusal(errno),
        })?;
        let one_call = in_one_call(&root, ".").is_ok();
        Ok(Beneath { root, one_call })
    }

    /// Calls back with everything that lies directly in `folder`; the empty path is the root.
    pub(super) fn list(&self, folder: &str, each: &mut Each<'_>) -> Result<ControlFlow<()>, Refusal> {
        let folder = self.folder(folder)?;
        let mut entries = Dir::read_from(&folder).map_err(refusal)?;
        while let Some(entry) = entries.read() {
            let entry = entry.map_err(refusal)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind(&stat),
                Err(Errno::NOENT) => FileKind::Refused(VANISHED.into()),
                Err(errno) => FileKind::Refused(std::io::Error::from(errno).to_string()),
            };
            if each(OsStr::from_bytes(name.to_bytes()), kind).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What lies at `path`.
    pub(super) fn kind(&self, path: &str) -> Result<FileKind, Refusal> {
        let (folder, name) = self.holder(path)?;
        rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)).map_err(refusal)
    }

    /// The regular file at `path`, open, and its size.
    pub(super) fn file(&self, path: &str) -> Result<(File, u64), Refusal> {
        let (folder, name) = self.holder(path)?;
        // To open a device may already do something to it, so a look comes first.
        regular(&rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(refusal)?)?;
        let file = rustix::fs::openat(&folder, name, FILE, Mode::empty()).map_err(refusal)?;
        let stat = rustix::fs::fstat(&file).map_err(refusal)?;
        regular(&stat)?;
        Ok((File::from(file), size(&stat)))
    }

    /// The folder that holds the last component of `path`, and that component.
    fn holder<'a>(&self, path: &'a str) -> Result<(OwnedFd, &'a str), Refusal> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.folder(folder)?, name))
    }

    fn folder(&self, path: &str) -> Result<OwnedFd, Refusal> {
        let path = if path.is_empty() { "." } else { path };
        let opened = if self.one_call { in_one_call(&self.root, path) } else { Err(Errno::NOSYS) };
        match opened {
            // A path longer than PATH_MAX is short step by step.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN | Errno::NAMETOOLONG) => self.step_by_step(path),
            opened => opened.map_err(refusal),
        }
    }

    fn step_by_step(&self, path: &str) -> Result<OwnedFd, Refusal> {
        let mut folder = None;
        for component in path.split('/') {
            let next = rustix::fs::openat(folder.as_ref().unwrap_or(&self.root), component, FOLDER, Mode::empty());
            folder = Some(next.map_err(refusal)?);
        }
        folder.ok_or(Refusal::Missing)
    }
}

#[cfg(target_os = "linux")]
fn in_one_call(root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, FOLDER, Mode::empty(), beneath)
}

#[cfg(not(target_os = "linux"))]
fn in_one_call(_: &OwnedFd, _: &str) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn refusal(errno: Errno) -> Refusal {
    match errno {
        Errno::NOENT => Refusal::Missing,
        Errno::LOOP | Errno::XDEV => Refusal::Unfit(SYMLINK),
        Errno::NOTDIR => Refusal::Unfit("a symlink or a file where a folder should be"),
        errno => Refusal::Io(errno.into()),
    }
}

fn nanos(seconds: i128, nanos: i128) -> i128 {
    seconds * 1_000_000_000 + nanos
}

fn kind(stat: &Stat) -> FileKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => FileKind::Folder,
        FileType::RegularFile => FileKind::File {
            bytes: size(stat),
            // The later of both: the first can be set back by whoever may write the file, the second can't.
            modified_nanos: nanos(stat.st_mtime.into(), stat.st_mtime_nsec.into())
                .max(nanos(stat.st_ctime.into(), stat.st_ctime_nsec.into())),
        },
        other => FileKind::Refused(name(other).into()),
    }
}

fn regular(stat: &Stat) -> Result<(), Refusal> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(Refusal::Unfit(name(other))),
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a folder",
        FileType::Symlink => SYMLINK,
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something of an unknown kind",
    }
}
