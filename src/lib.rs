//! Triglyph: an embedded, temporal, governed knowledge graph.

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
