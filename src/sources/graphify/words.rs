//! The short texts that return in row after row: property names, locations, contexts. Each is kept once.

use std::collections::HashSet;
use std::sync::Arc;

use crate::key::Name;
use crate::value::Value;

/// Shared texts.
#[derive(Default)]
pub(super) struct Words {
    names: HashSet<Name>,
    texts: HashSet<Arc<str>>,
}

impl Words {
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
