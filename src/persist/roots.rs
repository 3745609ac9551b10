//! A folder that sources read from, and cannot read out of.
//!
//! The folder is opened once and held; every path is then opened *beneath* that handle, so nothing that happens to
//! names on the way (a symlink put in place of a folder, a folder moved aside) can lead elsewhere. Where the handle is
//! held and how a path is opened beneath it differs by system: `roots/unix.rs` and `roots/plain.rs`.
//!
//! 1. No byte from outside the root is ever returned. Symlinks are refused wherever they stand, even those that lead
//!    back inside; so are `..`, absolute paths and NUL. (A hard link is a file of the root like any other.)
//! 2. Only regular files are read. A FIFO, a device or a socket is neither opened nor waited for.
//! 3. What cannot be listed is an entry with a reason, never left out: a source would take what is left out for gone.
//!    A refused *folder* speaks for everything beneath it.
//! 4. Nothing recurses, and everything has a limit: depth, entries, bytes of one file.

use std::ffi::OsStr;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use crate::error::{Code, Error};
use crate::sources::{FileEntry, FileKind, SourceFiles};

#[cfg(any(not(unix), test))]
mod plain;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use plain::Beneath;
#[cfg(unix)]
use unix::Beneath;

/// The most components that a path below a root may have.
pub const DEPTH_MAX: usize = 256;

/// The most entries that one walk lists.
pub const ENTRIES_MAX: usize = 10_000_000;

/// One fixed folder, or one file in it, open for reading and confined.
///
/// ```
/// use triglyph::persist::roots::Roots;
/// use triglyph::sources::SourceFiles;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # std::fs::write(folder.path().join("CODEOWNERS"), "* @alice\n").unwrap();
/// let roots = Roots::open(folder.path())?;
/// assert_eq!(roots.read("CODEOWNERS", 1024)?, b"* @alice\n");
/// assert!(roots.read("../secret", 1024).is_err());
/// # Ok::<(), triglyph::Error>(())
/// ```
#[derive(Debug)]
pub struct Roots {
    beneath: Beneath,
    shown: String,
    only: Option<String>,
    entries_max: usize,
}

impl Roots {
    /// The folder at `path` and all that lies beneath it.
    ///
    /// The path itself may lead through symlinks: whoever configures a root says where it is. From here on it is fixed.
    ///
    /// # Errors
    /// `not_found` when nothing is there, `invalid` when it is no folder, `io` when it can't be opened.
    pub fn open(path: &Path) -> Result<Roots, Error> {
        let shown = path.display().to_string();
        let beneath = Beneath::open(path).map_err(|refusal| match refusal {
            Refusal::Missing => Error::not_found(format!(
                "the source folder {shown} does not exist; create it, or correct the path of the source"
            )),
            Refusal::Unfit(found) => Error::invalid(format!(
                "expected a folder at {shown}, found {found}; name the folder that holds the sources"
            )),
            Refusal::Io(error) => Error::io(format_args!("can't open the source folder {shown}"), &error),
        })?;
        Ok(Roots { beneath, shown, only: None, entries_max: ENTRIES_MAX })
    }

    /// The one file at `path`: the root is its folder, and nothing else in there can be listed or read.
    ///
    /// # Errors
    /// Those of [`Roots::open`] for the folder, and of reading for the file: a symlink, a FIFO or a folder is `invalid`.
    pub fn file(path: &Path) -> Result<Roots, Error> {
        let shown = path.display();
        let Some(name) = path.file_name() else {
            return Err(Error::invalid(format!("expected the path of a file, found {shown}")));
        };
        let Some(name) = name.to_str() else {
            return Err(Error::invalid(format!("expected a file name in UTF-8, found {shown}; rename the file")));
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut roots = Roots::open(folder)?;
        roots.beneath.file(name).map_err(|refusal| roots.error(name, refusal))?;
        roots.only = Some(name.to_owned());
        Ok(roots)
    }

    /// The name of the one file, where the root is a single file.
    pub fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    fn error(&self, path: &str, refusal: Refusal) -> Error {
        let root = &self.shown;
        match refusal {
            Refusal::Missing => Error::not_found(format!("there is no file {path:?} beneath {root}")),
            Refusal::Unfit(found) => Error::invalid(format!(
                "expected a regular file at {path:?} beneath {root}, found {found}; \
                 symlinks are not followed and only regular files are read"
            )),
            Refusal::Io(error) => Error::io(format_args!("can't read {path:?} beneath {root}"), &error),
        }
    }

    /// Refuses a path that names anything but a place beneath the root.
    fn check(&self, path: &str) -> Result<(), Error> {
        let found = if path.contains('\0') {
            "a NUL in it"
        } else if path.is_empty() || path.starts_with('/') {
            "an empty or absolute one"
        } else if path.split('/').any(|component| matches!(component, "" | "." | "..")) {
            "an empty, \".\" or \"..\" component"
        } else if cfg!(windows) && path.contains(['\\', ':']) {
            "a backslash or colon"
        } else if path.split('/').count() > DEPTH_MAX {
            return Err(Error::new(
                Code::TooLarge,
                format!("expected a path of at most {DEPTH_MAX} components beneath {}, found more", self.shown),
            ));
        } else {
            return match &self.only {
                Some(only) if only != path => Err(Error::invalid(format!(
                    "expected {only:?}, the only file of this source in {}, found {path:?}",
                    self.shown
                ))),
                _ => Ok(()),
            };
        };
        Err(Error::invalid(format!("expected a plain path beneath {}, found {found}: {path:?}", self.shown)))
    }

    /// Lists every folder that it meets; the entries found so far are themselves the queue of folders to open.
    fn walk_all(&self) -> Result<Vec<FileEntry>, Error> {
        let mut entries = Vec::new();
        self.list("", &mut entries)?.map_err(|refusal| self.error(".", refusal))?;
        let mut next = 0;
        while next < entries.len() {
            if entries[next].kind == FileKind::Folder {
                let folder = entries[next].path.clone();
                let listed = if folder.split('/').count() < DEPTH_MAX {
                    self.list(&folder, &mut entries)?.map_err(Refusal::reason)
                } else {
                    Err(format!("deeper than {DEPTH_MAX} components"))
                };
                if let Err(reason) = listed {
                    entries[next].kind = FileKind::Refused(reason);
                }
            }
            next += 1;
        }
        Ok(entries)
    }

    /// Appends what lies directly in `folder`. The outer error ends the walk, the inner one is about this folder.
    fn list(&self, folder: &str, entries: &mut Vec<FileEntry>) -> Result<Result<(), Refusal>, Error> {
        let listed = self.beneath.list(folder, &mut |name, kind| {
            if entries.len() == self.entries_max {
                return ControlFlow::Break(());
            }
            let kind =
                if name.to_str().is_some() { kind } else { FileKind::Refused("a name that is not UTF-8".into()) };
            let path = crate::sources::below(folder, &name.to_string_lossy());
            entries.push(FileEntry { path, kind });
            ControlFlow::Continue(())
        });
        match listed {
            Ok(ControlFlow::Continue(())) => Ok(Ok(())),
            Ok(ControlFlow::Break(())) => Err(Error::new(
                Code::TooLarge,
                format!(
                    "expected at most {} entries beneath {}, found more; name a smaller folder as the source",
                    self.entries_max, self.shown
                ),
            )),
            Err(refusal) => Ok(Err(refusal)),
        }
    }
}

impl SourceFiles for Roots {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        let mut entries = match &self.only {
            None => self.walk_all()?,
            Some(only) => vec![FileEntry {
                path: only.clone(),
                kind: self.beneath.kind(only).map_err(|refusal| self.error(only, refusal))?,
            }],
        };
        entries.sort_by(|one, other| one.path.as_bytes().cmp(other.path.as_bytes()));
        Ok(entries)
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        self.check(path)?;
        let (file, bytes) = self.beneath.file(path).map_err(|refusal| self.error(path, refusal))?;
        let too_large = |found: String| {
            Error::new(
                Code::TooLarge,
                format!("expected at most {bytes_max} bytes in {path:?} beneath {}, found {found}", self.shown),
            )
        };
        if bytes > bytes_max {
            return Err(too_large(bytes.to_string()));
        }
        // The size is a hint: a file may grow while it is read, and those of /proc claim to be empty.
        let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|error| self.error(path, Refusal::Io(error)))?;
        if content.len() as u64 > bytes_max {
            return Err(too_large("more, as it grew while it was read".into()));
        }
        Ok(content)
    }
}

/// Why something beneath the root was not opened.
#[derive(Debug)]
enum Refusal {
    /// Nothing is there.
    Missing,
    /// Something is there that is never opened: what it is.
    Unfit(&'static str),
    /// The system said no.
    Io(std::io::Error),
}

impl Refusal {
    fn reason(self) -> String {
        match self {
            Refusal::Missing => VANISHED.into(),
            Refusal::Unfit(found) => found.into(),
            Refusal::Io(error) => error.to_string(),
        }
    }
}

const SYMLINK: &str = "a symlink";
const VANISHED: &str = "it vanished during the walk";

/// What a folder calls back with for each of its entries.
type Each<'a> = dyn FnMut(&OsStr, FileKind) -> ControlFlow<()> + 'a;

#[cfg(test)]
mod tests;
