//! The outline of a `graph.json`: which rows it has, not yet what they say.
//!
//! One pass checks the syntax of the whole file and keeps each row as the text it stands in. Five shapes are known:
//! links are called `links` or (raw extractions) `edges`; hyperedges stand at the top, under `graph`, or in both.
//!
//! 1. A file is taken whole or not at all: when [`skim`] returns a [`Flaw`], no row of it is believed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::row::{Key, NAME_BYTES_MAX, brief};

/// The rows of a file, by section.
#[derive(Default)]
pub(super) struct File<'a> {
    pub(super) nodes: Vec<&'a RawValue>,
    pub(super) links: Vec<&'a RawValue>,
    pub(super) hyperedges: Vec<&'a RawValue>,
    /// The commit that the graph was built at, if it was built inside a repository.
    pub(super) built_at_commit: Option<String>,
}

impl File<'_> {
    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.nodes.len() + self.links.len() + self.hyperedges.len()
    }
}

/// What is wrong with a file as a whole.
#[derive(Debug)]
pub(super) struct Flaw {
    /// `:line:column`, where there is one.
    pub(super) at: String,
    pub(super) reason: &'static str,
    pub(super) detail: String,
}

/// Finds the rows of a file.
pub(super) fn skim(text: &str, rows_max: usize) -> Result<File<'_>, Flaw> {
    let mut skim = Skim { rows_left: rows_max, ..Skim::default() };
    let mut json = serde_json::Deserializer::from_str(text);
    let read = json.deserialize_map(Top(&mut skim)).and_then(|()| json.end());
    let flaw = |reason, detail: &str| Err(Flaw { at: String::new(), reason, detail: detail.to_owned() });
    match read {
        Err(_) if skim.too_many => {
            flaw("too_many_rows", &format!("expected at most {rows_max} nodes, links and hyperedges, found more"))
        }
        Err(error) => {
            let at = format!(":{}:{}", error.line(), error.column());
            Err(Flaw { at, reason: "malformed", detail: brief(&error.to_string()).into_owned() })
        }
        Ok(()) if !skim.nodes => flaw("no_nodes", "expected a list \"nodes\" at the top, found none"),
        Ok(()) if !skim.links => flaw("no_links", "expected a list \"links\" or \"edges\" at the top, found neither"),
        Ok(()) => Ok(skim.file),
    }
}

/// What the pass has found so far.
#[derive(Default)]
struct Skim<'a> {
    file: File<'a>,
    nodes: bool,
    links: bool,
    rows_left: usize,
    too_many: bool,
}

/// The object at the top.
struct Top<'s, 'a>(&'s mut Skim<'a>);

impl<'a> Visitor<'a> for Top<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with \"nodes\" and \"links\"")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let Skim { file, nodes, links, rows_left, too_many } = self.0;
        let mut limit = RowsLeft(rows_left, too_many);
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                "nodes" => *nodes |= map.next_value_seed(Rows(&mut file.nodes, &mut limit))?,
                "links" | "edges" => *links |= map.next_value_seed(Rows(&mut file.links, &mut limit))?,
                "hyperedges" => drop(map.next_value_seed(Rows(&mut file.hyperedges, &mut limit))?),
                "graph" => map.next_value_seed(Attributes(&mut file.hyperedges, &mut limit))?,
                "built_at_commit" => file.built_at_commit = commit(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The text of a commit id; anything else is as good as none.
fn commit(raw: &RawValue) -> Option<String> {
    let text: Option<Cow<'_, str>> = serde_json::from_str(raw.get()).ok();
    text.filter(|text| (1..=NAME_BYTES_MAX).contains(&text.len())).map(Cow::into_owned)
}

/// How many more rows are taken, and whether there were more than that.
struct RowsLeft<'s>(&'s mut usize, &'s mut bool);

/// A section: a list of rows, or `null`. True when it is a list.
struct Rows<'s, 'l, 'a>(&'s mut Vec<&'a RawValue>, &'s mut RowsLeft<'l>);

impl<'a> DeserializeSeed<'a> for Rows<'_, '_, 'a> {
    type Value = bool;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<bool, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Rows<'_, '_, 'a> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> Result<bool, S::Error> {
        let Rows(rows, RowsLeft(left, too_many)) = self;
        while let Some(row) = seq.next_element()? {
            if **left == 0 {
                **too_many = true;
                return Err(S::Error::custom("too many rows"));
            }
            **left -= 1;
            rows.push(row);
        }
        Ok(true)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
}

/// The object `graph`: attributes of the graph as a whole, hyperedges among them.
struct Attributes<'s, 'l, 'a>(&'s mut Vec<&'a RawValue>, &'s mut RowsLeft<'l>);

impl<'a> DeserializeSeed<'a> for Attributes<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Attributes<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            if key == "hyperedges" {
                map.next_value_seed(Rows(self.0, self.1))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
