//! The Graphify source against real graphs, whose counts were made by other programs, and against broken ones.

mod broken;
mod rules;
mod truth;

use serde_json::{Value as Json, json};
use triglyph::sources::graphify::Graphify;
use triglyph::sources::{FileEntry, Parsed, Source, SourceFiles};
use triglyph::{Code, Error, Group, Observation, Sighted, Value};

const FILE: &str = "graph.json";
const HYPEREDGE: &str = "graphify:hyperedge";

/// One file, held in memory.
struct One(Vec<u8>);

impl SourceFiles for One {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        Ok(Vec::new())
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        if path != FILE {
            return Err(Error::new(Code::NotFound, format!("{path}: no such file")));
        }
        if self.0.len() as u64 > bytes_max {
            return Err(Error::new(Code::TooLarge, format!("{path}: larger than {bytes_max} bytes")));
        }
        Ok(self.0.clone())
    }
}

fn parse_at(at: &str, bytes: impl Into<Vec<u8>>) -> Parsed {
    Graphify::new("main", FILE, at).parse(&One(bytes.into()), &mut ()).unwrap()
}

fn parse(bytes: impl Into<Vec<u8>>) -> Parsed {
    parse_at("", bytes)
}

fn parse_json(json: &Json) -> Parsed {
    parse(json.to_string())
}

/// A graph of nodes and links, as JSON.
fn graph(nodes: Json, links: Json) -> Json {
    json!({ "nodes": nodes, "links": links })
}

fn observations(parsed: &Parsed) -> impl Iterator<Item = (&Group, &Observation)> {
    parsed.groups.iter().flat_map(|group| group.observations.iter().map(move |observation| (group, observation)))
}

fn count(parsed: &Parsed, what: &str) -> u64 {
    parsed.report.counts.get(what).copied().unwrap_or(0)
}

fn defects(parsed: &Parsed) -> Vec<(&str, &str)> {
    parsed.report.defects.iter().map(|finding| (&*finding.place, &*finding.reason)).collect()
}

/// One value of a place.
fn pointer<'a>(observation: &'a Observation, name: &str) -> Option<&'a Value> {
    match observation.place.as_ref()? {
        Value::Map(place) => place.get(name),
        _ => None,
    }
}

fn prop<'a>(observation: &'a Observation, name: &str) -> Option<&'a str> {
    observation.props.get(name)?.as_str()
}

fn entity<'a>(parsed: &'a Parsed, kind: &str, id: &str) -> &'a Observation {
    observations(parsed)
        .find_map(|(_, observation)| match &observation.sighted {
            Sighted::Entity(key) if *key.kind == *kind && *key.external_id == *id => Some(observation),
            _ => None,
        })
        .unwrap_or_else(|| panic!("no {kind} {id}"))
}

/// `SOURCE KIND TARGET` of every relation, by the ids of the keys.
fn sentences(parsed: &Parsed) -> Vec<String> {
    let mut sentences = Vec::new();
    for (_, observation) in observations(parsed) {
        if let Sighted::Relation { source, target, kind, .. } = &observation.sighted {
            sentences.push(format!("{} {kind} {}", source.external_id, target.external_id));
        }
    }
    sentences
}
