//! The log of a scope: every commit, in order, in segments that are only ever appended to.
//!
//! A segment begins where its header says: after commit `first - 1`, whose frame has the checksum `chain`. Whatever an
//! earlier segment holds beyond that commit is *dead*: a torn tail, or frames that the header's writer found there,
//! could not know to be durable, and wrote again. So nothing is ever truncated, nothing is appended behind garbage, and
//! no promise rests on bytes that a failed sync left in the cache of the system.
//!
//! 1. The live frames of all segments, in the order of their names, have the sequences 1, 2, 3, … and each names the
//!    checksum of the one before.
//! 2. A segment appears whole (header and taken-over frames) or not at all, and only once everything that its header
//!    names is durable.
//! 3. Only the newest segment is written to, only at its end, and only by the holder of the lock.

pub(crate) mod payload;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod salvage;
pub(crate) mod segment;
mod window;
pub(crate) mod writer;

use std::io::ErrorKind;
use std::sync::Arc;

use super::format::Identity;
use super::medium::{Medium, failed, join};
use crate::change::Commit;
use crate::error::{Code, Error};
use payload::Malformed;
use reader::Place;
use record::Head;
use segment::SegmentName;

/// What to do about damage.
pub(crate) const REMEDY: &str = "restore the file from a backup, or salvage the log: that keeps what stands before the damage \
                      and lists what is lost";

/// Where a log lies and whose it is.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) medium: Arc<dyn Medium>,
    pub(crate) folder: String,
    pub(crate) identity: Identity,
}

impl Log {
    /// The segments that there are, in order.
    pub(crate) fn segments(&self) -> Result<Vec<SegmentName>, Error> {
        let names = match self.medium.list(&self.folder) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(&*self.medium, format_args!("listing {}", self.folder), &error)),
        };
        let mut segments: Vec<_> = names.iter().filter_map(|name| SegmentName::parse(name)).collect();
        segments.sort();
        Ok(segments)
    }

    /// Removes segments that were never published. The caller holds the lock.
    pub(crate) fn remove_leftovers(&self) -> Result<(), Error> {
        let doing = |error| failed(&*self.medium, format_args!("tidying {}", self.folder), &error);
        for name in self.medium.list(&self.folder).map_err(doing)? {
            if name.strip_suffix(".tmp").is_some_and(|name| SegmentName::parse(name).is_some()) {
                self.medium.remove(&join(&self.folder, &name)).map_err(doing)?;
            }
        }
        Ok(())
    }

    /// The path of a segment.
    pub(crate) fn path(&self, segment: SegmentName) -> String {
        join(&self.folder, &segment.to_string())
    }

    /// The commit of a frame; `place` is behind it.
    pub(crate) fn commit(&self, place: Place, head: Head, bytes: &[u8]) -> Result<Commit, Error> {
        payload::decode(head.seq, bytes).map_err(|malformed| {
            let (file, seq) = (self.path(place.segment), head.seq);
            let (begin, Malformed { offset, what }) = (place.offset.saturating_sub(head.total() as u64), malformed);
            Error::new(
                Code::Corrupt,
                format!(
                    "{file}: commit {seq}, whose frame begins at byte {begin}, can't be read at byte {offset} of its \
                     payload: {what}; it was not written by this version of Triglyph, or in bad memory: {REMEDY}"
                ),
            )
        })
    }
}
