//! Types and entities: `list_types`, `list_entities`, `entity`.

use serde::{Deserialize, Serialize};

use crate::budget::{Answer, Limit, Meter, Reason, within};
use crate::change::{Batch, Edit};
use crate::engine::lens::Lens;
use crate::engine::ontology::{Type, Zone};
use crate::engine::witnesses::TopicIx;
use crate::error::Error;
use crate::evidence::{Cause, Trust};
use crate::id::{EntityId, EntityIx};
use crate::key::{EntityKey, Name};
use crate::ops::cursor;
use crate::ops::look::{Look, question};
use crate::ops::shape::{Identity, to_json};
use crate::ops::walk::generic::known_kind;
use crate::time::{Since, Time};
use crate::value::Props;

/// The question of `list_types`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListTypesRequest {
    /// Only this zone: `system` or `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    /// Only this ptype: `application` or `studio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptype: Option<Name>,
}

/// A zone of the ontology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ZoneName {
    /// Types that apply in every scope.
    System,
    /// Types that apply in a scope of their ptype.
    Project,
}

/// The types of the ontology.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Types {
    /// The types, by zone, ptype and name.
    pub types: Vec<TypeShown>,
}

/// A type, as answers show it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct TypeShown {
    /// Its zone.
    pub zone: &'static str,
    /// Its name: the kind of its entities.
    pub name: Name,
    /// Its ptype; none in the system zone.
    pub ptype: Option<Name>,
    /// Properties that are set at creation and never after.
    pub immutable_props: Vec<Name>,
    /// Properties that may change.
    pub mutable_props: Vec<Name>,
}

/// Lists the types.
///
/// # Errors
/// None; the shape is that of every read.
pub fn list_types(lens: &Lens, request: &ListTypesRequest) -> Result<Answer<Types>, Error> {
    let zone = request.zone.map(|zone| match zone {
        ZoneName::System => Zone::System,
        ZoneName::Project => Zone::Project,
    });
    let wanted = |kind: &&Type| {
        lens.engine().applies(kind)
            && zone.is_none_or(|zone| kind.zone == zone)
            && request.ptype.as_ref().is_none_or(|of| kind.ptype.as_ref() == Some(of))
    };
    let types = lens.engine().ontology.kinds().filter(wanted).map(|kind| TypeShown {
        zone: kind.zone.as_str(),
        name: kind.name.clone(),
        ptype: kind.ptype.clone(),
        immutable_props: kind.immutable_props.clone(),
        mutable_props: kind.mutable_props.clone(),
    });
    let found = Types { types: types.collect() };
    Ok(Meter::list(question("list_types", lens)).answer(found, Vec::new(), None))
}

/// The question of `list_entities`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEntitiesRequest {
    /// Only entities of this type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Name>,
    /// The most entities to list, 1 to 1,000.
    #[serde(default = "limit")]
    pub limit: u32,
    /// Goes on where an answer left off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How to look at the graph.
    #[serde(flatten)]
    pub look: Look,
}

fn limit() -> u32 {
    100
}

/// Entities, each with its current state.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Entities {
    /// The entities, by kind, authority and external id.
    pub entities: Vec<EntityShown>,
    /// Goes on after the last one listed, where there are more.
    pub cursor: Option<String>,
}

/// An entity with its state at the moment of the answer.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct EntityShown {
    /// Its id.
    pub id: EntityId,
    /// Its kind.
    pub kind: Name,
    /// What it is called.
    pub label: String,
    /// Who names it, and how.
    pub source: Identity,
    /// When its id was first recorded.
    pub created_at: Time,
    /// The memory (document) that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_memory_id: Option<Name>,
    /// Its properties.
    pub props: serde_json::Map<String, serde_json::Value>,
    /// The trust of its best witness.
    pub trust: Trust,
    /// The revision of the group that speaks.
    pub revision: Option<Name>,
}

/// Lists entities in canonical order. Costs one look at each entity of the scope, and a sort of those that match.
///
/// # Errors
/// An unknown type, a bad cursor, a limit above its ceiling.
pub fn list_entities(lens: &Lens, request: &ListEntitiesRequest) -> Result<Answer<Entities>, Error> {
    let limit = within("limit", request.limit, 1, 1_000)? as usize;
    if let Some(kind) = &request.kind {
        known_kind(lens, kind)?;
    }
    let filter = request.kind.as_deref().unwrap_or_default();
    let (lens, after) = &cursor::resume("list_entities", filter, lens, request.cursor.as_deref())?;
    let engine = lens.engine();
    // Two entities may share a whole identity, where authors gave each an id of its own.
    let sort_key = |ix: EntityIx| {
        let EntityKey { kind, authority, external_id } = &engine.entity(ix).key;
        format!("{kind}\u{0}{authority}\u{0}{external_id}\u{0}{}", engine.entity(ix).id)
    };
    let mut matching: Vec<(String, EntityIx)> = (0..engine.entities.len())
        .map(EntityIx::nth)
        .filter(|ix| request.kind.as_ref().is_none_or(|kind| engine.entity(*ix).key.kind == *kind))
        .filter(|ix| lens.entity(*ix).is_some())
        .map(|ix| (sort_key(ix), ix))
        .filter(|(key, _)| after.as_ref().is_none_or(|after| key > after))
        .collect();
    matching.sort();
    let entities: Vec<EntityShown> = matching.iter().take(limit).map(|(_, ix)| show(lens, *ix)).collect();
    let omitted = (matching.len() - entities.len()) as u64;
    let last = matching.get(entities.len().wrapping_sub(1)).filter(|_| omitted > 0);
    let cursor = last.map(|(key, _)| cursor::after("list_entities", filter, lens, key));
    let reasons = if omitted > 0 { vec![Reason::left_out(Limit::Rows, omitted)] } else { Vec::new() };
    Ok(Meter::list(question("list_entities", lens)).answer(Entities { entities, cursor }, reasons, None))
}

fn show(lens: &Lens, ix: EntityIx) -> EntityShown {
    let engine = lens.engine();
    let row = engine.entity(ix);
    let held = lens.entity(ix);
    let props = lens.props(TopicIx::Entity(ix));
    EntityShown {
        id: row.id,
        kind: row.key.kind.clone(),
        label: lens.label(ix),
        source: Identity { authority: row.key.authority.clone(), id: row.key.external_id.clone() },
        created_at: row.created_at,
        source_memory_id: row.source_memory_id.clone(),
        props: props.iter().map(|prop| (engine.names.at(prop.name).to_string(), to_json(&prop.value))).collect(),
        trust: held.map_or(Trust::Hypothesis, |held| held.trust),
        revision: held.and_then(|held| lens.revision_of(held.voice).cloned()),
    }
}

/// A new entity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityRequest {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: Name,
    /// Its first properties.
    #[serde(default)]
    pub initial_props: Props,
    /// Its id, where the caller has one; else a new one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<EntityId>,
    /// From when on it exists; from now on when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// The memory (document) that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_memory_id: Option<Name>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

/// Adds the creation of an entity to a batch; returns its id. The entity and its first state are one commit.
pub fn entity(batch: &mut Batch, request: &EntityRequest) -> EntityId {
    let id = request.id.unwrap_or_else(|| batch.fresh_id());
    batch.push(Edit::Create {
        key: EntityKey::new(request.kind.clone(), "authored", id.to_string()),
        id,
        props: request.initial_props.clone(),
        since: request.at.map_or(Since::Observed, Since::Told),
        source_memory_id: request.source_memory_id.clone(),
        cause: request.cause.clone(),
    });
    id
}
