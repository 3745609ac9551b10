//! The one table of operations: name, effect, summary, schemas, function.
//!
//! Every face reads it: `triglyph call`, the command line's help, `docs/operations.md`, and the faces to come. A face
//! adds nothing to an operation and leaves nothing out; a test compares them with this table.

mod markdown;

use std::sync::OnceLock;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::budget::{Budgets, Interrupt, LIMIT_CEILING, above_ceiling};
use crate::engine::lens::Lens;
use crate::error::{Code, Error, did_you_mean};
use crate::graph::{Committed, Graph};
use crate::id::EntityId;
use crate::ops::author::canonical::{
    Entities, EntityRequest, ListEntitiesRequest, ListTypesRequest, Types, entity, list_entities, list_types,
};
use crate::ops::domain::owner::{OwnerRequest, Owners, owner};
use crate::ops::domain::patterns::{ROWS, Row};
use crate::ops::domain::run::{DomainRequest, run};
use crate::ops::look::Look;
use crate::ops::proof::digest::{ContentDigest, DigestRequest, digest};
use crate::ops::shape::Expansion;
use crate::ops::status::{Status, StatusRequest, Stored, TornTail, status};
use crate::ops::time::history::{History, HistoryRequest, history};
use crate::ops::walk::generic::{WalkRequest, walk};
use crate::persist::Durability;

pub use markdown::to_markdown;

/// What an operation may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads a view; nothing is changed.
    Read,
    /// Commits a batch.
    Write,
    /// Reads sources and commits what they say.
    Run,
    /// Looks after the store.
    Admin,
}

impl Effect {
    /// The text of the effect.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Run => "run",
            Effect::Admin => "admin",
        }
    }
}

/// One operation.
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// What it may do.
    pub effect: Effect,
    /// What it answers, in one sentence.
    pub summary: &'static str,
    /// A request, as an example.
    pub example: &'static str,
    request: fn() -> schemars::Schema,
    answer: fn() -> schemars::Schema,
    call: Call,
    /// The fields of a request, read off its schema once: making a schema costs more than most operations.
    fields: OnceLock<Vec<String>>,
}

/// The function behind an operation: from a graph and a request to an answer.
type Call = fn(&Operation, &Graph, serde_json::Value, Interrupt) -> Result<serde_json::Value, Error>;

impl Operation {
    /// The JSON schema of its request.
    pub fn request_schema(&self) -> serde_json::Value {
        (self.request)().to_value()
    }

    /// The JSON schema of its answer.
    pub fn answer_schema(&self) -> serde_json::Value {
        (self.answer)().to_value()
    }

    /// Calls it with a JSON request.
    ///
    /// # Errors
    /// An unknown field (the nearest known one is named), a field of a wrong type, and whatever the operation refuses.
    pub fn call(
        &self,
        graph: &Graph,
        request: serde_json::Value,
        interrupt: Interrupt,
    ) -> Result<serde_json::Value, Error> {
        (self.call)(self, graph, request, interrupt)
    }

    /// Reads a request: an object whose fields the schema knows.
    fn read<T: DeserializeOwned>(&self, request: serde_json::Value) -> Result<T, Error> {
        let serde_json::Value::Object(fields) = &request else {
            return Err(Error::invalid(format!(
                "{} takes a JSON object such as {}, found {request}",
                self.name, self.example
            )));
        };
        let known = self.fields.get_or_init(|| {
            let schema = self.request_schema();
            schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        });
        for name in fields.keys() {
            if !known.contains(name) {
                let message = format!(
                    "{} has no field {name:?}{}; its fields are {}",
                    self.name,
                    did_you_mean(name, known.iter().map(String::as_str)),
                    known.join(", ")
                );
                return Err(Error::invalid(message).with_details(serde_json::json!({ "field": name, "known": known })));
            }
        }
        bounded(&request)?;
        serde_path_to_error::deserialize(request).map_err(|error| {
            let path = error.path().to_string();
            let place = if path == "." { self.name.to_owned() } else { format!("{}: field {path}", self.name) };
            let message = error.inner().to_string();
            let nearest = nearest_field(&message);
            Error::invalid(format!("{place}: {message}{nearest}"))
        })
    }
}

/// Refuses a bound that its own type can't hold as what it is: above the ceiling.
fn bounded(request: &serde_json::Value) -> Result<(), Error> {
    let Budgets { nodes, edges, fan_out } = Budgets::CEILING;
    let bounds = [
        ("/budgets/nodes", nodes),
        ("/budgets/edges", edges),
        ("/budgets/fan_out", fan_out),
        ("/depth", Budgets::DEPTH_CEILING),
        ("/limit", LIMIT_CEILING),
    ];
    for (pointer, ceiling) in bounds {
        if let Some(serde_json::Value::Number(asked)) = request.pointer(pointer)
            && asked.as_f64().is_some_and(|asked| asked > f64::from(u32::MAX))
        {
            let name = pointer.rsplit('/').next().unwrap_or(pointer);
            return Err(above_ceiling(name, asked, ceiling));
        }
    }
    Ok(())
}

/// What an unknown field inside a field was meant to be: the message quotes it, and then every field that there is.
fn nearest_field(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next().filter(|_| message.starts_with("unknown field")) {
        Some(found) => did_you_mean(found, quoted),
        None => String::new(),
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Operation({}, {})", self.name, self.effect.as_str())
    }
}

fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::SchemaGenerator::default().into_root_schema_for::<T>()
}

fn shown<T: Serialize>(answer: &T) -> Result<serde_json::Value, Error> {
    serde_json::to_value(answer).map_err(|error| Error::invalid(error.to_string()))
}

/// The lens that a request asks for, on the newest view; *now* is the store's.
fn lens(graph: &Graph, look: &Look) -> Result<Lens, Error> {
    Look { now: look.now.or_else(|| Some(graph.now())), ..look.clone() }.lens(&graph.view())
}

/// The answer of a write that made one entity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Created {
    /// The id of the entity.
    pub id: EntityId,
    /// The commit.
    pub commit: Committed,
}

/// Every operation, by name.
pub fn operations() -> &'static [Operation] {
    static TABLE: OnceLock<Vec<Operation>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = table();
        table.extend(ROWS.into_iter().map(pattern));
        table.sort_by_key(|operation| operation.name);
        table
    })
}

/// The operation of this name.
///
/// # Errors
/// `not_found`, with the nearest name.
pub fn operation(name: &str) -> Result<&'static Operation, Error> {
    operations().iter().find(|operation| operation.name == name).ok_or_else(|| {
        let known = operations().iter().map(|operation| operation.name);
        let message = format!("no operation {name:?}{}", did_you_mean(name, known.clone()));
        Error::new(Code::NotFound, message).with_details(serde_json::json!({ "known": known.collect::<Vec<_>>() }))
    })
}

/// The operation of a row of the pattern table.
fn pattern(row: &'static Row) -> Operation {
    Operation {
        name: row.operation,
        effect: Effect::Read,
        summary: row.summary,
        example: r#"{"subject": "hero_lantern.png", "detail": "lines"}"#,
        request: schema::<DomainRequest>,
        answer: schema::<crate::Answer<Expansion>>,
        call: |operation, graph, request, interrupt| {
            let request: DomainRequest = operation.read(request)?;
            let row = crate::ops::domain::patterns::row(operation.name);
            let row = row.ok_or_else(|| Error::not_found(format!("no pattern {}", operation.name)))?;
            shown(&run(&lens(graph, &request.look)?, row, &request, interrupt)?)
        },
        fields: OnceLock::new(),
    }
}

fn table() -> Vec<Operation> {
    vec![
        Operation {
            name: "walk",
            effect: Effect::Read,
            summary: "Bounded expansion from one or more subjects along the relations that match.",
            example: r#"{"subject": "HeroHealth", "direction": "in", "types": ["SYMBOL_REFERENCES"], "depth": 2}"#,
            request: schema::<WalkRequest>,
            answer: schema::<crate::Answer<Expansion>>,
            call: |operation, graph, request, interrupt| {
                let request: WalkRequest = operation.read(request)?;
                shown(&walk(&lens(graph, &request.look)?, &request, interrupt)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "owner",
            effect: Effect::Read,
            summary: "Who owns a thing, by the most specific rule, and which rule decided.",
            example: r#"{"subject": "repo:game/Assets/Scripts/Ui/UiHud.cs"}"#,
            request: schema::<OwnerRequest>,
            answer: schema::<crate::Answer<Owners>>,
            call: |operation, graph, request, interrupt| {
                let request: OwnerRequest = operation.read(request)?;
                shown(&owner(&lens(graph, &request.look)?, &request, interrupt)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "history",
            effect: Effect::Read,
            summary: "Every state of an entity, the earliest first, and the event between each two.",
            example: r#"{"subject": "HeroHealth.cs", "limit": 20}"#,
            request: schema::<HistoryRequest>,
            answer: schema::<crate::Answer<History>>,
            call: |operation, graph, request, _| {
                let request: HistoryRequest = operation.read(request)?;
                shown(&history(&lens(graph, &request.look)?, &request)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "status",
            effect: Effect::Read,
            summary: "What the scope holds, by kind, type and source, and how fresh it is.",
            example: "{}",
            request: schema::<StatusRequest>,
            answer: schema::<crate::Answer<Status>>,
            call: |operation, graph, request, _| {
                let request: StatusRequest = operation.read(request)?;
                let torn = graph.recovery().torn.clone();
                let torn = torn.map(|torn| TornTail { file: torn.file, offset: torn.offset, bytes: torn.bytes });
                let stored = Stored { bytes: graph.bytes()?, digest: graph.last_digest(), torn };
                shown(&status(&lens(graph, &request.look)?, &stored)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "digest",
            effect: Effect::Read,
            summary: "The content digest: projected, authored and whole. Two stores with one digest hold the same facts.",
            example: "{}",
            request: schema::<DigestRequest>,
            answer: schema::<crate::Answer<ContentDigest>>,
            call: |operation, graph, request, _| {
                let request: DigestRequest = operation.read(request)?;
                let answer = digest(&graph.view().lens(), &request)?;
                graph.keep_digest(answer.seq(), answer.found().whole.clone());
                shown(&answer)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "list_types",
            effect: Effect::Read,
            summary: "The types of the ontology, with the properties that each declares.",
            example: r#"{"ptype": "application"}"#,
            request: schema::<ListTypesRequest>,
            answer: schema::<crate::Answer<Types>>,
            call: |operation, graph, request, _| {
                let request: ListTypesRequest = operation.read(request)?;
                shown(&list_types(&lens(graph, &Look::default())?, &request)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "list_entities",
            effect: Effect::Read,
            summary: "The entities of a type, or of all, each with its state.",
            example: r#"{"type": "UnityAsset", "limit": 10}"#,
            request: schema::<ListEntitiesRequest>,
            answer: schema::<crate::Answer<Entities>>,
            call: |operation, graph, request, _| {
                let request: ListEntitiesRequest = operation.read(request)?;
                shown(&list_entities(&lens(graph, &request.look)?, &request)?)
            },
            fields: OnceLock::new(),
        },
        Operation {
            name: "entity",
            effect: Effect::Write,
            summary: "Creates an entity of a type with its first properties, in one commit.",
            example: r#"{"type": "Project", "initial_props": {"pid": "PID-LF01", "name": "Lanternfall"}}"#,
            request: schema::<EntityRequest>,
            answer: schema::<Created>,
            call: |operation, graph, request, _| {
                let request: EntityRequest = operation.read(request)?;
                let mut batch = graph.batch()?;
                let id = entity(&mut batch, &request);
                shown(&Created { id, commit: graph.commit(batch, Durability::Sync)? })
            },
            fields: OnceLock::new(),
        },
    ]
}
