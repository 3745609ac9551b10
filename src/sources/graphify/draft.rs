//! What a row says, in the making: properties, the rest, and the place.
//!
//! Properties keep Graphify's own names. Keys that are known ([`Words::own`]) stand for themselves; any other key of a
//! row, whichever version or extractor wrote it, is kept in the map `extra`.
//!
//! 1. `null` and the empty text say nothing and are left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::key::Name;
use crate::observation::Observation;
use crate::value::{Props, Value};

use super::row::Cell;
use super::words::Words;

/// The properties and the place of one observation.
#[derive(Default)]
pub(super) struct Draft {
    props: Props,
    extra: BTreeMap<Name, Value>,
    place: BTreeMap<Name, Value>,
}

impl Draft {
    /// A property.
    pub(super) fn prop(&mut self, name: Name, value: Value) {
        self.props.insert(name, value);
    }

    /// A pointer: part of the place.
    pub(super) fn point(&mut self, name: Name, value: Option<Value>) {
        if let Some(value) = value {
            self.place.insert(name, value);
        }
    }

    /// A field as it is: a property of its own or one of the rest.
    pub(super) fn keep(&mut self, name: &str, cell: Cell<'_>, words: &mut Words) {
        let Some(value) = value(cell, words) else { return };
        match words.own(name) {
            Some(name) => self.props.insert(name, value),
            None => self.extra.insert(words.name(name), value),
        };
    }

    /// Says it all.
    pub(super) fn say(self, observation: &mut Observation, words: &mut Words) {
        observation.props = self.props;
        if !self.extra.is_empty() {
            observation.props.insert(words.name("extra"), Value::Map(Arc::new(self.extra)));
        }
        if !self.place.is_empty() {
            observation.place = Some(Value::Map(Arc::new(self.place)));
        }
    }
}

/// The value of a field, where it says something.
pub(super) fn value(cell: Cell<'_>, words: &mut Words) -> Option<Value> {
    match cell {
        Cell::Text(text) if text.is_empty() => None,
        Cell::Text(text) => Some(words.value(&text)),
        Cell::Value(Value::Null) | Cell::TooDeep => None,
        Cell::Value(value) => Some(value),
    }
}
