//! The links of the graph: which relation each is, and which way it runs.
//!
//! The file calls itself undirected and means every link to run from `source` to `target`. Versions up to 0.8 lost the
//! direction on the way through an undirected graph, and kept it beside: (`_src`, `_tgt`), where both stand, is the
//! truth.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use crate::error::Error;
use crate::key::Name;
use crate::observation::Observation;
use crate::value::Value;

use super::certainty::{self, Class};
use super::draft::{self, Draft};
use super::nodes::Nodes;
use super::reading::Reading;
use super::row::{At, Row};

/// Graphify's relations and the types they are. The bare names `REFERENCES`, `IMPLEMENTS` and `EXTENDS` belong to
/// documents, so code has its own.
const RELATIONS: [(&str, &str); 16] = [
    ("calls", "CALLS"),
    ("case_of", "CASE_OF"),
    ("contains", "CONTAINS"),
    ("declares", "DECLARES"),
    ("defines", "DEFINES"),
    ("depends_on", "DEPENDS_ON"),
    ("extends", "EXTENDS_TYPE"),
    ("implements", "IMPLEMENTS_TYPE"),
    ("imports", "IMPORTS"),
    ("imports_from", "IMPORTS_FROM"),
    ("indirect_call", "INDIRECT_CALL"),
    ("inherits", "INHERITS"),
    ("method", "METHOD"),
    ("re_exports", "RE_EXPORTS"),
    ("references", "SYMBOL_REFERENCES"),
    ("uses", "USES"),
];

/// A relation of the graph.
struct Relation {
    /// Its type.
    kind: Name,
    declared: bool,
    /// How often it was met.
    times: u64,
}

impl Relation {
    /// What Graphify calls `name`; without a type of its own it is `graphify:<name>`.
    fn new(name: &str) -> Relation {
        let (kind, declared) = match RELATIONS.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(at) => (RELATIONS[at].1.into(), true),
            Err(_) => (format!("{}:{name}", super::ORIGIN).into(), false),
        };
        Relation { kind, declared, times: 0 }
    }
}

/// What the links were, by count.
#[derive(Default)]
struct Tally {
    links: u64,
    flipped: u64,
    self_loops: u64,
    dangling_ends: u64,
    /// How many links are of a type that nobody declared.
    undeclared: u64,
    relations: HashMap<Box<str>, Relation>,
    classes: BTreeMap<&'static str, u64>,
}

/// Reads the links.
pub(super) fn read(rows: &[&RawValue], nodes: &mut Nodes, reading: &mut Reading<'_>) -> Result<(), Error> {
    let mut tally = Tally::default();
    reading.each("links", rows, |reading, at, row| read_link(reading, at, row, nodes, &mut tally))?;

    for (what, times) in [
        ("links", tally.links),
        ("flipped", tally.flipped),
        ("self_loops", tally.self_loops),
        ("dangling_ends", tally.dangling_ends),
        ("undeclared_relations", tally.undeclared),
    ] {
        reading.count(what, times);
    }
    reading
        .tally("relation", tally.relations.into_iter().map(|(name, relation)| (name.into(), relation.times)).collect());
    reading.tally("confidence", tally.classes.into_iter().map(|(class, times)| (class.into(), times)).collect());
    Ok(())
}

fn read_link(reading: &mut Reading<'_>, at: At<'_>, row: Row<'_>, nodes: &mut Nodes, tally: &mut Tally) {
    let mut draft = Draft::default();
    let (mut source, mut target, mut true_source, mut true_target) = (None, None, None, None);
    let (mut relation, mut class, mut score) = (None, None, None);
    let (mut source_file, mut location) = (None, None);
    for (field, cell) in row.fields {
        match &*field {
            "source" => source = reading.name(at, &field, cell),
            "target" => target = reading.name(at, &field, cell),
            "_src" => true_source = reading.name(at, &field, cell),
            "_tgt" => true_target = reading.name(at, &field, cell),
            "relation" => relation = reading.name(at, &field, cell),
            "confidence" => {
                class = reading.text(at, &field, cell).and_then(|word| Class::read(&word, at, &mut reading.report));
            }
            "confidence_score" => score = certainty::score(&cell, at, &mut reading.report),
            "source_file" => source_file = reading.name(at, &field, cell),
            "source_location" => location = reading.text(at, &field, cell),
            "weight" => weigh(&mut draft, draft::value(cell, &mut reading.words), reading),
            "key" => {}
            _ => draft.keep(&field, cell, &mut reading.words),
        }
    }
    let (Some((source, target)), Some(relation)) =
        (ends((source, target), (true_source, true_target), tally), relation)
    else {
        let detail = "expected texts as \"source\", \"target\" and \"relation\"; the link is left out";
        reading.lose(at, "incomplete", detail);
        return;
    };

    tally.links += 1;
    tally.self_loops += u64::from(source == target);
    *tally.classes.entry(class.map_or("none", Class::as_str)).or_default() += 1;
    let kind = kind(&relation, tally);
    let (from, to) = (nodes.end(&source, reading), nodes.end(&target, reading));
    tally.dangling_ends += u64::from(!from.there) + u64::from(!to.there);
    let repo = from.repo.or(to.repo);
    let spot = reading.paths.spot(repo.as_deref(), source_file.as_deref());

    if let Some(class) = class {
        let value = reading.words.value(class.as_str());
        draft.prop(reading.words.often.confidence_class.clone(), value);
    }
    draft.point(reading.words.often.file.clone(), spot.shown);
    let location = location.map(|location| reading.words.value(&location));
    draft.point(reading.words.often.location.clone(), location);
    let mut observation = Observation::relation(from.key, kind, to.key, reading.words.often.graphify.clone());
    observation.trust = certainty::trust(class, &relation);
    observation.confidence = certainty::confidence(class, score);
    draft.say(&mut observation, &mut reading.words);
    reading.groups.add(&spot.group, observation);
}

/// The ends of a link as it truly runs.
fn ends<'a>(
    written: (Option<Cow<'a, str>>, Option<Cow<'a, str>>),
    truly: (Option<Cow<'a, str>>, Option<Cow<'a, str>>),
    tally: &mut Tally,
) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    match (written, truly) {
        (written, (Some(source), Some(target))) => {
            let flipped = written.0.is_some_and(|written| written != source)
                || written.1.is_some_and(|written| written != target);
            tally.flipped += u64::from(flipped);
            Some((source, target))
        }
        ((Some(source), Some(target)), _) => Some((source, target)),
        _ => None,
    }
}

/// The type of a relation, which is counted.
fn kind(name: &str, tally: &mut Tally) -> Name {
    let relation = match tally.relations.get_mut(name) {
        Some(relation) => relation,
        None => tally.relations.entry(name.into()).or_insert_with(|| Relation::new(name)),
    };
    relation.times += 1;
    tally.undeclared += u64::from(!relation.declared);
    relation.kind.clone()
}

/// The weight, one spelling for `1` and `1.0`.
fn weigh(draft: &mut Draft, weight: Option<Value>, reading: &mut Reading<'_>) {
    let weight = match weight {
        None => return,
        Some(Value::Int(int)) => Value::Float(int as f64),
        Some(other) => other,
    };
    draft.prop(reading.words.often.weight.clone(), weight);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name out of order would not be found, and its links would lose their type.
    #[test]
    fn relations_are_sorted() {
        assert!(RELATIONS.is_sorted());
        assert_eq!(Relation::new("uses").kind, "USES");
        assert_eq!(Relation::new("requires_env").kind, "graphify:requires_env");
    }
}
