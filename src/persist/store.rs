//! A store: a folder of scopes.
//!
//! 1. `STORE` and `SCOPE` appear whole or not at all, and are never changed.
//! 2. A scope's folder is named by a digest; what it is called stands in its `SCOPE`, and both must agree.
//! 3. Opening a store, listing its scopes and reading them writes nothing.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::format::{self, ENVELOPE_BYTES_MAX, Identity, SCOPE, STORE};
use super::lock::{self, Note, WriterLock};
use super::log::Log;
use super::log::reader::{Hint, Reading, SEARCH_REACH, Segment};
use super::log::segment::SegmentName;
use super::log::writer::LogWriter;
use super::medium::{Medium, failed, join, publish, read_small, write_all};
use super::{Recovery, Repository, Salvage, Writer};
use crate::change::Commit;
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::scope::Scope;
use crate::time::Time;

/// A segment is sealed before it grows longer than this.
const SEGMENT_BYTES_MAX: u64 = 64 << 20;

/// How long making a store or a scope waits for another process that does the same.
const MAKING_TIMEOUT: Duration = Duration::from_secs(5);

/// A store on a medium.
#[derive(Clone)]
pub struct LocalStore {
    medium: Arc<dyn Medium>,
    id: [u8; 16],
    segment_bytes_max: u64,
}

impl LocalStore {
    /// Opens a store. Writes nothing.
    ///
    /// # Errors
    /// `not_found` where there is no store, `corrupt` and `unsupported_version` where `STORE` can't be read.
    pub fn open(medium: Arc<dyn Medium>) -> Result<LocalStore, Error> {
        let root = medium.root();
        if let Err(error) = medium.list("") {
            return Err(match error.kind() {
                ErrorKind::NotFound => {
                    Error::not_found(format!("there is no store at {root}; make one with `triglyph init {root}`"))
                }
                ErrorKind::NotADirectory => {
                    Error::not_found(format!("{root} is a file; a store is a folder, made with `triglyph init PATH`"))
                }
                _ => failed(&*medium, "listing its folder", &error),
            });
        }
        let Some(bytes) = read_small(&*medium, "STORE", ENVELOPE_BYTES_MAX)? else {
            return Err(Error::not_found(format!(
                "{root} is a folder, but not a store: it has no STORE file; make one in an empty folder with \
                 `triglyph init PATH`"
            )));
        };
        let mut fields = format::unseal_file("STORE", STORE, &bytes).map_err(|error| error.at(&root))?;
        let id = fields.id();
        if !fields.is_spent() {
            let found = bytes.len();
            return Err(
                format::damaged("STORE", STORE, format_args!("expected a file of 36 bytes, found {found}")).at(root)
            );
        }
        Ok(LocalStore { medium, id, segment_bytes_max: SEGMENT_BYTES_MAX })
    }

    /// Makes a store in a folder that is empty or missing, and opens it.
    ///
    /// # Errors
    /// `conflict` where a store or anything else is there already; what the system says.
    pub fn create(medium: Arc<dyn Medium>) -> Result<LocalStore, Error> {
        let root = medium.root();
        let doing = |error: std::io::Error| failed(&*medium, "making a store", &error);
        medium.create_folder("").map_err(doing)?;
        // Looked at before anything is written, so that a folder of something else stays as it is.
        let refuse = || -> Result<(), Error> {
            let names = medium.list("").map_err(doing)?;
            if names.iter().any(|name| name == "STORE") {
                return Err(Error::new(Code::Conflict, format!("{root} is a store already; open it")));
            }
            match names.iter().find(|name| !["lock", "STORE.tmp"].contains(&name.as_str())) {
                Some(other) => Err(Error::new(
                    Code::Conflict,
                    format!("expected an empty folder for a new store, found {other:?} in {root}"),
                )),
                None => Ok(()),
            }
        };
        refuse()?;
        let _lock = making(&*medium)?;
        refuse()?;
        let mut id = [0; 16];
        medium.entropy(&mut id).map_err(doing)?;
        publish_envelope(&*medium, "", "STORE", &format::seal(STORE, &id))?;
        LocalStore::open(medium)
    }

    /// The same store with another bound on the length of a log segment (64 MiB, and at most 256 MiB): smaller ones can be
    /// collected sooner.
    pub fn with_segment_bytes_max(mut self, bytes: u64) -> LocalStore {
        self.segment_bytes_max = bytes.min(SEARCH_REACH);
        self
    }

    /// The id that the store got when it was made.
    pub fn id(&self) -> uuid::Uuid {
        uuid::Uuid::from_bytes(self.id)
    }

    /// The scopes that the store holds, sorted. A folder that can't be told whose it is hides none of the others; see
    /// [`Self::damaged_scopes`].
    ///
    /// # Errors
    /// What is wrong with the first damaged folder, where there is no other: a store of damaged scopes must not look
    /// empty. What the system says.
    pub fn scopes(&self) -> Result<Vec<Scope>, Error> {
        let (scopes, damaged) = self.look()?;
        match damaged.into_iter().next() {
            Some((_, error)) if scopes.is_empty() => Err(error),
            _ => Ok(scopes),
        }
    }

    /// The scopes' folders that can't be told whose they are, each with what is wrong.
    ///
    /// That is `corrupt` where `SCOPE` is damaged or missing beside a log, `foreign` where it is that of another folder
    /// or store, or what the system says.
    ///
    /// # Errors
    /// What the system says to listing the store's own folder.
    pub fn damaged_scopes(&self) -> Result<Vec<(String, Error)>, Error> {
        Ok(self.look()?.1)
    }

    /// The scopes, and the folders of which no scope can be told.
    fn look(&self) -> Result<(Vec<Scope>, Vec<Damaged>), Error> {
        let names = self.medium.list("").map_err(|error| failed(&*self.medium, "listing its folder", &error))?;
        let (mut scopes, mut damaged) = (Vec::new(), Vec::new());
        for folder in names.into_iter().filter(|name| is_scope_folder(name)) {
            match self.scope_in(&folder) {
                Ok(scope) => scopes.extend(scope),
                Err(error) => damaged.push((folder, error)),
            }
        }
        scopes.sort();
        Ok((scopes, damaged))
    }

    /// The durable side of a scope; with `create` it is made where it is missing.
    ///
    /// # Errors
    /// `not_found` where it is missing, `corrupt` and `foreign` as for [`Self::scopes`]; what the system says.
    pub fn repository(&self, scope: &Scope, create: bool) -> Result<Arc<dyn Repository>, Error> {
        let log = self.log(scope, create)?;
        Ok(Arc::new(LocalRepository { log, segment_bytes_max: self.segment_bytes_max, hint: Mutex::new(None) }))
    }

    fn log(&self, scope: &Scope, create: bool) -> Result<Log, Error> {
        let log = self.log_of(scope);
        if self.scope_in(&log.folder)?.is_none() {
            if !create {
                return Err(Error::not_found(format!("the store holds no scope {scope}")));
            }
            self.make_scope(scope, &log.folder)?;
        }
        Ok(log)
    }

    fn log_of(&self, scope: &Scope) -> Log {
        Log { medium: self.medium.clone(), folder: scope.folder(), identity: Identity::new(self.id, scope) }
    }

    /// Gives up what stands behind the damage of a scope's log, so that the scope can be written again; says what is
    /// lost. A log that can be read is left as it is.
    ///
    /// Nothing is deleted: segments that are given up get the name `lost-…`. A `SCOPE` that is missing beside a log is
    /// made again. Only for somebody who asked for it, and has no backup to restore.
    ///
    /// # Errors
    /// `locked` as [`Repository::writer`]; `not_found`; what the system says.
    pub fn salvage(&self, scope: &Scope, busy_timeout: Duration) -> Result<Salvage, Error> {
        if self.scope_is_lost(&scope.folder())? {
            self.make_scope_again(scope)?;
        }
        let log = self.log(scope, false)?;
        let lock = WriterLock::acquire(&log.medium, &log.folder, &log.identity, busy_timeout)?;
        log.salvage(&lock)
    }

    fn scope_in(&self, folder: &str) -> Result<Option<Scope>, Error> {
        let path = join(folder, "SCOPE");
        let Some(bytes) = read_small(&*self.medium, &path, ENVELOPE_BYTES_MAX)? else {
            return if self.scope_is_lost(folder)? { Err(self.lost_scope(folder)) } else { Ok(None) };
        };
        let mut fields = format::unseal_file(&path, SCOPE, &bytes).map_err(|error| error.at(self.medium.root()))?;
        let whose = fields.id();
        let id = fields.id();
        let mut name = || {
            let len = usize::from(fields.u16());
            std::str::from_utf8(fields.take(len)).ok()
        };
        let names = name().zip(name());
        let scope = names.and_then(|(workspace, game)| Scope::new(workspace, game).ok());
        let Some(scope) = scope.filter(|_| fields.is_spent()) else {
            return Err(format::damaged(&path, SCOPE, "expected two names and nothing more, found other bytes")
                .at(self.medium.root()));
        };
        let mut ids = Vec::from(whose);
        ids.extend_from_slice(&id);
        Identity::new(self.id, &scope).check(&path, &mut format::Fields::new(&ids))?;
        if scope.folder() != folder {
            return Err(Error::new(
                Code::Foreign,
                format!(
                    "{path}: expected the scope whose folder is {folder}, found {scope}, whose folder is {}; the folder \
                     was copied or renamed, in the store at {}: give it its own name back, or move the copy away",
                    scope.folder(),
                    self.medium.root()
                ),
            ));
        }
        Ok(Some(scope))
    }

    /// Makes the `SCOPE` that a log lost, unless the log is another's.
    fn make_scope_again(&self, scope: &Scope) -> Result<(), Error> {
        let log = self.log_of(scope);
        let _lock = making(&*self.medium)?;
        for name in log.segments()? {
            match Segment::open(&log, name)?.start(&log) {
                Err(error) if error.code() == Code::Foreign => return Err(error),
                _ => {}
            }
        }
        self.publish_scope(scope, &log.folder)
    }

    /// Whether a folder has a log, and no `SCOPE` that says whose.
    fn scope_is_lost(&self, folder: &str) -> Result<bool, Error> {
        let names = match self.medium.list(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            names => names.map_err(|error| failed(&*self.medium, format_args!("listing {folder}"), &error))?,
        };
        Ok(names.iter().any(|name| SegmentName::parse(name).is_some()) && !names.iter().any(|name| name == "SCOPE"))
    }

    fn lost_scope(&self, folder: &str) -> Error {
        Error::new(
            Code::Corrupt,
            format!(
                "{folder}: expected the file SCOPE beside the segments of a log, found none, in the store at {}; restore \
                 it from a backup, or salvage the scope by its name, which makes SCOPE again and leaves the log as it is",
                self.medium.root()
            ),
        )
    }

    fn make_scope(&self, scope: &Scope, folder: &str) -> Result<(), Error> {
        let medium = &*self.medium;
        let _lock = making(medium)?;
        if self.scope_in(folder)?.is_some() {
            return Ok(());
        }
        medium.create_folder(folder).map_err(|error| failed(medium, format_args!("making {folder}"), &error))?;
        self.publish_scope(scope, folder)?;
        medium.sync_folder("").map_err(|error| failed(medium, "syncing its folder", &error))
    }

    fn publish_scope(&self, scope: &Scope, folder: &str) -> Result<(), Error> {
        let mut body = Identity::new(self.id, scope).bytes().to_vec();
        for name in [scope.workspace(), scope.game()] {
            // A name of a scope has at most 256 bytes.
            body.extend_from_slice(&u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
            body.extend_from_slice(name.as_bytes());
        }
        publish_envelope(&*self.medium, folder, "SCOPE", &format::seal(SCOPE, &body))
    }
}

/// A scope's folder, and why nobody can tell whose it is.
type Damaged = (String, Error);

fn is_scope_folder(name: &str) -> bool {
    name.len() == 26 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Held while a store or a scope is made.
fn making(medium: &dyn Medium) -> Result<Box<dyn super::medium::Lock>, Error> {
    lock::poll(medium, "lock", MAKING_TIMEOUT)?.ok_or_else(|| {
        Error::new(Code::Locked, format!("another process is making a scope in {}; try again", medium.root()))
    })
}

fn publish_envelope(medium: &dyn Medium, folder: &str, name: &str, bytes: &[u8]) -> Result<(), Error> {
    publish(medium, folder, name, &mut |sink| {
        write_all(sink, bytes).map_err(|error| failed(medium, format_args!("writing {}", join(folder, name)), &error))
    })?;
    Ok(())
}

struct LocalRepository {
    log: Log,
    segment_bytes_max: u64,
    /// Where the last reading ended.
    hint: Mutex<Option<Hint>>,
}

impl Repository for LocalRepository {
    fn after(&self, seq: Seq, each: &mut dyn FnMut(Commit) -> Result<(), Error>) -> Result<Recovery, Error> {
        let hint = *self.hint.lock();
        let log = &self.log;
        // Read before the log is: what was durable by then must be found in it.
        let noted = Note::read(&*log.medium, &log.folder, &log.identity).map_or(Seq::ZERO, |note| note.durable);
        let reading = log.read(seq, noted, hint, &mut |place, head, bytes| each(log.commit(place, head, bytes)?))?;
        *self.hint.lock() = reading.hint;
        let last = reading.end.map_or(Seq::ZERO, |end| end.last);
        let Reading { durable, segments, frames, bytes, torn, .. } = reading;
        Ok(Recovery { last, durable, segments, frames, bytes, torn })
    }

    fn writer(&self, busy_timeout: Duration) -> Result<Box<dyn Writer>, Error> {
        let log = self.log.clone();
        let lock = WriterLock::acquire(&log.medium, &log.folder, &log.identity, busy_timeout)?;
        Ok(Box::new(LogWriter::open(log, lock, self.segment_bytes_max)?))
    }

    fn now(&self) -> Time {
        self.log.medium.now()
    }

    fn entropy(&self, bytes: &mut [u8]) -> Result<(), Error> {
        self.log
            .medium
            .entropy(bytes)
            .map_err(|error| failed(&*self.log.medium, "reading the system's randomness", &error))
    }

    fn bytes(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        for segment in self.log.segments()? {
            let path = self.log.path(segment);
            let len = self.log.medium.open(&path).and_then(|source| source.len());
            bytes += len.map_err(|error| failed(&*self.log.medium, format_args!("reading {path}"), &error))?;
        }
        Ok(bytes)
    }
}
