//! Rebuilds over real code graphs: everything that is counted in the truth files is in the graph, and going from one
//! revision to the next is the same as starting over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use serde_json::{Value as Json, json};
use triglyph::care::rebuild::{Input, Phase, PhaseReport, PhaseState, RebuildReport, rebuild};
use triglyph::operations::operation;
use triglyph::sources::graphify::Graphify;
use triglyph::{Counts, Graph, Scope, Store};

use crate::data;
use crate::files::Files;

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "demo").unwrap()).unwrap()
}

/// The bytes of a real `graph.json`, unpacked where it is packed; `None` (and says so) without the data folder.
fn read(path: &str) -> Option<Vec<u8>> {
    let Some(folder) = data::folder() else {
        println!("skipped: the data folder is not here");
        return None;
    };
    let bytes = std::fs::read(folder.join("graphify").join(path)).unwrap();
    if !path.ends_with(".gz") {
        return Some(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    Some(plain)
}

fn observe(graph: &Graph, bytes: &[u8]) -> RebuildReport {
    let input = Input {
        phase: Phase::Graphify,
        source: Box::new(Graphify::new("main", "graph.json", "")),
        files: Ok(Box::new(Files::one("graph.json", bytes))),
        config: String::new(),
    };
    rebuild(graph, vec![input], &mut ()).unwrap()
}

fn call(graph: &Graph, name: &str, request: Json) -> Json {
    operation(name).unwrap().call(graph, request, &|| false).unwrap()
}

fn digest(graph: &Graph) -> String {
    call(graph, "digest", json!({}))["projected"].as_str().unwrap().to_owned()
}

/// Every file of the truth, with the folder that it lies in.
fn truths() -> Option<Vec<(String, Json)>> {
    let all = read("TRUTH.json")?;
    let fixture = read("legacy/extraction_fixture.TRUTH.json")?;
    let mut truths: Vec<Json> = serde_json::from_slice(&all).unwrap();
    truths.extend(serde_json::from_slice::<Vec<Json>>(&fixture).unwrap());
    let folders = ["itsdangerous", "ripgrep", "nav2_csharp", "legacy"];
    let located = truths.into_iter().map(|truth| {
        let file = truth["file"].as_str().unwrap();
        let root = data::folder().unwrap().join("graphify");
        let folder = folders.into_iter().find(|folder| root.join(folder).join(file).exists());
        (format!("{}/{file}", folder.unwrap_or_else(|| panic!("no {file}"))), truth)
    });
    Some(located.collect())
}

/// The identity under which a node of a graph is kept.
fn identities(graph: &Json) -> BTreeMap<String, String> {
    let nodes = graph["nodes"].as_array().unwrap();
    let identity = |node: &Json| {
        let id = node["id"].as_str().unwrap();
        let file = node["source_file"].as_str().filter(|file| !file.is_empty());
        let label = node["label"].as_str().unwrap_or("");
        let stands_for = |file: &&str| {
            let bare = file.strip_suffix(label);
            node["source_location"] == "L1"
                && !label.is_empty()
                && bare.is_some_and(|b| b.is_empty() || b.ends_with('/'))
        };
        match (file.filter(stands_for), node["repo"].as_str()) {
            (Some(file), Some(repo)) => format!("File repo:{repo}/{file}"),
            (Some(file), None) => format!("File repo:{file}"),
            (None, _) => format!("graphify:main:{id}"),
        }
    };
    nodes.iter().map(|node| (node["id"].as_str().unwrap().to_owned(), identity(node))).collect()
}

fn wide(subject: &str, depth: u32) -> Json {
    json!({
        "subject": subject, "depth": depth, "detail": "ids", "investigation": true,
        "budgets": { "nodes": 10_000, "edges": 50_000, "fan_out": 4_096 },
    })
}

/// A code graph that lost an edge, turned one round or took two for one would answer everything after it wrongly.
#[test]
fn every_real_graph_is_there_whole() {
    let Some(truths) = truths() else { return };
    for (path, truth) in truths {
        let bytes = read(&path).unwrap();
        let json: Json = serde_json::from_slice(&bytes).unwrap();
        let graph = graph();
        let report = observe(&graph, &bytes);
        assert_eq!(report.phases[0].state, PhaseState::Complete, "{path}");
        let counts = &call(&graph, "status", json!({ "investigation": true }))["counts"];
        // A hyperedge is an entity with its members as parts; a file that no node stands for is an entity too.
        let hyperedges = truth["hyperedges"].as_u64().unwrap();
        let read = &report.phases[0].read.counts;
        let members: u64 = json["hyperedges"]
            .as_array()
            .map_or(0, |all| all.iter().map(|edge| edge["nodes"].as_array().unwrap().len() as u64).sum());
        let entities = truth["nodes"].as_u64().unwrap() + hyperedges + read["files_without_node"];
        assert_eq!(counts["entities"], entities, "{path}");
        assert_eq!(counts["relations"], truth["distinct_srt"].as_u64().unwrap() + members, "{path}");
        let identity = identities(&json);
        for hub in truth["hubs"].as_array().unwrap() {
            let subject = &identity[hub["id"].as_str().unwrap()];
            for (depth, size) in [(1, &hub["depth1"]), (2, &hub["depth2"])] {
                let answer = call(&graph, "walk", wide(subject, depth));
                assert_eq!(answer["truncated"], false, "{path} {subject}");
                let reached = answer["nodes"].as_array().unwrap().len() as u64 - 1;
                // Hyperedges are not links, and the truth does not walk them.
                if hyperedges == 0 {
                    assert_eq!(reached, size.as_u64().unwrap(), "{path} {subject} at {depth}");
                }
            }
        }
        directions(&graph, &json, &identity, &path, truth["flipped_vs_source"].as_u64().unwrap());
    }
}

/// Every link that says which way it was written is read that way.
fn directions(graph: &Graph, json: &Json, identity: &BTreeMap<String, String>, path: &str, flipped: u64) {
    let mut turned = 0;
    for link in json["links"].as_array().into_iter().flatten() {
        let (Some(source), Some(target)) = (link["_src"].as_str(), link["_tgt"].as_str()) else { continue };
        if link["source"] == target && source != target {
            turned += 1;
            let mut request = wide(&identity[source], 1);
            request["direction"] = json!("out");
            let answer = call(graph, "walk", request);
            let found = call(graph, "walk", wide(&identity[target], 0))["subject"]["id"].clone();
            assert!(answer["nodes"].as_array().unwrap().contains(&found), "{path}: {source} to {target}");
        }
    }
    assert_eq!(turned, flipped, "{path}");
}

struct Pair {
    before: &'static str,
    after: &'static str,
    nodes: Counts,
    links: Counts,
    groups: Counts,
    /// Files that no node stands for: entities of ours that the truth doesn't count.
    bare_files: Counts,
}

const fn counts(added: u64, changed: u64, removed: u64, unchanged: u64) -> Counts {
    Counts { added, changed, removed, unchanged }
}

/// The figures are those of `DIFF_TRUTH.json`. In ripgrep one file moved and kept its node's id; the truth counts a
/// changed node and link there, while for us another path is another file: one more removed, one more added of each.
const PAIRS: [Pair; 2] = [
    Pair {
        before: "itsdangerous/2.1.2.graph.json",
        after: "itsdangerous/2.2.0.graph.json",
        nodes: counts(124, 82, 73, 0),
        links: counts(158, 334, 119, 0),
        groups: counts(3, 14, 1, 8),
        bare_files: counts(1, 0, 0, 0),
    },
    Pair {
        before: "ripgrep/14.1.1.graph.json.gz",
        after: "ripgrep/15.1.0.graph.json.gz",
        nodes: counts(140 + 1, 2_182 - 1, 85 + 1, 0),
        links: counts(391 + 1, 5_360 - 1, 213 + 1, 0),
        groups: counts(5, 52, 3, 68),
        bare_files: counts(1, 0, 0, 0),
    },
];

fn changes(counts: Counts) -> (u64, u64, u64) {
    (counts.added, counts.changed, counts.removed)
}

/// Were incremental not the same as full, what a store answers would depend on the road it came.
#[test]
fn incremental_is_full() {
    for pair in &PAIRS {
        let (Some(before), Some(after)) = (read(pair.before), read(pair.after)) else { return };
        let (graph, fresh) = (graph(), self::graph());
        observe(&graph, &before);
        let old = digest(&graph);
        observe(&fresh, &after);

        let report = observe(&graph, &after);
        let phase = &report.phases[0];
        let (added, changed, removed) = changes(pair.nodes);
        let bare = changes(pair.bare_files);
        assert_eq!(changes(phase.entities), (added + bare.0, changed + bare.1, removed + bare.2), "{}", pair.after);
        assert_eq!(changes(phase.relations), changes(pair.links), "{}", pair.after);
        assert_eq!(phase.groups, pair.groups, "{}", pair.after);
        assert_eq!(digest(&graph), digest(&fresh), "{}", pair.after);

        observe(&graph, &before);
        assert_eq!(digest(&graph), old, "back to {}", pair.before);
        observe(&graph, &after);
        assert_eq!(digest(&graph), digest(&fresh), "and again to {}", pair.after);
    }
}

/// A store that grows by every look at what hasn't changed is full one day, and its history says nothing.
#[test]
fn unchanged_input_writes_nothing() {
    let Some(bytes) = read("itsdangerous/2.2.0.graph.json") else { return };
    let graph = graph();
    observe(&graph, &bytes);
    let (seq, size) = (graph.view().seq(), graph.bytes().unwrap());
    let report = observe(&graph, &bytes);
    assert_eq!((report.log_bytes, report.phases[0].state), (0, PhaseState::Skipped));
    // The same facts in other bytes are read, and still say nothing new.
    let mut json: Json = serde_json::from_slice(&bytes).unwrap();
    json["nodes"].as_array_mut().unwrap().reverse();
    for node in json["nodes"].as_array_mut().unwrap() {
        node["community"] = json!(7);
    }
    let report = observe(&graph, &serde_json::to_vec_pretty(&json).unwrap());
    let phase = &report.phases[0];
    assert_eq!((phase.state, phase.log_bytes, phase.groups.unchanged), (PhaseState::Complete, 0, 25));
    assert_eq!(phase.entities.unchanged + phase.relations.unchanged, 382 + 711);
    assert_eq!((graph.view().seq(), graph.bytes().unwrap()), (seq, size));
}

/// A revision belongs to the snapshot: a new one over the same content is one row, not a version of every fact.
#[test]
fn a_new_revision_is_one_row() {
    let Some(bytes) = read("itsdangerous/2.2.0.graph.json") else { return };
    let graph = graph();
    let first: PhaseReport = observe(&graph, &bytes).phases.remove(0);
    let mut json: Json = serde_json::from_slice(&bytes).unwrap();
    json["built_at_commit"] = json!("0123456789abcdef0123456789abcdef01234567");
    let phase = observe(&graph, &serde_json::to_vec(&json).unwrap()).phases.remove(0);
    println!("first reading {} log bytes, new revision {}", first.log_bytes, phase.log_bytes);
    assert!(phase.log_bytes > 0 && phase.log_bytes < 512, "{}", phase.log_bytes);
    assert_eq!((changes(phase.entities), changes(phase.relations)), ((0, 0, 0), (0, 0, 0)));
    let subject = "src/itsdangerous/timed.py";
    let now = call(&graph, "walk", json!({ "subject": subject, "depth": 1 }));
    let revisions: BTreeSet<&str> =
        now["edges"].as_array().unwrap().iter().map(|edge| edge["revision"].as_str().unwrap()).collect();
    assert_eq!(revisions, BTreeSet::from(["0123456789abcdef0123456789abcdef01234567"]));
    // As recorded before, the same facts carry the revision that they had.
    let then = call(&graph, "walk", json!({ "subject": subject, "depth": 1, "as_recorded": first.seq }));
    assert_eq!(then["edges"][0]["revision"], "096c8d42545d3b68ea21a4f890fb2b2d8979c0bd");
    assert_eq!(then["nodes"].as_array().unwrap().len(), now["nodes"].as_array().unwrap().len());
}
