//! placeholder
use crate::change::Commit;
use crate::error::Error;
use crate::id::Seq;
use crate::time::Time;
use std::sync::Arc;
use std::time::Duration;
/// d
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// d
    #[default]
    Sync,
    /// d
    Group,
    /// d
    Buffered,
}
/// d
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// d
    pub last: Seq,
}
/// d
pub trait Repository: Send + Sync {
    /// d
    fn after(&self, seq: Seq, each: &mut dyn FnMut(Commit) -> Result<(), Error>) -> Result<Recovery, Error>;
    /// d
    fn writer(&self, busy_timeout: Duration) -> Result<Box<dyn Writer>, Error>;
    /// d
    fn now(&self) -> Time;
    /// d
    fn entropy(&self, into: &mut [u8]) -> Result<(), Error>;
    /// d
    fn bytes(&self) -> Result<u64, Error>;
}
/// d
pub trait Writer: Send {
    /// d
    fn append(&mut self, commit: &Commit) -> Result<u64, Error>;
    /// d
    fn syncer(&self) -> Arc<dyn Syncer>;
}
/// d
pub trait Syncer: Send + Sync {
    /// d
    fn sync(&self) -> Result<(), Error>;
}
