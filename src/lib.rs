//! Triglyph: an embedded, temporal, governed knowledge graph.

pub mod change;
pub mod error;
pub mod evidence;
pub mod id;
pub mod key;
pub mod observation;
pub mod persist;
pub mod scope;
pub mod sources;
pub mod time;
pub mod value;

pub use change::{Batch, Change, Commit, Edit, Presence, Say};
pub use error::{Code, Error};
pub use evidence::{Cause, Confidence, GroupKey, Trust, Voice};
pub use id::{ChangeId, EntityId, Seq};
pub use key::{EntityKey, Name, RelationKey, Topic};
pub use observation::{Group, Observation, Sighted};
pub use scope::Scope;
pub use time::{Interval, Since, Time};
pub use value::{Props, Value};
