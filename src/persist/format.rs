//! The bytes that every file begins with: an envelope of magic, version, length and checksum.
//!
//! `docs/format.md` is the truth about every byte; this is the code that is held to it. All numbers are little-endian.
//! The envelope is the same in every version of the format, so a reader of any version can tell damage from a newer
//! version: first the checksum, then the version.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic: which kind of file |
//! | 4 | version of the format |
//! | 4 | length `n` of the envelope, these 16 bytes and the checksum included |
//! | `n - 20` | body |
//! | 4 | CRC32C of all the bytes before |
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;

use super::log::REMEDY;
use crate::error::{Code, Error};
use crate::scope::Scope;

/// The version that this code writes.
pub(crate) const VERSION: u32 = 1;

/// The oldest version that this code reads.
pub(crate) const VERSION_MIN: u32 = 1;

/// The kinds of file.
pub(crate) const STORE: &[u8; 8] = b"TGSTORE\0";
pub(crate) const SCOPE: &[u8; 8] = b"TGSCOPE\0";
pub(crate) const LOG: &[u8; 8] = b"TGLOG\0\0\0";
pub(crate) const WRITER: &[u8; 8] = b"TGWRITER";

/// No envelope is longer.
pub(crate) const ENVELOPE_BYTES_MAX: u64 = 4096;

/// What an envelope adds to its body.
const AROUND: usize = 20;

/// Whose bytes these are: every file of a scope carries both ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    /// The store, made at random when it was created.
    pub(crate) store: [u8; 16],
    /// The scope, a digest of its names.
    pub(crate) scope: [u8; 16],
}

impl Identity {
    pub(crate) fn new(store: [u8; 16], scope: &Scope) -> Identity {
        Identity { store, scope: scope.digest() }
    }

    /// Both ids in a row.
    pub(crate) fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let (store, scope) = bytes.split_at_mut(16);
        store.copy_from_slice(&self.store);
        scope.copy_from_slice(&self.scope);
        bytes
    }

    /// Reads both ids and refuses others.
    pub(crate) fn check(&self, file: &str, fields: &mut Fields<'_>) -> Result<(), Error> {
        for (what, ours, theirs) in [("store", self.store, fields.id()), ("scope", self.scope, fields.id())] {
            if ours != theirs {
                let (ours, theirs) = (uuid::Uuid::from_bytes(ours), uuid::Uuid::from_bytes(theirs));
                return Err(Error::new(
                    Code::Foreign,
                    format!(
                        "{file}: expected the {what} id {ours}, found {theirs}: the file belongs to another {what}; \
                         move it back there"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// An envelope around `body`.
pub(crate) fn seal(magic: &[u8; 8], body: &[u8]) -> Vec<u8> {
    let len = body.len().saturating_add(AROUND);
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    // Bodies are some hundred bytes: two names of 256 at most.
    bytes.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// What to say about a damaged file of a kind: the file, what is wrong, and what to do.
pub(crate) fn damaged(file: &str, magic: &[u8; 8], what: impl fmt::Display) -> Error {
    Error::new(Code::Corrupt, format!("{file}: {what}; {}", remedy(magic)))
}

fn remedy(magic: &[u8; 8]) -> &'static str {
    match magic {
        STORE => {
            "restore the file from a backup. It holds the store's id and nothing more, which stands in the SCOPE file and \
             the log of each scope, too: docs/format.md says how to make STORE again"
        }
        SCOPE => {
            "restore the file from a backup; or move it away and salvage the scope by its name, which makes SCOPE again \
             and leaves the log as it is"
        }
        _ => REMEDY,
    }
}

/// The fields of the envelope that `bytes` begin with.
///
/// # Errors
/// `corrupt` when it is damaged, `unsupported_version` when another version wrote it.
pub(crate) fn unseal<'a>(file: &str, magic: &[u8; 8], bytes: &'a [u8]) -> Result<Fields<'a>, Error> {
    let corrupt = |what: String| damaged(file, magic, what);
    let mut fields = Fields::new(bytes);
    if bytes.len() < AROUND {
        let (magic, found) = (magic.escape_ascii(), bytes.len());
        return Err(corrupt(format!(
            "expected a file that begins with {magic} and has {AROUND} bytes or more, found one of {found} bytes"
        )));
    }
    let found = fields.take(8);
    if found != magic {
        let (magic, found) = (magic.escape_ascii(), found.escape_ascii());
        return Err(corrupt(format!("expected {magic} at byte 0, found {found}")));
    }
    let (version, len) = (fields.u32(), fields.u32());
    let sealed = usize::try_from(len).ok().filter(|len| *len >= AROUND).and_then(|len| bytes.get(..len));
    let Some((covered, checksum)) = sealed.and_then(<[u8]>::split_last_chunk::<4>) else {
        let there = bytes.len();
        return Err(corrupt(format!(
            "expected a length between {AROUND} and {there}, the bytes that are there, at byte 12, found {len}; the file \
             was cut, or the length is damaged"
        )));
    };
    let (expected, found) = (crc32c::crc32c(covered), u32::from_le_bytes(*checksum));
    if expected != found {
        let last = len.saturating_sub(4);
        return Err(corrupt(format!(
            "expected the checksum {expected:08x} at byte {last}, found {found:08x}; some of the bytes before it were \
             changed, or the checksum was"
        )));
    }
    if !(VERSION_MIN..=VERSION).contains(&version) {
        let details = serde_json::json!({ "found": version, "min": VERSION_MIN, "max": VERSION });
        return Err(Error::new(
            Code::UnsupportedVersion,
            format!(
                "{file}: expected format version {VERSION_MIN} to {VERSION}, found {version}; \
                 open it with the version of Triglyph that wrote it"
            ),
        )
        .with_details(details));
    }
    Ok(Fields::new(covered.get(16..).unwrap_or_default()))
}

/// The fields of an envelope that is a whole file.
///
/// # Errors
/// As [`unseal`], and `corrupt` when anything follows the envelope.
pub(crate) fn unseal_file<'a>(file: &str, magic: &[u8; 8], bytes: &'a [u8]) -> Result<Fields<'a>, Error> {
    let fields = unseal(file, magic, bytes)?;
    let sealed = fields.rest.len().saturating_add(AROUND);
    if bytes.len() != sealed {
        let found = bytes.len();
        return Err(damaged(
            file,
            magic,
            format!("expected a file of {sealed} bytes, as its header says, found {found}"),
        ));
    }
    Ok(fields)
}

/// Fixed fields, read in order. Past the end there are zeros, and [`Fields::is_spent`] says so.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    short: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes, short: false }
    }

    /// The next `n` bytes; none when there are fewer.
    pub(crate) fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at_checked(n).unwrap_or_else(|| {
            self.short = true;
            (&[], &[])
        });
        self.rest = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap_or([0; N])
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    pub(crate) fn id(&mut self) -> [u8; 16] {
        self.array()
    }

    /// Whether the fields that were read are just those that there are.
    pub(crate) fn is_spent(&self) -> bool {
        self.rest.is_empty() && !self.short
    }
}
