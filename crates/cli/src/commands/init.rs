//! `init`: a store, its first scope, and a `triglyph.toml` to fill in.

use std::path::Path;

use serde_json::json;
use triglyph::{Code, Error, Scope, Store};

use crate::args::{Global, InitArgs};
use crate::config::{self, FILE};
use crate::outcome::{Failure, Output};
use crate::place::{DEFAULT_SCOPE, Place, options};
use crate::table::{GOOD, whole};

pub(crate) fn init(args: &InitArgs, global: &Global) -> Result<Output, Failure> {
    config::check_names(&args.sources.given)?;
    let types = Types::of(args)?;
    // Tried in memory first: a store that is refused its types is not to be left half made.
    types.make(&Store::in_memory()?, &DEFAULT_SCOPE.parse()?)?;
    let store = match Store::create(&args.store, options(global)) {
        Ok(store) => store,
        Err(error) if error.code() == Code::Conflict && global.scope.is_some() => {
            return further_scope(args, global, &types, error);
        }
        Err(error) => return Err(error.into()),
    };
    // A store without a scope is fine: the first thing that is written makes one.
    let scope = match &global.scope {
        None if types.any() => Some(DEFAULT_SCOPE.parse()?),
        scope => scope.clone(),
    };
    if let Some(scope) = &scope {
        types.make(&store, scope)?;
    }
    let file = args.store.join(FILE);
    std::fs::write(&file, config::template(scope.as_ref(), &args.sources.given))
        .map_err(|error| Error::io(format_args!("writing {}", file.display()), &error))?;
    let mut shown = format!("{GOOD}made{GOOD:#} the store {}", whole(args.store.display()));
    if let Some(scope) = &scope {
        shown += &format!(" with the scope {}", whole(scope));
    }
    shown += &format!("; its sources are listed in {}\n", whole(file.display()));
    let flags = if args.sources.given.is_empty() { " --graphify graph.json" } else { "" };
    shown += &format!("next: triglyph rebuild {}{flags}\n", whole(super::quote(&args.store.to_string_lossy())));
    let scope = scope.map(|scope| scope.to_string());
    Output::new(&json!({ "store": args.store, "scope": scope, "config": file }), shown)
}

/// Adds the scope to a store that is there already; where there is something else, what it was refused with.
fn further_scope(args: &InitArgs, global: &Global, types: &Types, refused: Error) -> Result<Output, Failure> {
    let Ok(place) = Place::open(&args.store, global) else { return Err(refused.into()) };
    let scope = place.scope(global)?;
    match place.store.existing(&scope) {
        Ok(_) => {
            let message = format!("the store {} holds the scope {scope} already", args.store.display());
            return Err(Error::new(Code::Conflict, message).into());
        }
        Err(error) if error.code() != Code::NotFound => return Err(error.into()),
        Err(_) => {}
    }
    if !args.sources.given.is_empty() {
        let message =
            format!("the sources in {FILE} are those of its own scope; give {scope} its sources at each rebuild");
        return Err(Failure::Usage(message));
    }
    types.make(&place.store, &scope)?;
    let shown =
        format!("{GOOD}added{GOOD:#} the scope {} to the store {}\n", whole(&scope), whole(args.store.display()));
    Output::new(&json!({ "store": args.store, "scope": scope.to_string() }), shown)
}

/// Which types a new scope has, where that was said.
struct Types<'a> {
    ontology: Option<(&'a Path, String)>,
    ptypes: Vec<&'a str>,
}

impl<'a> Types<'a> {
    /// Reads the file before anything is made.
    fn of(args: &'a InitArgs) -> Result<Types<'a>, Failure> {
        let read = |path: &'a Path| {
            let text = std::fs::read_to_string(path);
            text.map(|text| (path, text)).map_err(|error| Error::io(format_args!("reading {}", path.display()), &error))
        };
        let ontology = args.ontology.as_deref().map(read).transpose()?;
        Ok(Types { ontology, ptypes: args.ptypes.iter().map(String::as_str).collect() })
    }

    fn any(&self) -> bool {
        self.ontology.is_some() || !self.ptypes.is_empty()
    }

    fn make(&self, store: &Store, scope: &Scope) -> Result<(), Failure> {
        let graph = store.graph(scope)?;
        if let Some((path, text)) = &self.ontology {
            graph.extend_ontology(text).map_err(|error| error.at(path.display()))?;
        }
        if !self.ptypes.is_empty() {
            graph.set_ptypes(&self.ptypes)?;
        }
        Ok(())
    }
}
