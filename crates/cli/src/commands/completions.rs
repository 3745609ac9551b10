//! `completions`: a script for a shell.

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::outcome::{Failure, Output};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Output, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "triglyph", &mut script);
    let shown = String::from_utf8_lossy(&script).into_owned();
    Output::new(&serde_json::json!({ "shell": args.shell.to_string(), "script": shown.clone() }), shown)
}
