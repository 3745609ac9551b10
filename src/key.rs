//! What a thing is called by those who name it: the key of an entity, the key of a relation.
//!
//! A key is identity and nothing else. Everything that can change about a thing (its path, its title, how sure we
//! are) is said about the key, over time, by witnesses.
//!
//! 1. An entity's key is (kind, authority, external id); an *authority* names, it does not speak.
//! 2. A relation's key is (source, target, type, origin); two observations with one key are one relation.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::EntityId;

/// A short shared string: kinds, types, sources, property names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(Arc<str>);

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.into())
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name(text.into())
    }
}

impl From<Arc<str>> for Name {
    fn from(text: Arc<str>) -> Name {
        Name(text)
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Name {
        name.clone()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl schemars::JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// The identity of an entity: what kind of thing, who names it, and under which name.
///
/// ```
/// use triglyph::EntityKey;
///
/// let hero = EntityKey::new("File", "repo", "Assets/Hero.prefab");
/// assert_eq!(hero.to_string(), "File repo:Assets/Hero.prefab");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityKey {
    /// The name of the entity's type: `File`, `UnityAsset`, `ADR`.
    pub kind: Name,
    /// Who names it: `repo`, `git`, `unity`, `p4`, `jira`, `graphify:main`, `documents`, `authored`.
    pub authority: Name,
    /// The name that the authority gave: a path, a GUID, a number.
    pub external_id: Name,
}

impl EntityKey {
    /// A key out of its three parts.
    pub fn new(kind: impl Into<Name>, authority: impl Into<Name>, external_id: impl Into<Name>) -> EntityKey {
        EntityKey { kind: kind.into(), authority: authority.into(), external_id: external_id.into() }
    }
}

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", self.kind, self.authority, self.external_id)
    }
}

/// The identity of a relation: *source TYPE target*, as `origin` has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationKey {
    /// Where the sentence begins.
    pub source: EntityId,
    /// Where it ends.
    pub target: EntityId,
    /// The relation type: `DEPENDS_ON`.
    #[serde(rename = "type")]
    pub kind: Name,
    /// The name of the source that speaks of it: `unity`, `graphify`, `link`, `authored`.
    pub origin: Name,
}

/// What a change is about: an entity or a relation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Topic {
    /// An entity.
    Entity(EntityId),
    /// A relation.
    Relation(RelationKey),
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Topic::Entity(id) => write!(f, "entity {id}"),
            Topic::Relation(key) => {
                write!(f, "relation {} {} {} ({})", key.source, key.kind, key.target, key.origin)
            }
        }
    }
}
