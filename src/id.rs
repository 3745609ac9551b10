//! Who is who: stable outside names, and the one number line.
//!
//! An [`EntityId`] is a UUID and lasts for ever. A projected entity's id is computed from what it is
//! (scope, kind, authority, external id), so a rebuild from nothing, on any machine, arrives at the same ids; an
//! authored one's is made once, by [`EntityId::fresh`] or by the caller. The dense positions (`EntityIx` and its
//! kin) are the engine's own: they never leave the library and never outlive one engine.
//!
//! 1. Two entities of one scope with the same key have the same projected id, and the id depends on nothing else.
//! 2. Sequences are gap-free: commit `n + 1` follows commit `n`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::key::EntityKey;
use crate::scope::Scope;

/// The root of every id that Triglyph computes: a constant, stated in `docs/format.md`.
const TRIGLYPH: Uuid = Uuid::from_u128(0x9f6e_2c1a_54d7_4b8e_a3c0_7472_6967_6c79);

/// The stable identity of an entity within one scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct EntityId(Uuid);

impl EntityId {
    /// The id of a projected entity: UUIDv5 of its key within the namespace of its scope.
    pub fn projected(scope: &Scope, key: &EntityKey) -> EntityId {
        EntityId::within(&namespace(scope), key)
    }

    /// The same, where the caller keeps the scope's namespace at hand.
    pub(crate) fn within(namespace: &Uuid, key: &EntityKey) -> EntityId {
        EntityId(Uuid::new_v5(namespace, &length_prefixed(&[&key.kind, &key.authority, &key.external_id])))
    }

    /// A new UUIDv7 for an authored entity, from a time in microseconds and ten random bytes.
    pub fn fresh(unix_micros: i64, random: [u8; 10]) -> EntityId {
        let millis = u64::try_from(unix_micros.max(0)).unwrap_or(0) / 1_000;
        EntityId(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The id as a plain UUID.
    pub fn uuid(&self) -> Uuid {
        self.0
    }
}

impl From<Uuid> for EntityId {
    fn from(uuid: Uuid) -> EntityId {
        EntityId(uuid)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The namespace of a scope: UUIDv5 of its length-prefixed names.
pub(crate) fn namespace(scope: &Scope) -> Uuid {
    Uuid::new_v5(&TRIGLYPH, &length_prefixed(&[scope.workspace(), scope.game()]))
}

/// Each part behind its length in bytes (`u32`, little-endian), so that no two lists of parts look alike.
pub(crate) fn length_prefixed(parts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum());
    for part in parts {
        let length = u32::try_from(part.len()).expect("names are bounded far below 4 GiB");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// A position on the only number line there is: commits, logs, views and answers all count on it.
///
/// `Seq::ZERO` is the empty store; the first commit is 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first commit.
    pub const ZERO: Seq = Seq(0);

    /// The sequence of the next commit.
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seq {}", self.0)
    }
}

/// One change of one commit, written `812.3`: what a repudiation points at, and what history cites.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChangeId {
    /// The commit.
    pub seq: Seq,
    /// The place of the change within its commit, from 0.
    pub index: u32,
}

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.seq, self.index)
    }
}

impl std::str::FromStr for ChangeId {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<ChangeId, crate::Error> {
        let parsed = text
            .split_once('.')
            .and_then(|(seq, index)| Some(ChangeId { seq: Seq(seq.parse().ok()?), index: index.parse().ok()? }));
        parsed.ok_or_else(|| {
            crate::Error::invalid(format!("expected a change id such as \"812.3\" (sequence.index), found {text:?}"))
        })
    }
}

impl Serialize for ChangeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChangeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ChangeId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for ChangeId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChangeId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9]+\\.[0-9]+$" })
    }
}

macro_rules! dense {
    ($($(#[$doc:meta])* $name:ident($int:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) struct $name(pub(crate) $int);

        impl $name {
            /// The position of the next element of something that holds `len` of them.
            pub(crate) fn nth(len: usize) -> $name {
                $name(<$int>::try_from(len).expect(concat!("more than 2^32 (2^16) of ", stringify!($name))))
            }

            pub(crate) fn at(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

dense! {
    /// A row of the entity table.
    EntityIx(u32);
    /// A row of the relation table.
    RelationIx(u32);
    /// A relation type.
    TypeIx(u16);
    /// An interned string.
    NameIx(u32);
    /// A voice: the author, or one record of a file group of a source.
    VoiceIx(u32);
    /// A file group of a source.
    GroupIx(u32);
}

/// A map by dense position.
pub(crate) type PositionMap<K, V> = HashMap<K, V, BuildHasherDefault<PositionHasher>>;

/// A set of dense positions.
pub(crate) type PositionSet<K> = HashSet<K, BuildHasherDefault<PositionHasher>>;

/// Hashes dense positions: small numbers that nobody outside chooses, so one multiplication spreads them well enough.
#[derive(Default)]
pub(crate) struct PositionHasher(u64);

impl Hasher for PositionHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, position: u32) {
        // 2^64 divided by the golden ratio: neighbours land far apart.
        self.0 = (self.0 ^ u64::from(position)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were an id to change between versions, every reference that a host stored would dangle.
    #[test]
    fn golden_ids() {
        let scope = Scope::new("acme", "demo").unwrap();
        let key = EntityKey::new("File", "repo", "src/main.rs");
        assert_eq!(namespace(&scope).to_string(), "dcf0b2db-b791-5622-bbfe-af2fc9790613");
        assert_eq!(EntityId::projected(&scope, &key).to_string(), "ff1953ef-96a6-57e9-ab05-790a85c30edb");
    }

    /// Without length prefixes, ("ab", "c") and ("a", "bc") would be one scope.
    #[test]
    fn prefixes_keep_parts_apart() {
        let one = namespace(&Scope::new("ab", "c").unwrap());
        let other = namespace(&Scope::new("a", "bc").unwrap());
        assert_ne!(one, other);
    }

    #[test]
    fn change_ids_round_trip() {
        let id = ChangeId { seq: Seq(812), index: 3 };
        assert_eq!(id.to_string().parse::<ChangeId>().unwrap(), id);
        for bad in ["", "1", "1.", ".1", "1.x", "-1.2", "1.2.3"] {
            assert!(bad.parse::<ChangeId>().is_err(), "{bad}");
        }
    }
}
