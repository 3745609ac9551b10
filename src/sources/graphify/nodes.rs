//! The nodes of the graph, and which key each of its ids has.
//!
//! A node of code is a `Symbol`, an external or a package a `Module`, another one `graphify:<file_type>`. The node that
//! stands for a file is no entity of its own: it is that `File`, the same that every other source speaks of.
//!
//! 1. One `File` is seen for each `source_file` of a node, whether or not a node stands for it. Files that only links
//!    name are not: nothing in the graph would be in them.
//! 2. The place of a `File` has the id of its node as `node`; a `File` without a node has no place.
//! 3. Of several nodes with one id, the least by what they say is taken, and each other one is reported: ids are made
//!    by folding paths, so `a_b.rs` and `a/b.rs` can meet.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::value::RawValue;

use crate::error::Error;
use crate::evidence::Trust;
use crate::key::{EntityKey, Name};
use crate::observation::{Observation, Sighted};
use crate::value::Value;

use super::draft::Draft;
use super::groups::said;
use super::paths::Spot;
use super::reading::Reading;
use super::row::{At, Cell, Row, brief};

/// What `type` says of a node that stands for more than a symbol: a thing that is imported, or a whole of its own.
const MODULE_TYPES: [&str; 3] = ["external", "namespace", "package"];

/// What an id of the graph stands for.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) key: EntityKey,
    /// Its repository in a merged graph.
    pub(super) repo: Option<Name>,
    /// Whether a node has the id.
    pub(super) there: bool,
}

/// Every id of the graph.
pub(super) struct Nodes {
    known: HashMap<Name, Known>,
    /// Ids that links name and no node has, with how many ends are theirs.
    missing: BTreeMap<Name, u64>,
}

/// A node and the group that it belongs to.
struct Node {
    known: Known,
    group: Name,
    observation: Observation,
}

impl Nodes {
    /// Reads the nodes, and sees them and their files.
    pub(super) fn read(rows: &[&RawValue], reading: &mut Reading<'_>) -> Result<Nodes, Error> {
        let mut nodes = HashMap::<Name, Node>::with_capacity(rows.len());
        let mut others = Vec::<(Name, Node)>::new();
        let mut paths = BTreeSet::<Name>::new();
        let mut file_types = BTreeMap::<String, u64>::new();
        reading.each("nodes", rows, |reading, at, row| {
            let Some((id, node)) = read_node(reading, at, row, &mut paths, &mut file_types) else { return };
            match nodes.entry(id) {
                Entry::Vacant(vacant) => drop(vacant.insert(node)),
                Entry::Occupied(mut taken) if order(&node) < order(taken.get()) => {
                    others.push((taken.key().clone(), taken.insert(node)));
                }
                Entry::Occupied(taken) => others.push((taken.key().clone(), node)),
            }
        })?;

        reading.count("nodes", file_types.values().sum());
        reading.tally("file_type", file_types);
        report_others(&nodes, others, reading);

        reading.count("files", paths.len() as u64);
        let mut known = HashMap::with_capacity(nodes.len());
        for (id, node) in nodes {
            if *node.known.key.kind == *"File" {
                paths.remove(&node.known.key.external_id);
                reading.count("file_nodes", 1);
            }
            reading.groups.add(&node.group, node.observation);
            known.insert(id, node.known);
        }
        reading.count("files_without_node", paths.len() as u64);
        for path in paths {
            let mut observation = Observation::entity(EntityKey::new("File", "repo", &path));
            observation.trust = Trust::Derived;
            let mut draft = Draft::default();
            describe_file(&mut draft, &path, reading);
            draft.say(&mut observation, &mut reading.words);
            reading.groups.add(&path, observation);
        }
        Ok(Nodes { known, missing: BTreeMap::new() })
    }

    /// What `id` stands for: its node, or a symbol that is not there (yet).
    pub(super) fn end(&mut self, id: &str, reading: &mut Reading<'_>) -> Known {
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let key = reading.key("Symbol", id);
        *self.missing.entry(key.external_id.clone()).or_default() += 1;
        Known { key, repo: None, there: false }
    }

    /// The repository of the node with this id, in a merged graph.
    pub(super) fn repo(&self, id: &str) -> Option<&str> {
        self.known.get(id)?.repo.as_deref()
    }

    /// Reports the ids that no node has.
    pub(super) fn report_missing(self, reading: &mut Reading<'_>) {
        for (id, ends) in self.missing {
            let detail = format!("expected a node {:?}, found none; {ends} ends of relations wait for it", brief(&id));
            reading.report.defect(reading.file(), "dangling_end", detail);
        }
    }
}

/// The order in which nodes with one id are preferred.
fn order(node: &Node) -> (&Sighted, &Name, String) {
    (&node.observation.sighted, &node.group, said(&node.observation))
}

/// Counts nodes that another one repeats, and reports those that it contradicts.
fn report_others(nodes: &HashMap<Name, Node>, mut others: Vec<(Name, Node)>, reading: &mut Reading<'_>) {
    others.sort_by(|(a_id, a), (b_id, b)| (a_id, order(a)).cmp(&(b_id, order(b))));
    for (id, other) in others {
        let taken = &nodes[&id];
        if order(taken) == order(&other) {
            reading.count("repeated", 1);
            continue;
        }
        let detail = format!(
            "the id {:?} has two nodes; {} is taken, {} left out",
            brief(&id),
            describe(taken),
            describe(&other)
        );
        reading.report.defect(reading.file(), "duplicate_id", detail);
    }
}

/// A node, for a person.
fn describe(node: &Node) -> String {
    let name = node.observation.props.get("name").and_then(Value::as_str).unwrap_or_default();
    format!("{} {:?} in {}", node.known.key.kind, brief(name), brief(&node.group))
}

/// The node of a row; none when it has no id.
fn read_node(
    reading: &mut Reading<'_>,
    at: At<'_>,
    row: Row<'_>,
    paths: &mut BTreeSet<Name>,
    file_types: &mut BTreeMap<String, u64>,
) -> Option<(Name, Node)> {
    let mut draft = Draft::default();
    let (mut id, mut label, mut file_type, mut r#type, mut external) = (None, None, None, None, false);
    let (mut repo, mut local_id, mut source_file, mut location) = (None, None, None, None);
    for (field, cell) in row.fields {
        match &*field {
            "id" => id = reading.name(at, &field, cell),
            "label" => label = reading.text(at, &field, cell),
            "file_type" => file_type = reading.name(at, &field, cell),
            "type" => r#type = reading.name(at, &field, cell),
            "repo" => repo = reading.name(at, &field, cell),
            "local_id" => local_id = reading.name(at, &field, cell),
            "source_file" => source_file = reading.name(at, &field, cell),
            "source_location" => location = reading.text(at, &field, cell),
            "external" => {
                external = cell == Cell::Value(Value::Bool(true));
                draft.keep(&field, cell, &mut reading.words);
            }
            "community" | "community_name" | "local_community" => {
                let value = super::draft::value(cell, &mut reading.words);
                draft.point(reading.words.name(&field), value);
            }
            "norm_label" => {}
            _ => draft.keep(&field, cell, &mut reading.words),
        }
    }
    let Some(id) = id else {
        reading.lose(at, "no_id", "expected a text or whole number as \"id\"; the node is left out");
        return None;
    };
    let counted = file_type.as_deref().unwrap_or("none");
    match file_types.get_mut(counted) {
        Some(times) => *times += 1,
        None => drop(file_types.insert(counted.to_owned(), 1)),
    }

    let merged_repo = if local_id.is_some() { repo.as_deref() } else { None };
    let spot = reading.paths.spot(merged_repo, source_file.as_deref());
    if let Some(path) = &spot.path
        && !paths.contains(path)
    {
        paths.insert(path.clone());
    }
    let known_repo = merged_repo.map(|repo| reading.words.name(repo));
    let module = external || r#type.as_deref().is_some_and(|r#type| MODULE_TYPES.contains(&r#type));
    let file = file_path(&spot, location.as_deref(), label.as_deref(), source_file.as_deref()).cloned();
    let key = match (&file, module, file_type.as_deref()) {
        (Some(path), ..) => EntityKey::new("File", "repo", path),
        (None, true, _) => reading.key("Module", &id),
        (None, false, Some("code")) => reading.key("Symbol", &id),
        (None, false, other) => reading.key(&format!("graphify:{}", other.unwrap_or("node")), &id),
    };

    if let Some(path) = &file {
        describe_file(&mut draft, path, reading);
        draft.point(reading.words.name("node"), Some((&*id).into()));
        let said = label.filter(|label| *label != basename(path));
        draft.keep("label", said.map_or(Cell::Value(Value::Null), Cell::Text), &mut reading.words);
    } else {
        draft.prop(reading.words.often.name.clone(), label.as_deref().unwrap_or(&id).into());
        if let Some(path) = &spot.path {
            draft.prop(reading.words.often.file.clone(), path.into());
        }
    }
    for (field, text) in [("type", r#type), ("repo", repo), ("local_id", local_id)] {
        keep_text(&mut draft, field, text, reading);
    }
    if file.is_some() || module {
        // Elsewhere the kind says it.
        keep_text(&mut draft, "file_type", file_type, reading);
    }
    draft.point(reading.words.often.file.clone(), spot.shown);
    let location = location.map(|location| reading.words.value(&location));
    draft.point(reading.words.often.location.clone(), location);

    let id = if file.is_some() { Name::from(&*id) } else { key.external_id.clone() };
    let mut observation = Observation::entity(key.clone());
    observation.trust = Trust::Derived;
    draft.say(&mut observation, &mut reading.words);
    Some((id, Node { known: Known { key, repo: known_repo, there: true }, group: spot.group, observation }))
}

fn keep_text(draft: &mut Draft, field: &str, text: Option<Cow<'_, str>>, reading: &mut Reading<'_>) {
    if let Some(text) = text {
        draft.keep(field, Cell::Text(text), &mut reading.words);
    }
}

/// The file that a node stands for, if it does: it begins at line 1 and is called as its file, or as some of the last
/// components of its path.
fn file_path<'s>(
    spot: &'s Spot,
    location: Option<&str>,
    label: Option<&str>,
    source_file: Option<&str>,
) -> Option<&'s Name> {
    let (path, label, source_file) = (spot.path.as_ref()?, label?, source_file?);
    let before = path.strip_suffix(label)?;
    // The label must not reach into the prefix that the project puts before Graphify's paths.
    let named = label.len() <= source_file.len() && (before.is_empty() || before.ends_with('/'));
    (location == Some("L1") && named).then_some(path)
}

fn describe_file(draft: &mut Draft, path: &Name, reading: &mut Reading<'_>) {
    draft.prop(reading.words.often.path.clone(), path.into());
    draft.prop(reading.words.often.name.clone(), basename(path).into());
}

fn basename(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
