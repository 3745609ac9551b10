//! Reading a log up to its last valid frame.
//!
//! Where the newest segment stops making sense, one question decides: was the commit that should stand there ever
//! promised to anybody? It was, if the `writer` record says that the log was durable that far, or if a valid frame
//! further on says so: then bytes were *damaged*, and reading fails. Otherwise a crash cut the tail off: the tail is
//! *torn*, and reading ends before it. In older segments everything up to the next header was promised.
//!
//! 1. Reading writes nothing, takes no lock, and never holds more than one frame.
//! 2. No commit is handed out before its frame was found valid and to follow the one before.
//! 3. A commit that was promised is never left out in silence.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::record::{self, Damage, Head};
use super::segment::{self, HEADER, SegmentName};
use super::window::{READ_AHEAD, Window};
use super::{Log, REMEDY};
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::persist::Torn;
use crate::persist::medium::{Medium, failed};

/// The most bytes whose checksum is taken in search of a valid frame behind damage; hostile bytes could ask for more
/// without end. When it is spent, the tail counts as damaged.
const SEARCH_BYTES_MAX: u64 = 1 << 30;

/// How far behind damage a valid frame is searched for: no writer makes a segment longer, so none was written further on.
/// Without it a tail of zeros that costs its maker nothing, as a sparse file has it, would keep every reader busy.
pub(crate) const SEARCH_REACH: u64 = 256 << 20;

/// A page of nothing.
static ZEROS: [u8; 4096] = [0; 4096];

/// A place in a log: behind the frame of commit `last`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) segment: SegmentName,
    pub(crate) offset: u64,
    pub(crate) last: Seq,
    /// The checksum of that frame, which the next one must name.
    pub(crate) chain: u32,
}

/// Where an earlier reading ended: the place before its last frame, so that a look at that frame tells whether this is
/// still the log that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hint {
    before: Place,
    last: Seq,
    chain: u32,
}

/// What was read.
pub(crate) struct Reading {
    /// Behind the last valid frame; `None` when there is no segment with a header.
    pub(crate) end: Option<Place>,
    /// For the reading that goes on from there.
    pub(crate) hint: Option<Hint>,
    /// How far the log is known to be durable.
    pub(crate) durable: Seq,
    /// Behind the last frame of the last segment that is known to be durable, or behind its header.
    pub(crate) sure: Option<Place>,
    /// The newest segment, even if it has no whole header.
    pub(crate) newest: Option<SegmentName>,
    pub(crate) torn: Option<Torn>,
    pub(crate) segments: usize,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

struct Wanted {
    after: Seq,
    durable: Seq,
    /// The checksum that the frame of commit `after` had when it was read.
    chain: Option<u32>,
}

/// Takes each frame: the place behind it, its head, its payload.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Place, Head, &[u8]) -> Result<(), Error>;

impl Log {
    /// Hands every commit after `after` to `each`, in order.
    ///
    /// `durable` is how far the log is known to be durable; it must have been learnt before. `hint` is where an earlier
    /// reading ended.
    pub(crate) fn read(&self, after: Seq, durable: Seq, hint: Option<Hint>, each: Each<'_>) -> Result<Reading, Error> {
        let mut segments = self.segments()?;
        let newest = segments.last().copied();
        // A segment is begun only once everything before it is durable.
        let durable = durable.max(newest.map_or(Seq::ZERO, SegmentName::previous));
        let mut reading = Reading {
            end: None,
            hint: None,
            durable,
            sure: None,
            newest,
            torn: None,
            segments: segments.len(),
            frames: 0,
            bytes: 0,
        };
        if let Some(name) = newest {
            let bytes = Segment::open(self, name)?.len();
            if bytes < HEADER {
                // Too short for a header, so there can't be a frame in it.
                segments.pop();
                reading.torn = Some(Torn { file: self.path(name), offset: 0, bytes });
            }
        }
        let hint = hint.filter(|hint| hint.last == after);
        let resumed = hint.and_then(|hint| {
            let index = segments.binary_search(&hint.before.segment).ok()?;
            let next = segments.get(index.saturating_add(1));
            next.is_none_or(|next| next.previous() >= after).then_some((index, hint.before))
        });
        let begin = match resumed {
            Some((index, place)) => {
                reading.end = Some(place);
                index
            }
            None => match segments.partition_point(|name| name.previous() <= after).checked_sub(1) {
                Some(index) => index,
                None if segments.is_empty() && after == Seq::ZERO => 0,
                None => return Err(self.missing(after, segments.first().copied())),
            },
        };
        let wanted = Wanted { after, durable, chain: hint.map(|hint| hint.chain) };
        for (index, name) in segments.iter().copied().enumerate().skip(begin) {
            let next = segments.get(index.saturating_add(1)).copied();
            if next.is_some_and(|next| reading.end.is_some_and(|end| end.last >= next.previous())) {
                continue; // Dead: the next segment begins no later.
            }
            self.read_segment(name, next, &wanted, &mut reading, each)?;
        }
        let last = reading.end.map_or(Seq::ZERO, |end| end.last);
        if last < durable.max(after) {
            return Err(self.lost(last, durable.max(after), newest));
        }
        Ok(reading)
    }

    fn read_segment(
        &self,
        name: SegmentName,
        next: Option<SegmentName>,
        wanted: &Wanted,
        reading: &mut Reading,
        each: Each<'_>,
    ) -> Result<(), Error> {
        let mut segment = Segment::open(self, name)?;
        let start = segment.start(self)?;
        let mut at = match reading.end {
            Some(end) if end.segment == name && end.offset > HEADER => end,
            Some(end) if end.chain != start.chain => {
                return Err(Error::new(
                    Code::Foreign,
                    format!(
                        "{}: expected a segment that follows commit {} of checksum {:08x}, found one that follows \
                         checksum {:08x}; it was written for another log, or the one before it was replaced: restore \
                         both from one backup",
                        segment.path, end.last, end.chain, start.chain
                    ),
                ));
            }
            _ => start,
        };
        self.same_history(wanted, at)?;
        reading.hint = Some(Hint { before: at, last: at.last, chain: at.chain });
        reading.sure = Some(if at.last <= wanted.durable { at } else { start });
        while next.is_none_or(|next| next.previous() != at.last) {
            let (head, payload) = match segment.frame(at)? {
                Ok(frame) => frame,
                Err(damage) => match segment.verdict(at, damage, next, wanted.durable)? {
                    Verdict::End => break,
                    Verdict::Torn(torn) => {
                        reading.torn = Some(torn);
                        break;
                    }
                    Verdict::Damaged => return Err(segment.damaged(at, damage)),
                    Verdict::Again => continue,
                },
            };
            let bytes = head.total() as u64;
            reading.bytes = reading.bytes.saturating_add(bytes);
            let offset = at.offset.saturating_add(bytes);
            reading.hint = Some(Hint { before: at, last: head.seq, chain: head.checksum });
            at = Place { segment: name, offset, last: head.seq, chain: head.checksum };
            self.same_history(wanted, at)?;
            if at.last > wanted.after {
                each(at, head, payload)?;
                reading.frames = reading.frames.saturating_add(1);
            }
            if at.last <= wanted.durable {
                reading.sure = Some(at);
            }
        }
        reading.end = Some(at);
        Ok(())
    }

    fn missing(&self, after: Seq, oldest: Option<SegmentName>) -> Error {
        let found = oldest.map_or("no segment".to_owned(), |oldest| oldest.to_string());
        Error::new(
            Code::Corrupt,
            format!(
                "{}: expected a log segment that begins with commit {} or earlier, found {found}; \
                 restore the missing segment from a backup",
                self.folder,
                after.0.saturating_add(1)
            ),
        )
    }

    fn lost(&self, last: Seq, durable: Seq, newest: Option<SegmentName>) -> Error {
        let (folder, root) = (&self.folder, self.medium.root());
        let found = format!("found the last valid frame at commit {last}, in the store at {root}");
        let message = match newest.filter(|newest| newest.previous() == durable) {
            Some(newest) => format!(
                "{folder}: expected a log that reaches commit {durable}, because the segment {newest} begins behind it, \
                 {found}; where {newest} is not of this log, move it away; where it is, a segment before it is missing: \
                 {REMEDY}"
            ),
            None => format!(
                "{folder}: expected a log that reaches commit {durable}, which was durable, {found}; {REMEDY} (a copy \
                 that was made while somebody wrote looks like this, too)"
            ),
        };
        Error::new(Code::Corrupt, message).with_details(serde_json::json!({ "last": last, "durable": durable }))
    }

    /// Refuses to go on from a commit that is another one now.
    fn same_history(&self, wanted: &Wanted, at: Place) -> Result<(), Error> {
        let Wanted { after, chain, .. } = *wanted;
        if at.last == after && chain.is_some_and(|chain| chain != at.chain) {
            return Err(Error::new(
                Code::Foreign,
                format!("{}: commit {after} is no longer the one that was read; open the store again", self.folder),
            ));
        }
        Ok(())
    }
}

/// What a frame that isn't one means.
enum Verdict {
    End,
    Torn(Torn),
    Damaged,
    /// The writer was just about to write it: look again.
    Again,
}

/// A segment open for reading.
pub(crate) struct Segment {
    name: SegmentName,
    path: String,
    window: Window,
    medium: Arc<dyn Medium>,
}

/// What to say where a segment can't be read.
fn unread<'a>(path: &'a str, medium: &'a Arc<dyn Medium>) -> impl Fn(io::Error) -> Error + Copy + 'a {
    move |error| failed(&**medium, format_args!("reading {path}"), &error)
}

impl Segment {
    pub(crate) fn open(log: &Log, name: SegmentName) -> Result<Segment, Error> {
        let path = log.path(name);
        let window = log.medium.open(&path).and_then(Window::new);
        let window = window.map_err(|error| failed(&*log.medium, format_args!("opening {path}"), &error))?;
        Ok(Segment { name, path, window, medium: log.medium.clone() })
    }

    /// The place before the first frame, as the header has it.
    pub(crate) fn start(&mut self, log: &Log) -> Result<Place, Error> {
        let header = self.window.get(0, HEADER as usize).map_err(unread(&self.path, &self.medium))?;
        let chain = segment::read_header(&self.path, &log.identity, self.name, header)?;
        Ok(Place { segment: self.name, offset: HEADER, last: self.name.previous(), chain })
    }

    /// The frame behind `at`.
    fn frame(&mut self, at: Place) -> Result<Result<(Head, &[u8]), Damage>, Error> {
        let io = unread(&self.path, &self.medium);
        let head = match Head::read(self.window.get(at.offset, record::HEAD).map_err(io)?) {
            Ok(head) => head,
            Err(damage) => return Ok(Err(damage)),
        };
        let bytes = self.window.get(at.offset, head.total()).map_err(io)?;
        Ok(head.payload(bytes).and_then(|payload| head.follows(at.last, at.chain).map(|()| (head, payload))))
    }

    /// What it means that no frame follows `at`, where `next` is the segment after this one.
    fn verdict(
        &mut self,
        at: Place,
        damage: Damage,
        next: Option<SegmentName>,
        durable: Seq,
    ) -> Result<Verdict, Error> {
        let bytes = self.window.len().saturating_sub(at.offset);
        match next {
            Some(next) if bytes == 0 => return Err(self.ends_early(at, next)),
            Some(_) => return Ok(Verdict::Damaged),
            None => {}
        }
        if bytes == 0 {
            return Ok(Verdict::End);
        }
        let lost = Seq(at.last.0.saturating_add(1));
        if durable < lost && !self.proves(at.offset, lost)? {
            return Ok(Verdict::Torn(Torn { file: self.path.clone(), offset: at.offset, bytes }));
        }
        // A writer may have finished the frame since we looked; what follows it can't have been there before it was.
        self.window.forget().map_err(unread(&self.path, &self.medium))?;
        Ok(match self.frame(at)? {
            Ok(_) => Verdict::Again,
            Err(again) if again == damage => Verdict::Damaged,
            Err(_) => Verdict::Again,
        })
    }

    /// Whether a valid frame beyond `offset` says that commit `lost` was durable.
    fn proves(&mut self, offset: u64, lost: Seq) -> Result<bool, Error> {
        let mut proven = false;
        let searched = self.search(offset.saturating_add(1), &|head| head.durable >= lost, &mut |_| {
            proven = true;
            ControlFlow::Break(())
        })?;
        Ok(proven || !searched)
    }

    /// Tells `found` of the valid frames that begin within [`SEARCH_REACH`] of `from` and are `plausible`, until it
    /// breaks. `false` when the search was given up.
    pub(crate) fn search(
        &mut self,
        from: u64,
        plausible: &dyn Fn(&Head) -> bool,
        found: &mut dyn FnMut(Head) -> ControlFlow<()>,
    ) -> Result<bool, Error> {
        let io = unread(&self.path, &self.medium);
        let (mut at, mut budget) = (from, SEARCH_BYTES_MAX);
        let until = from.saturating_add(SEARCH_REACH);
        while at < until {
            let chunk = self.window.get(at, READ_AHEAD).map_err(io)?;
            if chunk.len() < record::HEAD {
                return Ok(true);
            }
            // What lengthens a file is zeros, as a rule; comparing them is the fastest way past.
            let blank = chunk.chunks(ZEROS.len()).all(|page| ZEROS.starts_with(page));
            let candidates: Vec<usize> =
                if blank { Vec::new() } else { memchr::memmem::find_iter(chunk, &record::MAGIC).collect() };
            let whole = chunk.len().saturating_sub(record::MAGIC.len().saturating_sub(1));
            for candidate in candidates {
                let candidate = at.saturating_add(candidate as u64);
                let Ok(head) = Head::read(self.window.get(candidate, record::HEAD).map_err(io)?) else { continue };
                if !plausible(&head) {
                    continue;
                }
                let Some(left) = budget.checked_sub(head.total() as u64) else { return Ok(false) };
                budget = left;
                let valid = head.payload(self.window.get(candidate, head.total()).map_err(io)?).is_ok();
                if valid && found(head).is_break() {
                    return Ok(true);
                }
            }
            at = at.saturating_add(whole as u64);
        }
        Ok(true)
    }

    /// The bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.window.len()
    }

    fn ends_early(&self, at: Place, next: SegmentName) -> Error {
        Error::new(
            Code::Corrupt,
            format!(
                "{}: ends behind commit {}, but the next segment, {next}, follows commit {}; this one was cut, or a \
                 segment between the two is missing; {REMEDY}",
                self.path,
                at.last,
                next.previous()
            ),
        )
        .with_details(serde_json::json!({ "file": self.path, "offset": at.offset, "commit": at.last.next() }))
    }

    fn damaged(&self, at: Place, damage: Damage) -> Error {
        let lost = at.last.next();
        Error::new(
            Code::Corrupt,
            format!(
                "{}: damaged at byte {}, where commit {lost} should stand: {damage}; every commit before it is \
                 intact; {REMEDY}",
                self.path, at.offset
            ),
        )
        .with_details(serde_json::json!({ "file": self.path, "offset": at.offset, "commit": lost }))
    }
}
