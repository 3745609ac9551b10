//! Every string once: names become small integers that compare and hash for free.
//!
//! 1. Names are only ever added; a [`NameIx`] holds for the life of its engine and never leaves it.

use super::keys::{Keys, hash};
use super::paged::Paged;
use crate::id::NameIx;
use crate::key::Name;

/// An interner whose clones share pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    names: Paged<Name>,
    keys: Keys,
}

impl Names {
    /// The position of `name`, given out now if it is new.
    pub(crate) fn intern(&mut self, name: &Name) -> NameIx {
        if let Some(known) = self.find(name) {
            return known;
        }
        let ix = NameIx::nth(self.names.len());
        self.names.push(name.clone());
        let names = &self.names;
        self.keys.insert(hash(name.as_bytes()), ix.0, |row| hash(names.at(row as usize).as_bytes()));
        ix
    }

    /// The position of `name`, if it was ever given out.
    pub(crate) fn find(&self, name: &str) -> Option<NameIx> {
        self.keys.find(hash(name.as_bytes()), |row| *self.names.at(row as usize) == name).map(NameIx)
    }

    /// The name at a position.
    pub(crate) fn at(&self, ix: NameIx) -> &Name {
        self.names.at(ix.at())
    }
}
