//! What was typed.

mod sources;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use triglyph::{Scope, Time};

use self::sources::SourceArgs;

/// A temporal, governed knowledge graph of a production: what is this, what was it then, what
/// depends on it, who owns it, and what was left out of the answer.
#[derive(Debug, Parser)]
#[command(
    name = "triglyph",
    version,
    max_term_width = 110,
    after_help = "\
The main job:
  triglyph init studio.tg
  triglyph rebuild studio.tg --graphify graph.json --at game/Assets/Scripts \\
    --unity client=game --at game --ownership .github/CODEOWNERS
  triglyph op studio.tg asset_consumers hero_lantern.png

Everything at once, on made-up data: triglyph demo"
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What holds for every command.
    #[command(flatten)]
    pub(crate) global: Global,
}

impl Args {
    /// Whether programs read the output.
    pub(crate) fn wants_json(&self) -> bool {
        self.global.json || matches!(self.command, Command::Call(_))
    }
}

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// The scope, as workspace/game; else that of triglyph.toml, else the only one of the store, else local/main
    #[arg(long, global = true, value_name = "W/G")]
    pub(crate) scope: Option<Scope>,
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour the output; auto does on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// How long to wait for another writer: 500ms, 5s, 1m
    #[arg(long, global = true, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) busy_timeout: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it the choice of every stream.
    pub(crate) fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a store, or a further scope in one
    Init(InitArgs),
    /// Bring the graph up to date with its sources
    Rebuild(RebuildArgs),
    /// Ask one of the production questions, such as asset_consumers, change_blast_radius, owner
    Op(OpArgs),
    /// Walk from one or more subjects along the relations that match
    Walk(WalkArgs),
    /// List every state that a thing was in, and what happened between them
    History(HistoryArgs),
    /// Show what the scope holds and how fresh it is
    Status(StatusArgs),
    /// Compute the content digest: equal digests, equal facts
    Digest(StoreArgs),
    /// Write everything as JSON Lines
    Export(ExportArgs),
    /// Read JSON Lines: an export, or facts of your own
    Import(ImportArgs),
    /// Take back the word of a source that is gone for good
    Forget(ForgetArgs),
    /// Give up what stands behind the damage of a log
    Salvage(SalvageArgs),
    /// Run any operation with a JSON request: the door for programs
    Call(CallArgs),
    /// List the operations
    Operations(OperationsArgs),
    /// Write a completion script for a shell
    Completions(CompletionsArgs),
    /// Show on made-up data what Triglyph does, each step with the command that repeats it
    Demo(DemoArgs),
    /// Commit one entity after another and acknowledge each, until killed (a part of the demo)
    #[command(hide = true)]
    WriteUntilKilled(StoreArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph init studio.tg --scope acme/lanternfall --unity client=game --at game

A file triglyph.toml in the store lists the sources, so that `rebuild` needs no flags; sources given here are written \
into it. In a store that is there already, a scope that is missing is added.")]
pub(crate) struct InitArgs {
    /// The store: a folder that is empty or missing
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// Further types and relation types, in the form of ontology/*.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) ontology: Option<PathBuf>,
    /// The ptypes that apply in the scope; all when left out
    #[arg(long = "ptype", value_name = "PTYPE")]
    pub(crate) ptypes: Vec<String>,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph rebuild studio.tg --graphify graph.json --at game/Assets/Scripts \\
    --unity client=game --at game --ownership .github/CODEOWNERS

Each source is PATH or NAME=PATH (NAME is main when left out; a path with a '=' is written ./PATH). --at belongs to the \
source before it: the folder of the project in which the source's paths begin. With no source at all, those of \
triglyph.toml in the store are read. A source that isn't named is left as it is.
Every phase is one commit: a rebuild that is stopped leaves the phases that had ended, whole.
Exit status 1 when a source could not be read in full; what could be read is in the graph.")]
pub(crate) struct RebuildArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// Prove afterwards that a rebuild from nothing gives the same content
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  triglyph op studio.tg asset_consumers hero_lantern.png
  triglyph op studio.tg change_blast_radius HeroController.cs --fan-out 128
  triglyph op studio.tg owner repo:game/Assets/Scripts/Ui/UiHud.cs

A subject is an id, an identity (repo:PATH, unity:GUID), or anything that the thing is or was called.")]
pub(crate) struct OpArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// The question
    #[arg(value_parser = PossibleValuesParser::new(crate::commands::questions()))]
    pub(crate) operation: String,
    /// What it is about
    pub(crate) subject: String,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph walk studio.tg HeroHealth --direction in --type SYMBOL_REFERENCES --depth 2")]
pub(crate) struct WalkArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// Where it starts; several subjects take turns
    #[arg(required = true, value_name = "SUBJECT")]
    pub(crate) subjects: Vec<String>,
    /// Which way relations are followed
    #[arg(long, value_name = "WAY")]
    pub(crate) direction: Option<Direction>,
    /// Only relations of this type and of those below it
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) types: Vec<String>,
    /// Only entities of this kind
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph history studio.tg repo:game/Assets/Scripts/Hero/HeroHealth.cs")]
pub(crate) struct HistoryArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// What it is about
    pub(crate) subject: String,
    /// The most states to list
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Go on where an answer left off
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph status studio.tg --as-of 2026-03-01")]
pub(crate) struct StatusArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph digest studio.tg --scope acme/lanternfall")]
pub(crate) struct StoreArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph export studio.tg -o studio.jsonl")]
pub(crate) struct ExportArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// Only what the content digest covers, in the one form whose SHA-256 it is
    #[arg(long)]
    pub(crate) canonical: bool,
    /// Write to this file rather than to standard output
    #[arg(short, long, value_name = "FILE", value_parser = text_path())]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph init new.tg --scope acme/lanternfall
  triglyph export old.tg | triglyph import new.tg -

A line that can't be taken is told by its number and stops no other; the exit status is 1 then.")]
pub(crate) struct ImportArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// JSON Lines: an export, or lines of your own; - for standard input
    pub(crate) file: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph forget studio.tg graphify:main --yes

A source that is merely missing keeps what it said, marked stale; one that was renamed or is gone for good is told so \
with this. What other sources say too stays, and history keeps the rest. Without --yes, nothing is done and what would \
go is counted. The sources are listed by `triglyph status`.")]
pub(crate) struct ForgetArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// The source instance, such as graphify:main
    pub(crate) source: String,
    /// Do it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph salvage studio.tg --scope acme/lanternfall --yes

For a scope that is refused as corrupt, where there is no backup to restore: the commits before the damage are kept, \
the files behind it are set aside under the name lost-…, and what is lost is listed. Nothing is deleted. A log that can \
be read is left as it is. Without --yes, only the damage is told.")]
pub(crate) struct SalvageArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// Do it
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  triglyph call studio.tg asset_consumers '{\"subject\": \"hero_lantern.png\", \"detail\": \"lines\"}'
  triglyph call studio.tg list_types
  echo '{\"type\": \"UnityAsset\", \"limit\": 10}' | triglyph call studio.tg list_entities -

The answer is JSON, in one line unless it goes to a terminal. So is the error of an operation, \
{\"error\": {\"code\", \"message\", \"details\"}}, with exit status 1.")]
pub(crate) struct CallArgs {
    /// The store
    #[arg(value_parser = text_path())]
    pub(crate) store: PathBuf,
    /// The operation
    #[arg(value_parser = PossibleValuesParser::new(crate::commands::operation_names()), hide_possible_values = true)]
    pub(crate) operation: String,
    /// The request; - for standard input, {} when left out
    #[arg(value_name = "JSON")]
    pub(crate) request: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph operations
  triglyph operations walk --json")]
pub(crate) struct OperationsArgs {
    /// One operation, with its schemas
    #[arg(value_parser = PossibleValuesParser::new(crate::commands::operation_names()), hide_possible_values = true)]
    pub(crate) operation: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph completions bash > ~/.local/share/bash-completion/completions/triglyph")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  triglyph demo --keep demo.tg")]
pub(crate) struct DemoArgs {
    /// Make the store here, and leave it
    #[arg(long, value_name = "FOLDER", value_parser = text_path())]
    pub(crate) keep: Option<PathBuf>,
}

/// How much an answer may hold.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Bounds")]
pub(crate) struct BoundArgs {
    /// How many hops
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// The most entities
    #[arg(long, value_name = "N")]
    pub(crate) nodes: Option<u32>,
    /// The most relations
    #[arg(long, value_name = "N")]
    pub(crate) edges: Option<u32>,
    /// The most relations that one entity offers
    #[arg(long, value_name = "N")]
    pub(crate) fan_out: Option<u32>,
    /// How much is spelt out
    #[arg(long, value_name = "DETAIL")]
    pub(crate) detail: Option<Detail>,
}

/// How to look at the graph.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Look")]
pub(crate) struct LookArgs {
    /// What was true at this time: 2026-03-01T09:30:00Z, or a date
    #[arg(long, value_name = "TIME")]
    pub(crate) as_of: Option<Time>,
    /// What the store knew at this sequence
    #[arg(long, value_name = "SEQ")]
    pub(crate) as_recorded: Option<u64>,
    /// Only what a source said at exactly this revision
    #[arg(long)]
    pub(crate) revision: Option<String>,
    /// The least trust that counts
    #[arg(long)]
    pub(crate) trust: Option<Trust>,
    /// Show hypotheses too
    #[arg(long)]
    pub(crate) investigation: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Direction {
    Out,
    In,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Detail {
    Ids,
    Lines,
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Trust {
    Authoritative,
    Derived,
    Hypothesis,
}

/// Reads a command line.
pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let matches = Args::command().try_get_matches_from(line)?;
    let mut args = Args::from_arg_matches(&matches)?;
    let sources = match &mut args.command {
        Command::Init(init) => &mut init.sources,
        Command::Rebuild(rebuild) => &mut rebuild.sources,
        _ => return Ok(args),
    };
    if let Some((name, matches)) = matches.subcommand() {
        sources.put_in_order(matches).map_err(|message| {
            let mut command = Args::command();
            command.build();
            // Told by the command itself, so that its own usage is shown.
            let teller = command.find_subcommand_mut(name);
            teller.map_or_else(
                || clap::Error::raw(ErrorKind::ValueValidation, &message),
                |teller| teller.error(ErrorKind::ValueValidation, &message),
            )
        })?;
    }
    Ok(args)
}

/// A path that is repeated in answers, files and advice, all of which are text.
fn text_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|word| match word.into_string() {
        Ok(path) if path.is_empty() => Err("expected a path, found nothing"),
        Ok(path) => Ok(PathBuf::from(path)),
        Err(_) => Err("expected a path in UTF-8; rename it, or reach it by another path"),
    })
}

/// `500ms`, `5s`, `1m`; seconds where no unit is named.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let millis: Option<u64> = match &text[digits.len()..] {
        "ms" => Some(1),
        "s" | "" => Some(1_000),
        "m" => Some(60_000),
        _ => None,
    };
    let number: Option<u64> = digits.parse().ok();
    let span = number.zip(millis).and_then(|(number, millis)| number.checked_mul(millis));
    span.map(Duration::from_millis).ok_or_else(|| "expected a time such as 500ms, 5s or 1m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations() {
        for (text, millis) in [("500ms", 500), ("5s", 5_000), ("7", 7_000), ("1m", 60_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)));
        }
        for bad in ["", "s", "5h", "-1s", "1.5s", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
