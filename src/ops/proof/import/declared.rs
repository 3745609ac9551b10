//! What the file itself declares, and how a text of it finds the thing it names.
//!
//! 1. A text is an id, an identity, or a form that identifies a thing (its name, title, path …), in this order.
//! 2. The file and the graph are asked together; what several things are called is never resolved by a guess.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::line::{Keyed, Reference, Values};
use crate::engine::lens::Lens;
use crate::engine::ontology::Ontology;
use crate::engine::surface::{IDENTIFYING, normalised};
use crate::error::{Code, Error};
use crate::id::EntityId;
use crate::key::EntityKey;
use crate::ops::subject::Subject;

/// How many things an ambiguous text lists.
const CANDIDATES_MAX: usize = 5;

/// The entities that lines declare.
#[derive(Default)]
pub(super) struct Declared {
    keys: BTreeMap<EntityId, EntityKey>,
    forms: BTreeMap<String, BTreeSet<EntityId>>,
}

impl Declared {
    /// A line declares an entity with these properties.
    pub(super) fn declare(&mut self, ontology: &Ontology, id: EntityId, key: &EntityKey, props: &Values) {
        for (name, value) in props {
            let identifying = IDENTIFYING.contains(&&**name) || ontology.identifying(&key.kind).contains(name);
            if let Some(text) = value.as_ref().and_then(crate::Value::as_str).filter(|_| identifying) {
                self.forms.entry(normalised(text)).or_default().insert(id);
            }
        }
        self.keys.entry(id).or_insert_with(|| key.clone());
    }

    /// The entity that a reference means.
    pub(super) fn resolve(&self, lens: &Lens, reference: &Reference) -> Result<EntityId, Error> {
        match reference {
            Reference::Key(Keyed { key, id }) => {
                let id = id.unwrap_or_else(|| EntityId::within(&lens.engine().namespace, key));
                match self.key(lens, id) {
                    Some(known) if known == key => Ok(id),
                    Some(known) => {
                        Err(Error::new(Code::Conflict, format!("expected {key} under the id {id}, found {known}")))
                    }
                    None => Err(Error::not_found(format!("no {key} is here; declare it on a line of its own"))),
                }
            }
            Reference::Text(text) => self.named(lens, text),
        }
    }

    /// The key of an entity, as the graph or the file has it.
    pub(super) fn key<'a>(&'a self, lens: &'a Lens, id: EntityId) -> Option<&'a EntityKey> {
        let known = lens.engine().find_entity(id).map(|ix| &lens.engine().entity(ix).key);
        known.or_else(|| self.keys.get(&id))
    }

    fn named(&self, lens: &Lens, text: &str) -> Result<EntityId, Error> {
        if let Ok(uuid) = text.parse::<Uuid>() {
            let id = EntityId::from(uuid);
            return self.key(lens, id).map(|_| id).ok_or_else(|| Error::not_found(format!("no entity {text} is here")));
        }
        let mut found = self.identities(lens, text);
        if found.is_empty() {
            found = self.forms.get(&normalised(text)).cloned().unwrap_or_default();
        }
        match Subject::named(text).resolve(lens) {
            Ok(ix) => drop(found.insert(lens.engine().entity(ix).id)),
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut candidates = found.iter();
        match (candidates.next(), candidates.next()) {
            (Some(one), None) => Ok(*one),
            (None, _) => Err(Error::not_found(format!(
                "nothing is called {text:?}, here or in the file; give an id, an identity such as repo:PATH, or a name"
            ))),
            _ => {
                let mut keys: Vec<&EntityKey> = found.iter().filter_map(|id| self.key(lens, *id)).collect();
                keys.sort();
                let keys: Vec<String> = keys.into_iter().take(CANDIDATES_MAX).map(EntityKey::to_string).collect();
                let message =
                    format!("{text:?} means {} things ({}); name one by its id or key", found.len(), keys.join(", "));
                Err(Error::new(Code::AmbiguousSubject, message))
            }
        }
    }

    /// Declared entities with this identity: `authority:external id`, with or without the kind before it.
    fn identities(&self, lens: &Lens, text: &str) -> BTreeSet<EntityId> {
        if !text.contains(':') {
            return BTreeSet::new();
        }
        let mut found = BTreeSet::new();
        let kinds: BTreeSet<&str> = self.keys.values().map(|key| &*key.kind).collect();
        for (at, _) in text.match_indices(':') {
            let (head, external_id) = (&text[..at], &text[at + 1..]);
            let whole = head.split_once(' ').map(|(kind, authority)| EntityKey::new(kind, authority, external_id));
            let bare = kinds.iter().map(|kind| EntityKey::new(*kind, head, external_id));
            for key in bare.chain(whole) {
                let id = EntityId::within(&lens.engine().namespace, &key);
                if self.keys.get(&id) == Some(&key) {
                    found.insert(id);
                }
            }
        }
        found
    }
}
