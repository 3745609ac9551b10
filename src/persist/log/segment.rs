//! The name and the header of a segment.
//!
//! `log-00000000000000000412.tgw` begins with commit 412. Where a writer has to begin at a commit at which a segment
//! begins already (that one was torn before its first frame, or nothing in it was known to be durable), it makes
//! another *take*: `log-00000000000000000412-1.tgw`. Takes of one commit follow each other; only the last one lives.

use std::fmt;

use super::record;
use crate::error::{Code, Error};
use crate::id::Seq;
use crate::persist::format::{self, Fields, Identity, LOG};

/// The bytes of a header: the first frame begins there.
pub(crate) const HEADER: u64 = 72;

/// The largest first commit that a name may have.
const SEQ_MAX: u64 = 1 << 62;

/// Which segment: by its first commit, then by its take.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SegmentName {
    first: Seq,
    take: u32,
}

impl SegmentName {
    /// The segment whose first commit follows `last`, where `newest` is the newest segment that there is.
    pub(crate) fn after(last: Seq, newest: Option<SegmentName>) -> SegmentName {
        let first = last.next();
        let take = newest.filter(|newest| newest.first == first).map_or(0, |newest| newest.take + 1);
        SegmentName { first, take }
    }

    /// The segment of this file name, if it is the name of one.
    pub(crate) fn parse(name: &str) -> Option<SegmentName> {
        let numbers = name.strip_prefix("log-")?.strip_suffix(".tgw")?;
        let (first, take) = numbers.split_once('-').unwrap_or((numbers, "0"));
        let parsed = SegmentName { first: Seq(first.parse().ok()?), take: take.parse().ok()? };
        // One segment, one name; no first commit is number 0, and none is so large that counting on could overflow.
        let plain = parsed.to_string() == name && parsed.take < u32::MAX;
        (plain && (1..=SEQ_MAX).contains(&parsed.first.0)).then_some(parsed)
    }

    /// The commit that the segment follows.
    pub(crate) fn previous(self) -> Seq {
        Seq(self.first.0.saturating_sub(1))
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.take {
            0 => write!(f, "log-{:020}.tgw", self.first.0),
            take => write!(f, "log-{:020}-{take}.tgw", self.first.0),
        }
    }
}

/// The header of the segment `name`, which follows a frame of checksum `chain`.
pub(crate) fn header(identity: &Identity, name: SegmentName, chain: u32) -> Vec<u8> {
    let flags = [0; 4];
    let fields: [&[u8]; 5] =
        [&identity.bytes(), &name.first.0.to_le_bytes(), &name.take.to_le_bytes(), &chain.to_le_bytes(), &flags];
    format::seal(LOG, &fields.concat())
}

/// Checks the header that `bytes` begin with; returns the checksum of the frame that it follows.
pub(crate) fn read_header(file: &str, identity: &Identity, name: SegmentName, bytes: &[u8]) -> Result<u32, Error> {
    let mut fields: Fields<'_> = format::unseal(file, LOG, bytes)?;
    identity.check(file, &mut fields)?;
    let found = SegmentName { first: Seq(fields.u64()), take: fields.u32() };
    if found != name {
        return Err(Error::new(
            Code::Foreign,
            format!("{file}: expected the segment of that name, found {found}; give the file its own name back"),
        ));
    }
    let (chain, flags) = (fields.u32(), fields.u32());
    if name.previous() == Seq::ZERO && chain != record::seed(identity) {
        return Err(format::damaged(
            file,
            LOG,
            format_args!(
                "expected a header that follows nothing, which is checksum {:08x}, found {chain:08x}",
                record::seed(identity)
            ),
        ));
    }
    if flags != 0 || !fields.is_spent() {
        return Err(format::damaged(
            file,
            LOG,
            format_args!(
                "expected a header of {HEADER} bytes without flags, found other fields and the flags {flags:08x}"
            ),
        ));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were a name of somebody else's taken for a segment, its bytes would be read as commits.
    #[test]
    fn only_our_own_names() {
        for name in ["log-00000000000000000001.tgw", "log-00000000000000000412-1.tgw", "log-04611686018427387904.tgw"] {
            assert_eq!(SegmentName::parse(name).unwrap().to_string(), name);
        }
        for name in [
            "log-1.tgw",
            "log-00000000000000000000.tgw",
            "log-00000000000000000001.tgw.tmp",
            "log-00000000000000000001-0.tgw",
            "log-00000000000000000001-01.tgw",
            "log-+0000000000000000001.tgw",
            "log-18446744073709551615.tgw",
            "log-99999999999999999999.tgw",
            "log-00000000000000000001-4294967295.tgw",
            "image-00000000000000000001.tgs",
            "log-.tgw",
            "",
        ] {
            assert_eq!(SegmentName::parse(name), None, "{name}");
        }
    }

    /// Each rule by itself, under a checksum that is right.
    #[test]
    fn headers_are_what_they_should_be() {
        let identity = Identity { store: [1; 16], scope: [2; 16] };
        let (one, later) = (SegmentName::after(Seq(0), None), SegmentName::after(Seq(41), None));
        let seed = record::seed(&identity);
        let check = |name, bytes: &[u8]| read_header("f", &identity, name, bytes).map_err(|error| error.code());
        assert_eq!(check(one, &header(&identity, one, seed)), Ok(seed));
        assert_eq!(check(later, &header(&identity, later, 7)), Ok(7));
        assert_eq!(header(&identity, later, 7).len() as u64, HEADER);
        assert_eq!(check(one, &header(&identity, one, 7)), Err(Code::Corrupt), "commit 1 follows nothing");
        assert_eq!(check(one, &header(&identity, later, 7)), Err(Code::Foreign), "another name");
        for other in [Identity { store: [3; 16], ..identity }, Identity { scope: [3; 16], ..identity }] {
            assert_eq!(check(later, &header(&other, later, 7)), Err(Code::Foreign));
        }
        let body = &header(&identity, later, 7)[16..68];
        let flagged = [&body[..48], &[1, 0, 0, 0]].concat();
        assert_eq!(check(later, &format::seal(LOG, &flagged)), Err(Code::Corrupt), "unknown flags");
        assert_eq!(check(later, &format::seal(LOG, &body[..48])), Err(Code::Corrupt), "too short");
        assert_eq!(check(later, &format::seal(LOG, &[body, &[0]].concat())), Err(Code::Corrupt), "too long");
    }

    #[test]
    fn takes_follow_each_other() {
        let one = SegmentName::after(Seq(411), None);
        let two = SegmentName::after(Seq(411), Some(one));
        let next = SegmentName::after(Seq(412), Some(two));
        assert_eq!([one, two, next].map(|name| name.take), [0, 1, 0]);
        assert!(one < two && two < next);
    }
}
