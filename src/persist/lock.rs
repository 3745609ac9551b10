//! One writer a scope: an OS lock, and a note beside it that says who holds it and how far the log is durable.
//!
//! The lock is the empty file `lock`. It is never removed: a lock on a file that another file has replaced guards
//! nothing, so a holder looks before each write whether the name still leads to the file that it locked. The note is
//! the file `writer`, overwritten in place by one small write after each sync, and never synced itself: it may be
//! missing or behind, and then its readers know less; it is never ahead.
//!
//! 1. `durable` in the note is at most the sequence up to which the log was durable when the note was written.
//! 2. Readers take no lock and write nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::format::{self, ENVELOPE_BYTES_MAX, Identity, WRITER};
use super::medium::{Lock, Medium, failed, join, read_small};
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::time::Time;

/// How long a waiting writer sleeps between two tries.
const POLL: Duration = Duration::from_millis(10);

/// What the note says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note {
    /// When its writer took the lock.
    pub(crate) since: Time,
    /// How far the log was durable.
    pub(crate) durable: Seq,
    /// The process that wrote it.
    pub(crate) process: u32,
}

impl Note {
    /// The note in a scope's folder; `None` where there is none that can be read.
    pub(crate) fn read(medium: &dyn Medium, folder: &str, identity: &Identity) -> Option<Note> {
        let path = join(folder, "writer");
        let bytes = read_small(medium, &path, ENVELOPE_BYTES_MAX).ok().flatten()?;
        let mut fields = format::unseal_file(&path, WRITER, &bytes).ok()?;
        identity.check(&path, &mut fields).ok()?;
        let (since, durable, process) = (fields.i64(), fields.u64(), fields.u32());
        fields.is_spent().then_some(Note { since: Time::from_micros(since), durable: Seq(durable), process })
    }

    fn bytes(&self, identity: &Identity) -> Vec<u8> {
        let fields: [&[u8]; 4] = [
            &identity.bytes(),
            &self.since.micros().to_le_bytes(),
            &self.durable.0.to_le_bytes(),
            &self.process.to_le_bytes(),
        ];
        format::seal(WRITER, &fields.concat())
    }
}

/// The lock of a scope's writer, held until it is dropped.
pub(crate) struct WriterLock {
    held: Box<dyn Lock>,
    medium: Arc<dyn Medium>,
    folder: String,
    identity: Identity,
    since: Time,
    process: u32,
}

impl WriterLock {
    /// Takes the lock, waiting up to `busy_timeout` for whoever holds it.
    ///
    /// # Errors
    /// `locked`, naming the holder's process and since when it has held the lock.
    pub(crate) fn acquire(
        medium: &Arc<dyn Medium>,
        folder: &str,
        identity: &Identity,
        busy_timeout: Duration,
    ) -> Result<WriterLock, Error> {
        let path = join(folder, "lock");
        let Some(held) = poll(&**medium, &path, busy_timeout)? else {
            return Err(locked(Note::read(&**medium, folder, identity), medium.process(), busy_timeout));
        };
        let (since, process) = (medium.now(), medium.process());
        Ok(WriterLock { held, medium: medium.clone(), folder: folder.to_owned(), identity: *identity, since, process })
    }

    /// Refuses to go on where the lock no longer guards anything, or in a process that has only inherited it.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let now = self.medium.process();
        if now != self.process {
            return Err(Error::new(
                Code::Locked,
                format!(
                    "this writer belongs to process {}, of which process {now} is a fork; open the store in the new \
                     process, once the old one has closed it",
                    self.process
                ),
            ));
        }
        match self.held.is_current() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::new(
                Code::Locked,
                format!(
                    "{}/lock was removed or replaced while this writer held it, so another one may be at work; reopen \
                     the store",
                    self.folder
                ),
            )),
            Err(error) => Err(failed(&*self.medium, format_args!("looking at {}/lock", self.folder), &error)),
        }
    }

    /// Notes that the log is durable up to this commit. A note that can't be written is only missed.
    pub(crate) fn note(&self, durable: Seq) {
        let note = Note { since: self.since, durable, process: self.process };
        let _ = self.medium.overwrite(&join(&self.folder, "writer"), &note.bytes(&self.identity));
    }
}

/// Tries to take a lock until `timeout` is over.
pub(crate) fn poll(medium: &dyn Medium, path: &str, timeout: Duration) -> Result<Option<Box<dyn Lock>>, Error> {
    let begun = Instant::now();
    loop {
        if let Some(held) =
            medium.try_lock(path).map_err(|error| failed(medium, format_args!("locking {path}"), &error))?
        {
            return Ok(Some(held));
        }
        let left = timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(left.min(POLL));
    }
}

fn locked(holder: Option<Note>, ours: u32, waited: Duration) -> Error {
    let who = match holder {
        Some(Note { since, process, .. }) if process == ours => {
            format!("this process ({process}) has been writing since {since}")
        }
        Some(Note { since, process, .. }) => format!("process {process} has been writing since {since}"),
        None => "another process is writing".to_owned(),
    };
    let details = holder.map(|holder| serde_json::json!({ "pid": holder.process, "since": holder.since }));
    Error::new(
        Code::Locked,
        format!(
            "expected to be the only writer of the scope, but {who}; waited {} s. Reading needs no lock; to write, \
             wait for that process to end, or allow a longer wait",
            waited.as_secs_f64()
        ),
    )
    .with_details(details.unwrap_or_else(|| serde_json::json!({})))
}
