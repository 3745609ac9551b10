//! Property values: JSON, bounded, with one canonical spelling.
//!
//! 1. A list or map nests at most [`DEPTH_MAX`] deep, and the properties of one change take at most [`BYTES_MAX`]
//!    bytes of JSON.
//! 2. Numbers are finite. An integer that fits `i64` stays exact; any other number is an IEEE double.
//! 3. [`Value::canonical`] writes RFC 8785 (JCS): equal values, equal bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::error::{Code, Error};
use crate::key::Name;

/// How deep lists and maps may nest.
pub const DEPTH_MAX: usize = 32;

/// The most bytes that the properties of one state may take, as canonical JSON.
pub const BYTES_MAX: usize = 1 << 20;

/// A JSON value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// Any other finite number.
    Float(f64),
    /// A string.
    Text(Arc<str>),
    /// A list.
    List(Arc<[Value]>),
    /// An object; its keys are distinct.
    Map(Arc<BTreeMap<Name, Value>>),
}

impl Value {
    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The RFC 8785 spelling.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// Appends the RFC 8785 spelling to `out`.
    pub fn write_canonical(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Int(int) => write!(out, "{int}").expect("a string takes any text"),
            Value::Float(float) => out.push_str(ryu_js::Buffer::new().format_finite(*float)),
            Value::Text(text) => write_text(text, out),
            Value::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_canonical(out);
                }
                out.push(']');
            }
            Value::Map(map) => {
                let mut keys: Vec<&Name> = map.keys().collect();
                // JCS orders by UTF-16 code units, which differs from UTF-8 order only beyond the basic plane.
                keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
                out.push('{');
                for (i, key) in keys.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(key, out);
                    out.push(':');
                    map[key].write_canonical(out);
                }
                out.push('}');
            }
        }
    }

    /// Refuses a value that nests too deep.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.deeper_than(DEPTH_MAX) {
            return Err(Error::new(Code::TooLarge, format!("expected a value nested at most {DEPTH_MAX} deep")));
        }
        Ok(())
    }

    fn deeper_than(&self, depth: usize) -> bool {
        match self {
            Value::List(items) => depth == 0 || items.iter().any(|item| item.deeper_than(depth - 1)),
            Value::Map(map) => depth == 0 || map.values().any(|item| item.deeper_than(depth - 1)),
            _ => false,
        }
    }
}

/// Appends a JSON string, escaped as RFC 8785 says.
pub(crate) fn write_text(text: &str, out: &mut String) {
    // serde_json escapes just what JCS asks for: quote, backslash, and controls with their short forms.
    out.push_str(&serde_json::to_string(text).expect("a string is always valid JSON"));
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<&Name> for Value {
    fn from(name: &Name) -> Value {
        Value::Text((**name).into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::List(items.into())
    }
}

impl TryFrom<serde_json::Value> for Value {
    type Error = Error;

    fn try_from(json: serde_json::Value) -> Result<Value, Error> {
        Value::deserialize(json).map_err(|error| Error::invalid(error.to_string()))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(int) => serializer.serialize_i64(*int),
            Value::Float(float) => serializer.serialize_f64(*float),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter()),
            Value::Map(map) => serializer.collect_map(map.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() { Ok(Value::Float(value)) } else { Err(E::custom("a number must be finite")) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::from(items))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = access.next_entry::<Name, Value>()? {
            if map.insert(key.clone(), value).is_some() {
                return Err(de::Error::custom(format!("the key {key:?} stands twice in one object")));
            }
        }
        Ok(Value::Map(Arc::new(map)))
    }
}

impl schemars::JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

/// Property names and values, sorted by name, each name once.
pub type Props = BTreeMap<Name, Value>;

/// Refuses properties that nest too deep or take too many bytes.
pub(crate) fn check_props<'a>(props: impl IntoIterator<Item = (&'a Name, &'a Value)>) -> Result<(), Error> {
    let mut bytes = 2;
    for (name, value) in props {
        value.check().map_err(|error| error.at(format_args!("property {name:?}")))?;
        bytes += prop_bytes(name, value);
        if bytes > BYTES_MAX {
            return Err(Error::new(
                Code::TooLarge,
                format!("expected at most {BYTES_MAX} bytes of properties in one state, exceeded at {name:?}"),
            ));
        }
    }
    Ok(())
}

/// What a property adds to the bytes of a state: its name, its value, and what sets them apart.
pub(crate) fn prop_bytes(name: &Name, value: &Value) -> usize {
    name.len() + value.canonical().len() + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(json: &str) -> String {
        serde_json::from_str::<Value>(json).unwrap().canonical()
    }

    /// Two stores that hold the same facts must have the same digest, however their sources spelled numbers.
    #[test]
    fn one_spelling() {
        for (json, expected) in [
            (r#"{"b":1,"a":[true,null,"x"]}"#, r#"{"a":[true,null,"x"],"b":1}"#),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("1E-7", "1e-7"),
            ("-0.0", "0"),
            ("9007199254740993", "9007199254740993"),
            (r#""\u0000\b\t\n\f\r\"\\é""#, r#""\u0000\b\t\n\f\r\"\\é""#),
            ("{\"\u{10000}\":1,\"\u{ffff}\":2}", "{\"\u{10000}\":1,\"\u{ffff}\":2}"),
        ] {
            assert_eq!(canonical(json), expected, "{json}");
        }
    }

    #[test]
    fn too_deep_is_refused() {
        let nest = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let value: Value = serde_json::from_str(&nest(DEPTH_MAX)).unwrap();
        assert!(value.check().is_ok());
        let value: Value = serde_json::from_str(&nest(DEPTH_MAX + 1)).unwrap();
        assert_eq!(value.check().unwrap_err().code(), Code::TooLarge);
    }

    /// With two values for one key, a reader and a verifier could see different facts.
    #[test]
    fn a_repeated_key_is_refused() {
        assert!(serde_json::from_str::<Value>(r#"{"a":1,"a":2}"#).is_err());
    }
}
