//! What was reached: one line a path, or tables with all the evidence.

use serde_json::Value;

use super::{caution, foot, head, label, raw, string};
use crate::table::{DIM, count, plural, table, text};

/// One compact line a path. The answer has the detail `full`: lines alone don't know their trust.
pub(crate) fn lines(answer: &Value) -> String {
    let nodes: Vec<&Value> = answer["nodes"].as_array().into_iter().flatten().collect();
    let mut out = head(answer);
    for path in answer["paths"].as_array().into_iter().flatten() {
        // The library has made the path printable, arrow by arrow.
        let node = nodes.iter().find(|node| node["id"] == path["to"]).copied().unwrap_or(&Value::Null);
        let strength = node["strength"].as_f64().map(|strength| format!("{DIM}{strength:.2}{DIM:#}  "));
        let stale = node["stale"] == true;
        let kind = string(&node["kind"]);
        let (strength, caution) = (strength.unwrap_or_default(), caution(&path["trust"], stale));
        out += &format!("  {strength}{}  {DIM}{kind}{DIM:#}{caution}\n", raw(&path["compact"]));
    }
    out += &sizes(answer);
    out + &foot(answer)
}

/// Two tables: entities and relations.
pub(crate) fn full(answer: &Value) -> String {
    let mut nodes = table(&["kind", "called", "identity", "#distance", "trust", "revision"]);
    for node in answer["nodes"].as_array().into_iter().flatten() {
        let identity = format!("{}:{}", string(&node["source"]["authority"]), string(&node["source"]["id"]));
        let trust = format!("{}{}", string(&node["trust"]), if node["stale"] == true { ", stale" } else { "" });
        let distance = node["distance"].to_string();
        let (kind, called, revision) = (string(&node["kind"]), string(&node["label"]), string(&node["revision"]));
        nodes.add_row([kind, called, identity, distance, trust, revision]);
    }
    let mut edges = table(&["from", "type", "to", "origin", "#confidence", "trust", "valid from", "until", "revision"]);
    for edge in answer["edges"].as_array().into_iter().flatten() {
        let end = |end: &str| label(answer, raw(&edge[end]));
        let field = |field: &str| string(&edge[field]);
        let from =
            if edge["observed"] == true { format!("{} (seen)", field("valid_from")) } else { field("valid_from") };
        let confidence = edge["confidence"].to_string();
        edges.add_row([
            end("source"),
            field("type"),
            end("target"),
            field("origin"),
            confidence,
            field("trust"),
            from,
            field("valid_until"),
            field("revision"),
        ]);
    }
    format!("{}{}\n{}\n{}{}", head(answer), text(&nodes), text(&edges), sizes(answer), foot(answer))
}

/// The ids alone.
pub(crate) fn ids(answer: &Value) -> String {
    let nodes = answer["nodes"].as_array().into_iter().flatten();
    let lines: String = nodes.map(|id| format!("  {}\n", string(id))).collect();
    format!("{}{lines}{}{}", head(answer), sizes(answer), foot(answer))
}

fn sizes(answer: &Value) -> String {
    let length = |field: &str| answer[field].as_array().map_or(0, Vec::len) as u64;
    let budgets = &answer["budgets"];
    let budget = |name: &str| count(budgets[name].as_u64().unwrap_or_default());
    format!(
        "{} reached, by {}  {DIM}depth {}, at most {} entities, {} relations, {} of one entity{DIM:#}\n",
        plural(length("nodes").saturating_sub(subjects(answer)), "entity"),
        plural(length("edges"), "relation"),
        budget("depth"),
        budget("nodes"),
        budget("edges"),
        budget("fan_out"),
    )
}

/// How many of the entities of an answer are what it was asked about.
fn subjects(answer: &Value) -> u64 {
    answer["subjects"].as_array().map_or(1, |further| further.len() as u64 + 1)
}
