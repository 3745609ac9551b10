//! The studio of the examples, rebuilt whole: every operation has its telling answer, and the truth counted apart holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use triglyph::care::forget::forget;
use triglyph::care::rebuild::{Input, Phase, PhaseState, RebuildReport, rebuild};
use triglyph::operations::operation;
use triglyph::persist::roots::Roots;
use triglyph::sources::graphify::Graphify;
use triglyph::sources::ownership::Ownership;
use triglyph::sources::unity::Unity;
use triglyph::sources::{Source, SourceFiles};
use triglyph::{Error, Graph, Scope, Store};

fn studio() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/studio")
}

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "lanternfall").unwrap()).unwrap()
}

fn input(phase: Phase, source: impl Source + 'static, files: Result<Roots, Error>) -> Input {
    let files = files.map(|files| Box::new(files) as Box<dyn SourceFiles>);
    Input { phase, source: Box::new(source), files, config: String::new() }
}

/// The sources of the studio, with the code graph of the day before or of the day.
fn inputs(code: &str) -> Vec<Input> {
    let graphify = Graphify::new("main", code, "game/Assets/Scripts");
    let ownership = Ownership::new("main", "CODEOWNERS", ".github");
    vec![
        input(Phase::Graphify, graphify, Roots::file(&studio().join(code))),
        input(Phase::UnityAssets, Unity::new("main", "game"), Roots::open(&studio().join("game"))),
        input(Phase::Ownership, ownership, Roots::file(&studio().join(".github/CODEOWNERS"))),
    ]
}

fn built(code: &str) -> (Graph, RebuildReport) {
    let graph = graph();
    let report = rebuild(&graph, inputs(code), &mut ()).unwrap();
    (graph, report)
}

fn call(graph: &Graph, name: &str, request: Json) -> Json {
    operation(name).unwrap().call(graph, request, &|| false).unwrap()
}

fn truth() -> Json {
    serde_json::from_slice(&std::fs::read(studio().join("TRUTH.json")).unwrap()).unwrap()
}

fn texts(list: &Json) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// A subject by its identity: names may be shared, identities never.
fn asset(truth: &Json, path: &str) -> String {
    format!("unity:{}", truth["asset_guids"][path].as_str().unwrap())
}

const WIDE: &str = r#"{ "nodes": 10000, "edges": 50000, "fan_out": 4096 }"#;

fn wide() -> Json {
    serde_json::from_str(WIDE).unwrap()
}

/// The paths of the assets of an answer, the subject apart.
fn asset_paths(answer: &Json, truth: &Json) -> BTreeSet<String> {
    let guids = truth["asset_guids"].as_object().unwrap();
    let paths: BTreeMap<&str, &str> = guids.iter().map(|(path, guid)| (guid.as_str().unwrap(), &**path)).collect();
    let nodes = answer["nodes"].as_array().unwrap().iter().skip(1);
    let assets = nodes.filter(|node| node["kind"] == "UnityAsset");
    assets.map(|node| paths[node["source"]["id"].as_str().unwrap()].to_owned()).collect()
}

#[test]
fn asset_consumers_are_those_that_were_counted() {
    let truth = truth();
    let (graph, report) = built("graph.json");
    assert!(report.phases.iter().all(|phase| phase.state == PhaseState::Complete), "{report:?}");
    for (path, expected) in truth["consumers"].as_object().unwrap() {
        let request = json!({ "subject": asset(&truth, path), "budgets": wide(), "depth": 32 });
        let answer = call(&graph, "asset_consumers", request);
        assert_eq!(answer["truncated"], false);
        assert_eq!(asset_paths(&answer, &truth), texts(expected), "{path}");
    }
    // Asked about the file, the answer is that of its asset: the bridge costs no depth.
    let by_file = call(
        &graph,
        "asset_consumers",
        json!({ "subject": "repo:game/Assets/Art/Textures/hero_lantern.png", "depth": 1, "budgets": wide() }),
    );
    let path = "game/Assets/Art/Textures/hero_lantern.png";
    let by_asset =
        call(&graph, "asset_consumers", json!({ "subject": asset(&truth, path), "depth": 1, "budgets": wide() }));
    let mut with_itself = asset_paths(&by_asset, &truth);
    with_itself.insert(path.to_owned());
    assert_eq!(asset_paths(&by_file, &truth), with_itself);
}

/// "What breaks if I change this script" must reach the prefabs that hold it.
#[test]
fn a_script_reaches_the_prefabs_that_use_it() {
    let truth = truth();
    let (graph, _) = built("graph.json");
    let script = "game/Assets/Scripts/Hero/HeroController.cs";
    let answer = call(&graph, "change_blast_radius", json!({ "subject": format!("repo:{script}"), "budgets": wide() }));
    let reached = asset_paths(&answer, &truth);
    for name in ["Hero/Hero", "Hero/HeroWinter", "Hero/HeroGhost", "Ui/Hud", "Enemies/AshMoth", "Enemies/AshMothElder"]
    {
        assert!(reached.contains(&format!("game/Assets/Prefabs/{name}.prefab")), "{name} of {reached:#?}");
    }
    let kinds: BTreeSet<&str> =
        answer["nodes"].as_array().unwrap().iter().map(|node| node["kind"].as_str().unwrap()).collect();
    assert!(kinds.is_superset(&BTreeSet::from(["File", "Symbol", "UnityAsset", "Owner"])), "{kinds:?}");
    // Ranked: the strongest path first, by a decay that the answer states.
    assert_eq!(answer["decay"], 0.85);
    let strengths: Vec<f64> =
        answer["nodes"].as_array().unwrap().iter().map(|node| node["strength"].as_f64().unwrap()).collect();
    assert!(strengths.windows(2).all(|pair| pair[0] >= pair[1]), "{strengths:?}");
}

#[test]
fn owners_are_those_of_the_last_rule() {
    let truth = truth();
    let (graph, _) = built("graph.json");
    for (path, expected) in truth["owners"].as_object().unwrap() {
        // The truth speaks of every file; the graph knows those that a source speaks of.
        let subject = format!("repo:{path}");
        let Ok(answer) = operation("owner").unwrap().call(&graph, json!({ "subject": subject }), &|| false) else {
            assert!(path.ends_with(".meta") || !path.contains("Assets"), "{path} is not here");
            continue;
        };
        let owners: BTreeSet<String> =
            answer["nodes"].as_array().unwrap().iter().map(|node| node["label"].as_str().unwrap().into()).collect();
        assert_eq!(owners, texts(expected), "{path}: {}", answer["decided_by"]);
        let by = if expected.is_null() { "unowned" } else { "rule" };
        assert_eq!(answer["decided_by"]["by"], by, "{path}");
        assert!(answer["decided_by"]["rule"]["pattern"].is_string(), "{path}");
    }
}

/// A hub must not pass for the little that a default answer shows of it.
#[test]
fn a_hub_says_what_was_left_out() {
    let truth = truth();
    let (graph, _) = built("graph.json");
    let stone = asset(&truth, "game/Assets/Art/Materials/Stone.mat");
    let answer = call(&graph, "asset_consumers", json!({ "subject": stone, "depth": 1 }));
    let direct =
        truth["edge_list"].as_array().unwrap().iter().filter(|edge| stone.ends_with(edge[1].as_str().unwrap()));
    let left_out = direct.count() - 64;
    assert_eq!(answer["truncated"], true);
    assert_eq!(answer["reasons"].as_array().unwrap().len(), 1);
    let reason = &answer["reasons"][0];
    assert_eq!((&reason["limit"], &reason["exact"]), (&json!("fan_out"), &json!(true)));
    assert_eq!(reason["omitted"], left_out);
    assert_eq!(reason["by_type"], json!({ "DEPENDS_ON": left_out }));
    assert_eq!(answer["nodes"].as_array().unwrap().len(), 65);
}

/// The second day must not rewrite the first.
#[test]
fn yesterday_stays_answerable() {
    let (graph, before) = built("graph.before.json");
    let yesterday = graph.view().stamp();
    // A script that the code graph doesn't know yet; Unity knows its file on both days.
    let brazier = |as_of: Option<triglyph::Time>| {
        let mut request = json!({
            "subject": "repo:game/Assets/Scripts/World/Brazier.cs", "types": ["CONTAINS"], "direction": "out",
        });
        if let Some(as_of) = as_of {
            request["as_of"] = json!(as_of);
        }
        call(&graph, "walk", request)["nodes"].as_array().unwrap().len() - 1
    };
    assert_eq!(brazier(None), 0);

    let after = rebuild(&graph, inputs("graph.json"), &mut ()).unwrap();
    let (code, unity) = (&after.phases[0], &after.phases[1]);
    assert!(code.entities.added > 0 && code.entities.removed > 0, "{:?}", code.entities);
    assert_eq!(unity.state, PhaseState::Skipped);
    assert!(after.log_bytes < before.log_bytes);

    // What a change of the lantern reaches, now and then.
    let reached = |as_of: Option<triglyph::Time>| -> BTreeSet<String> {
        let mut request = json!({
            "subject": "repo:game/Assets/Scripts/Hero/LanternLight.cs", "depth": 4, "budgets": wide(),
        });
        if let Some(as_of) = as_of {
            request["as_of"] = json!(as_of);
        }
        let answer = call(&graph, "change_blast_radius", request);
        let nodes = answer["nodes"].as_array().unwrap().iter().skip(1);
        nodes.filter(|node| node["kind"] == "File").map(|node| node["label"].as_str().unwrap().to_owned()).collect()
    };
    let (then, now) = (reached(Some(yesterday)), reached(None));
    for newcomer in ["AshMoth.cs", "Brazier.cs"] {
        assert!(now.contains(newcomer) && !then.contains(newcomer), "{newcomer}: {then:?} {now:?}");
    }
    assert!(brazier(None) > 0);
    assert_eq!(brazier(Some(yesterday)), 0);
    // What is gone answers as of then, and has its history.
    let stamina = json!({ "subject": "repo:game/Assets/Scripts/Hero/HeroStamina.cs" });
    let history = call(&graph, "history", stamina);
    let states = history["states"].as_array().unwrap();
    assert_eq!((&states[0]["existence"], &states[1]["existence"]), (&json!("present"), &json!("absent")));
    assert_eq!(states[1]["event"]["event_type"], "removed");
    assert_eq!(states[0]["valid_until"], states[1]["valid_from"]);
    // A state carries the revision that said it, and so does the answer as of then.
    assert_eq!(states[0]["revision"], before.phases[0].revision.as_deref().unwrap());
    let then =
        call(&graph, "walk", json!({ "subject": "repo:game/Assets/Scripts/Hero/HeroStamina.cs", "as_of": yesterday }));
    assert_eq!(then["nodes"][0]["revision"], states[0]["revision"]);
    let of_then = json!({
        "subject": "repo:game/Assets/Scripts/Hero/HeroStamina.cs", "as_of": yesterday, "revision": states[0]["revision"],
    });
    assert!(call(&graph, "walk", of_then)["nodes"].as_array().unwrap().len() > 1);
}

/// A folder that is gone for a moment must not empty the graph.
#[test]
fn a_missing_folder_loses_nothing() {
    let (graph, _) = built("graph.json");
    let entities = |graph: &Graph| call(graph, "status", json!({}))["counts"]["entities"].as_u64().unwrap();
    let known = entities(&graph);
    let missing = input(Phase::UnityAssets, Unity::new("main", "game"), Roots::open(&studio().join("no-such-folder")));
    let report = rebuild(&graph, vec![missing], &mut ()).unwrap();
    assert_eq!((report.state.as_str(), report.phases[0].state), ("failed", PhaseState::Failed));
    assert!(report.phases[0].error.as_ref().unwrap().contains("no-such-folder"), "{report:?}");
    assert_eq!(entities(&graph), known);
    let status = call(&graph, "status", json!({}));
    let unity = status["sources"].as_array().unwrap().iter().find(|source| source["source"] == "unity:main").unwrap();
    assert!(unity["stale"].as_u64().unwrap() > 100, "{unity}");
    // It comes back, and nothing is stale any more.
    rebuild(&graph, inputs("graph.json"), &mut ()).unwrap();
    assert_eq!(call(&graph, "status", json!({}))["lag"]["stale_groups"], 0);
}

/// "hero.png" is the name of a file and of the asset that it is the body of: one thing, to whoever asks.
#[test]
fn a_file_and_its_asset_are_one_subject() {
    let truth = truth();
    let (graph, _) = built("graph.json");
    let by_name = call(&graph, "asset_consumers", json!({ "subject": "hero_lantern.png", "budgets": wide() }));
    assert_eq!(by_name["subject"]["kind"], "File");
    let path = "game/Assets/Art/Textures/hero_lantern.png";
    let mut expected = texts(&truth["consumers"][path]);
    expected.insert(path.to_owned());
    assert_eq!(asset_paths(&by_name, &truth), expected);
}

/// What an author made is found by the identity under which answers show it.
#[test]
fn an_authored_identity_is_a_subject() {
    let graph = graph();
    let made = call(&graph, "entity", json!({ "type": "Project", "initial_props": { "name": "Prism" } }));
    let listed = call(&graph, "list_entities", json!({}))["entities"][0].clone();
    let identity = format!("authored:{}", listed["source"]["id"].as_str().unwrap());
    for subject in [identity.clone(), format!("Project {identity}"), "prism".to_owned()] {
        assert_eq!(call(&graph, "walk", json!({ "subject": subject }))["subject"]["id"], made["id"]);
    }
}

/// A source that was renamed or is gone for good must not speak for ever; what others say too stays.
#[test]
fn a_forgotten_source_takes_its_word_back() {
    let (graph, _) = built("graph.json");
    let counts = |graph: &Graph| call(graph, "status", json!({}))["counts"].clone();
    let before = counts(&graph);
    let tried = forget(&graph, "graphify:main", true).unwrap();
    assert_eq!((counts(&graph), tried.groups > 10), (before.clone(), true));
    let done = forget(&graph, "graphify:main", false).unwrap();
    assert_eq!((done.entities, done.relations), (tried.entities, tried.relations));
    let after = counts(&graph);
    assert_eq!(after["by_kind"].get("Symbol"), None);
    // Unity still speaks of the scripts as files.
    assert!(call(&graph, "walk", json!({ "subject": "repo:game/Assets/Scripts/Ui/UiHud.cs" }))["nodes"].is_array());
    // The graph is the one that never heard of it, and the word can be given again.
    let without = self::graph();
    rebuild(&without, inputs("graph.json").split_off(1), &mut ()).unwrap();
    let digest = |graph: &Graph| call(graph, "digest", json!({}))["projected"].clone();
    assert_eq!(digest(&graph), digest(&without));
    rebuild(&graph, inputs("graph.json"), &mut ()).unwrap();
    assert_eq!(counts(&graph)["entities"], before["entities"]);
    let error = forget(&graph, "graphify:mian", true).unwrap_err();
    assert!(error.message().contains("did you mean \"graphify:main\"?"), "{error}");
}

/// Every prefab that holds a script is reached by its change, and those behind dependent code. The truth follows
/// dependencies from file to file and the graph from symbol to symbol, so where only another method of a class is
/// affected the graph reaches less; for this controller both come to the same.
#[test]
fn a_blast_radius_leaves_no_prefab_out() {
    let truth = truth();
    let (graph, _) = built("graph.json");
    let mut compared = 0;
    for (script, expected) in truth["prefabs_reached"].as_object().unwrap() {
        let request = json!({ "subject": format!("repo:{script}"), "budgets": wide(), "depth": 32 });
        let answer = call(&graph, "change_blast_radius", request);
        assert_eq!((&answer["truncated"], &answer["beyond"]), (&json!(false), &json!(0)), "{script}");
        let reached = asset_paths(&answer, &truth);
        let mut expected_paths = texts(&expected["own"]);
        if script.ends_with("HeroController.cs") {
            expected_paths.extend(texts(&expected["with_code"]));
            compared += 1;
        }
        if script.ends_with("HeroHealth.cs") {
            // Found only where an entity that is reached first as the holder of a method is expanded again as a class.
            expected_paths.insert("game/Assets/Prefabs/Enemies/AshMoth.prefab".to_owned());
            compared += 1;
        }
        for prefab in expected_paths {
            assert!(reached.contains(&prefab), "{script} does not reach {prefab}");
        }
    }
    assert_eq!(compared, 2);
}
