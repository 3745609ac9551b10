//! A process is killed at random moments of a rebuild and of single commits; what it was promised must be there.
//!
//! The parent runs this test binary again as a writer, reads what it acknowledges, kills it after a random while, opens
//! the store and looks. `TRIGLYPH_KILLS` sets the number of kills (200).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use triglyph::care::rebuild::{Input, Phase, rebuild};
use triglyph::operations::operation;
use triglyph::sources::graphify::Graphify;
use triglyph::{Durability, EntityId, Graph, Options, Props, Scope, Since, Store, Topic, Value};

use crate::files::Files;

const STORE: &str = "TRIGLYPH_KILL_STORE";
const NODES: u64 = 150;

fn scope() -> Scope {
    Scope::new("acme", "demo").unwrap()
}

/// Two entities that every single commit changes together.
fn twins() -> [EntityId; 2] {
    [1_u128, 2].map(|n| EntityId::from(uuid::Uuid::from_u128(n)))
}

/// A code graph in which every node says which round it is of.
fn code(round: u64) -> Vec<u8> {
    let node = |n: u64| {
        json!({ "id": format!("n{n}"), "label": format!("n{n}"), "file_type": "code",
        "source_file": format!("f{}.rs", n % 7), "source_location": "L9", "version": round.to_string() })
    };
    let link = |n: u64| {
        json!({ "source": format!("n{n}"), "target": format!("n{}", (n * 7 + round) % NODES),
        "relation": "calls", "confidence": "EXTRACTED", "source_file": format!("f{}.rs", n % 7) })
    };
    let (nodes, links): (Vec<_>, Vec<_>) = (0..NODES).map(|n| (node(n), link(n))).unzip();
    serde_json::to_vec(&json!({ "nodes": nodes, "links": links, "built_at_commit": format!("{round:040}") })).unwrap()
}

fn observe(graph: &Graph, round: u64) -> u64 {
    let input = Input {
        phase: Phase::Graphify,
        source: Box::new(Graphify::new("main", "graph.json", "")),
        files: Ok(Box::new(Files::one("graph.json", code(round)))),
        config: String::new(),
    };
    rebuild(graph, vec![input], &mut ()).unwrap().seq.0
}

/// The writer: does nothing unless the parent asked for it.
#[test]
fn child() {
    let Ok(path) = std::env::var(STORE) else { return };
    let graph = Store::open(&path, Options::default()).unwrap().graph(&scope()).unwrap();
    let mut out = std::io::stdout();
    let mut round = graph.view().seq().0;
    loop {
        round += 1;
        let seq = if round.is_multiple_of(3) { observe(&graph, round) } else { single(&graph, round) };
        writeln!(out, "\nack {seq}").and_then(|()| out.flush()).unwrap();
    }
}

fn single(graph: &Graph, round: u64) -> u64 {
    let mut batch = graph.batch().unwrap();
    for id in twins() {
        let props = vec![("summary".into(), Some(Value::from(round.to_string())))];
        let (topic, since) = (Topic::Entity(id), Since::Observed);
        batch.push(triglyph::Edit::Fact { topic, props, since, cause: None });
    }
    graph.commit(batch, Durability::Sync).unwrap().seq.0
}

fn create(path: &Path) {
    let store = Store::create(path, Options::default()).unwrap();
    let graph = store.graph(&scope()).unwrap();
    let mut batch = graph.batch().unwrap();
    for id in twins() {
        batch.push(triglyph::Edit::Create {
            key: triglyph::EntityKey::new("Stage", "authored", id.to_string()),
            id,
            props: Props::new(),
            since: Since::Observed,
            source_memory_id: None,
            cause: None,
        });
    }
    graph.commit(batch, Durability::Sync).unwrap();
}

/// A small generator of moments: the test says its seed, so that a failure can be run again.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Runs a writer for a while, kills it, and returns the last sequence that it acknowledged.
///
/// The while begins with its first word, or (`early`) with its birth, so that opening is killed too.
fn run_and_kill(path: &Path, micros: u64, early: bool) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
        .env(STORE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let (first, begun) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut acknowledged = 0;
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            // A line that the kill cut off is shorter, and promises less.
            if let Some(seq) = line.strip_prefix("ack ").and_then(|seq| seq.parse::<u64>().ok()) {
                acknowledged = seq.max(acknowledged);
                let _ = first.send(());
            }
        }
        acknowledged
    });
    if !early {
        begun.recv_timeout(Duration::from_secs(60)).expect("the writer writes");
    }
    std::thread::sleep(Duration::from_micros(micros));
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Every commit that was acknowledged is there after reopening, and no commit is there in part.
#[test]
fn no_promise_is_lost() {
    if std::env::var(STORE).is_ok() {
        return;
    }
    let kills: u64 = std::env::var("TRIGLYPH_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(200);
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let mut moments = Moments(seed);
    let folder = tempfile::tempdir().unwrap();
    let mut path = folder.path().join("0.tg");
    create(&path);
    let (mut promised, mut torn, mut commits) = (1, 0, 0);
    for kill in 0..kills {
        // A new store now and then, so that replay stays short and first segments are killed too.
        if kill % 20 == 19 {
            path = folder.path().join(format!("{kill}.tg"));
            create(&path);
            (promised, commits) = (1, commits + promised);
        }
        let (micros, early) = (moments.next(40_000), moments.next(5) == 0);
        promised = promised.max(run_and_kill(&path, micros, early));
        let graph = Store::open(&path, Options::default()).unwrap().existing(&scope()).unwrap();
        let found = graph.view().seq().0;
        assert!(found >= promised, "kill {kill}, seed {seed}: {promised} was acknowledged, {found} is there");
        torn += u64::from(graph.recovery().torn.is_some());
        whole(&graph, &format!("kill {kill}, seed {seed}"));
        promised = found;
    }
    println!("{kills} kills, {} commits, {torn} torn tails", commits + promised);
}

/// The twins say the same, and so do all nodes of the code graph.
fn whole(graph: &Graph, when: &str) {
    let list = |request| operation("list_entities").unwrap().call(graph, request, &|| false).unwrap();
    let twins = list(json!({ "type": "Stage" }));
    assert_eq!(twins["entities"][0]["props"]["summary"], twins["entities"][1]["props"]["summary"], "{when}");
    let symbols = list(json!({ "limit": 1000 }));
    let rounds: Vec<String> = symbols["entities"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entity| entity["kind"] == "Symbol")
        .map(|entity| entity["props"]["extra"]["version"].to_string())
        .collect();
    assert!(rounds.is_empty() || rounds.len() as u64 == NODES, "{when}: {} nodes", rounds.len());
    assert!(rounds.windows(2).all(|pair| pair[0] == pair[1]), "{when}: rounds mixed");
}
