//! The fields of one JSON object, taken one by one; what is left over is an error.
//!
//! 1. A field that nobody asked for is named, with the nearest one that was asked for.
//! 2. Where a field is optional, `null` is the same as its absence.

use std::collections::BTreeMap;

use crate::error::{Error, nearest};
use crate::key::Name;
use crate::time::Time;
use crate::value::Value;

/// An object being read.
pub(super) struct Fields {
    what: &'static str,
    map: BTreeMap<Name, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// The fields of `value`, which is `what` to whoever reads an error.
    pub(super) fn of(what: &'static str, value: Value) -> Result<Fields, Error> {
        match value {
            Value::Map(map) => Ok(Fields { what, map: std::sync::Arc::unwrap_or_clone(map), known: Vec::new() }),
            other => Err(Error::invalid(format!("expected {what} to be an object, found {}", describe(&other)))),
        }
    }

    /// Whether the field is there, null or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The names of the fields that are there.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(|name| &**name)
    }

    /// The field as it stands.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.map.remove(name).filter(|value| *value != Value::Null)
    }

    /// The field, which must be there.
    pub(super) fn need(&mut self, name: &'static str) -> Result<Value, Error> {
        let what = self.what;
        self.take(name).ok_or_else(|| Error::invalid(format!("{what} lacks the field {name:?}")))
    }

    /// A text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<Name>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some((*text).into())),
            Some(other) => Err(self.expected(name, "a text", describe(&other))),
        }
    }

    /// A text that must be there, and not be empty.
    pub(super) fn need_text(&mut self, name: &'static str) -> Result<Name, Error> {
        match self.text(name)? {
            Some(text) if text.is_empty() => Err(self.expected(name, "a text that is not empty", "an empty one")),
            Some(text) => Ok(text),
            None => Err(Error::invalid(format!("{} lacks the field {name:?}", self.what))),
        }
    }

    /// A text that stands for something else.
    pub(super) fn parsed<T: std::str::FromStr<Err = Error>>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        let text = self.text(name)?;
        text.map(|text| text.parse().map_err(|error: Error| error.at(format_args!("field {name:?}")))).transpose()
    }

    /// A time.
    pub(super) fn time(&mut self, name: &'static str) -> Result<Option<Time>, Error> {
        self.parsed(name)
    }

    /// A whole number from 0 on.
    pub(super) fn count(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Int(int)) if int >= 0 => Ok(Some(int.unsigned_abs())),
            Some(other) => Err(self.expected(name, "a whole number from 0 on", &found(&other))),
        }
    }

    /// Any number.
    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<f64>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Int(int)) => Ok(Some(int as f64)),
            Some(Value::Float(float)) => Ok(Some(float)),
            Some(other) => Err(self.expected(name, "a number", describe(&other))),
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.expected(name, "true or false", describe(&other))),
        }
    }

    /// Texts.
    pub(super) fn texts(&mut self, name: &'static str) -> Result<Vec<Name>, Error> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::List(items)) => {
                let text = |item: &Value| {
                    let text = item.as_str().map(Name::from);
                    text.ok_or_else(|| self.expected(name, "a list of texts", &format!("{} in it", describe(item))))
                };
                items.iter().map(text).collect()
            }
            Some(other) => Err(self.expected(name, "a list of texts", describe(&other))),
        }
    }

    /// An object.
    pub(super) fn object(&mut self, name: &'static str) -> Result<BTreeMap<Name, Value>, Error> {
        match self.take(name) {
            None => Ok(BTreeMap::new()),
            Some(Value::Map(map)) => Ok(std::sync::Arc::unwrap_or_clone(map)),
            Some(other) => Err(self.expected(name, "an object", describe(&other))),
        }
    }

    /// Refuses what nobody asked for.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some(name) = self.map.keys().next() else { return Ok(()) };
        let hint = match nearest(name, self.known.iter().copied()) {
            Some(word) => format!("did you mean {word:?}?"),
            None => format!("it takes {}", self.known.join(", ")),
        };
        Err(Error::invalid(format!("{} has no field {name:?}; {hint}", self.what)))
    }

    fn expected(&self, name: &str, expected: &str, found: &str) -> Error {
        Error::invalid(format!("field {name:?}: expected {expected}, found {found}"))
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::Int(_) | Value::Float(_) => value.canonical(),
        other => describe(other).to_owned(),
    }
}

/// What sort of value it is.
pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
    }
}
