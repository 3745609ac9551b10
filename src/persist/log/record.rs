//! One frame of the log: one commit, and the proof that it follows the one before.
//!
//! The length stands beside its complement, so that a damaged length can't send a reader astray. The checksum of the
//! previous frame stands in the next one (the *chain*), so a frame is valid in one place only: a stale block, a frame
//! of another log or a copy of an earlier frame never follows. And a frame says how far the log was durable when it
//! was written: that is what tells a lost write that nobody was promised from damage to one that was.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | magic `TGf1` |
//! | 4 | length of the payload |
//! | 4 | its complement |
//! | 4 | chain: checksum of the previous frame |
//! | 8 | sequence |
//! | 8 | the sequence up to which the log was durable |
//! | 4 | CRC32C of all other bytes of the frame |
//! | n | payload |
//! | 0 to 7 | zeros, up to a multiple of 8 |
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

use crate::error::{Code, Error};
use crate::id::Seq;
use crate::persist::format::Fields;

/// What a frame begins with.
pub(crate) const MAGIC: [u8; 4] = *b"TGf1";

/// The bytes before the payload.
pub(crate) const HEAD: usize = 36;

/// No frame is longer: 64 MiB.
pub(crate) const FRAME_BYTES_MAX: usize = 64 << 20;

/// Where the checksum stands.
const CHECKSUM_AT: usize = 32;

/// The head of a frame whose length can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) seq: Seq,
    pub(crate) durable: Seq,
    pub(crate) chain: u32,
    pub(crate) checksum: u32,
    payload: usize,
}

/// What is wrong with bytes that should be a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Damage {
    /// The file ends first.
    Short { expected: usize, found: usize },
    /// No frame begins here.
    Magic([u8; 4]),
    /// The length and its complement disagree, or the length is out of bounds.
    Length { length: u32, complement: u32 },
    /// The checksum is wrong.
    Checksum { expected: u32, found: u32 },
    /// The bytes after the payload aren't zero.
    Padding,
    /// It is a frame, but of another place.
    Sequence { expected: Seq, found: Seq },
    /// It is a frame, but doesn't follow the one before.
    Chain { expected: u32, found: u32 },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Damage::Short { expected, found } => write!(f, "{expected} bytes expected, {found} found"),
            Damage::Magic(found) => {
                write!(f, "a frame ({}) expected, {} found", MAGIC.escape_ascii(), found.escape_ascii())
            }
            Damage::Length { length, complement } => write!(
                f,
                "a length of at most {FRAME_BYTES_MAX} beside its complement expected, {length:08x} and \
                 {complement:08x} found"
            ),
            Damage::Checksum { expected, found } => write!(f, "checksum {expected:08x} expected, {found:08x} found"),
            Damage::Padding => f.write_str("zeros expected after the payload, other bytes found"),
            Damage::Sequence { expected, found } => write!(f, "commit {expected} expected, commit {found} found"),
            Damage::Chain { expected, found } => {
                write!(f, "a frame that follows checksum {expected:08x} expected, one that follows {found:08x} found")
            }
        }
    }
}

impl Head {
    /// The head that `bytes` begin with.
    pub(crate) fn read(bytes: &[u8]) -> Result<Head, Damage> {
        let Some(head) = bytes.first_chunk::<HEAD>() else {
            return Err(Damage::Short { expected: HEAD, found: bytes.len() });
        };
        let mut fields = Fields::new(head);
        let magic = fields.u32().to_le_bytes();
        if magic != MAGIC {
            return Err(Damage::Magic(magic));
        }
        let (length, complement) = (fields.u32(), fields.u32());
        let payload = usize::try_from(length).ok().filter(|payload| total(*payload) <= FRAME_BYTES_MAX);
        let Some(payload) = payload.filter(|_| length == !complement) else {
            return Err(Damage::Length { length, complement });
        };
        let (chain, seq, durable, checksum) = (fields.u32(), fields.u64(), fields.u64(), fields.u32());
        Ok(Head { seq: Seq(seq), durable: Seq(durable), chain, checksum, payload })
    }

    /// The bytes of the whole frame.
    pub(crate) fn total(&self) -> usize {
        total(self.payload)
    }

    /// The payload of the frame that `bytes` begin with, if all of it is as it was written.
    pub(crate) fn payload<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], Damage> {
        let Some(frame) = bytes.get(..self.total()) else {
            return Err(Damage::Short { expected: self.total(), found: bytes.len() });
        };
        let expected = checksum(frame);
        if expected != self.checksum {
            return Err(Damage::Checksum { expected, found: self.checksum });
        }
        let (payload, padding) =
            frame.get(HEAD..).and_then(|rest| rest.split_at_checked(self.payload)).unwrap_or_default();
        if padding.iter().any(|byte| *byte != 0) {
            return Err(Damage::Padding);
        }
        Ok(payload)
    }

    /// Whether the frame is the one after `last`, whose checksum is `chain`.
    pub(crate) fn follows(&self, last: Seq, chain: u32) -> Result<(), Damage> {
        if Some(self.seq.0) != last.0.checked_add(1) {
            return Err(Damage::Sequence { expected: Seq(last.0.saturating_add(1)), found: self.seq });
        }
        if self.chain != chain {
            return Err(Damage::Chain { expected: chain, found: self.chain });
        }
        Ok(())
    }
}

/// Puts a frame into `frame`: `fill` appends the payload. Returns the checksum, which the next frame must name.
///
/// # Errors
/// `too_large` when the frame would exceed [`FRAME_BYTES_MAX`], and whatever `fill` says.
pub(crate) fn write(
    frame: &mut Vec<u8>,
    seq: Seq,
    durable: Seq,
    chain: u32,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
) -> Result<u32, Error> {
    frame.clear();
    frame.resize(HEAD, 0);
    fill(frame)?;
    let payload = frame.len().saturating_sub(HEAD);
    let length = u32::try_from(payload).ok().filter(|_| total(payload) <= FRAME_BYTES_MAX);
    let Some(length) = length else {
        return Err(too_large(payload));
    };
    frame.resize(total(payload), 0);
    let fields: [&[u8]; 6] = [
        &MAGIC,
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        &chain.to_le_bytes(),
        &seq.0.to_le_bytes(),
        &durable.0.to_le_bytes(),
    ];
    put(frame, 0, &fields.concat());
    let checksum = checksum(frame);
    put(frame, CHECKSUM_AT, &checksum.to_le_bytes());
    Ok(checksum)
}

/// Refused: the commit doesn't fit a frame.
pub(crate) fn too_large(payload: usize) -> Error {
    Error::new(
        Code::TooLarge,
        format!(
            "expected a commit of at most {FRAME_BYTES_MAX} bytes, found {payload} or more; split the batch, \
             nothing was written"
        ),
    )
}

/// What the frame after no frame at all names as its chain: it ties the log to its store and scope.
pub(crate) fn seed(identity: &crate::persist::format::Identity) -> u32 {
    crc32c::crc32c(&identity.bytes())
}

fn total(payload: usize) -> usize {
    HEAD.saturating_add(payload).checked_next_multiple_of(8).unwrap_or(usize::MAX)
}

/// CRC32C of the frame, the checksum's own place left out.
fn checksum(frame: &[u8]) -> u32 {
    let (before, rest) = frame.split_at_checked(CHECKSUM_AT).unwrap_or((frame, &[]));
    crc32c::crc32c_append(crc32c::crc32c(before), rest.get(4..).unwrap_or_default())
}

fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = frame.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// A frame with ten bytes of payload, so two of padding.
    fn frame() -> Vec<u8> {
        let mut frame = Vec::new();
        let fill = |frame: &mut Vec<u8>| {
            frame.extend_from_slice(b"0123456789");
            Ok(())
        };
        write(&mut frame, Seq(5), Seq(3), 0xabcd, fill).unwrap();
        frame
    }

    fn check(bytes: &[u8]) -> Result<&[u8], Damage> {
        let head = Head::read(bytes)?;
        let payload = head.payload(bytes)?;
        head.follows(Seq(4), 0xabcd).map(|()| payload)
    }

    #[test]
    fn a_frame_is_what_was_written() {
        let frame = frame();
        let head = Head::read(&frame).unwrap();
        assert_eq!((head.seq, head.durable, head.chain, head.total()), (Seq(5), Seq(3), 0xabcd, 48));
        assert_eq!(check(&frame), Ok(&b"0123456789"[..]));
        assert_eq!(check(&[&frame[..], b"more"].concat()), Ok(&b"0123456789"[..]));
        for cut in 0..frame.len() {
            assert!(matches!(check(&frame[..cut]), Err(Damage::Short { .. })), "cut at {cut}");
        }
    }

    /// Each rule by itself, under a checksum that is right: no rule hides behind another one.
    #[test]
    fn each_rule_holds_by_itself() {
        type Case = (&'static str, fn(&mut Vec<u8>), fn(&Damage) -> bool);
        let cases: [Case; 7] = [
            ("magic", |f| f[0] ^= 1, |d| matches!(d, Damage::Magic(_))),
            ("complement", |f| f[8] ^= 1, |d| matches!(d, Damage::Length { .. })),
            ("padding", |f| f[47] = 1, |d| matches!(d, Damage::Padding)),
            ("earlier", |f| f[16] = 4, |d| matches!(d, Damage::Sequence { .. })),
            ("later", |f| f[16] = 6, |d| matches!(d, Damage::Sequence { .. })),
            ("chain", |f| f[12] ^= 1, |d| matches!(d, Damage::Chain { .. })),
            (
                "too long",
                |f| {
                    let length = FRAME_BYTES_MAX as u32 - HEAD as u32 + 1;
                    f[4..8].copy_from_slice(&length.to_le_bytes());
                    f[8..12].copy_from_slice(&(!length).to_le_bytes());
                },
                |d| matches!(d, Damage::Length { .. }),
            ),
        ];
        for (rule, breaks, expected) in cases {
            let mut frame = frame();
            breaks(&mut frame);
            let checksum = checksum(&frame);
            frame[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&checksum.to_le_bytes());
            let damage = check(&frame).expect_err(rule);
            assert!(expected(&damage), "{rule}: {damage}");
        }
    }

    #[test]
    fn the_largest_frame_fits() {
        let mut frame = Vec::new();
        let payload = FRAME_BYTES_MAX - HEAD;
        let mut fill = |n: usize| {
            write(&mut frame, Seq(1), Seq(0), 0, |frame| {
                frame.resize(HEAD + n, 7);
                Ok(())
            })
        };
        assert_eq!(fill(payload + 1).unwrap_err().code(), Code::TooLarge);
        fill(payload).unwrap();
        assert_eq!(frame.len(), FRAME_BYTES_MAX);
        assert!(Head::read(&frame).unwrap().payload(&frame).is_ok());
    }
}
