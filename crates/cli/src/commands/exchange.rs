//! `export` and `import`: JSON Lines out and in.

use crate::args::{ExportArgs, Global, ImportArgs};
use crate::outcome::{Failure, Output};

pub(crate) fn export(_: &ExportArgs, _: &Global) -> Result<Output, Failure> {
    Ok(Output::default())
}

pub(crate) fn import(_: &ImportArgs, _: &Global) -> Result<Output, Failure> {
    Ok(Output::default())
}
