//! One row of a `graph.json`: a JSON object, read without expecting anything of it.
//!
//! Texts stay where they stand in the file; only nested values are built. Whatever a field holds, reading it can't fail:
//! what a field must be is asked by those who use it ([`Reading::text`](super::reading::Reading::text)).
//!
//! 1. What is kept of a row fits the properties of one state: a nested value is at most [`NEST_MAX`] deep, and of a
//!    row longer than the limit only texts of [`LONG_TEXT_BYTES`], and no nested values, are kept.
//! 2. Of a key that stands twice, the last value counts, as in the program that writes these files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::key::Name;
use crate::sources::Report;
use crate::value::Value;

/// How deep a value within a row may nest. Real metadata nest twice.
const NEST_MAX: usize = 16;

/// How much is kept of a text in a row that is too long.
const LONG_TEXT_BYTES: usize = 4 << 10;

/// The longest id, relation, kind or path.
pub(super) const NAME_BYTES_MAX: usize = 1 << 10;

/// The fields of a row, as they stand in the file.
pub(super) struct Row<'a> {
    pub(super) fields: Vec<(Cow<'a, str>, Cell<'a>)>,
}

/// The value of a field.
#[derive(PartialEq, Debug)]
pub(super) enum Cell<'a> {
    Text(Cow<'a, str>),
    /// Anything but a text.
    Value(Value),
    /// A nested value that is not kept.
    TooDeep,
}

/// Where a row stands: `graph.json nodes[17]`.
#[derive(Clone, Copy)]
pub(super) struct At<'f> {
    pub(super) file: &'f str,
    pub(super) section: &'static str,
    pub(super) index: usize,
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}[{}]", self.file, self.section, self.index)
    }
}

impl<'a> Row<'a> {
    /// The fields of the row at `at`; what had to be left out is reported. None when it is no object.
    pub(super) fn read(raw: &'a RawValue, row_bytes_max: usize, at: At<'_>, report: &mut Report) -> Option<Row<'a>> {
        let mut row: Row<'a> = match serde_json::from_str(raw.get()) {
            Ok(row) => row,
            Err(error) => {
                report.defect(at.to_string(), "bad_row", brief(&error.to_string()));
                return None;
            }
        };
        row.fields.retain(|(name, cell)| {
            let deep = *cell == Cell::TooDeep;
            if deep {
                let detail = format!("expected {:?} to nest at most {NEST_MAX} deep; it is left out", brief(name));
                report.defect(at.to_string(), "too_deep", detail);
            }
            !deep
        });
        if raw.get().len() > row_bytes_max {
            let bytes = raw.get().len();
            let detail = format!(
                "expected a row of at most {row_bytes_max} bytes, found {bytes}; long texts are cut, nested values left out"
            );
            report.defect(at.to_string(), "too_long", detail);
            row.shorten();
        }
        Some(row)
    }

    /// Leaves out what could make the row too large to be one state. The members of a hyperedge become relations, not
    /// properties, and stay.
    fn shorten(&mut self) {
        self.fields.retain(|(name, cell)| {
            name.len() <= NAME_BYTES_MAX
                && (name == "nodes" || !matches!(cell, Cell::Value(Value::List(_) | Value::Map(_))))
        });
        self.fields.truncate(64);
        for (_, cell) in &mut self.fields {
            if let Cell::Text(text) = cell
                && text.len() > LONG_TEXT_BYTES
            {
                *text = cut(text, LONG_TEXT_BYTES).to_owned().into();
            }
        }
    }
}

/// `text`, shortened to at most `bytes` bytes between two characters.
fn cut(text: &str, mut bytes: usize) -> &str {
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    &text[..bytes]
}

/// `text`, short enough for a report.
pub(super) fn brief(text: &str) -> Cow<'_, str> {
    const BRIEF_BYTES: usize = 200;
    if text.len() <= BRIEF_BYTES { text.into() } else { format!("{}…", cut(text, BRIEF_BYTES)).into() }
}

impl<'de: 'a, 'a> Deserialize<'de> for Row<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Row<'a>, D::Error> {
        json.deserialize_map(Fields).map(|fields| Row { fields })
    }
}

struct Fields;

impl<'a> Visitor<'a> for Fields {
    type Value = Vec<(Cow<'a, str>, Cell<'a>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Vec::with_capacity(16);
        while let Some(name) = map.next_key_seed(Key)? {
            fields.push((name, map.next_value_seed(Cells)?));
        }
        Ok(fields)
    }
}

/// A key, borrowed from the text where it has no escapes.
pub(super) struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Cow<'a, str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(text.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'a, str>, E> {
        Ok(text.to_owned().into())
    }
}

/// Reads the value of a field.
struct Cells;

impl<'a> DeserializeSeed<'a> for Cells {
    type Value = Cell<'a>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Cell<'a>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Cells {
    type Value = Cell<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Cell<'a>, E> {
        Ok(Cell::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell<'a>, E> {
        Ok(Cell::Text(text.to_owned().into()))
    }

    fn visit_unit<E>(self) -> Result<Cell<'a>, E> {
        Ok(Cell::Value(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Cell<'a>, E> {
        Ok(Cell::Value(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Cell<'a>, E> {
        Ok(Cell::Value(Value::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Cell<'a>, E> {
        Ok(Cell::Value(whole(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Cell<'a>, E> {
        Ok(Cell::Value(Value::Float(value)))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, seq: S) -> Result<Cell<'a>, S::Error> {
        Ok(Nested(NEST_MAX).visit_seq(seq)?.map_or(Cell::TooDeep, Cell::Value))
    }

    fn visit_map<M: MapAccess<'a>>(self, map: M) -> Result<Cell<'a>, M::Error> {
        Ok(Nested(NEST_MAX).visit_map(map)?.map_or(Cell::TooDeep, Cell::Value))
    }
}

fn whole(value: u64) -> Value {
    i64::try_from(value).map_or(Value::Float(value as f64), Value::Int)
}

/// Reads a value that may nest so many levels more; none when it nests deeper. What is too deep is skipped, not read:
/// skipping takes no stack.
#[derive(Clone, Copy)]
struct Nested(usize);

impl<'a> DeserializeSeed<'a> for Nested {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Option<Value>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Nested {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<Value>, E> {
        Ok(Some(text.into()))
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(Some(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Option<Value>, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Option<Value>, E> {
        Ok(Some(Value::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<Value>, E> {
        Ok(Some(whole(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Option<Value>, E> {
        Ok(Some(Value::Float(value)))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<Option<Value>, S::Error> {
        let Some(left) = self.0.checked_sub(1) else {
            return IgnoredAny.visit_seq(seq).map(|_| None);
        };
        let (mut items, mut deep) = (Vec::new(), false);
        while let Some(item) = seq.next_element_seed(Nested(left))? {
            match item {
                Some(item) => items.push(item),
                None => deep = true,
            }
        }
        Ok((!deep).then(|| Value::from(items)))
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Option<Value>, M::Error> {
        let Some(left) = self.0.checked_sub(1) else {
            return IgnoredAny.visit_map(map).map(|_| None);
        };
        let (mut items, mut deep) = (BTreeMap::<Name, Value>::new(), false);
        while let Some(key) = map.next_key_seed(Key)? {
            match map.next_value_seed(Nested(left))? {
                Some(item) => drop(items.insert((&*key).into(), item)),
                None => deep = true,
            }
        }
        Ok((!deep).then(|| Value::Map(Arc::new(items))))
    }
}
