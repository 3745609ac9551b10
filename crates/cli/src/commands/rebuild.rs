//! `rebuild`: from files to the graph.

use std::path::Path;

use serde_json::Value;
use triglyph::care::rebuild::{Input, Phase, RebuildReport, rebuild as run, verify};
use triglyph::operations::operation;
use triglyph::persist::roots::Roots;
use triglyph::sources::graphify::Graphify;
use triglyph::sources::ownership::Ownership;
use triglyph::sources::unity::Unity;
use triglyph::sources::{Source, SourceFiles};
use triglyph::{Code, Error, Graph, Scope};

use crate::args::{Global, RebuildArgs};
use crate::config::{Kind, SourceSpec, check_names};
use crate::outcome::{Failure, Output};
use crate::place::{Place, empty};
use crate::progress::Bars;
use crate::report;

pub(crate) fn rebuild(args: &RebuildArgs, global: &Global) -> Result<Output, Failure> {
    check_names(&args.sources.given)?;
    let place = Place::open(&args.store, global)?;
    let (scope, found) = place.find(global)?;
    let sources = sources(args, &place, &scope)?;
    let inputs = || sources.iter().map(input).collect::<Result<Vec<Input>, Failure>>();
    let inputs_again = if args.verify { inputs()? } else { Vec::new() };
    let now = inputs()?;
    let graph = match found {
        Some(graph) => graph,
        // Nothing can be read, so nothing will be written; the report still says why.
        None if now.iter().all(|input| input.files.is_err()) => empty(&scope)?,
        None => place.store.graph(&scope)?,
    };
    let report: RebuildReport = run(&graph, now, &mut Bars::default())?;
    let mut output = Output::new(&report, report::rebuild::rebuild(&scope, &report))?;
    output.failed = !report.is_complete();
    if args.verify {
        let fresh = empty(&scope)?;
        let verified = verify(&graph, &fresh, inputs_again, &mut Bars::default())?;
        output.failed |= !verified.equal;
        output.shown += &report::rebuild::verified(&verified, &unread(&graph, sources)?);
        output.json["verify"] = serde_json::to_value(&verified).unwrap_or(Value::Null);
    }
    Ok(output)
}

/// The sources that speak in the graph and were not read: a rebuild from nothing lacks what they say.
fn unread(graph: &Graph, sources: &[SourceSpec]) -> Result<Vec<String>, Failure> {
    let status = operation("status")?.call(graph, serde_json::json!({}), &|| false)?;
    let speaking = status["sources"].as_array().into_iter().flatten().filter_map(|source| source["source"].as_str());
    let read: Vec<String> = sources.iter().map(SourceSpec::instance).collect();
    let own = |name: &&str| *name == Phase::Link.as_str() || read.iter().any(|read| read == name);
    Ok(speaking.filter(|name| !own(name)).map(str::to_owned).collect())
}

/// The sources of the flags, else those of the store's file.
fn sources<'a>(args: &'a RebuildArgs, place: &'a Place, scope: &Scope) -> Result<&'a [SourceSpec], Failure> {
    let flags = &args.sources.given;
    let of_file = &place.file.sources;
    if !flags.is_empty() {
        return Ok(flags);
    }
    if of_file.is_empty() {
        let message = "no source: give --graphify, --unity or --ownership, or list the sources in triglyph.toml";
        return Err(Failure::Usage(message.to_owned()));
    }
    if place.file.scope.as_ref().is_some_and(|of| of != scope) {
        let message = format!("the sources in triglyph.toml are not those of {scope}; give its sources as flags");
        return Err(Failure::Usage(message));
    }
    Ok(of_file)
}

/// What the library is handed. A source whose files can't be opened is an input too: its phase fails, and no other.
fn input(source: &SourceSpec) -> Result<Input, Failure> {
    let at = prefix(source)?;
    let SourceSpec { kind, name, path, .. } = source;
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (phase, parser, files): (Phase, Box<dyn Source>, Result<Roots, Error>) = match kind {
        Kind::Graphify => (Phase::Graphify, Box::new(Graphify::new(name, file, &at)), one_file(path, file)),
        Kind::Unity => (Phase::UnityAssets, Box::new(Unity::new(name, &at)), Roots::open(path)),
        Kind::Ownership => (Phase::Ownership, Box::new(Ownership::new(name, file, &at)), one_file(path, file)),
    };
    let files = files.map(|files| Box::new(files) as Box<dyn SourceFiles>);
    Ok(Input { phase, source: parser, files, config: format!("file={file} at={at}") })
}

fn one_file(path: &Path, file: &str) -> Result<Roots, Error> {
    if file.is_empty() {
        let message = format!("expected a file with a name in UTF-8, found {}", path.display());
        return Err(Error::new(Code::Invalid, message));
    }
    Roots::file(path)
}

/// Where the paths of a source begin in the project. A CODEOWNERS file speaks of the folder above `.github`.
fn prefix(source: &SourceSpec) -> Result<String, Failure> {
    let SourceSpec { kind, path, at, .. } = source;
    let Some(at) = at else {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let special = folder.filter(|name| *kind == Kind::Ownership && [".github", ".gitlab", "docs"].contains(name));
        return Ok(special.unwrap_or_default().to_owned());
    };
    let parts = at.split('/').filter(|part| !part.is_empty() && *part != ".");
    if at.contains('\\') || parts.clone().any(|part| part == "..") {
        let message = format!("--at {at} of {source}: expected a folder inside the project, such as game/Assets");
        return Err(Failure::Usage(message));
    }
    Ok(parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        let prefix = |kind, path: &str, at: Option<&str>| {
            super::prefix(&SourceSpec { kind, name: "main".into(), path: path.into(), at: at.map(str::to_owned) })
        };
        for (kind, path, at, expected) in [
            (Kind::Unity, "x/game", None, ""),
            (Kind::Unity, "x/game", Some("./game/"), "game"),
            (Kind::Unity, "x/game", Some("/a//b"), "a/b"),
            (Kind::Unity, "x/.github", None, ""),
            (Kind::Ownership, "x/.github/CODEOWNERS", None, ".github"),
            (Kind::Ownership, "x/.github/CODEOWNERS", Some("sub/.github"), "sub/.github"),
            (Kind::Ownership, "CODEOWNERS", None, ""),
        ] {
            assert_eq!(prefix(kind, path, at).unwrap(), expected, "{path} {at:?}");
        }
        assert!(prefix(Kind::Unity, "x", Some("../y")).is_err());
        assert!(prefix(Kind::Unity, "x", Some(r"a\b")).is_err());
    }
}
