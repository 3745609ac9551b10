//! Real graphs, counted by other programs: each alone, and two revisions against each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;
use triglyph::sources::Parsed;
use triglyph::sources::graphify::NO_FILE;
use triglyph::{EntityKey, Group, Observation, Sighted, Value};

use super::{HYPEREDGE, count, defects, observations, parse, parse_at, parse_json, pointer, prop};

/// An observation and the group that it stands in.
type Said<'a> = (&'a Group, &'a Observation);

/// The parsed graph, as Graphify itself would count it: by its own ids, without what this source adds.
struct AsGraph<'a> {
    /// Group and word of every node. A `File` goes by the id of its node.
    nodes: BTreeMap<String, Said<'a>>,
    /// Those of every link, by (source, type, target).
    links: BTreeMap<(String, String, String), Vec<Said<'a>>>,
    /// Paths of all files.
    files: BTreeSet<String>,
    hyperedges: usize,
}

impl<'a> AsGraph<'a> {
    fn new(parsed: &'a Parsed) -> AsGraph<'a> {
        let mut it = AsGraph { nodes: BTreeMap::new(), links: BTreeMap::new(), files: BTreeSet::new(), hyperedges: 0 };
        let mut node_of_file = HashMap::new();
        for (group, observation) in observations(parsed) {
            let Sighted::Entity(key) = &observation.sighted else { continue };
            let id = match (&*key.kind, pointer(observation, "node")) {
                ("File", node) => {
                    it.files.insert(key.external_id.to_string());
                    let Some(node) = node.and_then(Value::as_str) else { continue };
                    node_of_file.insert(key.clone(), node.to_owned());
                    node.to_owned()
                }
                (HYPEREDGE, _) => {
                    it.hyperedges += 1;
                    continue;
                }
                _ => key.external_id.to_string(),
            };
            assert!(it.nodes.insert(id.clone(), (group, observation)).is_none(), "{id} twice");
        }
        for (group, observation) in observations(parsed) {
            let Sighted::Relation { source, target, kind, origin } = &observation.sighted else { continue };
            assert_eq!(*origin, "graphify");
            if *source.kind == *HYPEREDGE {
                continue;
            }
            let id = |key: &EntityKey| node_of_file.get(key).cloned().unwrap_or_else(|| key.external_id.to_string());
            it.links.entry((id(source), kind.to_string(), id(target))).or_default().push((group, observation));
        }
        it
    }

    fn group(&self, id: &str) -> &'a Group {
        self.nodes[id].0
    }

    /// Every other node that lies within one step, and within two.
    fn around(&self, id: &str) -> (usize, usize) {
        let mut beside: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (source, _, target) in self.links.keys() {
            beside.entry(source).or_default().insert(target);
            beside.entry(target).or_default().insert(source);
        }
        let mut one = beside[id].clone();
        one.remove(id);
        let mut two: HashSet<&str> = one.iter().flat_map(|node| &beside[node]).copied().chain(one.clone()).collect();
        two.remove(id);
        (one.len(), two.len())
    }

    /// How many link ends are at `id`; a loop has one.
    fn degree(&self, id: &str) -> usize {
        self.links.iter().filter(|((a, _, b), _)| a == id || b == id).map(|(_, words)| words.len()).sum()
    }
}

/// Graphify's relations by type; written out again, so that a slip in the source's table is one against two.
fn relation_of(kind: &str) -> &str {
    match kind {
        "IMPLEMENTS_TYPE" => "implements",
        "EXTENDS_TYPE" => "extends",
        "SYMBOL_REFERENCES" => "references",
        "CALLS" => "calls",
        "IMPORTS" => "imports",
        "IMPORTS_FROM" => "imports_from",
        "RE_EXPORTS" => "re_exports",
        "INHERITS" => "inherits",
        "USES" => "uses",
        "INDIRECT_CALL" => "indirect_call",
        "CONTAINS" => "contains",
        "METHOD" => "method",
        "DEFINES" => "defines",
        "DECLARES" => "declares",
        "CASE_OF" => "case_of",
        "DEPENDS_ON" => "depends_on",
        other => other.strip_prefix("graphify:").unwrap_or_else(|| panic!("unexpected type {other}")),
    }
}

/// The counts that another program made of one file.
#[derive(Deserialize)]
struct Truth {
    file: String,
    commit: Option<String>,
    nodes: usize,
    edges: usize,
    distinct_srt: usize,
    flipped_vs_source: u64,
    self_loops: usize,
    dangling_edges: u64,
    relations: BTreeMap<String, usize>,
    confidence: BTreeMap<String, usize>,
    file_types: BTreeMap<String, u64>,
    source_files: usize,
    nodes_without_file: usize,
    hyperedges: usize,
    cross_file_edges: usize,
    hubs: Vec<Hub>,
    edge_file_is_source_file: usize,
}

#[derive(Deserialize)]
struct Hub {
    id: String,
    degree: usize,
    depth1: usize,
    depth2: usize,
}

fn data() -> Option<std::path::PathBuf> {
    let folder = crate::data::folder().map(|folder| folder.join("graphify"));
    if folder.as_ref().is_none_or(|folder| !folder.is_dir()) {
        println!("skipped: no folder of real files; TRIGLYPH_DATA names one");
        return None;
    }
    folder
}

fn load(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    plain
}

/// The graphs that the truth speaks of, by file name (they are distinct).
fn graphs(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut graphs = BTreeMap::new();
    for inner in ["itsdangerous", "legacy", "nav2_csharp", "ripgrep"] {
        for entry in std::fs::read_dir(folder.join(inner)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if name.contains("graph.json") || name == "extraction_fixture.json" {
                assert!(graphs.insert(name, load(&path)).is_none());
            }
        }
    }
    graphs
}

fn truths(folder: &Path) -> Vec<Truth> {
    let read = |path: &str| serde_json::from_slice::<Vec<Truth>>(&load(&folder.join(path))).unwrap();
    let mut truths = read("TRUTH.json");
    truths.extend(read("legacy/extraction_fixture.TRUTH.json"));
    truths
}

/// A link lost, doubled or turned around on the way in would be a wrong answer to every question about impact.
#[test]
fn real_graphs_are_read_as_others_counted_them() {
    let Some(folder) = data() else { return };
    let graphs = graphs(&folder);
    let truths = truths(&folder);
    assert_eq!(truths.len(), graphs.len(), "every graph has a truth");
    for truth in truths {
        let parsed = parse(graphs[&truth.file].clone());
        check_truth(&truth, &parsed);
    }
}

fn check_truth(truth: &Truth, parsed: &Parsed) {
    let name = &truth.file;
    let found = AsGraph::new(parsed);
    assert_eq!(found.nodes.len(), truth.nodes, "{name}: nodes");
    assert_eq!(count(parsed, "nodes"), truth.nodes as u64, "{name}: nodes counted");
    assert_eq!(found.links.len(), truth.distinct_srt, "{name}: distinct links");
    assert_eq!(found.links.values().map(Vec::len).sum::<usize>(), truth.edges, "{name}: links");
    assert_eq!(count(parsed, "links"), truth.edges as u64, "{name}: links counted");

    let mut relations = BTreeMap::<String, usize>::new();
    let mut classes = BTreeMap::<String, usize>::new();
    let (mut loops, mut cross, mut own) = (0, 0, 0);
    for ((source, kind, target), words) in &found.links {
        for (group, observation) in words {
            *relations.entry(relation_of(kind).into()).or_default() += 1;
            *classes.entry(prop(observation, "confidence_class").unwrap().into()).or_default() += 1;
            loops += usize::from(source == target);
            cross += usize::from(found.group(source).key != found.group(target).key);
            own += usize::from(group.key == found.group(source).key);
        }
    }
    assert_eq!(relations, truth.relations, "{name}: relations");
    for (relation, times) in &relations {
        assert_eq!(count(parsed, &format!("relation:{relation}")), *times as u64, "{name}: {relation} counted");
    }
    assert_eq!(classes, truth.confidence, "{name}: confidence");
    for (class, times) in &classes {
        assert_eq!(count(parsed, &format!("confidence:{class}")), *times as u64, "{name}: {class} counted");
    }
    for (file_type, times) in &truth.file_types {
        assert_eq!(count(parsed, &format!("file_type:{file_type}")), *times, "{name}: file type {file_type}");
    }
    assert_eq!(
        (loops, cross, own),
        (truth.self_loops, truth.cross_file_edges, truth.edge_file_is_source_file),
        "{name}"
    );
    assert_eq!(count(parsed, "self_loops"), truth.self_loops as u64, "{name}: self loops counted");
    assert_eq!(count(parsed, "flipped"), truth.flipped_vs_source, "{name}: flipped");
    assert_eq!(count(parsed, "dangling_ends"), truth.dangling_edges, "{name}: dangling");
    assert_eq!(found.hyperedges, truth.hyperedges, "{name}: hyperedges");
    assert_eq!(count(parsed, "hyperedges"), truth.hyperedges as u64, "{name}: hyperedges counted");

    // The truth counts the paths of merged graphs without their repository.
    let merged = name.starts_with("merged");
    let inside = |path: &String| path.split_once('/').map_or(path.clone(), |(_, path)| path.to_owned());
    let files: BTreeSet<String> =
        found.files.iter().map(|path| if merged { inside(path) } else { path.clone() }).collect();
    assert_eq!(files.len(), truth.source_files, "{name}: files");
    assert_eq!(count(parsed, "files"), found.files.len() as u64, "{name}: files counted");
    let homeless = found.nodes.values().filter(|(group, _)| *group.key.group == *NO_FILE).count();
    assert_eq!(homeless, truth.nodes_without_file, "{name}: nodes without a file");

    for hub in &truth.hubs {
        assert_eq!(found.degree(&hub.id), hub.degree, "{name}: degree of {}", hub.id);
        assert_eq!(found.around(&hub.id), (hub.depth1, hub.depth2), "{name}: around {}", hub.id);
    }
    match &truth.commit {
        Some(commit) => assert_eq!(parsed.revision.as_deref(), Some(&**commit), "{name}: revision"),
        None => assert!(parsed.revision.as_ref().unwrap().starts_with("sha256:"), "{name}: revision"),
    }
    assert!(parsed.groups.iter().all(|group| group.revision.is_none() && *group.key.source == *"graphify:main"));
    assert!(parsed.stale.is_empty() && !parsed.all_stale, "{name}");
    assert_eq!(defects(parsed), [], "{name}");
}

/// Each repository of a merged graph has its own files, and the code that both import is shared.
#[test]
fn merged_repositories_stay_apart() {
    let Some(folder) = data() else { return };
    let parsed = parse_at("game", load(&folder.join("itsdangerous/merged.graph.json.gz")));
    let found = AsGraph::new(&parsed);
    let file = |repo: &str| format!("game/{repo}/src/itsdangerous/encoding.py");
    assert!(found.files.contains(&file("repo")) && found.files.contains(&file("itsdangerous")));
    assert_eq!(
        found.files.len(),
        count(&parsed, "file_nodes") as usize + count(&parsed, "files_without_node") as usize
    );
    let group = |id: &str| &*found.group(id).key.group;
    assert_eq!(group("repo::src_itsdangerous_encoding"), file("repo"));
    assert_eq!(group("itsdangerous::src_itsdangerous_encoding"), file("itsdangerous"));
    assert_eq!(group("base64"), NO_FILE);
    for ((source, _, _), words) in &found.links {
        assert_eq!(words[0].0.key, found.group(source).key, "a link lies in the file of its repository");
    }
}

/// What another program found to differ between two revisions.
#[derive(Deserialize)]
struct DiffTruth {
    a: String,
    b: String,
    nodes_removed: usize,
    nodes_added: usize,
    nodes_changed: usize,
    edges_removed: usize,
    edges_added: usize,
    edges_changed: usize,
    files_a: usize,
    files_b: usize,
    files_removed: Vec<String>,
    files_added: Vec<String>,
    files_changed: usize,
    files_same: usize,
}

/// The word of an observation without the numbers of its clusters.
fn word(observation: &Observation) -> String {
    let place = match &observation.place {
        Some(Value::Map(place)) => {
            let mut place = (**place).clone();
            place.retain(|name, _| !matches!(&**name, "community" | "community_name" | "local_community"));
            format!("{place:?}")
        }
        other => format!("{other:?}"),
    };
    let Observation { record, since, trust, confidence, props, .. } = observation;
    format!("{record} {since:?} {trust} {confidence} {props:?} {place}")
}

/// Keys that only the first has, only the second has, and that both have with different words.
fn differences<K: Ord>(a: &BTreeMap<K, String>, b: &BTreeMap<K, String>) -> (usize, usize, usize) {
    let removed = a.keys().filter(|key| !b.contains_key(key)).count();
    let added = b.keys().filter(|key| !a.contains_key(key)).count();
    let changed = a.iter().filter(|(key, word)| b.get(key).is_some_and(|other| other != *word)).count();
    (removed, added, changed)
}

/// A rebuild that saw every renumbered cluster as a change would write the whole graph anew each time.
#[test]
fn real_revisions_differ_as_others_counted() {
    let Some(folder) = data() else { return };
    let truths: Vec<DiffTruth> = serde_json::from_slice(&load(&folder.join("DIFF_TRUTH.json"))).unwrap();
    // By keys of the store: nodes, links, and files without a node that were removed, added, changed. The first two differ
    // from the truth only in ripgrep, where a node that stands for a file has moved, with one link: the graph's id
    // stays, the file is another one.
    let by_key = [
        ("itsd_2.1.2.graph.json", [73, 124, 82], [119, 158, 334], [0, 1, 0]),
        ("itsd_2.2.0.graph.json", [0, 7, 0], [0, 3, 0], [0, 0, 0]),
        ("rg_14.1.1.graph.json", [86, 141, 2181], [214, 392, 5359], [0, 1, 0]),
    ];
    for (truth, (name, nodes_by_key, links_by_key, files_by_key)) in truths.iter().zip(by_key) {
        assert_eq!(truth.a, name);
        let [a, b] = [&truth.a, &truth.b].map(|name| {
            let inner = name.replace("itsd_", "itsdangerous/").replace("rg_", "ripgrep/");
            let path = folder.join(&inner);
            parse(load(&if path.exists() { path } else { folder.join(inner + ".gz") }))
        });
        let [graph_a, graph_b] = [&a, &b].map(AsGraph::new);
        let in_group = |(group, observation): &Said<'_>| format!("{} {}", group.key.group, word(observation));
        let nodes = |graph: &AsGraph<'_>| -> BTreeMap<_, _> {
            graph.nodes.iter().map(|(id, said)| (id.clone(), in_group(said))).collect()
        };
        let links = |graph: &AsGraph<'_>| -> BTreeMap<_, _> {
            graph.links.iter().map(|(id, said)| (id.clone(), said.iter().map(in_group).collect())).collect()
        };
        let expected = (truth.nodes_removed, truth.nodes_added, truth.nodes_changed);
        assert_eq!(differences(&nodes(&graph_a), &nodes(&graph_b)), expected, "{name}: nodes");
        let expected = (truth.edges_removed, truth.edges_added, truth.edges_changed);
        assert_eq!(differences(&links(&graph_a), &links(&graph_b)), expected, "{name}: edges");

        let kind_of = |observation: &Observation| match &observation.sighted {
            Sighted::Entity(key) if *key.kind == *"File" && pointer(observation, "node").is_none() => "file",
            Sighted::Entity(_) => "node",
            Sighted::Relation { .. } => "link",
        };
        for (what, expected) in [("node", nodes_by_key), ("link", links_by_key), ("file", files_by_key)] {
            let keyed = |parsed: &Parsed| -> BTreeMap<Sighted, String> {
                let said = observations(parsed).filter(|(_, observation)| kind_of(observation) == what);
                said.map(|said| (said.1.sighted.clone(), in_group(&said))).collect()
            };
            let (removed, added, changed) = differences(&keyed(&a), &keyed(&b));
            assert_eq!([removed, added, changed], expected, "{name}: each {what} by key");
        }

        let groups = |parsed: &Parsed| -> BTreeMap<String, String> {
            let said = |group: &Group| {
                group.observations.iter().map(|said| format!("{:?} {}", said.sighted, word(said))).collect::<String>()
            };
            parsed.groups.iter().map(|group| (group.key.group.to_string(), said(group))).collect()
        };
        let (groups_a, groups_b) = (groups(&a), groups(&b));
        assert_eq!((groups_a.len(), groups_b.len()), (truth.files_a, truth.files_b), "{name}: groups");
        let only = |a: &BTreeMap<String, String>, b: &BTreeMap<String, String>| -> Vec<String> {
            a.keys().filter(|key| !b.contains_key(*key)).cloned().collect()
        };
        assert_eq!(only(&groups_a, &groups_b), truth.files_removed, "{name}: groups removed");
        assert_eq!(only(&groups_b, &groups_a), truth.files_added, "{name}: groups added");
        let (.., changed) = differences(&groups_a, &groups_b);
        assert_eq!(changed, truth.files_changed, "{name}: groups changed");
        assert_eq!(groups_a.len() - truth.files_removed.len() - changed, truth.files_same, "{name}: groups the same");
    }
}

/// A list in another order: turned around, and every third element first.
fn shuffled(list: &mut Json) {
    let Some(list) = list.as_array_mut() else { return };
    list.reverse();
    let (mut first, rest): (Vec<_>, Vec<_>) = list.drain(..).enumerate().partition(|(i, _)| i % 3 == 0);
    first.extend(rest);
    list.extend(first.into_iter().map(|(_, item)| item));
}

/// `merge-graphs` has no order of keys or rows: what it wrote twice must not look like a change.
#[test]
fn order_does_not_matter() {
    let Some(folder) = data() else { return };
    for (name, bytes) in graphs(&folder) {
        let mut json: Json = serde_json::from_slice(&bytes).unwrap();
        for section in ["nodes", "links", "edges", "hyperedges"] {
            if let Some(list) = json.get_mut(section) {
                shuffled(list);
            }
        }
        // Read back as a map sorted by key, so keys change their order too, and links stand before nodes.
        let mut other = parse_json(&json);
        let parsed = parse(bytes);
        other.report.bytes = parsed.report.bytes;
        if !json["built_at_commit"].is_string() {
            // Without a commit, the revision is the digest of the file.
            assert_ne!(parsed.revision, other.revision);
            other.revision.clone_from(&parsed.revision);
        }
        assert!(parsed == other, "{name}");
    }
}
