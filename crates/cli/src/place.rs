//! Where a command works: the store, and the scope of it.
//!
//! The scope is that of `--scope`, else that of `triglyph.toml`, else the only one that the store holds, else
//! [`DEFAULT_SCOPE`] while it holds none.
//!
//! 1. Reading makes nothing: a store without scopes reads as an empty one.
//! 2. A scope that was named has to be there; only `init` makes it. [`DEFAULT_SCOPE`] is made by the first write that
//!    isn't refused.
//! 3. Where a scope was named, no other one is looked at: damage in one stops none of the others.

use std::path::{Path, PathBuf};

use triglyph::{Code, Error, Graph, Options, Scope, Store};

use crate::args::Global;
use crate::config::StoreFile;
use crate::outcome::Failure;

/// The scope of a store that holds none, where none is named.
pub(crate) const DEFAULT_SCOPE: &str = "local/main";

/// How many scopes of a store a message lists.
const LISTED_MAX: usize = 10;

/// A store, and what its file says.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) file: StoreFile,
    path: PathBuf,
}

/// A scope, and its graph; none for [`DEFAULT_SCOPE`] in a store that holds no scope.
pub(crate) type Found = (Scope, Option<Graph>);

impl Place {
    /// Opens the store at a path.
    pub(crate) fn open(path: &Path, global: &Global) -> Result<Place, Failure> {
        let store = Store::open(path, options(global))?;
        Ok(Place { store, file: StoreFile::read(path)?, path: path.to_owned() })
    }

    /// The scope that is meant, whether it is there or not.
    pub(crate) fn scope(&self, global: &Global) -> Result<Scope, Failure> {
        if let Some(named) = self.named(global) {
            return Ok(named.clone());
        }
        match &self.store.scopes()?[..] {
            [] => Ok(DEFAULT_SCOPE.parse()?),
            [scope] => Ok(scope.clone()),
            several => {
                let several = list(several);
                Err(Failure::Usage(format!("the store holds several scopes; name one with --scope: {several}")))
            }
        }
    }

    /// The scope that is meant, opened.
    pub(crate) fn find(&self, global: &Global) -> Result<Found, Failure> {
        let scope = self.scope(global)?;
        match self.store.existing(&scope) {
            Ok(graph) => Ok((scope, Some(graph))),
            Err(error) if error.code() != Code::NotFound => Err(error.into()),
            Err(_) if self.named(global).is_some() => Err(self.missing(&scope).into()),
            Err(_) => Ok((scope, None)),
        }
    }

    /// The graph to read from.
    pub(crate) fn reading(&self, global: &Global) -> Result<Graph, Failure> {
        match self.find(global)? {
            (_, Some(graph)) => Ok(graph),
            (scope, None) => empty(&scope),
        }
    }

    /// Writes. Where the scope is yet to be made, on an empty graph in memory first: what is refused there makes none.
    pub(crate) fn write<T>(&self, global: &Global, write: impl Fn(&Graph) -> Result<T, Failure>) -> Result<T, Failure> {
        match self.find(global)? {
            (_, Some(graph)) => write(&graph),
            (scope, None) => {
                write(&empty(&scope)?)?;
                write(&self.store.graph(&scope)?)
            }
        }
    }

    fn named<'a>(&'a self, global: &'a Global) -> Option<&'a Scope> {
        global.scope.as_ref().or(self.file.scope.as_ref())
    }

    /// What to say of a scope that isn't there: which one may have been meant, and how to make it.
    pub(crate) fn missing(&self, scope: &Scope) -> Error {
        // Another scope may be damaged; this message can do without it.
        let held = self.store.scopes().unwrap_or_default();
        let name = scope.to_string();
        let near = held.iter().map(|held| (strsim::damerau_levenshtein(&name, &held.to_string()), held)).min();
        let holds = match (near, &held[..]) {
            (Some((distance, near)), _) if distance <= 1 + name.chars().count() / 3 => {
                format!("did you mean {near}?")
            }
            (_, []) => "it holds none yet".to_owned(),
            (_, held) => format!("it holds {}", list(held)),
        };
        let word = |word: &str| crate::commands::quote(word);
        let made = format!("triglyph init {} --scope {}", word(&self.path.to_string_lossy()), word(&name));
        let message = format!("the store holds no scope {name} ({holds}); a new one is made with `{made}`");
        let held: Vec<String> = held.iter().map(Scope::to_string).collect();
        Error::new(Code::NotFound, message).with_details(serde_json::json!({ "scope": name, "known": held }))
    }
}

/// How stores are opened.
pub(crate) fn options(global: &Global) -> Options {
    Options::default().busy_timeout(global.busy_timeout)
}

/// An empty graph of the scope, in memory.
pub(crate) fn empty(scope: &Scope) -> Result<Graph, Failure> {
    Ok(Store::in_memory()?.graph(scope)?)
}

fn list(scopes: &[Scope]) -> String {
    let mut names: Vec<String> = scopes.iter().take(LISTED_MAX).map(Scope::to_string).collect();
    if scopes.len() > LISTED_MAX {
        names.push(format!("and {} more", scopes.len() - LISTED_MAX));
    }
    names.join(", ")
}
