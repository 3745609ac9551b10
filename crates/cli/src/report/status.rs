//! What a scope holds, and its digest.

use serde_json::Value;

use super::{foot, head, raw, string};
use crate::table::{BAD, DIM, GOOD, WARN, bytes, count, plain, plural, table, text};

/// Counts by kind, type and source, and how fresh they are.
pub(crate) fn status(answer: &Value) -> String {
    let counts = &answer["counts"];
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut out = head(answer);
    out += &format!(
        "{}, {}, {}, {} on disk, {}\n",
        plural(number(&counts["entities"]), "entity"),
        plural(number(&counts["relations"]), "relation"),
        plural(number(&counts["tombstones"]), "tombstone"),
        bytes(number(&answer["bytes"])),
        answer["stamp"].as_str().map_or("nothing committed yet".to_owned(), |stamp| format!("last commit {stamp}")),
    );
    if let Some(digest) = answer["digest"].as_str() {
        out += &format!("digest {digest} {DIM}at sequence {}{DIM:#}\n", answer["digest_seq"]);
    }
    let stale = number(&answer["lag"]["stale_groups"]);
    if stale > 0 {
        out += &format!(
            "{WARN}{} could not be read last time and may be out of date{WARN:#}\n",
            plural(stale, "file group")
        );
    }
    let torn = &answer["torn"];
    if torn.is_object() {
        out += &format!(
            "{WARN}unfinished:{WARN:#} the last {} of {}, from byte {} on, are no whole commit and are left aside\n",
            plural(number(&torn["bytes"]), "byte"),
            string(&torn["file"]),
            count(number(&torn["offset"])),
        );
    }
    let dangling = number(&counts["referential_defects"]);
    if dangling > 0 {
        out += &format!("{WARN}{} lack an end{WARN:#}\n", plural(dangling, "relation"));
    }
    let undeclared: Vec<String> = counts["undeclared"].as_array().into_iter().flatten().map(string).collect();
    if !undeclared.is_empty() {
        out += &format!("{WARN}not declared by the ontology:{WARN:#} {}\n", undeclared.join(", "));
    }
    for (title, by) in [("kind", "by_kind"), ("relation type", "by_relation_type")] {
        let mut rows = table(&[title, "#count"]);
        for (name, of) in counts[by].as_object().into_iter().flatten() {
            rows.add_row([plain(name), count(number(of))]);
        }
        out += &section(&text(&rows));
    }
    let mut rows = table(&["source", "#entities", "#relations", "#groups", "#stale", "revision"]);
    let shown = answer["sources"].as_array().into_iter().flatten();
    for source in shown {
        let name = raw(&source["source"]);
        let of = |by: &str| count(number(&counts[by][name]));
        let revision = string(&source["revision"]);
        let (groups, stale) = (count(number(&source["groups"])), count(number(&source["stale"])));
        rows.add_row([plain(name), of("entities_by_source"), of("relations_by_source"), groups, stale, revision]);
    }
    let authored = |by: &str| number(&counts[by]["author"]);
    let (entities, relations) = (authored("entities_by_source"), authored("relations_by_source"));
    if entities + relations > 0 {
        rows.add_row(["author", &count(entities), &count(relations), "", "", ""]);
    }
    out += &section(&text(&rows));
    if let Some(state) = answer["last_rebuild"]["state"].as_str() {
        let style = if state == "complete" { GOOD } else { BAD };
        out += &format!("\nlast rebuild that changed anything: {style}{}{style:#}\n", plain(state));
    }
    out + &foot(answer)
}

/// The digests, and over how many lines they were taken.
pub(crate) fn digest(answer: &Value) -> String {
    let mut rows = table(&["part", "#lines", "SHA-256"]);
    for part in ["projected", "authored", "whole"] {
        let lines = answer["lines"][part].as_u64().map(count).unwrap_or_default();
        rows.add_row([part, &lines, raw(&answer[part])]);
    }
    format!("{}{}", head(answer), text(&rows))
}

fn section(rows: &str) -> String {
    if rows.is_empty() { String::new() } else { format!("\n{rows}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Bytes that a crash left behind must not be taken for commits, nor go unsaid.
    #[test]
    fn a_torn_tail_is_told() {
        let mut answer = json!({ "counts": {}, "bytes": 5 });
        assert!(!status(&answer).contains("unfinished"));
        answer["torn"] = Value::Null;
        assert!(!status(&answer).contains("unfinished"));
        answer["torn"] = json!({ "file": "abc/log-1.tgw", "offset": 1234, "bytes": 56 });
        let shown = anstream::adapter::strip_str(&status(&answer)).to_string();
        let told = "unfinished: the last 56 bytes of abc/log-1.tgw, from byte 1,234 on, are no whole commit";
        assert!(shown.contains(told), "{shown}");
    }
}
