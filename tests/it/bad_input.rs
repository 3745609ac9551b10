//! Broken input of every kind: a report that names file and reason, the rest loaded, and nothing known before lost.

use std::path::Path;

use serde_json::{Value as Json, json};
use triglyph::care::rebuild::{Input, Phase, PhaseReport, PhaseState, rebuild, verify};
use triglyph::operations::operation;
use triglyph::persist::roots::Roots;
use triglyph::sources::graphify::Graphify;
use triglyph::sources::ownership::Ownership;
use triglyph::sources::unity::Unity;
use triglyph::sources::{FileEntry, SourceFiles};
use triglyph::{Code, Error, Graph, Scope, Store};

/// A small studio in a folder of its own, to be broken.
struct Studio(tempfile::TempDir);

impl Studio {
    fn new() -> Studio {
        let studio = Studio(tempfile::tempdir().unwrap());
        let guid = |n: u32| format!("{n:032x}");
        let meta = |n: u32| format!("fileFormatVersion: 2\nguid: {}\nDefaultImporter:\n", guid(n));
        let prefab = |n: u32| {
            format!("%YAML 1.1\n--- !u!114 &1\nM:\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n", guid(n))
        };
        for (path, text) in [
            ("game/ProjectSettings/ProjectVersion.txt", "m_EditorVersion: 2022.3\n".to_owned()),
            ("game/Assets/Hero.cs", "class Hero {}\n".to_owned()),
            ("game/Assets/Hero.cs.meta", meta(1)),
            ("game/Assets/Hero.prefab", prefab(1)),
            ("game/Assets/Hero.prefab.meta", meta(2)),
            ("game/Assets/Deep/Moth.prefab", prefab(1)),
            ("game/Assets/Deep/Moth.prefab.meta", meta(3)),
            ("CODEOWNERS", "* @acme/all\n*.cs @acme/code\n".to_owned()),
            ("graph.json", CODE.to_owned()),
        ] {
            studio.write(path, text);
        }
        studio
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn inputs(&self) -> Vec<Input> {
        let boxed = |files: Result<Roots, Error>| files.map(|files| Box::new(files) as Box<dyn SourceFiles>);
        let graph = Roots::file(&self.path().join("graph.json"));
        let owners = Roots::file(&self.path().join("CODEOWNERS"));
        let config = String::new;
        vec![
            Input {
                phase: Phase::Graphify,
                source: Box::new(Graphify::new("main", "graph.json", "game/Assets")),
                files: boxed(graph),
                config: config(),
            },
            Input {
                phase: Phase::UnityAssets,
                source: Box::new(Unity::new("main", "game")),
                files: boxed(Roots::open(&self.path().join("game"))),
                config: config(),
            },
            Input {
                phase: Phase::Ownership,
                source: Box::new(Ownership::new("main", "CODEOWNERS", "")),
                files: boxed(owners),
                config: config(),
            },
        ]
    }
}

const CODE: &str = r#"{"directed":false,"nodes":[
 {"id":"hero","label":"Hero.cs","file_type":"code","source_file":"Hero.cs","source_location":"L1"},
 {"id":"hero_run","label":"Run()","file_type":"code","source_file":"Hero.cs","source_location":"L4"}],
 "links":[{"source":"hero","target":"hero_run","relation":"contains","confidence":"EXTRACTED","source_file":"Hero.cs"}]}"#;

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "demo").unwrap()).unwrap()
}

fn status(graph: &Graph) -> Json {
    operation("status").unwrap().call(graph, json!({}), &|| false).unwrap()
}

/// Every skip and defect of a phase, as `place: reason`.
fn findings(phase: &PhaseReport) -> String {
    let all = phase.read.skipped.iter().chain(&phase.read.defects);
    all.map(|finding| format!("{}: {} ({})\n", finding.place, finding.reason, finding.detail)).collect()
}

/// Breaks the studio, rebuilds, and looks: what was known is known, and what else there is to read is read.
#[track_caller]
fn check(broken: impl FnOnce(&Studio), phase: usize, state: PhaseState, named: &[&str]) {
    let studio = Studio::new();
    let graph = graph();
    let report = rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    assert_eq!(report.state, "complete", "{report:#?}");
    let known = status(&graph)["counts"].clone();
    broken(&studio);
    // Something new in every source, so that "the rest is loaded" means something.
    studio.write("game/Assets/New.mat", "%YAML 1.1\n");
    studio.write("game/Assets/New.mat.meta", format!("fileFormatVersion: 2\nguid: {:032x}\n", 99));
    let report = rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    let found = &report.phases[phase];
    assert_eq!(found.state, state, "{}{found:#?}", findings(found));
    let told = findings(found) + found.error.as_deref().unwrap_or("");
    for word in named {
        assert!(told.contains(word), "{word:?} is not in {told:?}");
    }
    let now = status(&graph)["counts"].clone();
    for count in ["entities", "relations"] {
        assert!(
            now[count].as_u64() > known[count].as_u64(),
            "{count}: {} then, {} now\n{told}",
            known[count],
            now[count]
        );
    }
    assert!(graph_knows(&graph, "game/Assets/New.mat"));
    for path in ["game/Assets/Hero.prefab", "game/Assets/Deep/Moth.prefab", "game/Assets/Hero.cs"] {
        assert!(graph_knows(&graph, path), "{path}");
    }
}

fn graph_knows(graph: &Graph, path: &str) -> bool {
    operation("walk").unwrap().call(graph, json!({ "subject": format!("repo:{path}") }), &|| false).is_ok()
}

#[test]
fn a_graph_that_is_cut_short() {
    let cut = |studio: &Studio| studio.write("graph.json", &CODE[..CODE.len() - 40]);
    check(cut, 0, PhaseState::Failed, &["graph.json", ":4:"]);
}

#[test]
fn a_graph_with_other_keys() {
    check(
        |studio| studio.write("graph.json", r#"{"vertices":[],"arcs":[]}"#),
        0,
        PhaseState::Failed,
        &["graph.json", "nodes"],
    );
    check(|studio| studio.write("graph.json", "[]"), 0, PhaseState::Failed, &["graph.json"]);
    check(|studio| studio.write("graph.json", ""), 0, PhaseState::Failed, &["graph.json"]);
}

#[test]
fn one_broken_row_costs_that_row() {
    let broken =
        CODE.replace(r#""links":["#, r#""links":[{"source":"hero"},17,"#).replace(r#""nodes":["#, r#""nodes":["x","#);
    check(|studio| studio.write("graph.json", &broken), 0, PhaseState::Complete, &["graph.json"]);
}

#[test]
fn bombs_of_depth_and_length() {
    let deep = "[".repeat(200_000);
    check(|studio| studio.write("graph.json", &deep), 0, PhaseState::Failed, &["graph.json"]);
    let nested = format!(r#""label":"Run()","metadata":{}1{}"#, "[".repeat(5_000), "]".repeat(5_000));
    let row = CODE.replace(r#""label":"Run()""#, &nested);
    check(|studio| studio.write("graph.json", &row), 0, PhaseState::Complete, &["graph.json"]);
    let label = CODE.replace("Run()", &"R".repeat(10 << 20));
    check(|studio| studio.write("graph.json", &label), 0, PhaseState::Complete, &["graph.json"]);
    // A scene in one line of 10 MB, its reference at the end.
    let scene =
        format!("%YAML 1.1\n--- !u!1 &1\nM: {}{{fileID: 1, guid: {:032x}, type: 3}}\n", "0".repeat(10 << 20), 1);
    check(|studio| studio.write("game/Assets/Hero.prefab", &scene), 1, PhaseState::Complete, &[]);
    let rules = format!("* @acme/all\n*.cs @acme/code\n{} @acme/long\n", "x".repeat(10 << 20));
    check(|studio| studio.write("CODEOWNERS", &rules), 2, PhaseState::Complete, &["CODEOWNERS:L3"]);
}

#[test]
fn a_folder_where_a_file_was() {
    let turned = |studio: &Studio| {
        std::fs::remove_file(studio.path().join("CODEOWNERS")).unwrap();
        std::fs::create_dir(studio.path().join("CODEOWNERS")).unwrap();
    };
    check(turned, 2, PhaseState::Failed, &["CODEOWNERS"]);
}

#[test]
fn missing_input() {
    let gone = |path: &'static str| move |studio: &Studio| std::fs::remove_file(studio.path().join(path)).unwrap();
    check(gone("graph.json"), 0, PhaseState::Failed, &["graph.json"]);
    check(gone("CODEOWNERS"), 2, PhaseState::Failed, &["CODEOWNERS"]);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_root_and_names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.prefab"), "%YAML 1.1\nsecret\n").unwrap();
    let link = |studio: &Studio| {
        let path = studio.path().join("game/Assets/Hero.prefab");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.prefab"), path).unwrap();
    };
    check(link, 1, PhaseState::Partial, &["game/Assets/Hero.prefab", "symlink"]);
    let folder = |studio: &Studio| {
        let path = studio.path().join("game/Assets/Deep");
        std::fs::remove_dir_all(&path).unwrap();
        std::os::unix::fs::symlink(outside.path(), path).unwrap();
    };
    check(folder, 1, PhaseState::Partial, &["game/Assets/Deep", "symlink"]);
    let name = |studio: &Studio| {
        let name = std::ffi::OsStr::from_bytes(b"game/Assets/M\xf6th.prefab");
        std::fs::write(studio.path().join(name), "%YAML 1.1\n").unwrap();
    };
    check(name, 1, PhaseState::Partial, &["game/Assets/M", "UTF-8"]);
}

/// A root in which one file can't be read: as with a permission, but for root too.
struct Locked(Roots, &'static str);

impl SourceFiles for Locked {
    fn walk(&self) -> Result<Vec<FileEntry>, Error> {
        self.0.walk()
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Error> {
        if path == self.1 {
            return Err(Error::new(Code::Io, format!("{path}: permission denied")));
        }
        self.0.read(path, bytes_max)
    }
}

/// A file that can't be read today was there yesterday, and keeps what it said.
#[test]
fn an_unreadable_file() {
    let studio = Studio::new();
    let graph = graph();
    rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    let known = status(&graph)["counts"].clone();
    let mut inputs = studio.inputs();
    let root = Roots::open(&studio.path().join("game")).unwrap();
    inputs[1].files = Ok(Box::new(Locked(root, "Assets/Hero.prefab")));
    inputs[1].config = "read again".into();
    let report = rebuild(&graph, inputs, &mut ()).unwrap();
    let unity = &report.phases[1];
    assert_eq!((unity.state, unity.stale), (PhaseState::Partial, 1));
    assert!(findings(unity).contains("game/Assets/Hero.prefab: unreadable"), "{}", findings(unity));
    assert_eq!(status(&graph)["counts"], known);
    let walk = operation("walk").unwrap();
    let answer = walk.call(&graph, json!({ "subject": "repo:game/Assets/Hero.prefab" }), &|| false).unwrap();
    assert_eq!(answer["nodes"][0]["stale"], true);
    // It can be read again, and is fresh.
    rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    let answer = walk.call(&graph, json!({ "subject": "repo:game/Assets/Hero.prefab" }), &|| false).unwrap();
    assert_eq!(answer["nodes"][0].get("stale"), None);
}

/// A record that is spoilt today was read yesterday: what it said is kept, what can be read is read, and the graph says
/// that it may be out of date.
#[test]
fn a_spoilt_record_takes_nothing_away() {
    let renamed = CODE.replace(r#""id""#, r#""uid""#);
    check(|studio| studio.write("graph.json", &renamed), 0, PhaseState::Partial, &["graph.json nodes[0]: no_id"]);
    let escape = CODE.replace("Run()", r"R\ud800un()");
    check(|studio| studio.write("graph.json", &escape), 0, PhaseState::Partial, &["graph.json nodes[1]: bad_row"]);
    let meta = |studio: &Studio| studio.write("game/Assets/Deep/Moth.prefab.meta", b"\xff\x00\x13junk");
    check(meta, 1, PhaseState::Partial, &["game/Assets/Deep/Moth.prefab.meta", "meta_without_guid"]);
    let body = |studio: &Studio| studio.write("game/Assets/Deep/Moth.prefab", b"\x00\x00\x00binary");
    check(body, 1, PhaseState::Partial, &["game/Assets/Deep/Moth.prefab", "binary"]);
}

/// What was spoilt is whole again: nothing stale is left, and the graph is that of a rebuild from nothing.
#[test]
fn a_mended_record_is_fresh() {
    let studio = Studio::new();
    let (graph, fresh) = (graph(), self::graph());
    rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    studio.write("graph.json", CODE.replace("Run()", r"R\ud800un()"));
    let spoilt = rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    assert_eq!((spoilt.state.as_str(), spoilt.phases[0].stale), ("failed", 1));
    // While something is stale, nothing can be proved.
    let error = verify(&graph, &self::graph(), studio.inputs(), &mut ()).unwrap_err();
    assert!(error.message().contains("1 file groups could not be read"), "{error}");
    studio.write("graph.json", CODE.replace("Run()", "Walk()"));
    let mended = rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    assert_eq!((mended.state.as_str(), mended.phases[0].stale), ("complete", 0));
    let verified = verify(&graph, &fresh, studio.inputs(), &mut ()).unwrap();
    assert!(verified.equal, "{verified:?}");
}

/// A file that was replaced by one of the same size and time is another file.
#[cfg(unix)]
#[test]
fn a_file_of_the_same_size_and_time() {
    let studio = Studio::new();
    // More files than are read for their fingerprint.
    for n in 0..20 {
        studio.write(&format!("game/Assets/Rock{n}.mat"), "%YAML 1.1\n");
    }
    let graph = graph();
    rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    let path = studio.path().join("game/Assets/Hero.prefab");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace(&format!("{:032x}", 1), &format!("{:032x}", 7))).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let report = rebuild(&graph, studio.inputs(), &mut ()).unwrap();
    assert_eq!((report.phases[1].state, report.phases[1].groups.changed), (PhaseState::Complete, 1));
}
