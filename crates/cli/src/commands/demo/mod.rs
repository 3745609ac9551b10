//! demo
pub(crate) mod crash;
use crate::args::{DemoArgs, Global};
use crate::outcome::{Failure, Output};

pub(crate) fn demo(_: &DemoArgs, _: &Global) -> Result<Output, Failure> {
    Ok(Output::default())
}
