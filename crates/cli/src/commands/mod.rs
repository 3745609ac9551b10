//! The commands: each from what was typed to an output.

mod call;
mod completions;
mod demo;
mod exchange;
mod forget;
mod init;
mod operations;
mod read;
mod rebuild;
mod salvage;

use triglyph::operations::{Effect, operations};

use crate::args::{Args, Command};
use crate::outcome::{Failure, Output};

/// Runs what was typed.
pub(crate) fn run(args: &Args) -> Result<Output, Failure> {
    let global = &args.global;
    match &args.command {
        Command::Init(of) => init::init(of, global),
        Command::Rebuild(of) => rebuild::rebuild(of, global),
        Command::Op(of) => read::op(of, global),
        Command::Walk(of) => read::walk(of, global),
        Command::History(of) => read::history(of, global),
        Command::Status(of) => read::status(of, global),
        Command::Digest(of) => read::digest(of, global),
        Command::Export(of) => exchange::export(of, global),
        Command::Import(of) => exchange::import(of, global),
        Command::Forget(of) => forget::run(of, global),
        Command::Salvage(of) => salvage::salvage(of, global),
        Command::Call(of) => call::call(of, global),
        Command::Operations(of) => operations::list(of),
        Command::Completions(of) => completions::completions(of),
        Command::Demo(of) => demo::demo(of, global),
        Command::WriteUntilKilled(of) => demo::crash::write_until_killed(of, global),
    }
}

/// The names of all operations.
pub(crate) fn operation_names() -> impl Iterator<Item = &'static str> {
    operations().iter().map(|operation| operation.name)
}

/// The names of the questions that are asked about one subject, with bounds.
pub(crate) fn questions() -> impl Iterator<Item = &'static str> {
    let own_command = ["walk", "history"];
    let about_a_subject = |schema: serde_json::Value| schema["required"] == serde_json::json!(["subject"]);
    operations()
        .iter()
        .filter(move |operation| operation.effect == Effect::Read && !own_command.contains(&operation.name))
        .filter(move |operation| about_a_subject(operation.request_schema()))
        .map(|operation| operation.name)
}

/// A word as a shell needs it.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=+@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question that the command line doesn't know can't be asked by people.
    #[test]
    fn the_production_questions_are_there() {
        let questions: Vec<&str> = questions().collect();
        for row in triglyph::ops::domain::patterns::ROWS {
            assert!(questions.contains(&row.operation), "{}", row.operation);
        }
        assert!(questions.contains(&"owner"));
        assert!(!questions.contains(&"entity") && !questions.contains(&"status"));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [("repo:a/b.cs", "repo:a/b.cs"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''")] {
            assert_eq!(quote(word), expected);
        }
    }
}
