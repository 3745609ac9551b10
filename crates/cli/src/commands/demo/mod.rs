//! `demo`: the product in a minute, on made-up data.
//!
//! Each step is a command line that is parsed and run as if it had been typed; it is printed first, so that anybody can
//! repeat it. What it answers is held against what is known of the data (`TRUTH.json`, counted by another program), and
//! one answer that is not as expected makes the demo fail.

pub(crate) mod crash;
mod script;
mod stage;
mod truth;
mod words;

use std::path::{Path, PathBuf};

use triglyph::{Code, Error};

use crate::args::{DemoArgs, Global};
use crate::outcome::{Failure, Output};
use stage::Stage;
use truth::Truth;

pub(crate) fn demo(args: &DemoArgs, global: &Global) -> Result<Output, Failure> {
    let studio = studio()?;
    let truth = Truth::read(&studio)?;
    let io = |error| Error::io("making a folder for the demo", &error);
    let temporary = if args.keep.is_none() { Some(tempfile::tempdir().map_err(io)?) } else { None };
    let folder = match (&args.keep, &temporary) {
        (Some(folder), _) => folder.clone(),
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => PathBuf::new(),
    };
    if folder.join("STORE").exists() {
        let message = format!("{} is a store itself; give a folder beside it for the demo", folder.display());
        return Err(Error::new(Code::Conflict, message).into());
    }
    std::fs::create_dir_all(&folder).map_err(io)?;
    if folder.join(script::STORE).exists() {
        let message = format!("{} holds a demo already; give another folder, or remove it", folder.display());
        return Err(Error::new(Code::Conflict, message).into());
    }
    let mut stage = Stage::new(global.json);
    script::play(&mut stage, &folder, &studio, &truth)?;
    stage.end(args.keep.is_some())
}

/// The folder of the made-up studio: that of the checkout in which the demo runs, else of the one it was built from.
fn studio() -> Result<PathBuf, Failure> {
    let below = Path::new("examples/studio");
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    if below.join("TRUTH.json").is_file() {
        return Ok(below.to_owned());
    }
    if let Ok(found) = built_from.canonicalize() {
        return Ok(found);
    }
    let message = "the demo reads examples/studio, which is part of the checkout; run it from there";
    Err(Error::new(Code::NotFound, message).into())
}
