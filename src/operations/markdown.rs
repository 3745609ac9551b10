//! `docs/operations.md`, written from the table: what every operation takes, gives and may do.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{Operation, operations};
use crate::budget::Budgets;
use crate::engine::ontology::Ontology;
use crate::error::Code;

/// The page.
pub fn to_markdown() -> String {
    let mut out = String::from(HEAD);
    let Budgets { nodes, edges, fan_out } = Budgets::default();
    let ceiling = Budgets::CEILING;
    let bounds =
        [("nodes", nodes, ceiling.nodes), ("edges", edges, ceiling.edges), ("fan_out", fan_out, ceiling.fan_out)];
    out.push_str("| budget | default | ceiling |\n| --- | --- | --- |\n");
    for (name, default, ceiling) in bounds {
        line(&mut out, format_args!("| `{name}` | {default} | {ceiling} |"));
    }
    line(&mut out, format_args!("| `depth` | by operation | {} |", Budgets::DEPTH_CEILING));
    out.push_str("\n## Operations\n\n| operation | effect | answers |\n| --- | --- | --- |\n");
    for Operation { name, effect, summary, .. } in operations() {
        line(&mut out, format_args!("| [`{name}`](#{name}) | {} | {summary} |", effect.as_str()));
    }
    for operation in operations() {
        one(&mut out, operation);
    }
    out.push_str("\n## Error codes\n\n");
    let codes: Vec<String> = Code::ALL.iter().map(|code| format!("`{}`", code.as_str())).collect();
    line(&mut out, format_args!("{}.", codes.join(", ")));
    out.push_str("\n## Ontology\n\n");
    out.push_str(&Ontology::seeded().to_markdown());
    out
}

const HEAD: &str = "\
# Operations

Written from the table in `src/operations.rs`; a test holds this page to it (`TRIGLYPH_BLESS=1 cargo test operations` writes it anew).

Every operation takes a JSON object and gives a JSON object: `triglyph call STORE OPERATION JSON`. Ids are UUIDs, times RFC 3339 in UTC
with microseconds, and the same store and request give the same bytes. An unknown field is an error that names the nearest known one.

A *subject* is a UUID, an identity (`repo:PATH`, `unity:GUID`, `Kind authority:id`), anything that the thing was ever called (name, title,
path), or an object `{\"kind\", \"authority\", \"external_id\"}`. A name that means several things is never resolved by a guess: the error
`ambiguous_subject` lists the candidates.

Every read but `list_types` (types have no past) and `digest` (of all that is recorded) also takes `as_of` (what was true then),
`as_recorded` (what this store knew at that sequence), `trust_floor` (`derived` by default), `investigation` (hypotheses too) and
`revision` (only what was said of exactly this revision).

An answer is truncated if and only if it has `reasons`: which bound cut it, where, how much was left out by type and trust, and whether that is
`exact`. What lies deeper than a depth that was asked for is `beyond`, and no truncation. Budgets above their ceiling are refused.

";

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a string takes any text");
}

fn one(out: &mut String, operation: &Operation) {
    line(out, format_args!("\n### {}\n\n{}\n", operation.name, operation.summary));
    line(out, format_args!("    triglyph call STORE {} '{}'\n", operation.name, operation.example));
    let schema = operation.request_schema();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) else {
        line(out, format_args!("It takes no fields."));
        return;
    };
    out.push_str("| field | type | meaning |\n| --- | --- | --- |\n");
    for (name, field) in fields {
        let must = if required.contains(&name.as_str()) { " (required)" } else { "" };
        let meaning = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        line(out, format_args!("| `{name}`{must} | {} | {meaning} |", kind(field)));
    }
}

/// A short name for the type of a field.
fn kind(field: &Json) -> String {
    match &field["type"] {
        Json::String(kind) if kind == "array" => format!("list of {}", kind_of_items(field)),
        Json::String(kind) => kind.clone(),
        Json::Array(kinds) => {
            kinds.iter().filter_map(Json::as_str).filter(|kind| *kind != "null").collect::<Vec<_>>().join(" or ")
        }
        _ => referred(field),
    }
}

fn kind_of_items(field: &Json) -> String {
    kind(&field["items"])
}

/// The name of a shared definition.
fn referred(field: &Json) -> String {
    let of = |schema: &Json| schema["$ref"].as_str()?.rsplit('/').next().map(str::to_owned);
    let alternatives = field["anyOf"].as_array().into_iter().flatten().find_map(of);
    of(field).or(alternatives).unwrap_or_else(|| "any".to_owned())
}
