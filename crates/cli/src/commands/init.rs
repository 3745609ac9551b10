//! `init`: a store, its first scope, and a `triglyph.toml` to fill in.

use std::path::Path;

use serde_json::json;
use triglyph::{Code, Error, Graph, Store};

use crate::args::{Global, InitArgs};
use crate::config::{self, FILE};
use crate::outcome::{Failure, Output};
use crate::place::{Place, options};
use crate::table::GOOD;

pub(crate) fn init(args: &InitArgs, global: &Global) -> Result<Output, Failure> {
    config::check_names(&args.sources.given)?;
    let ontology = args.ontology.as_deref().map(read_ontology).transpose()?;
    let path = args.store.display();
    let (store, made) = match Store::create(&args.store, options(global)) {
        Ok(store) => (store, "made"),
        Err(error) if error.code() == Code::Conflict && global.scope.is_some() => return further_scope(args, global, error),
        Err(error) => return Err(error.into()),
    };
    let scope = global.scope.clone();
    let graph = scope.as_ref().map(|scope| store.graph(scope)).transpose()?;
    if let Some(text) = ontology {
        let graph = graph.map_or_else(|| store.graph(&crate::place::DEFAULT_SCOPE.parse()?), Ok)?;
        extend(&graph, &text)?;
    }
    let file = args.store.join(FILE);
    std::fs::write(&file, config::template(scope.as_ref(), &args.sources.given))
        .map_err(|error| Error::io(format_args!("writing {}", file.display()), &error))?;
    let mut shown = format!("{GOOD}{made}{GOOD:#} the store {path}");
    if let Some(scope) = &scope {
        shown += &format!(" with the scope {scope}");
    }
    shown += &format!("; its sources are listed in {}\n", file.display());
    shown += &next_step(args);
    let scope = scope.map(|scope| scope.to_string());
    Output::new(&json!({ "store": args.store, "scope": scope, "config": file }), shown)
}

/// Adds the scope to a store that is there already; what it was refused with else.
fn further_scope(args: &InitArgs, global: &Global, refused: Error) -> Result<Output, Failure> {
    let Ok(place) = Place::open(&args.store, global) else { return Err(refused.into()) };
    let (scope, there) = place.scope(global)?;
    if there {
        let message = format!("the store {} holds the scope {scope} already", args.store.display());
        return Err(Error::new(Code::Conflict, message).into());
    }
    if !args.sources.given.is_empty() {
        let message = format!("the sources in {FILE} are those of its own scope; give {scope} its sources at each rebuild");
        return Err(Failure::Usage(message));
    }
    let graph = place.store.graph(&scope)?;
    if let Some(text) = args.ontology.as_deref().map(read_ontology).transpose()? {
        extend(&graph, &text)?;
    }
    let shown = format!("{GOOD}added{GOOD:#} the scope {scope} to the store {}\n", args.store.display());
    Output::new(&json!({ "store": args.store, "scope": scope.to_string() }), shown)
}

fn read_ontology(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path);
    Ok(text.map_err(|error| Error::io(format_args!("reading {}", path.display()), &error))?)
}

fn extend(graph: &Graph, text: &str) -> Result<(), Failure> {
    let _ = (graph, text);
    Err(Error::new(Code::Invalid, "this build can't extend the ontology yet").into())
}

fn next_step(args: &InitArgs) -> String {
    let store = super::quote(&args.store.to_string_lossy());
    if args.sources.given.is_empty() {
        format!("next: triglyph rebuild {store} --graphify graph.json\n")
    } else {
        format!("next: triglyph rebuild {store}\n")
    }
}
