//! crash
use crate::args::{StoreArgs, Global};
use crate::outcome::{Failure, Output};
pub(crate) fn write_until_killed(_: &StoreArgs, _: &Global) -> Result<Output, Failure> {
    Ok(Output::default())
}
