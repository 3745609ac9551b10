//! Real Unity projects against truth that was counted by other means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;
use triglyph::persist::roots::Roots;
use triglyph::sources::unity::Unity;
use triglyph::sources::{FileEntry, Parsed, Source, SourceFiles};
use triglyph::{Error, Name, Observation, Sighted, Trust, Value};

use crate::data;

/// What a parse says, in the words of the truth.
#[derive(Default)]
struct Told {
    asset_guids: BTreeMap<String, String>,
    duplicates: BTreeMap<String, Vec<String>>,
    edges: BTreeSet<(String, String)>,
    file_edges: BTreeSet<(String, String)>,
    builtin: BTreeSet<String>,
    external: BTreeSet<String>,
    file_paths: BTreeSet<String>,
    bodiless: BTreeSet<String>,
    folders: u64,
}

impl Told {
    fn new(parsed: &Parsed) -> Told {
        let mut told = Told::default();
        for group in &parsed.groups {
            let mut once = BTreeSet::new();
            for observation in &group.observations {
                assert!(once.insert(&observation.sighted), "{:?} is said twice in its group", observation.sighted);
                told.hear(&group.key.group, observation);
            }
        }
        told
    }

    fn hear(&mut self, group: &str, said: &Observation) {
        let prop = |name: &str| said.props.get(name);
        match &said.sighted {
            Sighted::Entity(key) if &*key.kind == "File" => {
                assert_eq!((&*key.authority, &*key.external_id), ("repo", group));
                assert_eq!(prop("path"), Some(&Value::from(group)));
                self.file_paths.insert(group.to_owned());
            }
            Sighted::Entity(key) => {
                assert_eq!((&*key.kind, &*key.authority), ("UnityAsset", "unity"));
                let guid = key.external_id.to_string();
                match (prop("builtin"), prop("external")) {
                    (Some(_), None) => drop(self.builtin.insert(guid)),
                    (None, Some(_)) => drop(self.external.insert(guid)),
                    _ => self.asset(group, guid, said),
                }
            }
            Sighted::Relation { source, target, kind, origin } => {
                assert_eq!((&**kind, &**origin, said.trust), ("DEPENDS_ON", "unity", Trust::Authoritative));
                let ends = (source.external_id.to_string(), target.external_id.to_string());
                match &*source.kind {
                    "File" => self.file_edges.insert(ends),
                    // Two files with one GUID must not both say what it needs: their evidence could differ.
                    _ => {
                        let is_new = self.edges.insert(ends.clone());
                        assert!(is_new, "{ends:?} is said twice");
                        is_new
                    }
                };
            }
        }
    }

    fn asset(&mut self, group: &str, guid: String, said: &Observation) {
        assert_eq!(said.props.get("path"), Some(&Value::from(group)));
        assert_eq!(said.props.get("name").and_then(Value::as_str), group.rsplit('/').next());
        self.folders += u64::from(said.props.contains_key("folder"));
        if said.props.contains_key("body") {
            self.bodiless.insert(group.to_owned());
        }
        let mut paths = vec![group.to_owned()];
        if let Some(Value::List(others)) = said.props.get("duplicate_paths") {
            paths.extend(others.iter().filter_map(|other| other.as_str().map(str::to_owned)));
            self.duplicates.insert(guid.clone(), paths.clone());
        }
        for path in paths {
            assert_eq!(self.asset_guids.insert(path, guid.clone()), None, "two assets at one path");
        }
    }

    /// How often each target is needed by an asset, of those that `which` keeps.
    fn counts(&self, which: impl Fn(&str) -> bool) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (_, target) in self.edges.iter().filter(|(_, target)| which(target)) {
            *counts.entry(target.clone()).or_default() += 1;
        }
        counts
    }
}

fn folder(path: &Path) -> Roots {
    Roots::open(path).unwrap()
}

fn parse(files: &dyn SourceFiles) -> Parsed {
    Unity::new("client", "").parse(files, &mut ()).unwrap()
}

fn truth(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn list<T: Ord + serde::de::DeserializeOwned>(truth: &Json, name: &str) -> BTreeSet<T> {
    serde_json::from_value(truth[name].clone()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn map<T: serde::de::DeserializeOwned>(truth: &Json, name: &str) -> BTreeMap<String, T> {
    serde_json::from_value(truth[name].clone()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Where the defects of one kind lie.
fn defects(parsed: &Parsed, reason: &str) -> BTreeSet<String> {
    let of_reason = parsed.report.defects.iter().filter(|defect| defect.reason == reason);
    of_reason.map(|defect| defect.place.clone()).collect()
}

/// Everything that the truth of a tree counts.
fn check(files: &dyn SourceFiles, truth: &Json) -> Parsed {
    let parsed = parse(files);
    let told = Told::new(&parsed);
    assert_eq!(told.asset_guids, map::<String>(truth, "asset_guids"));
    assert_eq!(told.edges, list(truth, "edge_list"));
    let resolved: BTreeSet<&String> = told.asset_guids.values().collect();
    let is_resolved = |target: &str| resolved.contains(&target.to_owned());
    assert_eq!(told.counts(|target| told.builtin.contains(target)), map(truth, "builtin_guids"));
    assert_eq!(told.counts(|target| told.external.contains(target)), map(truth, "unresolved_guids"));
    assert_eq!(told.duplicates, map::<Vec<String>>(truth, "duplicate_guids"));
    assert_eq!(told.bodiless, list(truth, "orphan_metas"));
    assert_eq!(defects(&parsed, "orphan_meta"), list(truth, "orphan_metas"));
    assert_eq!(defects(&parsed, "path_without_meta"), list(truth, "paths_without_meta"));
    assert_eq!(defects(&parsed, "meta_without_guid"), list(truth, "metas_without_guid"));
    check_top_consumed(&told, is_resolved, truth);

    let count = |name: &str| parsed.report.counts.get(name).copied().unwrap_or_default();
    // The truth takes the project's own two GUIDs, which are no asset's, for references of its settings.
    let own = count("refs:named:productGUID") + count("refs:named:clonedFromGUID");
    assert_eq!(told.file_edges.len() as u64 + own, truth["edges_from_non_assets"].as_u64().unwrap());
    assert_eq!(told.file_edges.len() as u64, count("edges_from_non_assets"));
    let mut sources: BTreeSet<String> = told.file_edges.iter().map(|(source, _)| source.clone()).collect();
    assert!(sources.insert("ProjectSettings/ProjectSettings.asset".into()), "its only GUIDs are the project's own");
    assert_eq!(sources, list(truth, "nonasset_files"));
    for name in ["metas", "bom_metas", "crlf_metas", "yaml_files", "yaml_objects", "stripped_objects", "local_refs"] {
        assert_eq!(Some(count(name)), truth[name].as_u64(), "{name}");
    }
    for name in ["null_refs", "edges", "assets", "files_assets", "folder_assets"] {
        assert_eq!(Some(count(name)), truth[name].as_u64(), "{name}");
    }
    for (name, expected) in map::<u64>(truth, "edges_by_target") {
        assert_eq!(count(&format!("edges:{name}")), expected, "{name}");
    }
    for (name, expected) in map::<u64>(truth, "raw_refs") {
        assert_eq!(count(&format!("refs:{name}")), expected, "{name}");
    }
    assert_eq!(Some(count("files_met")), truth["files"].as_u64());
    assert_eq!(Some(count("distinct_guids")), truth["distinct_guids"].as_u64());
    assert_eq!(Some(count("refs:wrapped")), truth["wrapped_flow_refs"].as_u64());
    assert_eq!(Some(count("zero_guid_refs")), truth["misc"]["zero_guid_refs"].as_u64());
    assert_eq!(told.folders, truth["folder_assets"].as_u64().unwrap());
    let skipped: Vec<_> = parsed.report.skipped.iter().map(|skip| (&*skip.place, &*skip.reason)).collect();
    assert_eq!(skipped, [("ProjectSettings/XRSettings.asset", "json")]);
    // What was read and not understood (binary assets, metas without a GUID) was read in part; nothing went unread.
    let groups: BTreeSet<&Name> = parsed.groups.iter().map(|group| &group.key.group).collect();
    assert!(parsed.stale.iter().all(|name| groups.contains(name)) && !parsed.all_stale, "{:?}", parsed.stale);
    parsed
}

/// The most needed assets of the project, by direct consumers; the truth breaks ties by chance.
fn check_top_consumed(told: &Told, is_resolved: impl Fn(&str) -> bool, truth: &Json) {
    let counts = told.counts(is_resolved);
    let top: Vec<(String, String, u64)> = serde_json::from_value(truth["top_consumed"].clone()).unwrap();
    for (guid, path, consumers) in &top {
        assert_eq!(counts.get(guid), Some(consumers), "{path}");
        assert_eq!(told.asset_guids.get(path), Some(guid));
    }
    let mut highest: Vec<u64> = counts.into_values().collect();
    highest.sort_unstable_by(|a, b| b.cmp(a));
    assert!(top.iter().map(|(_, _, consumers)| *consumers).eq(highest.into_iter().take(top.len())));
}

/// A studio that asks what a deleted texture breaks believes the answer; a reference that the scan misses is a build
/// that fails on a Friday.
#[test]
fn a_real_project() {
    let Some(data) = data::folder() else { return println!("skipped: no data folder") };
    let files = folder(&data.join("unity/nav2"));
    let parsed = check(&files, &truth(&data.join("unity/nav2.TRUTH.json")));
    assert_eq!(parsed.report.counts.get("defect:cut_reference"), None);
}

/// What merges, copies, crashes and careless hands do to a project costs what it touches and nothing else.
#[test]
fn the_same_project_after_an_accident() {
    let Some(data) = data::folder() else { return println!("skipped: no data folder") };
    let archive = std::fs::File::open(data.join("unity/nav2_mutated.tar.gz")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(folder.path()).unwrap();
    let files = self::folder(folder.path());
    let parsed = check(&files, &truth(&data.join("unity/nav2_mutated.TRUTH.json")));
    let cut = defects(&parsed, "cut_reference");
    assert_eq!(cut.len(), 1);
    let file = "Assets/turtlebot3/turtlebot3_description/meshes/bases/burger_base.prefab";
    assert!(cut.first().unwrap().starts_with(&format!("{file}:L")), "{cut:?}");
}

/// Two walks of one tree, the second from its end.
struct Reversed<'a>(&'a Roots);

impl SourceFiles for Reversed<'_> {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        self.0.walk().map(|entries| entries.into_iter().rev().collect())
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        self.0.read(path, bytes_max)
    }
}

/// Two machines list one folder in two orders, and must store the same graph.
#[test]
fn the_order_of_the_walk_does_not_matter() {
    let Some(data) = data::folder() else { return println!("skipped: no data folder") };
    let files = folder(&data.join("unity/nav2"));
    assert_eq!(parse(&files), parse(&Reversed(&files)));
}

/// Single files, each nasty in its own way, as the notes beside them say.
#[test]
fn nasty_files() {
    let Some(data) = data::folder() else { return println!("skipped: no data folder") };
    let folder = tempfile::tempdir().unwrap();
    let assets = folder.path().join("Assets");
    std::fs::create_dir(&assets).unwrap();
    for entry in std::fs::read_dir(data.join("unity/samples")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, assets.join(path.file_name().unwrap())).unwrap();
    }
    let parsed = parse(&self::folder(folder.path()));
    let told = Told::new(&parsed);
    let counts = &parsed.report.counts;
    for (name, expected) in [
        ("bom_metas", 1),
        ("local_refs", 254),
        ("metas", 3),
        ("null_refs", 464),
        ("refs:asmdef", 3),
        ("refs:flow", 48),
        ("refs:flow:meta", 1),
        ("refs:uxml", 6),
        ("skipped:binary", 1),
        ("skipped:json", 1),
        ("yaml_files", 3),
        ("yaml_objects", 119),
    ] {
        assert_eq!(counts.get(name), Some(&expected), "{name}");
    }
    for (file, targets) in [
        ("EnemyPrefab.prefab", 12),
        ("PlayerPrefab.prefab", 19),
        ("asmdef_guid_refs.asmdef", 3),
        // Of a material that repeats its keys, a YAML library keeps one texture of two.
        ("duplicate_yaml_keys_old_material.mat", 3),
        ("uxml_guid_refs.uxml", 4),
    ] {
        let edges = told.file_edges.iter().filter(|(source, _)| *source == format!("Assets/{file}"));
        assert_eq!(edges.count(), targets, "{file}");
    }
    for (path, guid) in [
        ("Assets/binary_serialised_LightingData.asset", "f8d35316bf2026e468f7a3555ec392ba"),
        ("Assets/bom_no_trailing_newline", "6d113040314b4578b93a6f140f064f09"),
        ("Assets/script_meta_with_icon_ref.cs", "9b91ecbcc199f4492b9a91e820070131"),
    ] {
        assert_eq!(told.asset_guids.get(path).map(String::as_str), Some(guid));
    }
    let icon = ("9b91ecbcc199f4492b9a91e820070131".to_owned(), "7453abfe9e8b2c04a8a47eb536fe21eb".to_owned());
    assert_eq!(told.edges, [icon].into());
}

/// The project of the demonstration: references broken over lines, a folder that git does not keep, a prefix.
#[test]
fn the_studio() {
    let studio = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studio");
    if !studio.is_dir() {
        return println!("skipped: examples/studio is not here");
    }
    let truth = truth(&studio.join("TRUTH.json"));
    let parsed = Unity::new("game", "game").parse(&folder(&studio.join("game")), &mut ()).unwrap();
    let told = Told::new(&parsed);
    assert_eq!(told.asset_guids, map::<String>(&truth, "asset_guids"));
    assert_eq!(told.edges, list(&truth, "edge_list"));
    assert_eq!(told.file_edges, list(&truth, "non_asset_edges"));
    assert_eq!(told.builtin, list(&truth, "builtin_guids"));
    assert_eq!(told.external, list(&truth, "unresolved_guids"));
    assert_eq!(told.bodiless, list(&truth, "orphan_metas"));
    let skipped: BTreeSet<String> = parsed.report.skipped.iter().map(|skip| skip.place.clone()).collect();
    assert_eq!(skipped, list(&truth, "not_yaml"));
    let expected = map::<u64>(&truth, "counts");
    for (ours, theirs) in [
        ("metas", "metas"),
        ("files_assets", "file_assets"),
        ("folder_assets", "folder_assets"),
        ("defect:orphan_meta", "orphan_metas"),
        ("yaml_files", "yaml_files"),
        ("yaml_objects", "yaml_objects"),
        ("stripped_objects", "stripped_objects"),
        ("refs:wrapped", "wrapped_flow_refs"),
        ("edges", "edges"),
        ("edges:resolved", "edges_resolved"),
        ("edges:builtin", "edges_builtin"),
        ("edges:unresolved", "edges_unresolved"),
        ("edges_from_non_assets", "non_asset_edges"),
    ] {
        assert_eq!(parsed.report.counts.get(ours), expected.get(theirs), "{theirs}");
    }
    // A file for each body, one of which is gone, and for each file without a GUID that refers to something.
    let without_guid: BTreeSet<&String> = told.file_edges.iter().map(|(file, _)| file).collect();
    assert_eq!(told.file_paths.len() as u64, expected["file_assets"] - 1 + without_guid.len() as u64);
}
