//! A real Unity project and what an accident made of it, through the graph: consumers, scripts, and incremental = full.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value as Json, json};
use triglyph::care::rebuild::{Input, Phase, PhaseState, RebuildReport, rebuild};
use triglyph::operations::operation;
use triglyph::persist::roots::Roots;
use triglyph::sources::graphify::Graphify;
use triglyph::sources::unity::Unity;
use triglyph::{Graph, Scope, Store};

use crate::data;

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "nav2").unwrap()).unwrap()
}

fn call(graph: &Graph, name: &str, request: Json) -> Json {
    operation(name).unwrap().call(graph, request, &|| false).unwrap()
}

fn unity(folder: &Path) -> Input {
    let source = Box::new(Unity::new("main", ""));
    Input {
        phase: Phase::UnityAssets,
        source,
        files: Ok(Box::new(Roots::open(folder).unwrap())),
        config: String::new(),
    }
}

fn observe(graph: &Graph, folder: &Path) -> RebuildReport {
    rebuild(graph, vec![unity(folder)], &mut ()).unwrap()
}

/// The project, and the folder that the archive of its accident was unpacked to.
fn projects() -> Option<(std::path::PathBuf, tempfile::TempDir)> {
    let Some(folder) = data::folder() else {
        println!("skipped: the data folder is not here");
        return None;
    };
    let archive = std::fs::File::open(folder.join("unity/nav2_mutated.tar.gz")).unwrap();
    let unpacked = tempfile::tempdir().unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(unpacked.path()).unwrap();
    Some((folder.join("unity/nav2"), unpacked))
}

fn truth(name: &str) -> Json {
    let path = data::folder().unwrap().join("unity").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Everything that needs a target, directly or not, by the edges of the truth.
fn consumers<'a>(needs: &BTreeMap<&'a str, BTreeSet<&'a str>>, target: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![target]);
    while let Some(target) = open.pop() {
        for source in needs.get(target).into_iter().flatten() {
            if *source != target && found.insert(*source) {
                open.push(source);
            }
        }
    }
    found
}

fn check_consumers(graph: &Graph, truth: &Json) {
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for edge in truth["edge_list"].as_array().unwrap() {
        needs.entry(edge[1].as_str().unwrap()).or_default().insert(edge[0].as_str().unwrap());
    }
    assert!(needs.len() > 50);
    for target in needs.keys() {
        let request = json!({
            "subject": format!("unity:{target}"), "depth": 32,
            "budgets": { "nodes": 10_000, "edges": 50_000, "fan_out": 4_096 },
        });
        let answer = call(graph, "asset_consumers", request);
        assert_eq!((&answer["truncated"], &answer["beyond"]), (&json!(false), &json!(0)));
        let nodes = answer["nodes"].as_array().unwrap();
        let assets = nodes.iter().skip(1).filter(|node| node["kind"] == "UnityAsset");
        let found: BTreeSet<&str> = assets.map(|node| node["source"]["id"].as_str().unwrap()).collect();
        let mut expected = consumers(&needs, target);
        expected.remove(target);
        assert_eq!(found, expected, "consumers of {target}");
    }
}

/// "What uses this asset" is the question that a studio asks before it deletes one.
#[test]
fn consumers_are_those_of_the_truth() {
    let Some((intact, mutated)) = projects() else { return };
    let project = mutated.path().to_owned();
    for (folder, truth_file) in [(&*intact, "nav2.TRUTH.json"), (&*project, "nav2_mutated.TRUTH.json")] {
        let graph = graph();
        let report = observe(&graph, folder);
        assert_eq!(report.phases[0].state, PhaseState::Complete, "{folder:?}");
        let truth = truth(truth_file);
        check_consumers(&graph, &truth);
        let reported = &report.phases[0].read.counts;
        for (count, list) in [("defect:orphan_meta", "orphan_metas"), ("defect:duplicate_guid", "duplicate_guids")] {
            let expected = truth[list].as_array().map(Vec::len).or(truth[list].as_object().map(serde_json::Map::len));
            assert_eq!(reported.get(count).copied().unwrap_or(0) as usize, expected.unwrap(), "{count}");
        }
    }
}

/// Assets move, copies appear and files are cut short; the road from one state to the other must leave no trace.
#[test]
fn an_accident_and_its_repair() {
    let Some((intact, mutated)) = projects() else { return };
    let project = mutated.path().to_owned();
    let digest = |graph: &Graph| call(graph, "digest", json!({}))["projected"].as_str().unwrap().to_owned();
    let (graph, before, after) = (graph(), graph(), graph());
    observe(&before, &intact);
    observe(&after, &project);
    observe(&graph, &intact);
    for _ in 0..2 {
        observe(&graph, &project);
        assert_eq!(digest(&graph), digest(&after));
        check_consumers(&graph, &truth("nav2_mutated.TRUTH.json"));
        observe(&graph, &intact);
        assert_eq!(digest(&graph), digest(&before));
    }
    // An asset that moved is the same asset, with a history of paths.
    let moved = truth("nav2.TRUTH.json")["asset_guids"]["Assets/Materials/NoFriction.physicMaterial"].clone();
    let history = call(&graph, "history", json!({ "subject": format!("unity:{}", moved.as_str().unwrap()) }));
    let paths: Vec<&str> =
        history["states"].as_array().unwrap().iter().map(|state| state["props"]["path"].as_str().unwrap()).collect();
    assert_eq!(
        &paths[..2],
        ["Assets/Materials/NoFriction.physicMaterial", "Assets/ZZ_copies/moved_NoFriction.physicMaterial"]
    );
}

/// A `.cs` file reaches the prefabs that use its script: code and assets meet at the file.
#[test]
fn a_script_reaches_its_prefabs() {
    let Some((intact, _mutated)) = projects() else { return };
    let graph = graph();
    let code = data::folder().unwrap().join("graphify/nav2_csharp/graph.json");
    let code = Input {
        phase: Phase::Graphify,
        source: Box::new(Graphify::new("main", "graph.json", "Assets")),
        files: Ok(Box::new(Roots::file(&code).unwrap())),
        config: String::new(),
    };
    rebuild(&graph, vec![code, unity(&intact)], &mut ()).unwrap();
    let truth = truth("nav2.TRUTH.json");
    let guids = truth["asset_guids"].as_object().unwrap();
    let mut used = 0;
    for (path, guid) in guids.iter().filter(|(path, _)| path.ends_with(".cs")) {
        let users: BTreeSet<&str> = truth["edge_list"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|edge| edge[1] == *guid)
            .map(|edge| edge[0].as_str().unwrap())
            .collect();
        let answer = call(&graph, "change_blast_radius", json!({ "subject": format!("repo:{path}") }));
        let nodes = answer["nodes"].as_array().unwrap();
        let reached: BTreeSet<&str> = nodes.iter().map(|node| node["source"]["id"].as_str().unwrap()).collect();
        assert!(reached.is_superset(&users), "{path}: {users:?} of {reached:?}");
        used += users.len();
    }
    assert!(used >= 5, "{used}");
}
