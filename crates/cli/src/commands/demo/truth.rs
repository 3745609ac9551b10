//! What is known of the made-up studio: `TRUTH.json`, counted by a program that is no part of Triglyph.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use triglyph::{Code, Error};

use super::stage::Verdict;
use crate::outcome::Failure;

/// The truth.
pub(super) struct Truth(Value);

/// A set of names.
pub(super) type Names = BTreeSet<String>;

impl Truth {
    /// Reads it from the studio's folder.
    pub(super) fn read(studio: &Path) -> Result<Truth, Failure> {
        let path = studio.join("TRUTH.json");
        let bytes =
            std::fs::read(&path).map_err(|error| Error::io(format_args!("reading {}", path.display()), &error))?;
        let truth = serde_json::from_slice(&bytes)
            .map_err(|error| Error::new(Code::Invalid, format!("{}: {error}", path.display())))?;
        Ok(Truth(truth))
    }

    /// The identity of the asset at a path.
    pub(super) fn asset(&self, path: &str) -> String {
        format!("unity:{}", self.0["asset_guids"][path].as_str().unwrap_or(path))
    }

    /// The identities of all that depends on the asset at a path.
    pub(super) fn consumers(&self, path: &str) -> Names {
        let assets = names(&self.0["consumers"][path]).into_iter().map(|path| self.asset(&path));
        let files = names(&self.0["consumers_non_asset"][path]).into_iter().map(|path| format!("repo:{path}"));
        assets.chain(files).collect()
    }

    /// The identities of the prefabs that a change of the script at a path reaches.
    pub(super) fn prefabs_reached(&self, path: &str) -> Names {
        names(&self.0["prefabs_reached"][path]["with_code"]).iter().map(|path| self.asset(path)).collect()
    }

    /// The scripts that depend on the one at a path: `when` is `before` or `after`, `how` is `direct` or `all`.
    pub(super) fn code_dependents(&self, path: &str, when: &str, how: &str) -> Names {
        names(&self.0["code_dependents"][path][when][how]).iter().map(|path| format!("repo:{path}")).collect()
    }

    /// The owners of a path; none where it is unowned.
    pub(super) fn owners(&self, path: &str) -> Names {
        names(&self.0["owners"][path])
    }
}

/// The identities of an answer's entities, those that it was asked about left out.
pub(super) fn reached(answer: &Value) -> Names {
    let nodes = answer["nodes"].as_array().into_iter().flatten().filter(|node| node["distance"] != 0);
    nodes.map(identity).collect()
}

/// The same, of one kind and with this ending.
pub(super) fn reached_of(answer: &Value, kind: &str, ending: &str) -> Names {
    let nodes = answer["nodes"].as_array().into_iter().flatten().filter(|node| node["id"] != answer["subject"]["id"]);
    let ends = |node: &&Value| node["label"].as_str().is_some_and(|label| label.ends_with(ending));
    nodes.filter(|node| node["kind"] == kind).filter(ends).map(identity).collect()
}

/// Whether two sets of names are one, and else what differs.
pub(super) fn same(what: &str, found: &Names, expected: &Names) -> Verdict {
    if found == expected {
        return Ok(format!("{} {what}, as counted beforehand", found.len()));
    }
    let list = |names: Vec<&String>| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let (missing, extra) = (expected.difference(found).collect(), found.difference(expected).collect());
    Err(format!("{what}: missing [{}], not expected [{}]", list(missing), list(extra)))
}

/// The rows of a list-shaped answer.
pub(super) fn rows<'a>(answer: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    answer[field].as_array().into_iter().flatten()
}

/// Refuses what is not so.
pub(super) fn hold(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn identity(node: &Value) -> String {
    let part = |part: &str| node["source"][part].as_str().unwrap_or_default();
    format!("{}:{}", part("authority"), part("id"))
}

fn names(list: &Value) -> Names {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
