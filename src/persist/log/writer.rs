//! Appending to a log, and making it durable.
//!
//! Opening looks at the newest segment. Where it ends cleanly and all of it is known to be durable, it is written on;
//! otherwise a new segment takes over after the last commit that is known to be durable, beginning with copies of the
//! frames behind that commit (see [`log`](super)). Appends and syncs may run on two threads, so that commits can
//! gather while a sync is under way; that is all that group commit needs.
//!
//! 1. The first failed write or sync ends the writer: everything after it fails, and no sync is tried again.
//! 2. At most one sync runs at a time. (The system reports a lost write to one caller of `fsync` only; a second one
//!    would take silence for success.)
//! 3. The note beside the lock is written after a sync, before anybody hears of it.

use std::sync::Arc;

use parking_lot::Mutex;

use super::reader::Place;
use super::segment::{self, HEADER, SegmentName};
use super::{Log, payload, record};
use crate::change::Commit;
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::persist::lock::{Note, WriterLock};
use crate::persist::medium::{Sink, failed, publish, read_full, write_all};
use crate::persist::{Syncer, Writer};

/// How large a buffer waits for the next frame; a larger one is given back.
const FRAME_BYTES_KEPT: usize = 1 << 20;

/// How much of a segment is copied at once.
const COPY_BYTES: usize = 1 << 20;

/// The writer of a log.
pub(crate) struct LogWriter {
    shared: Arc<Shared>,
    end: Place,
    frame: Vec<u8>,
    segment_bytes_max: u64,
}

/// What a writer and its syncers have in common. The lock is free once all of them are gone.
struct Shared {
    log: Log,
    lock: WriterLock,
    syncing: Mutex<()>,
    state: Mutex<State>,
}

struct State {
    sink: Arc<dyn Sink>,
    written: Seq,
    durable: Seq,
    stopped: Option<Stopped>,
}

/// The first failure, and up to which commit it left nothing certain.
struct Stopped {
    cause: Error,
    written: Seq,
}

impl LogWriter {
    /// Goes on where the log ends. Everything that can be read is durable afterwards.
    pub(crate) fn open(log: Log, lock: WriterLock, segment_bytes_max: u64) -> Result<LogWriter, Error> {
        let noted = Note::read(&*log.medium, &log.folder, &log.identity).map_or(Seq::ZERO, |note| note.durable);
        let newest = log.segments()?.last().map_or(Seq::ZERO, |newest| newest.previous());
        let reading = log.read(newest, noted, None, &mut |_, _, _| Ok(()))?;
        // A process may have died over a new segment, or between making a name and making it durable.
        log.remove_leftovers()?;
        for folder in [log.folder.as_str(), ""] {
            log.medium
                .sync_folder(folder)
                .map_err(|error| failed(&*log.medium, format_args!("syncing the folder {folder:?}"), &error))?;
        }
        let (sink, end) = match (reading.end, reading.sure) {
            (Some(end), Some(sure)) => {
                if reading.torn.is_none() && end == sure {
                    let path = log.path(end.segment);
                    (
                        log.medium
                            .append(&path)
                            .map_err(|error| failed(&*log.medium, format_args!("opening {path}"), &error))?,
                        end,
                    )
                } else {
                    let name = SegmentName::after(sure.last, reading.newest);
                    begin(&log, name, sure.chain, Some((sure, end)))?
                }
            }
            _ => {
                let name = SegmentName::after(Seq::ZERO, reading.newest);
                begin(&log, name, record::seed(&log.identity), None)?
            }
        };
        lock.note(end.last);
        let state = State { sink, written: end.last, durable: end.last, stopped: None };
        let shared = Arc::new(Shared { log, lock, syncing: Mutex::new(()), state: Mutex::new(state) });
        Ok(LogWriter { shared, end, frame: Vec::new(), segment_bytes_max })
    }

    /// Seals the segment and begins the next one, where the frame would make it too long.
    fn make_room(&mut self) -> Result<(), Error> {
        let full = self.end.offset + self.frame.len() as u64 > self.segment_bytes_max;
        if self.end.offset == HEADER || !full {
            return Ok(());
        }
        let shared = &*self.shared;
        let _one = shared.syncing.lock();
        shared.sync_now()?;
        let name = SegmentName::after(self.end.last, Some(self.end.segment));
        let (sink, end) = begin(&shared.log, name, self.end.chain, None)?;
        shared.state.lock().sink = sink;
        self.end = end;
        Ok(())
    }
}

impl Writer for LogWriter {
    fn last(&self) -> Seq {
        self.end.last
    }

    fn append(&mut self, commit: &Commit) -> Result<u64, Error> {
        let durable = self.shared.usable()?;
        let expected = self.end.last.next();
        if commit.seq != expected {
            return Err(Error::new(
                Code::Conflict,
                format!("expected commit {expected} to be appended, found commit {}; read the log again", commit.seq),
            ));
        }
        let chain = self.end.chain;
        let checksum =
            record::write(&mut self.frame, commit.seq, durable, chain, |frame| payload::encode(commit, frame))?;
        self.make_room().map_err(|error| self.shared.stop(error))?;
        let sink = self.shared.state.lock().sink.clone();
        write_all(&*sink, &self.frame).map_err(|error| {
            let path = self.shared.log.path(self.end.segment);
            self.shared.stop(failed(
                &*self.shared.log.medium,
                format_args!("writing commit {} to {path}", commit.seq),
                &error,
            ))
        })?;
        let bytes = self.frame.len() as u64;
        self.frame.clear();
        self.frame.shrink_to(FRAME_BYTES_KEPT);
        self.end =
            Place { offset: self.end.offset + bytes, last: commit.seq, chain: checksum, segment: self.end.segment };
        self.shared.state.lock().written = commit.seq;
        Ok(bytes)
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        self.shared.clone()
    }
}

impl Syncer for Shared {
    fn sync(&self, upto: Seq) -> Result<Seq, Error> {
        let _one = self.syncing.lock();
        {
            let state = self.state.lock();
            if state.durable >= upto {
                return Ok(state.durable);
            }
            if let Some(stopped) = &state.stopped {
                // Those who waited for the sync that failed hear what failed.
                return Err(if upto <= stopped.written { stopped.cause.clone() } else { poisoned(&stopped.cause) });
            }
            if upto > state.written {
                return Err(Error::new(
                    Code::Conflict,
                    format!("expected a commit that was appended (up to {}), found commit {upto}", state.written),
                ));
            }
        }
        self.sync_now()
    }
}

impl Shared {
    /// Makes durable what is written. The caller holds `syncing`.
    fn sync_now(&self) -> Result<Seq, Error> {
        self.lock.check().map_err(|error| self.stop(error))?;
        let (sink, written, durable) = {
            let state = self.state.lock();
            (state.sink.clone(), state.written, state.durable)
        };
        if written > durable {
            sink.sync().map_err(|error| {
                self.stop(failed(
                    &*self.log.medium,
                    format_args!("making commit {written} of {} durable", self.log.folder),
                    &error,
                ))
            })?;
            self.state.lock().durable = written;
            self.lock.note(written);
        }
        Ok(written)
    }

    /// How far the log is durable, unless the writer was stopped.
    fn usable(&self) -> Result<Seq, Error> {
        let (stopped, durable) = {
            let state = self.state.lock();
            (state.stopped.as_ref().map(|stopped| poisoned(&stopped.cause)), state.durable)
        };
        match stopped {
            Some(error) => Err(error),
            None => self.lock.check().map_err(|error| self.stop(error)).map(|()| durable),
        }
    }

    /// Ends the writer; returns the error for its caller.
    fn stop(&self, cause: Error) -> Error {
        let mut state = self.state.lock();
        let written = state.written;
        state.stopped.get_or_insert_with(|| Stopped { cause: cause.clone(), written });
        cause
    }
}

fn poisoned(cause: &Error) -> Error {
    Error::new(
        Code::Poisoned,
        format!("an earlier write failed, and this writer takes no more ({cause}); reopen the store to recover"),
    )
    .with_details(serde_json::json!({ "cause": cause.code().as_str() }))
}

/// Makes a segment that follows a frame of checksum `chain`, with copies of the frames between two places.
pub(crate) fn begin(
    log: &Log,
    name: SegmentName,
    chain: u32,
    copied: Option<(Place, Place)>,
) -> Result<(Arc<dyn Sink>, Place), Error> {
    let mut end = Place { segment: name, offset: HEADER, last: name.previous(), chain };
    let sink = publish(&*log.medium, &log.folder, &name.to_string(), &mut |sink| {
        let path = log.path(name);
        let header = segment::header(&log.identity, name, chain);
        write_all(sink, &header).map_err(|error| failed(&*log.medium, format_args!("writing {path}"), &error))?;
        let Some((from, to)) = copied else { return Ok(()) };
        let old = log.path(from.segment);
        let mut source =
            log.medium.open(&old).map_err(|error| failed(&*log.medium, format_args!("reading {old}"), &error))?;
        let mut offset = from.offset;
        let mut chunk = vec![0; COPY_BYTES];
        while offset < to.offset {
            let wanted = usize::try_from(to.offset - offset).map_or(COPY_BYTES, |left| left.min(COPY_BYTES));
            let chunk = &mut chunk[..wanted];
            let filled = read_full(&mut *source, offset, chunk)
                .map_err(|error| failed(&*log.medium, format_args!("reading {old}"), &error))?;
            if filled < wanted {
                return Err(Error::new(Code::Io, format!("{old}: shorter than it was a moment ago")));
            }
            write_all(sink, chunk).map_err(|error| failed(&*log.medium, format_args!("writing {path}"), &error))?;
            offset += wanted as u64;
        }
        end = Place { segment: name, offset: HEADER + (to.offset - from.offset), last: to.last, chain: to.chain };
        Ok(())
    })?;
    Ok((sink, end))
}
