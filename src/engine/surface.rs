//! Surface forms: from what a thing was ever called to the thing.
//!
//! A form is normalised (NFKC, full case folding, white space folded to single blanks) and hashed; the table keeps the
//! entity, and a reader asks the entity's states whether it was called so at its moment. Nothing is ever taken out: a
//! name of the past is how the past is found.
//!
//! 1. An entity is listed once under each normalised form that an identifying property of it ever had.

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::id::EntityIx;
use crate::index::keys::{Keys, hash};
use crate::index::paged::Paged;

/// The properties that identify a thing of any type.
pub(crate) const IDENTIFYING: [&str; 6] = ["name", "title", "path", "pid", "fqdn", "key"];

/// Entities by the forms they were ever called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surfaces {
    namings: Paged<(u64, EntityIx)>,
    keys: Keys,
}

impl Surfaces {
    /// The entity is, from some moment on, called so.
    pub(crate) fn add(&mut self, form: &str, entity: EntityIx) {
        let hash = hash(normalised(form).as_bytes());
        if self.entities(hash).any(|known| known == entity) {
            return;
        }
        let row = u32::try_from(self.namings.len()).expect("fewer than 2^32 namings");
        self.namings.push((hash, entity));
        let namings = &self.namings;
        self.keys.insert(hash, row, |row| namings.at(row as usize).0);
    }

    /// Every entity that was ever called so, and (by a rare collision) perhaps one that wasn't.
    pub(crate) fn called(&self, form: &str) -> impl Iterator<Item = EntityIx> {
        self.entities(hash(normalised(form).as_bytes()))
    }

    fn entities(&self, hash: u64) -> impl Iterator<Item = EntityIx> {
        let namings = self.keys.all(hash).map(|row| *self.namings.at(row as usize));
        namings.filter(move |(of, _)| *of == hash).map(|(_, entity)| entity)
    }
}

/// The form under which a text is matched.
pub(crate) fn normalised(form: &str) -> String {
    let folded: String = form.nfkc().default_case_fold().nfkc().collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that a person would call the same must find the same thing.
    #[test]
    fn one_form_many_spellings() {
        for form in ["PrismGR", "prismgr", "ＰｒｉｓｍＧＲ", " PRISMgr\t"] {
            assert_eq!(normalised(form), "prismgr", "{form}");
        }
        assert_eq!(normalised("Straße"), normalised("STRASSE"));
        assert_eq!(normalised("a \u{3000} b"), "a b");
    }

    #[test]
    fn lists_an_entity_once() {
        let mut surfaces = Surfaces::default();
        for (form, entity) in [("Hero", 1), ("hero", 1), ("Hero", 2), ("Villain", 1)] {
            surfaces.add(form, EntityIx(entity));
        }
        let mut called: Vec<u32> = surfaces.called("HERO").map(|ix| ix.0).collect();
        called.sort_unstable();
        assert_eq!(called, [1, 2]);
    }
}
