//! Giving up what stands behind damage, on request.
//!
//! What can be read up to the damage is kept. The segments behind it are set aside under other names, and a new take of
//! the damaged segment begins with copies of its good frames; that makes all of the damaged one dead (see
//! [`log`](super)). So salvage deletes nothing, and what it gave up can still be studied.
//!
//! 1. Killed at any point, it leaves a log that is still refused, or one that is salvaged; running it again finishes.
//! 2. A log that can be read is not touched.

use std::ops::ControlFlow;

use serde::Serialize;

use super::Log;
use super::reader::{Place, Segment};
use super::record;
use super::segment::{HEADER, SegmentName};
use super::writer::begin;
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::persist::lock::{Note, WriterLock};
use crate::persist::medium::{failed, join};

/// What salvaging a log kept and lost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Salvage {
    /// The last commit that was kept; the log ends there now.
    pub kept: Seq,
    /// How far the log was known to be durable, if that is further: every commit between is lost.
    pub promised: Option<Seq>,
    /// What was given up; empty when the log could be read.
    pub lost: Vec<Lost>,
}

/// A stretch of a file that was given up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Lost {
    /// The file, as it is named now.
    pub file: String,
    /// Where the stretch begins.
    pub offset: u64,
    /// How many bytes it has, up to the end of the file.
    pub bytes: u64,
    /// The commits in it whose frames are whole, as ranges: they can't be applied without those before them.
    pub commits: Vec<(Seq, Seq)>,
}

impl Log {
    /// Salvages the log; `lock` is the caller's.
    pub(crate) fn salvage(&self, lock: &WriterLock) -> Result<Salvage, Error> {
        let noted = Note::read(&*self.medium, &self.folder, &self.identity).map_or(Seq::ZERO, |note| note.durable);
        let (good, refused) = self.readable(noted)?;
        if !refused {
            return Ok(Salvage { kept: last(good), promised: None, lost: Vec::new() });
        }
        let mut lost = Vec::new();
        for name in self.segments()? {
            if good.is_none_or(|good| name > good.segment) {
                lost.extend(self.set_aside(name)?);
            }
        }
        // What they had taken over may still stand before them.
        let (good, _) = self.readable(Seq::ZERO)?;
        let kept = last(good);
        if let Some(Place { segment, offset, .. }) = good {
            lost.splice(0..0, self.lost_in(segment, segment.to_string(), offset)?);
        }
        for part in &mut lost {
            part.commits.retain(|(_, last)| *last > kept);
            part.commits.iter_mut().for_each(|(first, _)| *first = kept.next().max(*first));
        }
        // The note promises what is lost. Without it the damage is still refused, or the tail is torn.
        let io = |error| failed(&*self.medium, format_args!("salvaging {}", self.folder), &error);
        if self.medium.list(&self.folder).map_err(io)?.iter().any(|name| name == "writer") {
            self.medium.remove(&join(&self.folder, "writer")).map_err(io)?;
        }
        self.medium.sync_folder(&self.folder).map_err(io)?;
        let newest = self.segments()?.last().copied();
        match good {
            // Frames that were taken over are durable in the copies only, which may have been set aside: copy all.
            Some(good) => {
                let start = Segment::open(self, good.segment)?.start(self)?;
                begin(self, SegmentName::after(start.last, newest), start.chain, Some((start, good)))?;
            }
            None => {
                begin(self, SegmentName::after(Seq::ZERO, newest), record::seed(&self.identity), None)?;
            }
        }
        lock.note(kept);
        Ok(Salvage { kept, promised: Some(noted).filter(|noted| *noted > kept), lost })
    }

    /// Behind the last good commit, and whether the log is refused there.
    fn readable(&self, durable: Seq) -> Result<(Option<Place>, bool), Error> {
        let mut good = None;
        let read = self.read(Seq::ZERO, durable, None, &mut |place, head, bytes| {
            self.commit(place, head, bytes)?;
            good = Some(place);
            Ok(())
        });
        match read {
            Ok(_) => Ok((good, false)),
            Err(error) if [Code::Corrupt, Code::Foreign].contains(&error.code()) => Ok((good, true)),
            Err(error) => Err(error),
        }
    }

    fn set_aside(&self, name: SegmentName) -> Result<Option<Lost>, Error> {
        let io = |error| failed(&*self.medium, format_args!("setting {name} aside in {}", self.folder), &error);
        let taken = self.medium.list(&self.folder).map_err(io)?;
        let stem = format!("lost-{name}");
        let free = (1..).map(|n| format!("{stem}.{n}")).find(|name| !taken.contains(name)).unwrap_or(stem);
        let lost = self.lost_in(name, free.clone(), 0)?;
        self.medium.rename(&self.path(name), &join(&self.folder, &free)).map_err(io)?;
        Ok(lost)
    }

    /// What stands from `offset` on; `file` is what the segment will be called.
    fn lost_in(&self, name: SegmentName, file: String, offset: u64) -> Result<Option<Lost>, Error> {
        let mut segment = Segment::open(self, name)?;
        let bytes = segment.len().saturating_sub(offset);
        if bytes == 0 {
            return Ok(None);
        }
        let mut commits: Vec<(Seq, Seq)> = Vec::new();
        segment.search(offset.max(HEADER), &|_| true, &mut |head| {
            match commits.last_mut().filter(|(_, last)| last.0.checked_add(1) == Some(head.seq.0)) {
                Some((_, last)) => *last = head.seq,
                None => commits.push((head.seq, head.seq)),
            }
            ControlFlow::Continue(())
        })?;
        Ok(Some(Lost { file: join(&self.folder, &file), offset, bytes, commits }))
    }
}

fn last(good: Option<Place>) -> Seq {
    good.map_or(Seq::ZERO, |good| good.last)
}
