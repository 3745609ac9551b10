//! How far a fact may be believed, and who says it.
//!
//! Three words, used nowhere else: an *authority* names a thing, a *source* speaks of it, a *witness* is one record
//! of a source.
//!
//! 1. Trust is ordered: hypothesis < derived < authoritative.
//! 2. A confidence lies in 0..=1, kept in millionths; it compares and multiplies as an integer, alike everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, did_you_mean};
use crate::key::Name;

/// How a fact came to be known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Proposed by a model or a heuristic: for investigation only.
    Hypothesis,
    /// Inferred deterministically from structure.
    Derived,
    /// Parsed or emitted by an authority.
    Authoritative,
}

impl Trust {
    /// All classes, lowest first.
    pub const ALL: [Trust; 3] = [Trust::Hypothesis, Trust::Derived, Trust::Authoritative];

    /// The text of the class.
    pub fn as_str(self) -> &'static str {
        match self {
            Trust::Hypothesis => "hypothesis",
            Trust::Derived => "derived",
            Trust::Authoritative => "authoritative",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Trust {
    type Err = Error;

    fn from_str(text: &str) -> Result<Trust, Error> {
        Trust::ALL.into_iter().find(|trust| trust.as_str() == text).ok_or_else(|| {
            let known = Trust::ALL.map(Trust::as_str);
            Error::invalid(format!(
                "expected a trust class ({}), found {text:?}{}",
                known.join(", "),
                did_you_mean(text, known)
            ))
        })
    }
}

/// How sure a source is, 0..=1, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u32);

impl Confidence {
    /// Certain.
    pub const ONE: Confidence = Confidence(1_000_000);

    /// A confidence from a number; rounded to millionths.
    ///
    /// # Errors
    /// `invalid` when the number is not finite or lies outside 0..=1.
    pub fn new(value: f64) -> Result<Confidence, Error> {
        if !(0.0..=1.0).contains(&value) {
            return Err(Error::invalid(format!("expected a confidence from 0 to 1, found {value}")));
        }
        Ok(Confidence((value * 1_000_000.0).round() as u32))
    }

    /// A confidence from millionths; more than a million is none.
    pub fn from_millionths(millionths: u32) -> Option<Confidence> {
        (millionths <= 1_000_000).then_some(Confidence(millionths))
    }

    /// The confidence in millionths.
    pub fn millionths(self) -> u32 {
        self.0
    }

    /// The confidence as a number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1_000_000.0
    }
}

impl fmt::Debug for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl Serialize for Confidence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value())
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Confidence, D::Error> {
        Confidence::new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Confidence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// A file group of a source instance: the unit that has a revision and is reconciled as a whole.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupKey {
    /// The source instance: `graphify:main`, `unity:client`.
    pub source: Name,
    /// The group within it, mostly a path. The empty name is the source as a whole.
    pub group: Name,
}

impl GroupKey {
    /// A group out of its source instance and name.
    pub fn new(source: impl Into<Name>, group: impl Into<Name>) -> GroupKey {
        GroupKey { source: source.into(), group: group.into() }
    }

    /// The group that stands for the whole source: its revision holds for every group that has none of its own.
    pub fn whole(source: impl Into<Name>) -> GroupKey {
        GroupKey::new(source, "")
    }
}

/// Who says a thing: an author, or one record of a file group of a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Voice {
    /// A person or a program that wrote through the API; no rebuild withdraws what it said.
    Author,
    /// A witness.
    Record {
        /// The source instance and file group.
        group: GroupKey,
        /// The record within the group; 0 where a group says a fact once.
        record: u32,
    },
}

impl fmt::Display for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Voice::Author => f.write_str("author"),
            Voice::Record { group, record } => write!(f, "{}|{}|{record}", group.source, group.group),
        }
    }
}

/// Why a change was made: the event on the edge between two states. Every field but the type may be missing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cause {
    /// `rename`, `status_transition`, `mode_change`, or any word of the caller's.
    pub event_type: Option<Name>,
    /// The memory (document) that led to it.
    pub memory_id: Option<Name>,
    /// The commit that led to it.
    pub commit: Option<Name>,
    /// What happened, in words.
    pub description: Option<Name>,
    /// The sequence of the signed event that caused it.
    pub event_seq: Option<u64>,
}
