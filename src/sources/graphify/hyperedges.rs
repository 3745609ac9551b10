//! The hyperedges of the graph: one thing that several nodes take part in.
//!
//! A hyperedge is an entity that contains its members. It may stand at the top, under `graph`, or in both, and need not
//! have an id; then its label and members make one.
//!
//! 1. Of several hyperedges with one id, the least by what they say is taken; other ones are reported.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::id::length_prefixed;
use crate::key::{EntityKey, Name};
use crate::observation::Observation;
use crate::value::Value;

use super::certainty::{self, Class};
use super::draft::Draft;
use super::groups::said;
use super::nodes::Nodes;
use super::reading::Reading;
use super::row::{At, Cell, Row, brief};

/// The kind of a hyperedge.
const KIND: &str = "graphify:hyperedge";

/// A hyperedge and its members.
#[derive(PartialEq)]
struct Hyperedge {
    observation: Observation,
    members: BTreeSet<Name>,
    group: Name,
}

/// Reads the hyperedges.
pub(super) fn read(rows: &[&RawValue], nodes: &mut Nodes, reading: &mut Reading<'_>) -> Result<(), Error> {
    let mut all = BTreeMap::<EntityKey, Vec<Hyperedge>>::new();
    reading.each("hyperedges", rows, |reading, at, row| {
        if let Some((key, hyperedge)) = read_hyperedge(reading, at, row, nodes) {
            all.entry(key).or_default().push(hyperedge);
        }
    })?;

    reading.count("hyperedges", all.len() as u64);
    let mut dangling = 0;
    for (key, mut candidates) in all {
        candidates.sort_by_cached_key(|candidate| {
            (candidate.group.clone(), candidate.members.clone(), said(&candidate.observation))
        });
        candidates.dedup();
        let taken = candidates.remove(0);
        for _ in candidates {
            let detail =
                format!("the hyperedge {:?} stands twice and differs; one is left out", brief(&key.external_id));
            reading.report.defect(reading.file(), "duplicate_id", detail);
        }
        for member in taken.members {
            let member = nodes.end(&member, reading);
            dangling += u64::from(!member.there);
            let origin = reading.words.often.graphify.clone();
            let mut relation = Observation::relation(key.clone(), reading.words.name("CONTAINS"), member.key, origin);
            relation.trust = taken.observation.trust;
            relation.confidence = taken.observation.confidence;
            relation.place.clone_from(&taken.observation.place);
            reading.groups.add(&taken.group, relation);
        }
        reading.groups.add(&taken.group, taken.observation);
    }
    reading.count("dangling_members", dangling);
    Ok(())
}

fn read_hyperedge(
    reading: &mut Reading<'_>,
    at: At<'_>,
    row: Row<'_>,
    nodes: &Nodes,
) -> Option<(EntityKey, Hyperedge)> {
    let mut draft = Draft::default();
    let (mut id, mut label, mut relation, mut class, mut score) = (None, None, None, None, None);
    let (mut source_file, mut location, mut members) = (None, None, BTreeSet::new());
    for (field, cell) in row.fields {
        match &*field {
            "id" => id = reading.name(at, &field, cell),
            "label" => label = reading.text(at, &field, cell),
            "nodes" => members = read_members(reading, at, cell),
            "relation" => relation = reading.name(at, &field, cell),
            "confidence" => {
                class = reading.text(at, &field, cell).and_then(|word| Class::read(&word, at, &mut reading.report));
            }
            "confidence_score" => score = certainty::score(&cell, at, &mut reading.report),
            "source_file" => source_file = reading.name(at, &field, cell),
            "source_location" => location = reading.text(at, &field, cell),
            _ => draft.keep(&field, cell, &mut reading.words),
        }
    }
    let Some(id) = id.or_else(|| made_id(label.as_deref(), &members)) else {
        let detail = "expected an \"id\", a \"label\" or \"nodes\"; the hyperedge is left out";
        reading.lose(at, "no_id", detail);
        return None;
    };

    let repo = members.iter().find_map(|member| nodes.repo(member));
    let spot = reading.paths.spot(repo, source_file.as_deref());
    draft.prop(reading.words.often.name.clone(), label.as_deref().unwrap_or(&id).into());
    let relation = relation.unwrap_or_default();
    draft.keep("relation", Cell::Text(relation.clone()), &mut reading.words);
    if let Some(class) = class {
        let value = reading.words.value(class.as_str());
        draft.prop(reading.words.often.confidence_class.clone(), value);
    }
    if let Some(path) = &spot.path {
        draft.prop(reading.words.often.file.clone(), path.into());
    }
    draft.point(reading.words.often.file.clone(), spot.shown);
    let location = location.map(|location| reading.words.value(&location));
    draft.point(reading.words.often.location.clone(), location);
    let key = reading.key(KIND, &id);
    let mut observation = Observation::entity(key.clone());
    observation.trust = certainty::trust(class, &relation);
    observation.confidence = certainty::confidence(class, score);
    draft.say(&mut observation, &mut reading.words);
    Some((key, Hyperedge { observation, members, group: spot.group }))
}

/// The ids of the members; what is no id is reported.
fn read_members(reading: &mut Reading<'_>, at: At<'_>, cell: Cell<'_>) -> BTreeSet<Name> {
    let Cell::Value(Value::List(items)) = cell else {
        reading.lose(at, "wrong_type", "expected a list of ids as \"nodes\"");
        return BTreeSet::new();
    };
    let id = |item: &Value| {
        let cell = match item {
            Value::Text(text) => Cell::Text((**text).into()),
            other => Cell::Value(other.clone()),
        };
        reading.name(at, "nodes", cell).map(|id| Name::from(&*id))
    };
    items.iter().filter_map(id).collect()
}

/// An id for a hyperedge that has none: the same as long as its label and members are.
fn made_id(label: Option<&str>, members: &BTreeSet<Name>) -> Option<Cow<'static, str>> {
    if label.is_none() && members.is_empty() {
        return None;
    }
    let mut parts = vec![label.unwrap_or_default()];
    parts.extend(members.iter().map(|member| &**member));
    let digest = Sha256::digest(length_prefixed(&parts));
    Some(format!("hyperedge:{}", data_encoding::HEXLOWER.encode(&digest[..8])).into())
}
