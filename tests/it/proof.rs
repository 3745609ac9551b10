//! Export and import through real stores: what came out of one goes into another whole, and the digest says so.

use std::io::Read as _;

use sha2::Digest as _;
use triglyph::care::rebuild::{Input, Phase, rebuild};
use triglyph::ops::proof::digest::{ContentDigest, DigestRequest, digest};
use triglyph::ops::proof::export::{canonical, export};
use triglyph::ops::proof::import::{ImportReport, import};
use triglyph::sources::graphify::Graphify;
use triglyph::{Durability, Graph, Scope, Store};

use crate::data;
use crate::files::Files;

fn graph(game: &str) -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", game).unwrap()).unwrap()
}

/// A graph of a real code base, or none (and says so) without the data folder.
fn ripgrep() -> Option<Graph> {
    let Some(folder) = data::folder() else {
        println!("skipped: the data folder is not here");
        return None;
    };
    let bytes = std::fs::read(folder.join("graphify/ripgrep/15.1.0.graph.json.gz")).unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    let graph = graph("demo");
    let input = Input {
        phase: Phase::Graphify,
        source: Box::new(Graphify::new("main", "graph.json", "")),
        files: Ok(Box::new(Files::one("graph.json", plain))),
        config: String::new(),
    };
    assert!(rebuild(&graph, vec![input], &mut ()).unwrap().is_complete());
    Some(graph)
}

fn taken(graph: &Graph, text: &[u8]) -> (ImportReport, bool) {
    let imported = import(&graph.view().lens(), &mut &*text, graph.now()).unwrap();
    let mut batch = graph.batch().unwrap();
    for edit in imported.edits {
        batch.push(edit);
    }
    let committed = graph.commit(batch, Durability::Sync).unwrap();
    (imported.report, committed.written)
}

fn digested(graph: &Graph) -> ContentDigest {
    digest(&graph.view().lens(), &DigestRequest {}).unwrap().found().clone()
}

/// A studio that moves to another machine, or to another scope, must be able to show that nothing was lost.
#[test]
fn a_real_graph_moves_whole() {
    let Some(from) = ripgrep() else { return };
    let said = r#"
        {"entity":{"kind":"ADR","external_id":"7"},"props":{"number":7,"title":"Walk in parallel"},"valid_from":"2019-04-01"}
        {"fact":{"entity":"repo:crates/ignore/src/walk.rs","props":{"summary":"where the threads are"}}}"#;
    let (report, written) = taken(&from, said.as_bytes());
    assert_eq!((report.damaged.len(), report.entities, report.facts, written), (0, 1, 1, true));

    let mut text = Vec::new();
    let exported = export(&from.view().lens(), &mut text).unwrap();
    let to = graph("elsewhere");
    let (report, written) = taken(&to, &text);
    assert_eq!((report.damaged, report.lines, written), (Vec::new(), exported.lines + 1, true));
    assert_eq!(digested(&to), digested(&from));

    let (_, written) = taken(&to, &text);
    assert!(!written, "the same file again writes nothing");
    let mut again = Vec::new();
    export(&to.view().lens(), &mut again).unwrap();
    assert_eq!(again.iter().filter(|byte| **byte == b'\n').count() as u64, exported.lines + 1);

    let mut bytes = Vec::new();
    let digest = canonical(&to.view().lens(), &mut bytes).unwrap();
    assert_eq!(digest.whole, data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(&bytes)));
    assert_eq!(digest.lines.authored, 4);
}
