//! The author's words as an export has them: checked like any other, but for the present.
//!
//! What a host writes is about things that are here. What it once wrote may be about things that have gone since: a
//! tombstone, a fact whose subject no source speaks of any more, a relation to what was deleted. Restating names the
//! entities and says the change point as it stands.
//!
//! 1. A restated word obeys the ontology: declared types, declared properties, CAN_REFERENCE.
//! 2. Restating what the author says already says nothing.

use super::{Desk, undeclared_prop};
use crate::change::{Presence, Restated};
use crate::error::Error;
use crate::id::EntityId;
use crate::key::{Name, Topic};
use crate::value::check_props;

impl Desk<'_> {
    /// The author's word, whether or not what it is about is here.
    pub(super) fn restate(&mut self, word: &Restated) -> Result<(), Error> {
        for (id, key) in &word.keys {
            self.name(*id, key, word.source_memory_id.as_ref().filter(|_| word.topic == Topic::Entity(*id)))?;
        }
        let topic = match &word.topic {
            Topic::Entity(id) => {
                let key = self.key_of(*id).ok_or_else(|| Error::not_found(format!("no entity {id} is here")))?;
                match self.engine.ontology.kind(&key.kind) {
                    Some(kind) => {
                        if let Some((name, _)) = word.props.iter().find(|(name, _)| !kind.declares(name)) {
                            return Err(undeclared_prop(name, kind));
                        }
                    }
                    None if word.presence == Some(Presence::Present) => return Err(self.undeclared_kind(&key.kind)),
                    None => {}
                }
                word.topic.clone()
            }
            Topic::Relation(key) => {
                let kind_of = |id: EntityId| {
                    let key = self.key_of(id).ok_or_else(|| Error::not_found(format!("no entity {id} is here")))?;
                    Ok::<Name, Error>(key.kind.clone())
                };
                let (source, target) = (kind_of(key.source)?, kind_of(key.target)?);
                if word.presence == Some(Presence::Present) {
                    let turned = || self.engine.ontology.symmetric(&key.kind).then_some((&target, &source));
                    let allowed = self.allowed(&source, &key.kind, &target);
                    allowed.or_else(|refused| match turned() {
                        Some((source, target)) => self.allowed(source, &key.kind, target),
                        None => Err(refused),
                    })?;
                }
                Topic::Relation(self.ordered(key.clone()))
            }
        };
        check_props(word.props.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))?;
        self.author(&topic, word.since, word.confidence, word.presence, word.props.clone(), word.cause.as_ref())
    }
}
