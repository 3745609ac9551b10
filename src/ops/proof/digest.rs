//! `digest`: one number for what a scope holds.
//!
//! The content digest is the SHA-256 of the canonical lines, each ended by a line feed: what
//! `triglyph export --canonical | sha256sum` prints. The *projected* part is what sources say and the rows of their
//! groups; the *authored* part is what authors say. Facts made across sources (source `link`) count as projected.
//!
//! 1. After any sequence of incremental rebuilds the projected digest is that of a rebuild from nothing over the same
//!    final inputs.
//! 2. A digest doesn't depend on the scope: the same facts have the same digest in another one.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::lines::Lines;
use crate::budget::{Answer, Meter};
use crate::engine::lens::Lens;
use crate::error::Error;
use crate::ops::look::question;

/// The question of `digest`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DigestRequest {}

/// The content digest and its parts, in hexadecimal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct ContentDigest {
    /// What sources say.
    pub projected: String,
    /// What authors say.
    pub authored: String,
    /// Both: the SHA-256 of the canonical export.
    pub whole: String,
    /// How many lines stand behind the digest.
    pub lines: LineCounts,
}

/// Lines, by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct LineCounts {
    /// Assertions of sources.
    pub projected: u64,
    /// Assertions of authors.
    pub authored: u64,
    /// File groups.
    pub groups: u64,
}

/// Computes the digest at the lens's sequence; its valid time, trust floor and revision don't matter.
///
/// Costs one look at each change point of the scope, and a sort of the lines in memory.
///
/// # Errors
/// None; the shape is that of every read.
pub fn digest(lens: &Lens, _: &DigestRequest) -> Result<Answer<ContentDigest>, Error> {
    Ok(Meter::list(question("digest", lens)).answer(of(&Lines::of(lens)), Vec::new(), None))
}

/// The projected part alone: what `rebuild --verify` compares.
pub fn projected(lens: &Lens) -> String {
    hash(Lines::of(lens).projected.iter().map(String::as_str))
}

pub(super) fn of(lines: &Lines) -> ContentDigest {
    let groups = lines.groups as u64;
    ContentDigest {
        projected: hash(lines.projected.iter().map(String::as_str)),
        authored: hash(lines.authored.iter().map(String::as_str)),
        whole: hash(lines.whole()),
        lines: LineCounts {
            projected: lines.projected.len() as u64 - groups,
            authored: lines.authored.len() as u64,
            groups,
        },
    }
}

fn hash<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for line in lines {
        hasher.update(line);
        hasher.update("\n");
    }
    data_encoding::HEXLOWER.encode(&hasher.finalize())
}
