//! The flags that name sources, and the `--at` that belongs to the one before it.
//!
//! Clap's derive can't say what stands before what; the places of the flags are read from the matches.

use std::path::PathBuf;

use clap::ArgMatches;

use crate::config::{Kind, SourceSpec};

/// The sources of a command line.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Sources")]
pub(crate) struct SourceArgs {
    /// A code graph that Graphify made
    #[arg(long, value_name = "[NAME=]FILE", value_parser = source)]
    graphify: Vec<Named>,
    /// A Unity project folder
    #[arg(long, value_name = "[NAME=]FOLDER", value_parser = source)]
    unity: Vec<Named>,
    /// A CODEOWNERS file
    #[arg(long, value_name = "[NAME=]FILE", value_parser = source)]
    ownership: Vec<Named>,
    /// Where the source before it lies in the project
    #[arg(long, value_name = "PREFIX")]
    at: Vec<String>,
    /// The sources in the order in which they were typed, each with its own `--at`.
    #[arg(skip)]
    pub(crate) given: Vec<SourceSpec>,
}

/// A source as typed: its name and path.
type Named = (String, PathBuf);

impl SourceArgs {
    /// Fills `given`, from the matches of the command that has these flags.
    pub(super) fn put_in_order(&mut self, matches: &ArgMatches) -> Result<(), String> {
        let mut typed: Vec<(usize, Option<SourceSpec>, &str)> = Vec::new();
        for (kind, named) in
            [(Kind::Graphify, &self.graphify), (Kind::Unity, &self.unity), (Kind::Ownership, &self.ownership)]
        {
            let places = matches.indices_of(kind.as_str()).into_iter().flatten();
            typed.extend(places.zip(named).map(|(place, (name, path))| {
                (place, Some(SourceSpec { kind, name: name.clone(), path: path.clone(), at: None }), "")
            }));
        }
        let places = matches.indices_of("at").into_iter().flatten();
        typed.extend(places.zip(&self.at).map(|(place, at)| (place, None, at.as_str())));
        typed.sort_by_key(|(place, ..)| *place);
        let mut given: Vec<SourceSpec> = Vec::new();
        for (_, source, at) in typed {
            match (source, given.last_mut()) {
                (Some(source), _) => given.push(source),
                (None, Some(SourceSpec { at: place @ None, .. })) => *place = Some(at.to_owned()),
                (None, Some(source)) => return Err(format!("two --at for {source}; each source has one")),
                (None, None) => {
                    return Err(format!("--at {at} stands before any source; it belongs to the one before it"));
                }
            }
        }
        self.given = given;
        Ok(())
    }
}

/// `NAME=PATH`, or a path alone. A `=` behind a slash belongs to the path.
fn source(text: &str) -> Result<Named, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.contains(['/', '\\']) => (name, path),
        _ => ("main", text),
    };
    crate::config::check_name(name)?;
    if path.is_empty() {
        return Err("expected a path".to_owned());
    }
    Ok((name.to_owned(), PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::args::{Command, parse};

    fn sources(line: &str) -> Result<Vec<String>, String> {
        let words = ["triglyph", "rebuild", "s.tg"].into_iter().chain(line.split_whitespace()).map(OsString::from);
        match parse(words).map_err(|error| error.to_string())?.command {
            Command::Rebuild(args) => Ok(args.sources.given.iter().map(ToString::to_string).collect()),
            _ => Err("not a rebuild".to_owned()),
        }
    }

    /// A prefix that went to the wrong source would give every path of two sources a wrong name.
    #[test]
    fn at_belongs_to_the_source_before_it() {
        let line = "--unity client=game --at game --graphify a.json --graphify tools=b.json --at tools --unity x/y=z";
        let expected =
            ["unity client=game at game", "graphify main=a.json", "graphify tools=b.json at tools", "unity main=x/y=z"];
        assert_eq!(sources(line).unwrap(), expected);
        assert!(sources("--at game --unity x").unwrap_err().contains("before any source"));
        assert!(sources("--unity x --at a --at b").unwrap_err().contains("two --at"));
        assert!(sources("--unity a:b=x").unwrap_err().contains("expected a name"));
    }
}
