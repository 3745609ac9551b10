//! The steps.

use std::path::Path;

use serde_json::Value;
use triglyph::Scope;

use super::crash::crash;
use super::stage::{Stage, Verdict};
use super::truth::{Names, Truth, hold, reached, reached_of, rows, same};
use super::words;
use crate::outcome::Failure;

/// The store, in the folder of the demo.
pub(super) const STORE: &str = "studio.tg";

const SCOPE: &str = "acme/lanternfall";
const TEXTURE: &str = "game/Assets/Art/Textures/hero_lantern.png";
const STONE: &str = "game/Assets/Art/Materials/Stone.mat";
const CONTROLLER: &str = "game/Assets/Scripts/Hero/HeroController.cs";
const LANTERN: &str = "game/Assets/Scripts/Hero/LanternLight.cs";
const STAMINA: &str = "repo:game/Assets/Scripts/Hero/HeroStamina.cs";

/// Plays them all.
pub(super) fn play(stage: &mut Stage, folder: &Path, studio: &Path, truth: &Truth) -> Result<(), Failure> {
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    let store = &*text(folder.join(STORE));
    let (before, today) = (&*text(studio.join("graph.before.json")), &*text(studio.join("graph.json")));
    let unity = &*format!("client={}", studio.join("game").display());
    let owners = &*text(studio.join(".github/CODEOWNERS"));
    let sources = |graph| {
        ["--graphify", graph, "--at", "game/Assets/Scripts", "--unity", unity, "--at", "game", "--ownership", owners]
    };
    let with = |head: &[&'static str], graph| [head, &[store], &sources(graph)[..]].concat();

    building(stage, &with(&["init", "--scope", SCOPE], today), &with(&["rebuild"], before))?;
    let then = moment(stage, store)?;
    stage.step(
        "Today",
        "The code changed overnight: a new script, a deleted one, a renamed method. The sources are those of the store's\n\
         triglyph.toml. Only what changed is written; what the sources say no more is withdrawn, and history keeps it.",
        &["rebuild", store],
        |report| {
            complete(report)?;
            let graphify = &report["phases"][0]["entities"];
            hold(graphify["added"] != 0 && graphify["removed"] != 0, || format!("graphify: {graphify}"))?;
            hold(report["phases"][1]["state"] == "skipped", || "the Unity project was read again".to_owned())?;
            Ok("symbols came and went, the Unity project was not read again".to_owned())
        },
    )?;
    stage.step(
        "Again, with nothing new",
        "A rebuild over unchanged sources writes nothing at all.",
        &["rebuild", store],
        |report| {
            complete(report)?;
            hold(report["log_bytes"] == 0, || format!("{} bytes were written", report["log_bytes"]))?;
            Ok("0 bytes written".to_owned())
        },
    )?;
    questions(stage, store, truth)?;
    bounds(stage, store, truth)?;
    time(stage, store, &then, truth)?;
    lists(stage, store)?;
    words::play(stage, store, folder)?;
    proofs(stage, store, folder, &with(&["rebuild", "--scope", "acme/other"], before))?;
    let scope: Scope = "acme/crash".parse()?;
    let command = format!(
        "triglyph init {store} --scope {scope}; triglyph write-until-killed {store} --scope {scope} & sleep 1; kill -9 $!"
    );
    stage.act(
        "Crash and recover",
        "Another process commits one entity after another and says when each is durable. It is killed amid its work.",
        command,
        || crash(Path::new(store), &scope),
    )
}

fn building(stage: &mut Stage, init: &[&str], yesterday: &[&str]) -> Result<(), Failure> {
    stage.step(
        "A store",
        "A store is a folder that holds scopes (a workspace and a game in it). Its triglyph.toml lists the sources.",
        init,
        |made| {
            hold(made["scope"] == SCOPE, || format!("found the scope {}", made["scope"]))?;
            Ok(format!("a store with the scope {SCOPE}"))
        },
    )?;
    stage.step(
        "Yesterday",
        "The code as it was yesterday, the Unity project and the owners become one graph; `link` states what no source\n\
         can say alone. Each phase is one commit. What is wrong in the project is told, and stops nothing.",
        yesterday,
        |report| {
            complete(report)?;
            hold(report["phases"].as_array().is_some_and(|phases| phases.len() == 4), || "not 4 phases".to_owned())?;
            Ok("4 phases are complete".to_owned())
        },
    )?;
    Ok(())
}

/// What the store holds after yesterday's rebuild, and when that was.
fn moment(stage: &mut Stage, store: &str) -> Result<String, Failure> {
    let status = stage.step(
        "What is there",
        "Counts by kind, type and source. The time of the last commit will be our \"yesterday\".",
        &["status", store],
        |status| {
            hold(status["stamp"].is_string(), || "no commit has a time".to_owned())?;
            let entities = status["counts"]["entities"].as_u64().unwrap_or_default();
            hold(entities > 0, || "no entity is there".to_owned())?;
            Ok(format!("{entities} entities"))
        },
    )?;
    Ok(status["stamp"].as_str().unwrap_or("1970-01-01").to_owned())
}

fn questions(stage: &mut Stage, store: &str, truth: &Truth) -> Result<(), Failure> {
    stage.step(
        "Who uses this texture?",
        "Everything that depends on hero_lantern.png, transitively, each with the path that proves it.",
        &["op", store, "asset_consumers", &truth.asset(TEXTURE)],
        |answer| same("consumers", &reached(answer), &truth.consumers(TEXTURE)),
    )?;
    stage.step(
        "What can a change of HeroController.cs reach?",
        "From the script through the code that depends on it, over to the prefabs and scenes, to the people who own them;\n\
         the strongest path first. Facts that a parser derived are marked so.",
        &["op", store, "change_blast_radius", &format!("repo:{CONTROLLER}")],
        |answer| {
            let owners = reached_of(answer, "Owner", "").len();
            hold(owners > 0, || "no owner was reached".to_owned())?;
            let prefabs = reached_of(answer, "UnityAsset", ".prefab");
            Ok(format!("{}; {owners} owners", same("prefabs", &prefabs, &truth.prefabs_reached(CONTROLLER))?))
        },
    )?;
    for (title, path, about) in [
        (
            "Who owns UiHud.cs?",
            "game/Assets/Scripts/Ui/UiHud.cs",
            "A rule speaks of UI/, but the folder is Ui/: rules tell cases apart.",
        ),
        (
            "Who owns SaveSystem.cs?",
            "game/Assets/Scripts/Core/SaveSystem.cs",
            "Two rules match; the last one decides, and names two owners.",
        ),
        ("Who owns hero_lantern.png?", TEXTURE, "A pattern over all folders of the art."),
        (
            "Who owns Arch01.prefab?",
            "game/Assets/Props/Arch/Arch01.prefab",
            "A rule without an owner takes ownership away; that is an answer too.",
        ),
    ] {
        stage.step(title, about, &["op", store, "owner", &format!("repo:{path}")], |answer| {
            let found: Names =
                reached_of(answer, "Owner", "").into_iter().map(|owner| owner.replace("ownership:", "")).collect();
            let by = answer["decided_by"]["by"].as_str().unwrap_or_default();
            same("owners", &found, &truth.owners(path)).map(|said| format!("{said}, decided by: {by}"))
        })?;
    }
    stage.step(
        "A walk",
        "Any relations, any direction. What lies deeper than the depth that was asked for is counted, not hidden.",
        &[
            "walk",
            store,
            &truth.asset("game/Assets/Prefabs/Hero/Hero.prefab"),
            "--direction",
            "in",
            "--type",
            "DEPENDS_ON",
            "--depth",
            "1",
        ],
        |answer| {
            let beyond = answer["beyond"].as_u64().unwrap_or_default();
            hold(beyond > 0 && answer["truncated"] == false, || format!("beyond: {beyond}"))?;
            Ok(format!("{} neighbours, {beyond} relations lie beyond", reached(answer).len()))
        },
    )?;
    Ok(())
}

fn bounds(stage: &mut Stage, store: &str, truth: &Truth) -> Result<(), Failure> {
    let stone = &*truth.asset(STONE);
    stage.step(
        "An answer that was cut says so",
        "Stone.mat is a hub. By default one entity offers 64 relations; the rest is left out, and the last line says how\n\
         much, where, and what to ask for.",
        &["op", store, "asset_consumers", stone],
        |answer| {
            let cut = answer["reasons"].as_array().into_iter().flatten().find(|reason| reason["limit"] == "fan_out");
            hold(answer["truncated"] == true && cut.is_some(), || format!("reasons: {}", answer["reasons"]))?;
            let omitted = cut.map_or(0, |cut| cut["omitted"].as_u64().unwrap_or_default());
            hold(omitted == 82 - 64, || format!("{omitted} left out, of 82"))?;
            Ok(format!("64 of 82 direct consumers, {omitted} left out"))
        },
    )?;
    stage.step(
        "The same, with room",
        "With a larger fan-out nothing is left out.",
        &["op", store, "asset_consumers", stone, "--fan-out", "128"],
        |answer| {
            hold(answer["truncated"] == false, || format!("reasons: {}", answer["reasons"]))?;
            same("consumers", &reached(answer), &truth.consumers(STONE))
        },
    )?;
    Ok(())
}

fn time(stage: &mut Stage, store: &str, then: &str, truth: &Truth) -> Result<(), Failure> {
    let lantern = &*format!("repo:{LANTERN}");
    let question = ["op", store, "change_blast_radius", lantern];
    let scripts = |answer: &Value| reached_of(answer, "File", ".cs");
    let now = stage.step(
        "What does LanternLight.cs reach today?",
        "Three scripts began to use the lantern overnight.",
        &question,
        |answer| known_scripts(&scripts(answer), LANTERN, "after", truth),
    )?;
    stage.step(
        "And yesterday?",
        "The same question, as of the moment of yesterday's rebuild. Nothing was copied: every fact knows when it holds.",
        &[&question[..], &["--as-of", then]].concat(),
        |answer| {
            let said = known_scripts(&scripts(answer), LANTERN, "before", truth)?;
            let brazier = "repo:game/Assets/Scripts/World/Brazier.cs";
            let differs = scripts(&now).contains(brazier) && !scripts(answer).contains(brazier);
            hold(differs, || format!("{brazier} is no difference between the two"))?;
            Ok(format!("{said}; Brazier.cs is not among them, as it is today"))
        },
    )?;
    stage.step(
        "The history of a script that is gone",
        "HeroStamina.cs was deleted. It left the present, not the record.",
        &["history", store, STAMINA],
        |answer| {
            let events: Vec<&str> =
                rows(answer, "states").filter_map(|state| state["event"]["event_type"].as_str()).collect();
            hold(events.first() == Some(&"observed") && events.last() == Some(&"removed"), || {
                format!("events: {events:?}")
            })?;
            Ok(events.join(", then "))
        },
    )?;
    Ok(())
}

/// The scripts of an answer are among those that depend on `path`, and all that do so directly by code are there.
fn known_scripts(found: &Names, path: &str, when: &str, truth: &Truth) -> Verdict {
    let all = truth.code_dependents(path, when, "all");
    // Which interface dispatches to which class is a guess of the code graph, which its relation type says.
    let dispatch = "repo:game/Assets/Scripts/Core/ISaveable.cs";
    let direct: Names =
        truth.code_dependents(path, when, "direct").into_iter().filter(|path| path != dispatch).collect();
    let missing: Vec<&String> = direct.difference(found).collect();
    hold(missing.is_empty(), || format!("missing {missing:?}"))?;
    let extra: Vec<&String> = found.difference(&all).collect();
    hold(extra.is_empty(), || format!("not expected {extra:?}"))?;
    Ok(format!("{} scripts, among them all {} that use it directly", found.len(), direct.len()))
}

fn lists(stage: &mut Stage, store: &str) -> Result<(), Failure> {
    stage.step(
        "The operations",
        "One table; `call` runs any of them with JSON in and out.",
        &["operations"],
        |table| {
            let count = table["operations"].as_array().map_or(0, Vec::len);
            hold(count >= 10, || format!("{count} operations"))?;
            Ok(format!("{count} operations"))
        },
    )?;
    stage.step(
        "The types",
        "The ontology: what there can be, and which properties each type declares.",
        &["call", store, "list_types"],
        |answer| {
            let types: Vec<&str> = rows(answer, "types").filter_map(|kind| kind["name"].as_str()).collect();
            hold(types.contains(&"UnityAsset") && types.contains(&"Ticket"), || format!("types: {types:?}"))?;
            Ok(format!("{} types", types.len()))
        },
    )?;
    stage.step(
        "A list, a page at a time",
        "Lists are bounded too, and a cursor goes on where one ended.",
        &["call", store, "list_entities", r#"{"type": "Owner", "limit": 2}"#],
        |answer| {
            let listed = rows(answer, "entities").count();
            hold(listed == 2 && answer["cursor"].is_string(), || {
                format!("{listed} listed, cursor {}", answer["cursor"])
            })?;
            Ok("2 owners, and a cursor".to_owned())
        },
    )?;
    Ok(())
}

fn proofs(stage: &mut Stage, store: &str, folder: &Path, other: &[&str]) -> Result<(), Failure> {
    let digest = stage.step(
        "A digest",
        "One digest over all content: two stores that agree in it hold the same facts.",
        &["digest", store],
        |answer| {
            let whole = answer["whole"].as_str().unwrap_or_default();
            hold(!whole.is_empty(), || "no digest".to_owned())?;
            Ok(whole.to_owned())
        },
    )?;
    stage.step(
        "Incremental equals full",
        "After yesterday and today, the graph holds exactly what a rebuild from nothing over today's sources would.",
        &["rebuild", store, "--verify"],
        |report| {
            hold(report["verify"]["equal"] == true, || report["verify"].to_string())?;
            Ok("both have the same digest".to_owned())
        },
    )?;
    let export = &*folder.join("studio.jsonl").to_string_lossy().into_owned();
    stage.step(
        "Everything as lines",
        "An export holds all that was said, by whom, and since when it holds.",
        &["export", store, "-o", export],
        |exported| {
            let lines = exported["lines"].as_u64().unwrap_or_default();
            hold(lines > 1_000, || format!("{lines} lines"))?;
            Ok(format!("{lines} lines"))
        },
    )?;
    scope(stage, store, "acme/copy")?;
    stage.step(
        "And back",
        "Imported into another scope, it is the same content.",
        &["import", store, export, "--scope", "acme/copy"],
        |imported| {
            hold(imported["report"]["damaged"] == serde_json::json!([]), || imported["report"].to_string())?;
            Ok("no line was left out".to_owned())
        },
    )?;
    stage.step(
        "The same digest",
        "Equal digests, equal facts.",
        &["digest", store, "--scope", "acme/copy"],
        |answer| {
            hold(answer["whole"] == digest["whole"], || format!("{} is not {}", answer["whole"], digest["whole"]))?;
            Ok("equal".to_owned())
        },
    )?;
    scope(stage, store, "acme/other")?;
    stage.step(
        "Another game",
        "It lives in the same store, with files of the same names, as they were yesterday.",
        other,
        |report| complete(report).map(|()| "it is complete".to_owned()),
    )?;
    stage.step(
        "Scopes do not see each other",
        "The digest of the first scope is what it was.",
        &["digest", store, "--scope", SCOPE],
        |answer| {
            hold(answer["whole"] == digest["whole"], || format!("{} was {}", answer["whole"], digest["whole"]))?;
            Ok("unchanged".to_owned())
        },
    )?;
    Ok(())
}

fn scope(stage: &mut Stage, store: &str, scope: &'static str) -> Result<(), Failure> {
    stage.step(
        "A further scope",
        "Only `init` makes one: a mistyped --scope is an error, never a new scope.",
        &["init", store, "--scope", scope],
        |made| {
            hold(made["scope"] == scope, || format!("found the scope {}", made["scope"]))?;
            Ok(format!("the scope {scope}"))
        },
    )?;
    Ok(())
}

fn complete(report: &Value) -> Result<(), String> {
    hold(report["state"] == "complete", || format!("the rebuild is {}", report["state"]))
}
