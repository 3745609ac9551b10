//! `walk`: bounded expansion from one or more subjects along the relations that match.

use serde::{Deserialize, Serialize};

use super::account::account;
use super::expand::{Plan, Step, expand};
use crate::budget::{Answer, Applied, Budgets, Interrupt, Meter, within};
use crate::engine::lens::{Filter, Kinds, Lens, TypeSet};
use crate::error::{Error, did_you_mean};
use crate::id::EntityIx;
use crate::key::Name;
use crate::ops::look::{Look, question};
use crate::ops::shape::{Detail, Expansion, shape};
use crate::ops::subject::Subject;

/// The depth of a walk that names none.
pub const DEPTH: u32 = 2;

/// Which way relations are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From source to target.
    Out,
    /// From target to source.
    In,
    /// Either way.
    #[default]
    Both,
}

/// A walk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WalkRequest {
    /// Where it starts.
    pub subject: Subject,
    /// Further places where it starts; they take turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<Subject>,
    /// Which way relations are followed.
    #[serde(default)]
    pub direction: Direction,
    /// Only these relation types and what lies below them; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<Name>,
    /// Only entities of these kinds; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Name>,
    /// How many hops; 2 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The budgets.
    #[serde(default)]
    pub budgets: Budgets,
    /// How much the answer spells out.
    #[serde(default)]
    pub detail: Detail,
    /// How to look at the graph.
    #[serde(flatten)]
    pub look: Look,
}

impl WalkRequest {
    /// A walk from a subject, with every default.
    pub fn from(subject: Subject) -> WalkRequest {
        WalkRequest {
            subject,
            subjects: Vec::new(),
            direction: Direction::Both,
            types: Vec::new(),
            kinds: Vec::new(),
            depth: None,
            budgets: Budgets::default(),
            detail: Detail::Full,
            look: Look::default(),
        }
    }
}

/// Walks. Costs the matching relations of the entities that it expands.
///
/// # Errors
/// An unknown subject, type or kind; an ambiguous subject; a bound above its ceiling.
pub fn walk(lens: &Lens, request: &WalkRequest, interrupt: Interrupt) -> Result<Answer<Expansion>, Error> {
    let depth = within("depth", request.depth.unwrap_or(DEPTH), 0, Budgets::DEPTH_CEILING)?;
    let budgets = request.budgets.checked()?;
    let mut seeds: Vec<EntityIx> = Vec::new();
    for subject in std::iter::once(&request.subject).chain(&request.subjects) {
        let seed = subject.resolve_there(lens)?;
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    if seeds.len() > budgets.nodes as usize {
        let message = format!("{} subjects don't fit into nodes {}; ask for more nodes", seeds.len(), budgets.nodes);
        return Err(Error::invalid(message)
            .with_details(serde_json::json!({ "budget": "nodes", "asked": budgets.nodes, "subjects": seeds.len() })));
    }
    let filter = Filter {
        out: request.direction != Direction::In,
        into: request.direction != Direction::Out,
        types: types(lens, &request.types)?,
        kinds: kinds(lens, &request.kinds)?,
    };
    let plan = Plan { states: vec![vec![Step { filter, to: 0, free: false }]], generic: true, decay: None };
    let mut meter = Meter::new(question("walk", lens), Applied { depth, budgets }, interrupt);
    let starts: Vec<_> = seeds.iter().map(|seed| (*seed, 0)).collect();
    let reached = expand(lens, &plan, &starts, depth, &mut meter);
    let (mut reasons, beyond) = account(lens, &plan, &reached, depth, request.depth.is_some(), &meter);
    let found = shape(lens, &reached, &seeds, None, request.detail, &meter);
    reasons.extend(found.unfit());
    Ok(meter.answer(found, reasons, beyond))
}

/// The set of relation types that a request names, subtypes included; all when it names none.
pub(crate) fn types(lens: &Lens, names: &[Name]) -> Result<TypeSet, Error> {
    let engine = lens.engine();
    for name in names {
        let met = engine.types.iter().any(|met| met == name);
        if !met && engine.ontology.relation(name).is_none() {
            let declared = engine.ontology.relations().map(|relation| &*relation.name);
            let known = declared.chain(engine.types.iter().map(|met| &**met));
            return Err(Error::invalid(format!("no relation type {name:?} is known{}", did_you_mean(name, known)))
                .with_details(serde_json::json!({ "type": name })));
        }
    }
    Ok(TypeSet::of(engine, |met| names.is_empty() || names.iter().any(|name| engine.ontology.is_a(met, name))))
}

/// The set of kinds that a request names; all when it names none.
pub(crate) fn kinds(lens: &Lens, names: &[Name]) -> Result<Kinds, Error> {
    for name in names {
        known_kind(lens, name)?;
    }
    Ok(if names.is_empty() { Kinds::default() } else { Kinds::only(names.to_vec()) })
}

/// Refuses a kind that is neither declared nor met.
pub(crate) fn known_kind(lens: &Lens, name: &Name) -> Result<(), Error> {
    let engine = lens.engine();
    if engine.ontology.kind(name).is_some() || engine.kinds_met().any(|met| met == name) {
        return Ok(());
    }
    let declared = engine.ontology.kinds().map(|kind| &*kind.name);
    let known = declared.chain(engine.kinds_met().map(|met| &**met));
    Err(Error::invalid(format!("no kind {name:?} is known{}", did_you_mean(name, known)))
        .with_details(serde_json::json!({ "kind": name })))
}
