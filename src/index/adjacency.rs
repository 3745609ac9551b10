//! The relations at every entity, in the order in which answers list them.
//!
//! An entity has two runs, out and in. What holds now and has no known end is *live*: sorted by (type, priority), so
//! that a filter by type is a range and the best of a range come first. What is *bounded* (has a known end or a start
//! yet to come) is tested by every read; what is *past* only by reads in time, and of these only by those that look
//! before it went. So a read of now pays nothing for history, and a read in time little for what hasn't changed since.
//!
//! The order itself is the engine's; this file is handed a comparison and keeps to it.
//!
//! 1. A relation stands once in the out run of its source and once in the in run of its target: in exactly one of
//!    live, bounded and past.
//! 2. Live hops are sorted by (type, the engine's priority).

use std::cmp::Ordering;
use std::sync::Arc;

use super::paged::Paged;
use crate::id::{EntityIx, RelationIx, TypeIx};
use crate::time::Time;

/// Which way a relation is read from an entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Way {
    /// From its source.
    Out,
    /// From its target.
    In,
}

/// One step over a live relation: 24 bytes, with what a walk looks at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop {
    /// The relation.
    pub(crate) relation: RelationIx,
    /// The entity at its far end.
    pub(crate) far: EntityIx,
    /// Its type.
    pub(crate) kind: TypeIx,
    /// Its trust, as a number: higher is better.
    pub(crate) trust: u8,
    /// The least of its trust and of that of both its ends: no reader who asks for more sees it.
    pub(crate) floor: u8,
    /// Its confidence in millionths.
    pub(crate) confidence: u32,
    /// Since when it has been as it is now, and both its ends there.
    pub(crate) stood: Time,
}

/// Where a relation stands in the runs of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It holds and has no known end.
    Live(Hop),
    /// It has a known end or a start yet to come.
    Bounded(RelationIx),
    /// It held once, or as far as is known never; not since the time given.
    Past(RelationIx, Time),
}

impl Standing {
    fn relation(&self) -> RelationIx {
        match self {
            Standing::Live(hop) => hop.relation,
            Standing::Bounded(relation) | Standing::Past(relation, _) => *relation,
        }
    }
}

/// The relations of one entity in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    live: Vec<Hop>,
    bounded: Vec<RelationIx>,
    past: Vec<(RelationIx, Time)>,
}

impl Run {
    /// What holds now and has no known end: for each type, its hops by priority.
    pub(crate) fn live(&self) -> impl Iterator<Item = (TypeIx, &[Hop])> {
        // Types are few in a run, and a run may be long: their ends are searched for, not walked to.
        let mut rest = &self.live[..];
        std::iter::from_fn(move || {
            let kind = rest.first()?.kind;
            let (hops, after) = rest.split_at(rest.partition_point(|hop| hop.kind == kind));
            rest = after;
            Some((kind, hops))
        })
    }

    /// What every read has to test.
    pub(crate) fn bounded(&self) -> &[RelationIx] {
        &self.bounded
    }

    /// What no longer holds, and may have held at an instant.
    pub(crate) fn past(&self, valid: Time) -> impl Iterator<Item = RelationIx> {
        self.past.iter().filter(move |(_, gone)| valid < *gone).map(|(relation, _)| *relation)
    }

    /// Every relation that was ever here.
    pub(crate) fn ever(&self) -> impl Iterator<Item = RelationIx> {
        let live = self.live.iter().map(|hop| hop.relation);
        live.chain(self.bounded.iter().copied()).chain(self.past.iter().map(|(relation, _)| *relation))
    }

    /// How many relations were ever here.
    pub(crate) fn ever_len(&self) -> usize {
        self.live.len() + self.bounded.len() + self.past.len()
    }

    /// Takes the relations of `new` out of the run and puts them back where they stand now.
    ///
    /// `new` names each relation once, sorted by relation. Costs one pass over the run and, for `k` new
    /// ones among `n`, `k log n` comparisons.
    fn restand(&mut self, new: &[Standing], order: &mut impl FnMut(&Hop, &Hop) -> Ordering) {
        let is_new = |relation: RelationIx| new.binary_search_by_key(&relation, Standing::relation).is_ok();
        self.live.retain(|hop| !is_new(hop.relation));
        self.bounded.retain(|relation| !is_new(*relation));
        self.past.retain(|(relation, _)| !is_new(*relation));
        let mut by_type = |a: &Hop, b: &Hop| a.kind.cmp(&b.kind).then_with(|| order(a, b));
        let mut arriving = Vec::new();
        for standing in new {
            match standing {
                Standing::Live(hop) => arriving.push(*hop),
                Standing::Bounded(relation) => self.bounded.push(*relation),
                Standing::Past(relation, gone) => self.past.push((*relation, *gone)),
            }
        }
        // Few arrive in a long run: find their places by binary search, so that a comparison (which may read names) is
        // made k log n times and not n times.
        arriving.sort_by(&mut by_type);
        let mut merged = Vec::with_capacity(self.live.len() + arriving.len());
        let mut rest = &self.live[..];
        for hop in &arriving {
            let before = rest.partition_point(|there| by_type(there, hop).is_lt());
            merged.extend_from_slice(&rest[..before]);
            merged.push(*hop);
            rest = &rest[before..];
        }
        merged.extend_from_slice(rest);
        self.live = merged;
    }
}

/// The out and in runs of all entities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    out: Paged<Arc<Run>>,
    into: Paged<Arc<Run>>,
}

impl Adjacency {
    /// Makes room for one more entity.
    pub(crate) fn push(&mut self) {
        self.out.push(Arc::default());
        self.into.push(Arc::default());
    }

    /// The run of an entity.
    pub(crate) fn run(&self, entity: EntityIx, way: Way) -> &Run {
        match way {
            Way::Out => self.out.at(entity.at()),
            Way::In => self.into.at(entity.at()),
        }
    }

    /// See [`Run::restand`].
    pub(crate) fn restand(
        &mut self,
        entity: EntityIx,
        way: Way,
        new: &[Standing],
        order: &mut impl FnMut(&Hop, &Hop) -> Ordering,
    ) {
        let run = match way {
            Way::Out => self.out.at_mut(entity.at()),
            Way::In => self.into.at_mut(entity.at()),
        };
        Arc::make_mut(run).restand(new, order);
    }
}
