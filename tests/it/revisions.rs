//! Rebuilds over the real revisions of two projects: what is reported, what is written, and that incremental is full.

use std::io::Read as _;

use triglyph::care::rebuild::{Input, Phase, PhaseReport, RebuildReport, rebuild};
use triglyph::sources::graphify::Graphify;
use triglyph::{Graph, Scope, Store};

use crate::data;
use crate::files::Files;

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "demo").unwrap()).unwrap()
}

/// The bytes of a `graph.json`, unpacked where it is packed; `None` (and says so) without the data folder.
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

fn phase(report: &RebuildReport) -> &PhaseReport {
    &report.phases[0]
}

#[test]
fn smoke() {
    let Some(one) = read("itsdangerous/2.1.2.graph.json") else { return };
    let two = read("itsdangerous/2.2.0.graph.json").unwrap();
    let graph = graph();
    let report = observe(&graph, &one);
    println!("{:?}", (phase(&report).entities, phase(&report).relations, phase(&report).groups, phase(&report).log_bytes));
    let report = observe(&graph, &one);
    println!("{:?} {:?}", phase(&report).state, report.log_bytes);
    let report = observe(&graph, &two);
    println!("{:?}", (phase(&report).entities, phase(&report).relations, phase(&report).groups, phase(&report).log_bytes));
    let answer = triglyph::operations::operation("status").unwrap().call(&graph, serde_json::json!({}), &|| false).unwrap();
    println!("{answer:#}");
    let answer = triglyph::operations::operation("change_blast_radius").unwrap().call(&graph, serde_json::json!({"subject":"src/itsdangerous/encoding.py","detail":"lines"}), &|| false).unwrap();
    println!("{answer:#}");
}
