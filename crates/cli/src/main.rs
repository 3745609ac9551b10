//! The command line of Triglyph: parse, run, say how it went.
//!
//! 1. Standard output holds what was asked for and nothing else: tables for people, or JSON (`call`, `--json`), the
//!    error of an operation included. Whatever goes wrong is also told on standard error.
//! 2. Exit status: 0 an answer, 1 an error of the operation or a rebuild that failed, 2 wrong usage.
//! 3. A reader that leaves early (`| head`) ends the output, not the program.

mod args;
mod commands;
mod config;
mod outcome;
mod place;
mod print;
mod progress;
mod report;
mod table;

use std::process::ExitCode;

use crate::args::Args;
use crate::outcome::Failure;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // Nothing is left to do where even this can't be written.
            let _ = print::usage(&error);
            return status(error.exit_code());
        }
    };
    args.global.color.apply();
    let outcome = commands::run(&args);
    match finish(&args, outcome) {
        Ok(code) => status(code),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = print::complain(&Failure::Output(error));
            ExitCode::FAILURE
        }
    }
}

/// Prints what came out, and says which exit status that is.
fn finish(args: &Args, outcome: Result<outcome::Output, Failure>) -> std::io::Result<i32> {
    match outcome {
        Ok(output) if output.json.is_null() => Ok(output.status()),
        Ok(output) if args.wants_json() => {
            print::json(&output.json)?;
            Ok(output.status())
        }
        Ok(output) => {
            print::shown(&output.shown)?;
            Ok(output.status())
        }
        Err(Failure::Output(error)) => Err(error),
        Err(failure) => {
            if let (Failure::Operation(error), true) = (&failure, args.wants_json()) {
                print::error(error)?;
            }
            print::complain(&failure)?;
            Ok(failure.status())
        }
    }
}

fn status(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
