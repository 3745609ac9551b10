//! What people state themselves: facts told late, facts told wrong, and names that mean several things.

use std::path::Path;

use serde_json::Value;
use triglyph::{Code, Error};

use super::stage::Stage;
use super::truth::{hold, rows};
use crate::outcome::Failure;

/// A ticket that people wrote, what was said of it late, and what was said wrong.
pub(super) fn play(stage: &mut Stage, store: &str, folder: &Path) -> Result<(), Failure> {
    let ticket = r#"{"type": "Ticket", "at": "2024-06-03", "initial_props": {"key": "LF-142", "title": "The lantern goes out too soon", "status": "open"}}"#;
    stage.step(
        "A fact of one's own",
        "What people state stands beside what sources say, and no rebuild withdraws it.",
        &["call", store, "entity", ticket],
        |made| {
            hold(made["commit"]["written"] == true, || made.to_string())?;
            Ok(format!("the ticket {}", made["id"].as_str().unwrap_or_default()))
        },
    )?;
    let told = lines(folder, "facts.jsonl", FACTS)?;
    let imported = stage.step(
        "More of them, as lines",
        "JSON Lines: the ticket went into progress, and it mentions a script.",
        &["import", store, &told],
        |imported| {
            hold(imported["report"]["facts"] == 1 && imported["report"]["relations"] == 1, || imported.to_string())?;
            Ok("a fact and a relation".to_owned())
        },
    )?;
    let late = lines(folder, "late.jsonl", LATE)?;
    stage.step(
        "What was told late, and what was told wrong",
        "Somebody remembers that the ticket was triaged days before, and that it never was in progress.",
        &["import", store, &late],
        |imported| {
            hold(imported["report"]["facts"] == 2, || imported.to_string())?;
            Ok("two facts, valid long before they were recorded".to_owned())
        },
    )?;
    let statuses = |answer: &Value| -> Vec<String> {
        rows(answer, "states").filter_map(|state| state["props"]["status"].as_str()).map(str::to_owned).collect()
    };
    stage.step(
        "Its history",
        "In the order in which things were so; the last column is the order in which they were told.",
        &["history", store, "LF-142"],
        |answer| {
            let found = statuses(answer);
            hold(found == ["open", "triaged", "in review"], || format!("found {found:?}"))?;
            Ok(found.join(", then "))
        },
    )?;
    let known = imported["seq"].to_string();
    stage.step(
        "What was known before",
        "The same history, as the store knew it before it was told better: nothing is overwritten.",
        &["history", store, "LF-142", "--as-recorded", &known],
        |answer| {
            let found = statuses(answer);
            hold(found == ["open", "in progress"], || format!("found {found:?}"))?;
            Ok(found.join(", then "))
        },
    )?;
    stage.refused(
        "A name that means several things",
        "Nothing is guessed: the candidates are listed, with what to type.",
        &["history", store, ".Update()"],
        Code::AmbiguousSubject,
    )
}

const FACTS: &str = r#"{"fact": {"entity": "LF-142", "props": {"status": "in progress"}}, "valid_from": "2024-06-10"}
{"relation": {"source": "LF-142", "target": "repo:game/Assets/Scripts/Hero/LanternLight.cs", "type": "MENTIONS"}, "valid_from": "2024-06-03"}
"#;

const LATE: &str = r#"{"fact": {"entity": "LF-142", "props": {"status": "triaged"}}, "valid_from": "2024-06-05", "cause": {"description": "told a week late"}}
{"fact": {"entity": "LF-142", "props": {"status": "in review"}}, "valid_from": "2024-06-10", "cause": {"description": "it never was in progress"}}
"#;

/// Writes a file of lines beside the store, for the demo to import.
fn lines(folder: &Path, name: &str, lines: &str) -> Result<String, Failure> {
    let path = folder.join(name);
    std::fs::write(&path, lines).map_err(|error| Error::io(format_args!("writing {}", path.display()), &error))?;
    Ok(path.to_string_lossy().into_owned())
}
