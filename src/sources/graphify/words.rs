//! The short texts that return in row after row: property names, locations, contexts. Each is kept once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::key::Name;
use crate::value::Value;

/// Keys of a row that are properties of their own.
const OWN: [&str; 24] = [
    "_callable",
    "_callable_class",
    "_origin",
    "author",
    "captured_at",
    "context",
    "contributor",
    "description",
    "ecosystem",
    "external",
    "file_type",
    "frontmatter",
    "language",
    "local_id",
    "metadata",
    "node_kind",
    "rationale",
    "relation",
    "repo",
    "source_url",
    "type",
    "type_only",
    "version",
    "weight",
];

/// Short texts, each once.
pub(super) struct Words {
    own: HashMap<&'static str, Name>,
    names: HashSet<Name>,
    texts: HashSet<Arc<str>>,
    /// The names that nearly every row needs, at hand without a search.
    pub(super) often: Often,
}

/// Names of properties, of parts of a place, and of the origin.
pub(super) struct Often {
    pub(super) confidence_class: Name,
    pub(super) file: Name,
    pub(super) graphify: Name,
    pub(super) location: Name,
    pub(super) name: Name,
    pub(super) path: Name,
    pub(super) weight: Name,
}

impl Words {
    /// No text yet but those that are needed often.
    pub(super) fn new() -> Words {
        let often = Often {
            confidence_class: "confidence_class".into(),
            file: "file".into(),
            graphify: super::ORIGIN.into(),
            location: "location".into(),
            name: "name".into(),
            path: "path".into(),
            weight: "weight".into(),
        };
        Words { own: OWN.map(|name| (name, name.into())).into(), names: HashSet::new(), texts: HashSet::new(), often }
    }

    /// The name of a property that rows have under this key, if it is known.
    pub(super) fn own(&self, key: &str) -> Option<Name> {
        self.own.get(key).cloned()
    }

    /// `text` as a name.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::from(text);
        self.names.insert(name.clone());
        name
    }

    /// `text` as a value.
    pub(super) fn value(&mut self, text: &str) -> Value {
        // 32: longer texts are labels and sentences, which hardly return.
        if text.len() > 32 {
            return text.into();
        }
        if let Some(text) = self.texts.get(text) {
            return Value::Text(text.clone());
        }
        let text: Arc<str> = text.into();
        self.texts.insert(text.clone());
        Value::Text(text)
    }
}
