//! Triglyph is an embedded, in-memory, temporal, governed knowledge graph with crash-safe persistence.
//!
//! It answers, in microseconds and with evidence: *what is this, what was it then, what depends on it, where did it come
//! from, who owns it, what breaks if it changes*. And it says what it left out. It keeps three layers apart: the
//! *canonical* (what a thing is), the *semantic* (what it means to others) and the *temporal* (what was true when, and
//! when that was known).
//!
//! It is a read projection that can be rebuilt from its sources at any time. It never executes, authorises or approves
//! anything, and takes no query language.
//!
//! ```
//! use triglyph::ops::domain::run::DomainRequest;
//! use triglyph::ops::subject::Subject;
//! use triglyph::{Durability, EntityKey, Group, GroupKey, Observation, Scope, Store};
//!
//! let store = Store::in_memory()?;
//! let graph = store.graph(&Scope::new("acme", "demo")?)?;
//!
//! // What one file of a Unity project says: the prefab needs the texture.
//! let asset = |guid: &str| EntityKey::new("UnityAsset", "unity", guid);
//! let prefab = Observation::entity(asset("9f3c")).with("name", Some("Hero.prefab"));
//! let texture = Observation::entity(asset("77aa")).with("name", Some("hero.png"));
//! let needs = Observation::relation(asset("9f3c"), "DEPENDS_ON", asset("77aa"), "unity");
//! let key = GroupKey::new("unity:main", "Assets/Hero.prefab");
//! let mut batch = graph.batch()?;
//! batch.observe(Group { key, revision: None, observations: vec![prefab, texture, needs] });
//! let commit = graph.commit(batch, Durability::Sync)?;
//! assert_eq!((commit.entities.added, commit.relations.added), (2, 1));
//!
//! // What uses the texture?
//! let question = DomainRequest::about(Subject::named("hero.png"));
//! let answer = triglyph::ops::domain::asset_consumers(&graph.view().lens(), &question, &|| false)?;
//! assert_eq!(answer.found().lines(), ["hero.png ←DEPENDS_ON– Hero.prefab"]);
//! assert!(!answer.truncated());
//! # Ok::<(), triglyph::Error>(())
//! ```
//!
//! # Where to look
//!
//! | to | see |
//! |---|---|
//! | open a store, take a view, commit | [`Store`], [`Graph`], [`View`], [`Batch`] |
//! | look at another time, or with other trust | [`Lens`], [`ops::look::Look`] |
//! | ask | [`ops`], or by name and JSON: [`operations`] |
//! | bring in sources | [`sources`], [`care::rebuild`] |
//! | know what is durable when | [`persist`], [`Durability`] |
//!
//! `ARCHITECTURE.md` is the map of the house, `docs/format.md` says every byte, `docs/operations.md` lists every
//! operation.

pub mod budget;
pub mod care;
pub mod change;
pub(crate) mod engine;
pub mod error;
pub mod evidence;
pub mod graph;
pub mod id;
pub(crate) mod index;
pub mod key;
pub mod observation;
pub mod operations;
pub mod ops;
pub mod persist;
pub mod scope;
pub mod sources;
pub mod store;
pub mod time;
pub mod value;

pub use budget::{Answer, Budgets};
pub use change::{Batch, Change, Commit, Edit, Presence, Say};
pub use engine::lens::{Lens, View};
pub use error::{Code, Error};
pub use evidence::{Cause, Confidence, GroupKey, Trust, Voice};
pub use graph::{Committed, Counts, Graph};
pub use id::{ChangeId, EntityId, Seq};
pub use key::{EntityKey, Name, RelationKey, Topic};
pub use observation::{Group, Observation, Sighted};
pub use persist::Durability;
pub use scope::Scope;
pub use store::{Options, Store};
pub use time::{Interval, Since, Time};
pub use value::{Props, Value};

/// The README's example compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
