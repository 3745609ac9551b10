//! Answers for people: what was asked of which moment, what was found, and what was left out.
//!
//! 1. An answer that was cut says so below, once for each limit, with what to ask for instead.
//! 2. Trust is told wherever it is less than authoritative.

pub(crate) mod expansion;
pub(crate) mod history;
pub(crate) mod owners;
pub(crate) mod rebuild;
pub(crate) mod status;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use triglyph::{Budgets, Code, Error};

use crate::table::{DIM, HEAD, WARN, count, plain, plural, table, text};

/// The first line of an answer: the question, the moment, the scope.
pub(crate) fn head(answer: &Value) -> String {
    let mut out = format!("{HEAD}{}{HEAD:#}", string(&answer["operation"]));
    let further = answer["subjects"].as_array().into_iter().flatten();
    for subject in std::iter::once(&answer["subject"]).filter(|subject| subject.is_object()).chain(further) {
        out += &format!("  {} {DIM}({}){DIM:#}", string(&subject["label"]), string(&subject["kind"]));
    }
    let moment = match answer["as_of"].as_str() {
        Some(as_of) => format!("as of {as_of}"),
        None => "now".to_owned(),
    };
    let (workspace, game) = (string(&answer["scope"]["workspace"]), string(&answer["scope"]["game"]));
    out += &format!("  {DIM}{workspace}/{game}, {moment}, sequence {}{DIM:#}\n", answer["seq"]);
    out
}

/// A reason of an answer, as far as people are told of it.
#[derive(Deserialize)]
struct Cut {
    limit: String,
    at: Option<String>,
    omitted: u64,
    #[serde(default)]
    by_type: BTreeMap<String, u64>,
    exact: bool,
}

/// The last lines of an answer: one for each limit that cut it.
pub(crate) fn foot(answer: &Value) -> String {
    let cuts: Vec<Cut> = serde_json::from_value(answer["reasons"].clone()).unwrap_or_default();
    let mut by_limit: BTreeMap<&str, Vec<&Cut>> = BTreeMap::new();
    for cut in &cuts {
        by_limit.entry(&cut.limit).or_default().push(cut);
    }
    let mut out = String::new();
    for (limit, cuts) in by_limit {
        let omitted: u64 = cuts.iter().map(|cut| cut.omitted).sum();
        let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, omitted) in cuts.iter().flat_map(|cut| &cut.by_type) {
            *by_type.entry(name).or_default() += omitted;
        }
        out += &format!("{WARN}cut:{WARN:#} {limit}");
        let places: Vec<&str> = cuts.iter().filter_map(|cut| cut.at.as_deref()).collect();
        if let Some(first) = places.first() {
            out += &format!(" at {}", label(answer, first));
        }
        if places.len() > 1 {
            out += &format!(" and {} more", count(places.len() as u64 - 1));
        }
        let least = if cuts.iter().all(|cut| cut.exact) { "" } else { "at least " };
        out += &format!(", {least}{} left out", count(omitted));
        if !by_type.is_empty() {
            let types: Vec<String> =
                by_type.iter().map(|(name, omitted)| format!("{} {}", plain(name), count(*omitted))).collect();
            out += &format!(" ({})", types.join(", "));
        }
        out += &format!("{}\n", advice(answer, limit, &cuts));
    }
    if let Some(beyond) = answer["beyond"].as_u64().filter(|beyond| *beyond > 0) {
        let depth = answer["budgets"]["depth"].as_u64().unwrap_or_default();
        let lie = if beyond == 1 { "lies" } else { "lie" };
        out += &format!("{WARN}beyond:{WARN:#} {} {lie} deeper than depth {depth}", plural(beyond, "relation"));
        out += &ask("--depth", depth, depth + 1, u64::from(Budgets::DEPTH_CEILING));
        out.push('\n');
    }
    out
}

/// What to ask for so as to see what a limit left out.
fn advice(answer: &Value, limit: &str, cuts: &[&Cut]) -> String {
    let applied = |budget: &str| answer["budgets"][budget].as_u64().unwrap_or_default();
    let enough = |cut: &&Cut, had: u64| (had + cut.omitted).next_power_of_two();
    let ceiling = Budgets::CEILING;
    match limit {
        "fan_out" | "supernode" => {
            let had = applied("fan_out");
            let wanted = cuts.iter().map(|cut| enough(cut, had)).max().unwrap_or(had);
            ask("--fan-out", had, wanted, u64::from(ceiling.fan_out))
        }
        "nodes" => ask("--nodes", applied("nodes"), applied("nodes") * 2, u64::from(ceiling.nodes)),
        "edges" => ask("--edges", applied("edges"), applied("edges") * 2, u64::from(ceiling.edges)),
        "depth" => ask("--depth", applied("depth"), applied("depth") * 2, u64::from(Budgets::DEPTH_CEILING)),
        "rows" => match answer["cursor"].as_str() {
            Some(cursor) => format!("; go on with --cursor {cursor}"),
            None => String::new(),
        },
        _ => String::new(),
    }
}

fn ask(flag: &str, had: u64, wanted: u64, ceiling: u64) -> String {
    if had >= ceiling {
        format!("; {flag} is at its ceiling")
    } else {
        format!("; ask for {flag} {}", wanted.min(ceiling))
    }
}

/// What the entity of this id is called in the answer.
fn label(answer: &Value, id: &str) -> String {
    let nodes = answer["nodes"].as_array().into_iter().flatten();
    let further = answer["subjects"].as_array().into_iter().flatten();
    let mut named = nodes.chain([&answer["subject"]]).chain(further);
    plain(named.find(|node| node["id"] == id).and_then(|node| node["label"].as_str()).unwrap_or(id))
}

/// `  derived` where trust is less than authoritative, `  stale` where a thing may be out of date.
fn caution(trust: &Value, stale: bool) -> String {
    let mut out = String::new();
    if let Some(trust) = trust.as_str().filter(|trust| *trust != "authoritative") {
        out += &format!("  {WARN}{trust}{WARN:#}");
    }
    if stale {
        out += &format!("  {WARN}stale{WARN:#}");
    }
    out
}

/// The candidates of an ambiguous subject, each with what to type; nothing for another error.
pub(crate) fn candidates(error: &Error) -> String {
    if error.code() != Code::AmbiguousSubject {
        return String::new();
    }
    let json = error.to_json();
    let details = &json["error"]["details"];
    let candidates: Vec<&Value> = details["candidates"].as_array().into_iter().flatten().collect();
    // An authored thing has no name but its id; nor has one whose name can't be typed.
    let identity = |of: &Value| {
        let named = format!("{}:{}", raw(&of["source"]["authority"]), raw(&of["source"]["id"]));
        let typed = raw(&of["source"]["authority"]) != "authored" && plain(&named) == named;
        if typed { named } else { raw(&of["id"]).to_owned() }
    };
    let mut rows = table(&["kind", "called", "type this"]);
    for candidate in &candidates {
        let named = identity(candidate);
        let shared = candidates.iter().filter(|other| identity(other) == named).count() > 1;
        let kind = string(&candidate["kind"]);
        let word = match shared {
            true if kind == raw(&candidate["kind"]) => format!("{kind} {named}"),
            true => raw(&candidate["id"]).to_owned(),
            false => named,
        };
        rows.add_row([kind, string(&candidate["label"]), crate::commands::quote(&word)]);
    }
    let mut out = format!("\n{}", text(&rows));
    let left = details["total"].as_u64().unwrap_or_default().saturating_sub(candidates.len() as u64);
    if left > 0 {
        out += &format!("and {} more\n", count(left));
    }
    out
}

/// The text of a JSON string, as it may be shown; empty for anything else.
fn string(value: &Value) -> String {
    plain(raw(value))
}

/// The same as it is: to compare, never to show what somebody else chose.
fn raw(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A JSON value on one short line.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    }
}

/// A commit hash by its first twelve digits; anything shorter as it is.
fn shortened(revision: &str) -> String {
    plain(if revision.len() > 20 && revision.is_ascii() { &revision[..12] } else { revision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Bounded evidence that looks complete is the one thing an answer must never be.
    #[test]
    fn every_limit_is_told_once_with_what_to_ask_for() {
        let answer = json!({
            "operation": "asset_consumers", "scope": {"workspace": "acme", "game": "demo"}, "seq": 3, "as_of": null,
            "budgets": {"depth": 2, "nodes": 500, "edges": 2000, "fan_out": 64},
            "nodes": [{"id": "a", "label": "Stone.mat"}, {"id": "b", "label": "Hub"}],
            "reasons": [
                {"limit": "fan_out", "at": "a", "omitted": 21, "by_type": {"DEPENDS_ON": 21}, "exact": true},
                {"limit": "fan_out", "at": "b", "omitted": 1, "by_type": {"DEPENDS_ON": 1}, "exact": false},
                {"limit": "nodes", "at": "b", "omitted": 4, "by_type": {"CALLS": 4}, "exact": true},
            ],
            "beyond": 1,
        });
        let plain = anstream::adapter::strip_str(&foot(&answer)).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(
            lines,
            [
                "cut: fan_out at Stone.mat and 1 more, at least 22 left out (DEPENDS_ON 22); ask for --fan-out 128",
                "cut: nodes at Hub, 4 left out (CALLS 4); ask for --nodes 1000",
                "beyond: 1 relation lies deeper than depth 2; ask for --depth 3",
            ]
        );
        assert_eq!(foot(&json!({ "reasons": [] })), "");
    }
}
