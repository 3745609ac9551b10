//! Who has which GUID.
//!
//! Metas claim GUIDs, and after a copy outside Unity two claim the same. The asset is one all the same (its identity is
//! the GUID); what the files disagree about is where it lies.
//!
//! 1. A claimant with a body goes before one whose body is gone (a meta that a move left behind), then the least path
//!    goes first. The first one wins: it says where the asset lies. The others are listed, up to [`LOSERS_MAX`], and
//!    counted.

use std::collections::BTreeMap;

use super::classify::Pair;
use super::guid::Guid;
use super::read::Reading;

/// The claimants of each GUID.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims<'a>(BTreeMap<Guid, Claim<'a>>);

/// The claimants of one GUID.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Claim<'a> {
    /// The path that has it.
    pub(super) winner: &'a str,
    /// The first other paths that claim it.
    pub(super) losers: Vec<&'a str>,
    /// How many other paths claim it.
    pub(super) losers_count: u64,
}

/// The most losers of one GUID that are listed.
pub(super) const LOSERS_MAX: usize = 16;

impl<'a> Claims<'a> {
    /// What the metas of all pairs claim; pairs come sorted by path.
    pub(super) fn new(pairs: &'a [Pair], readings: &[Reading]) -> Claims<'a> {
        let mut claims = Claims::default();
        for has_body in [true, false] {
            let of_kind = pairs.iter().zip(readings).filter(|(pair, _)| pair.body.is_some() == has_body);
            for (pair, reading) in of_kind {
                if let Some(guid) = reading.meta.as_ref().and_then(|meta| meta.guid) {
                    claims.add(guid, &pair.path);
                }
            }
        }
        claims
    }

    fn add(&mut self, guid: Guid, path: &'a str) {
        let first = || Claim { winner: path, losers: Vec::new(), losers_count: 0 };
        let claim = self.0.entry(guid).or_insert_with(first);
        if claim.winner != path {
            claim.losers_count += 1;
            if claim.losers.len() < LOSERS_MAX {
                claim.losers.push(path);
            }
        }
    }

    /// The claimants of a GUID; None where no asset of the project has it.
    pub(super) fn of(&self, guid: Guid) -> Option<&Claim<'a>> {
        self.0.get(&guid)
    }

    /// How many GUIDs are claimed.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
