//! Where a command works: the store, and the scope of it.
//!
//! The scope is that of `--scope`, else that of `triglyph.toml`, else the only one that the store holds, else
//! [`DEFAULT_SCOPE`] while it holds none.
//!
//! 1. Reading makes nothing: a store without scopes reads as an empty one.

use std::path::Path;

use triglyph::{Code, Error, Graph, Options, Scope, Store};

use crate::args::Global;
use crate::config::StoreFile;
use crate::outcome::Failure;

/// The scope of a store that holds none, where none is named.
pub(crate) const DEFAULT_SCOPE: &str = "local/main";

/// A store, and what its file says.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) file: StoreFile,
}

impl Place {
    /// Opens the store at a path.
    pub(crate) fn open(path: &Path, global: &Global) -> Result<Place, Failure> {
        let store = Store::open(path, options(global))?;
        Ok(Place { store, file: StoreFile::read(path)? })
    }

    /// The scope that is meant, and whether the store holds it.
    pub(crate) fn scope(&self, global: &Global) -> Result<(Scope, bool), Failure> {
        let held = self.store.scopes()?;
        let scope = match (&global.scope, &self.file.scope, &held[..]) {
            (Some(scope), _, _) | (None, Some(scope), _) | (None, None, [scope]) => scope.clone(),
            (None, None, []) => DEFAULT_SCOPE.parse()?,
            (None, None, several) => {
                let several = list(several);
                return Err(Failure::Usage(format!(
                    "the store holds several scopes; name one with --scope: {several}"
                )));
            }
        };
        let there = held.contains(&scope);
        Ok((scope, there))
    }

    /// The graph to read from.
    pub(crate) fn reading(&self, global: &Global) -> Result<Graph, Failure> {
        let (scope, there) = self.scope(global)?;
        if there {
            return Ok(self.store.existing(&scope)?);
        }
        let held = self.store.scopes()?;
        if held.is_empty() {
            return Ok(Store::in_memory()?.graph(&scope)?);
        }
        let message = format!("the store holds no scope {scope}; it holds {}", list(&held));
        Err(Error::new(Code::NotFound, message).into())
    }

    /// The graph to write to; the scope is made where it is missing.
    pub(crate) fn writing(&self, global: &Global) -> Result<Graph, Failure> {
        Ok(self.store.graph(&self.scope(global)?.0)?)
    }
}

/// How stores are opened.
pub(crate) fn options(global: &Global) -> Options {
    Options::default().busy_timeout(global.busy_timeout)
}

fn list(scopes: &[Scope]) -> String {
    scopes.iter().map(Scope::to_string).collect::<Vec<_>>().join(", ")
}
