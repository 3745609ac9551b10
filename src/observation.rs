//! What a source says: an entity seen, a relation seen.
//!
//! A parser turns bytes into observations and knows nothing of the graph. Observations come in *groups*: all that one
//! file (or another unit of a source) says. A group is complete: whatever a witness of the group said before and the
//! new group doesn't say is withdrawn. So a parser never deletes; it says again, and less.

use crate::evidence::{Confidence, GroupKey, Trust};
use crate::key::{EntityKey, Name};
use crate::time::Since;
use crate::value::{Props, Value};

/// What an observation is about, by names alone: ids follow from the scope that it is observed in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sighted {
    /// An entity.
    Entity(EntityKey),
    /// A relation; its ends need not have been seen.
    Relation {
        /// Where the sentence begins.
        source: EntityKey,
        /// Where it ends.
        target: EntityKey,
        /// The relation type, declared or `<source>:<name>`.
        kind: Name,
        /// The name of the source that speaks.
        origin: Name,
    },
}

/// One record's word about one thing.
#[derive(Clone, PartialEq, Debug)]
pub struct Observation {
    /// What was seen.
    pub sighted: Sighted,
    /// Tells apart several records of one group that witness the same thing; 0 where a group says a fact once.
    pub record: u32,
    /// From when on it holds.
    pub since: Since,
    /// How it came to be known.
    pub trust: Trust,
    /// How sure the source is.
    pub confidence: Confidence,
    /// What else it says.
    pub props: Props,
    /// Where in the source it stands: `src/main.rs:L42`. Kept for the newest observation only.
    pub place: Option<Value>,
}

impl Observation {
    /// An entity seen by an authority, now, with full confidence; adjust the fields that differ.
    pub fn entity(key: EntityKey) -> Observation {
        Observation::new(Sighted::Entity(key))
    }

    /// A relation seen by an authority, now, with full confidence; adjust the fields that differ.
    pub fn relation(
        source: EntityKey,
        kind: impl Into<Name>,
        target: EntityKey,
        origin: impl Into<Name>,
    ) -> Observation {
        Observation::new(Sighted::Relation { source, target, kind: kind.into(), origin: origin.into() })
    }

    fn new(sighted: Sighted) -> Observation {
        Observation {
            sighted,
            record: 0,
            since: Since::Observed,
            trust: Trust::Authoritative,
            confidence: Confidence::ONE,
            props: Props::new(),
            place: None,
        }
    }

    /// The same with one more property; a `None` is left out.
    pub fn with(mut self, name: &str, value: Option<impl Into<Value>>) -> Observation {
        if let Some(value) = value {
            self.props.insert(name.into(), value.into());
        }
        self
    }
}

/// All that one file group of a source says.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Which group.
    pub key: GroupKey,
    /// The revision of the group, where it has one of its own; else its source's holds.
    pub revision: Option<Name>,
    /// Everything that the group says, in any order.
    pub observations: Vec<Observation>,
}
