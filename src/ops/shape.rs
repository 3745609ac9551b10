//! What an expansion looks like when it leaves: ids, lines, or everything.
//!
//! 1. Nodes come in the order of admission, subjects first; so do edges.
//! 2. The same store and the same request give the same bytes.

use serde::{Deserialize, Serialize};

use super::subject::{SubjectShown, describe};
use super::walk::expand::Reached;
use super::walk::path;
use crate::budget::{Limit, Meter, Reason};
use crate::engine::belief::Held;
use crate::engine::lens::Lens;
use crate::engine::witnesses::TopicIx;
use crate::evidence::{Confidence, Trust};
use crate::id::{EntityId, EntityIx, RelationIx, Seq};
use crate::key::Name;
use crate::time::{Since, Time};
use crate::value::Value;

/// How much an answer spells out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Ids and places alone: edges by the place of their nodes.
    Ids,
    /// One line a path.
    Lines,
    /// Nodes, edges and paths with all their evidence.
    #[default]
    Full,
}

/// The most bytes of lines in one answer.
pub const LINES_BYTES_MAX: usize = 40_000;

/// An expansion, at the detail that was asked for.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Expansion {
    /// What the question was about.
    pub subject: SubjectShown,
    /// Further subjects, where several were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectShown>,
    /// How much of its strength a path loses with each hop, in answers that rank by strength.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decay: Option<f64>,
    /// What was found.
    #[serde(flatten)]
    pub body: Body,
}

impl Expansion {
    /// The reason of an answer whose lines did not all fit.
    pub(crate) fn unfit(&self) -> Option<Reason> {
        match self.body {
            Body::Lines { lines_omitted, .. } if lines_omitted > 0 => {
                Some(Reason::left_out(Limit::Lines, lines_omitted as u64))
            }
            _ => None,
        }
    }

    /// The paths in one line each, whatever the detail; none where only ids were asked for.
    pub fn lines(&self) -> Vec<&str> {
        match &self.body {
            Body::Full { paths, .. } => paths.iter().map(|path| &*path.compact).collect(),
            Body::Lines { lines, .. } => lines.iter().map(String::as_str).collect(),
            Body::Ids { .. } => Vec::new(),
        }
    }
}

/// What was found, by detail.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Body {
    /// `detail: full`.
    Full {
        /// Entities, in the order of admission.
        nodes: Vec<Node>,
        /// Relations, in the order of admission.
        edges: Vec<EdgeShown>,
        /// How each entity was reached.
        paths: Vec<Path>,
        /// Continues a list; a walk needs none, since a larger budget begins with what you have.
        cursor: Option<String>,
    },
    /// `detail: lines`.
    Lines {
        /// How many entities were reached, subjects included.
        nodes: usize,
        /// How many relations were found.
        edges: usize,
        /// One line for each entity reached: the path to it.
        lines: Vec<String>,
        /// Lines that did not fit into [`LINES_BYTES_MAX`] bytes; the answer is truncated by them, and says so.
        lines_omitted: usize,
    },
    /// `detail: ids`.
    Ids {
        /// The ids of the entities.
        nodes: Vec<EntityId>,
        /// `[source, target, type, revision]`: places in `nodes`, in `types` and in `revisions` (or null).
        edges: Vec<(usize, usize, usize, Option<usize>)>,
        /// The relation types that occur.
        types: Vec<Name>,
        /// The revisions that occur, one for each group that speaks.
        revisions: Vec<Name>,
    },
}

/// An entity of an answer.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Node {
    /// Its id.
    pub id: EntityId,
    /// Its kind.
    pub kind: Name,
    /// What it is called at the moment of the answer.
    pub label: String,
    /// Who names it, and how.
    pub source: Identity,
    /// The revision of the group that speaks for it.
    pub revision: Option<Name>,
    /// The trust of the best witness.
    pub trust: Trust,
    /// Hops from the nearest subject.
    pub distance: u32,
    /// The strength of the path, in answers that rank by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
    /// Whether what is known of it may be out of date.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

/// Who names a thing, and how.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Identity {
    /// The authority.
    pub authority: Name,
    /// The name that it gave.
    pub id: Name,
}

/// A relation of an answer.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct EdgeShown {
    /// Where the sentence begins.
    pub source: EntityId,
    /// Where it ends.
    pub target: EntityId,
    /// The relation type.
    #[serde(rename = "type")]
    pub kind: Name,
    /// The source that speaks of it.
    pub origin: Name,
    /// How sure the best witness is.
    pub confidence: Confidence,
    /// The ranking weight: 1 where there was no feedback.
    pub weight: f64,
    /// The revision of the group that speaks.
    pub revision: Option<Name>,
    /// The trust of the best witness.
    pub trust: Trust,
    /// The start of the stretch in which it is seen; null where it was always so, as far as is known.
    pub valid_from: Option<Time>,
    /// Whether that start is merely that of its observation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// The end of that stretch, where one is known.
    pub valid_until: Option<Time>,
    /// The commit in which the best witness said it.
    pub seq: Seq,
    /// What else its witnesses say of it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub props: serde_json::Map<String, serde_json::Value>,
    /// Where in the source it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Value>,
}

/// How an entity was reached.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Path {
    /// The entity.
    pub to: EntityId,
    /// The path in one line.
    pub compact: String,
    /// The relations along it: places in `edges`.
    pub edges: Vec<usize>,
    /// The least trust along it.
    pub trust: Trust,
}

/// Shapes an expansion.
pub(crate) fn shape(
    lens: &Lens,
    reached: &[Reached],
    seeds: &[EntityIx],
    decay: Option<f64>,
    detail: Detail,
    meter: &Meter,
) -> Expansion {
    let body = match detail {
        Detail::Full => full(lens, reached, decay.is_some(), meter),
        Detail::Lines => lines(lens, reached, meter),
        Detail::Ids => ids(lens, reached, meter),
    };
    let mut subjects: Vec<SubjectShown> = seeds.iter().map(|seed| describe(lens, *seed)).collect();
    let subject = subjects.remove(0);
    Expansion { subject, subjects, decay, body }
}

/// The entities of an answer, each as it was reached first.
fn shown(reached: &[Reached]) -> impl Iterator<Item = &Reached> {
    reached.iter().filter(|node| !node.again)
}

/// The places of those that a path leads to.
fn arrivals(reached: &[Reached]) -> impl Iterator<Item = usize> {
    (0..reached.len()).filter(|place| reached[*place].by.is_some() && !reached[*place].again)
}

fn full(lens: &Lens, reached: &[Reached], ranked: bool, meter: &Meter) -> Body {
    let labels: Vec<String> = reached.iter().map(|node| lens.label(node.entity)).collect();
    let nodes = reached.iter().zip(&labels).filter(|(node, _)| !node.again).map(|(node, label)| {
        let mut shown = show_node(lens, node.entity, label.clone(), node.distance);
        shown.strength = ranked.then_some(node.strength);
        shown
    });
    let plain: Vec<String> = labels.iter().map(|label| path::plain(label)).collect();
    let paths = arrivals(reached).map(|place| Path {
        to: lens.engine().entity(reached[place].entity).id,
        compact: path::compact(lens, reached, &plain, meter, place),
        edges: path::edges(reached, place),
        trust: reached[place].trust,
    });
    Body::Full {
        nodes: nodes.collect(),
        edges: meter.edges().iter().map(|edge| show_edge(lens, *edge)).collect(),
        paths: paths.collect(),
        cursor: None,
    }
}

fn lines(lens: &Lens, reached: &[Reached], meter: &Meter) -> Body {
    let labels: Vec<String> = reached.iter().map(|node| path::plain(&lens.label(node.entity))).collect();
    let (mut lines, mut bytes) = (Vec::new(), 0);
    let mut places = arrivals(reached);
    let mut lines_omitted = 0;
    while let Some(place) = places.next() {
        let line = path::compact(lens, reached, &labels, meter, place);
        bytes += line.len() + 1;
        if bytes > LINES_BYTES_MAX {
            lines_omitted = 1 + places.count();
            break;
        }
        lines.push(line);
    }
    Body::Lines { nodes: shown(reached).count(), edges: meter.edges().len(), lines, lines_omitted }
}

fn ids(lens: &Lens, reached: &[Reached], meter: &Meter) -> Body {
    let engine = lens.engine();
    let (mut types, mut revisions): (Vec<Name>, Vec<Name>) = (Vec::new(), Vec::new());
    let place_of = |table: &mut Vec<Name>, name: &Name| {
        table.iter().position(|known| known == name).unwrap_or_else(|| {
            table.push(name.clone());
            table.len() - 1
        })
    };
    let edges = meter.edges().iter().map(|edge| {
        let row = engine.relation(*edge);
        let place = |entity| meter.place(entity).unwrap_or(usize::MAX);
        let revision = lens.relation(*edge).and_then(|held| lens.revision_of(held.voice).cloned());
        let kind = place_of(&mut types, &engine.types[row.kind.at()]);
        let revision = revision.map(|revision| place_of(&mut revisions, &revision));
        (place(row.source), place(row.target), kind, revision)
    });
    let edges = edges.collect();
    Body::Ids { nodes: shown(reached).map(|node| engine.entity(node.entity).id).collect(), edges, types, revisions }
}

/// An entity, as answers show it.
pub(crate) fn show_node(lens: &Lens, ix: EntityIx, label: String, distance: u32) -> Node {
    let row = lens.engine().entity(ix);
    let held = lens.entity(ix);
    Node {
        id: row.id,
        kind: row.key.kind.clone(),
        label,
        source: Identity { authority: row.key.authority.clone(), id: row.key.external_id.clone() },
        revision: held.and_then(|held| lens.revision_of(held.voice).cloned()),
        trust: held.map_or(Trust::Hypothesis, |held| held.trust),
        distance,
        strength: None,
        stale: held.is_some_and(|held| lens.engine().witnesses.stale(held.voice, lens.recorded())),
    }
}

/// A relation, as answers show it.
pub(crate) fn show_edge(lens: &Lens, ix: RelationIx) -> EdgeShown {
    let engine = lens.engine();
    let row = engine.relation(ix);
    let held: Option<Held> = lens.relation(ix);
    let stretch = lens.seen_stretch(ix);
    let props = lens.props(TopicIx::Relation(ix));
    let props = props.iter().map(|prop| (engine.names.at(prop.name).to_string(), to_json(&prop.value)));
    EdgeShown {
        source: engine.entity(row.source).id,
        target: engine.entity(row.target).id,
        kind: engine.types[row.kind.at()].clone(),
        origin: engine.names.at(row.origin).clone(),
        confidence: held.map_or(Confidence::ONE, |held| held.confidence),
        weight: 1.0,
        revision: held.and_then(|held| lens.revision_of(held.voice).cloned()),
        trust: held.map_or(Trust::Hypothesis, |held| held.trust),
        valid_from: stretch.map(|stretch| stretch.from).filter(|from| *from != Time::UNBOUNDED),
        observed: stretch.is_some_and(|stretch| stretch.since == Since::Observed),
        valid_until: stretch.and_then(|stretch| stretch.until),
        seq: held.map_or(Seq::ZERO, |held| held.said.seq),
        props: props.collect(),
        place: held.filter(|_| lens.is_current()).and_then(|held| row.history.voice(held.voice)?.place.clone()),
    }
}

/// A value as JSON.
pub(crate) fn to_json(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
