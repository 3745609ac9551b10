//! `call`: any operation of the table, JSON in and out.

use std::io::Read;

use serde_json::Value;
use triglyph::Graph;
use triglyph::operations::{Effect, operation};

use crate::args::{CallArgs, Global};
use crate::outcome::{Failure, Output};
use crate::place::Place;

/// The longest request that is read from standard input.
const REQUEST_BYTES_MAX: u64 = 64 << 20;

pub(crate) fn call(args: &CallArgs, global: &Global) -> Result<Output, Failure> {
    let operation = operation(&args.operation)?;
    let request = request(args.request.as_deref())?;
    let place = Place::open(&args.store, global)?;
    let run = |graph: &Graph| Ok(operation.call(graph, request.clone(), &|| false)?);
    let answer = match operation.effect {
        Effect::Read => run(&place.reading(global)?)?,
        _ => place.write(global, run)?,
    };
    let shown = format!("{answer:#}\n");
    Ok(Output { json: answer, shown, failed: false })
}

fn request(text: Option<&str>) -> Result<Value, Failure> {
    let text = match text {
        None => "{}",
        Some("-") => &from_stdin()?,
        Some(text) => text,
    };
    serde_json::from_str(text).map_err(|error| Failure::Usage(format!("the request is not JSON: {error}")))
}

fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(REQUEST_BYTES_MAX + 1).read_to_string(&mut text);
    match read {
        Ok(bytes) if bytes as u64 <= REQUEST_BYTES_MAX => Ok(text),
        Ok(_) => Err(Failure::Usage(format!("the request is longer than {REQUEST_BYTES_MAX} bytes"))),
        Err(error) => Err(Failure::Usage(format!("reading the request from standard input: {error}"))),
    }
}
