//! The command line, run as people and programs run it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder of one test, with the command run beside it.
struct Desk(TempDir);

impl Desk {
    fn new() -> Desk {
        Desk(tempfile::tempdir().unwrap())
    }

    /// A store with a scope.
    fn with_store() -> Desk {
        let desk = Desk::new();
        desk.json(&["init", "s.tg", "--scope", "acme/demo"]);
        desk
    }

    /// A store with the studio of the examples as it is today.
    fn with_studio() -> Desk {
        let desk = Desk::with_store();
        let report = desk.json(&[&["rebuild", "s.tg"], &words(&studio_sources("graph.json"))[..]].concat());
        assert_eq!(report["state"], "complete", "{report}");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_triglyph"));
        command.args(words).current_dir(self.0.path()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }

    /// What a command printed as JSON; it has to succeed.
    fn json(&self, words: &[&str]) -> Value {
        let json = if words[0] == "call" { None } else { Some("--json") };
        let output = self.run(&words.iter().copied().chain(json).collect::<Vec<_>>());
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        parsed(&output)
    }

    /// What a command printed for people; it has to succeed.
    fn shown(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The error of an operation: exit status 1, JSON on standard output, words on standard error.
    fn error(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", stderr(&output));
        let error = parsed(&output)["error"].clone();
        assert!(stderr(&output).contains(error["message"].as_str().unwrap()), "{words:?}");
        error
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// One line of JSON and nothing else.
fn parsed(output: &Output) -> Value {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}{}", stderr(output));
    serde_json::from_str(text).unwrap()
}

fn words(strings: &[String]) -> Vec<&str> {
    strings.iter().map(String::as_str).collect()
}

fn studio() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/studio").canonicalize().unwrap()
}

fn studio_sources(graph: &str) -> Vec<String> {
    let path = |below: &str| studio().join(below).to_str().unwrap().to_owned();
    let (graph, unity, owners) = (path(graph), format!("client={}", path("game")), path(".github/CODEOWNERS"));
    ["--graphify", &graph, "--at", "game/Assets/Scripts", "--unity", &unity, "--at", "game", "--ownership", &owners]
        .map(str::to_owned)
        .into()
}

fn truth() -> Value {
    read_json(&studio().join("TRUTH.json"))
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The folder of real files, where there is one.
fn data() -> Option<PathBuf> {
    let told = std::env::var_os("TRIGLYPH_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let found = told.into_iter().chain([beside]).find(|folder| folder.is_dir());
    if found.is_none() {
        println!("skipped: no folder of real files (TRIGLYPH_DATA, or ../shared/data beside the project)");
    }
    found
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

/// Wrong usage must be told from an error of the operation, and say what was meant.
#[test]
fn wrong_usage_exits_with_2_and_names_the_nearest_word() {
    let desk = Desk::with_store();
    desk.json(&["init", "twice.tg"]);
    desk.json(&["init", "twice.tg", "--scope", "a/b"]);
    desk.json(&["init", "twice.tg", "--scope", "a/c"]);
    let cases: &[(&[&str], &str)] = &[
        (&["rebuld", "s.tg"], "'rebuild'"),
        (&["status"], "<STORE>"),
        (&["status", "s.tg", "--jsn"], "'--json'"),
        (&["op", "s.tg", "asset_consumer", "x"], "'asset_consumers'"),
        (&["call", "s.tg", "asset_consumerz"], "'asset_consumers'"),
        (&["call", "s.tg", "status", "{"], "the request is not JSON"),
        (&["op", "s.tg", "owner", "x", "--detail", "line"], "'lines'"),
        (&["walk", "s.tg", "x", "--direction", "inn"], "'in'"),
        (&["op", "s.tg", "owner", "x", "--trust", "authoritatve"], "'authoritative'"),
        (&["status", "s.tg", "--as-of", "2026-03-01T09:30:00"], "has no offset"),
        (&["status", "s.tg", "--scope", "acme"], "expected a scope such as acme/demo"),
        (&["status", "s.tg", "--busy-timeout", "soon"], "expected a time such as 500ms"),
        (&["status", "twice.tg"], "a/b, a/c"),
        (&["rebuild", "s.tg"], "no source"),
        (&["rebuild", "s.tg", "--at", "x", "--unity", "y"], "before any source"),
        (&["rebuild", "s.tg", "--unity", "y", "--at", "../x"], "inside the project"),
        (&["rebuild", "s.tg", "--unity", "y", "--unity", "z"], "two unity sources are called main"),
        (&["op", "s.tg", "owner", "x", "--depth", "2"], "owner takes no --depth"),
        (&["op", "s.tg", "owner", "x", "--nodes", "2"], "owner takes no --nodes"),
        (&["op", "s.tg", "owner", "x", "--detail", "ids"], "owner takes no --detail"),
        (&["status", "s.tg", "--as-of", "9999-12-31"], "0000-01-01 to 9999-12-30"),
        (&["status", "s.tg", "--as-of", "2026-02-30"], "no day of the calendar"),
        (&["completions", "bsh"], "'bash'"),
    ];
    for (words, expected) in cases {
        let output = desk.run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let desk = Desk::new();
    let help = desk.shown(&["--help"]);
    assert!(help.contains("The main job:\n  triglyph init"), "{help}");
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let entries = commands.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let commands: Vec<&str> = entries.filter_map(|entry| entry.split_whitespace().next()).collect();
    assert!(commands.contains(&"rebuild") && commands.contains(&"demo") && !commands.contains(&"write-until-killed"));
    for command in commands.iter().filter(|command| **command != "help") {
        let help = desk.shown(&[command, "--help"]);
        assert!(help.contains("Example"), "{command}: {help}");
        assert!(help.contains(&format!("triglyph {command}")), "{command}: {help}");
    }
}

#[test]
fn call_is_the_door_for_programs() {
    let desk = Desk::with_store();
    let made = desk.json(&["call", "s.tg", "entity", r#"{"type": "Project", "initial_props": {"name": "Prism"}}"#]);
    let listed = desk.json(&["call", "s.tg", "list_entities", r#"{"type": "Project"}"#]);
    assert_eq!(listed["entities"][0]["id"], made["id"]);
    assert_eq!(listed["scope"], json!({ "workspace": "acme", "game": "demo" }));

    let mut child =
        desk.command(&["call", "s.tg", "history", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"subject": "Prism"}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(parsed(&output)["states"][0]["event"]["event_type"], "observed");

    let error = desk.error(&["call", "s.tg", "history", r#"{"subjet": "Prism"}"#]);
    assert_eq!(error["code"], "invalid");
    assert!(error["message"].as_str().unwrap().contains("did you mean \"subject\"?"), "{error}");
    for (words, code) in [
        (["call", "s.tg", "history", r#"{"subject": "Prsm"}"#], "not_found"),
        (["call", "s.tg", "walk", r#"{"subject": "Prism", "budgets": {"nodes": 1000000}}"#], "above_ceiling"),
        (["call", "s.tg", "walk", r#"{"subject": "Prism", "types": ["DEPENDS_ONE"]}"#], "invalid"),
        (["call", "nowhere.tg", "status", "{}"], "not_found"),
    ] {
        assert_eq!(desk.error(&words)["code"], code, "{words:?}");
    }
    assert_eq!(desk.error(&["status", "s.tg", "--json", "--scope", "acme/dmo"])["code"], "not_found");
}

/// A guess among namesakes would be taken for an answer.
#[test]
fn an_ambiguous_name_lists_what_to_type() {
    let desk = Desk::with_store();
    for _ in 0..2 {
        desk.json(&["call", "s.tg", "entity", r#"{"type": "Project", "initial_props": {"name": "Prism"}}"#]);
    }
    let error = desk.error(&["history", "s.tg", "Prism", "--json"]);
    assert_eq!(error["code"], "ambiguous_subject");
    let output = desk.run(&["history", "s.tg", "Prism"]);
    assert!(output.status.code() == Some(1) && output.stdout.is_empty());
    let said = stderr(&output);
    let ids = said.lines().filter_map(|line| line.split_whitespace().last()).filter(|word| word.len() == 36);
    let typed: Vec<&str> = ids.collect();
    assert_eq!(typed.len(), 2, "{said}");
    for word in typed {
        desk.json(&["history", "s.tg", word]);
    }
}

/// Whoever names a file or a ticket would otherwise colour the terminal, forge lines of an answer, or hide in them.
#[test]
fn foreign_names_stay_in_their_cells() {
    let desk = Desk::with_store();
    let evil = "Pri\u{1b}[31msm\nerror: forged\r\u{9b}2J\u{202e}gpj.\u{200b}\u{e0041}";
    let line =
        |name: &str| json!({ "entity": { "kind": "Project" }, "props": { "name": name, "pid": evil } }).to_string();
    let long = "x".repeat(50_000);
    let lines = [line(evil), line(evil), line(&long), json!({ "entity": { "kind": evil } }).to_string()];
    std::fs::write(desk.path("lines.jsonl"), lines.join("\n")).unwrap();
    let taken = desk.run(&["import", "s.tg", "lines.jsonl"]);
    let listed = desk.json(&["call", "s.tg", "list_entities"]);
    assert_eq!(listed["entities"][0]["props"]["pid"], evil, "JSON is not escaped twice");
    let id = listed["entities"][0]["id"].as_str().unwrap();
    let mut said = vec![taken];
    for words in [
        &["status", "s.tg"][..],
        &["history", "s.tg", id],
        &["walk", "s.tg", id, "--detail", "full"],
        &["walk", "s.tg", id],
        &["op", "s.tg", "owner", id],
        &["history", "s.tg", evil],
        &["history", "s.tg", &long],
        &["history", "s.tg", &format!("repo:{evil}")],
        &["history", "s.tg", &format!("repo:{long}")],
        &["status", "s.tg", "--scope", &format!("acme/{evil}")],
        &["status", "s.tg", "--scope", evil],
        &["status", evil],
        &[evil],
    ] {
        said.push(desk.run(words));
    }
    for Output { stdout, stderr, .. } in said {
        let text = format!("{}{}", String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        let bad = |c: char| (c.is_control() && c != '\n') || ['\u{202e}', '\u{200b}', '\u{e0041}'].contains(&c);
        assert!(!text.contains(bad), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("error: forged")), "{text}");
        assert!(text.len() < 6_000, "{}", text.len());
    }
}

/// A store that nothing was written to is empty, not broken, and reading it makes nothing.
#[test]
fn a_store_without_scopes_reads_as_empty() {
    let desk = Desk::new();
    desk.json(&["init", "s.tg"]);
    let before = files(&desk.path("s.tg"));
    let status = desk.json(&["status", "s.tg"]);
    assert_eq!((&status["counts"]["entities"], &status["scope"]["workspace"]), (&json!(0), &json!("local")));
    assert_eq!(files(&desk.path("s.tg")), before);
    desk.json(&["call", "s.tg", "entity", r#"{"type": "Project"}"#]);
    assert_eq!(desk.json(&["status", "s.tg"])["counts"]["entities"], 1);
}

/// A mistyped scope must not become a scope, nor a write that was refused leave one behind.
#[test]
fn only_init_makes_a_named_scope() {
    let desk = Desk::with_store();
    desk.json(&["init", "none.tg"]);
    std::fs::write(desk.path("x.jsonl"), "{\"entity\": {\"kind\": \"Project\"}, \"props\": {\"name\": \"Prism\"}}\n")
        .unwrap();
    std::fs::write(desk.path("bad.jsonl"), "{\n").unwrap();
    let good = r#"{"type": "Project"}"#;
    for store in ["s.tg", "none.tg"] {
        let before = files(&desk.path(store));
        for words in [
            &["call", store, "entity", good][..],
            &["call", store, "entity", r#"{"typ": 1}"#],
            &["rebuild", store, "--unity", "missing", "--json"],
            &["import", store, "x.jsonl", "--json"],
            &["status", store, "--json"],
            &["export", store, "--json"],
            &["digest", store, "--json"],
            &["salvage", store, "--json"],
            &["salvage", store, "--json", "--yes"],
        ] {
            let error = desk.error(&[words, &["--scope", "acme/dmo"]].concat());
            assert_eq!(error["code"], "not_found", "{words:?}: {error}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&format!("`triglyph init {store} --scope acme/dmo`")), "{message}");
            assert_eq!(message.contains("did you mean acme/demo?"), store == "s.tg", "{message}");
        }
        assert_eq!(files(&desk.path(store)), before);
    }
    let before = files(&desk.path("none.tg"));
    for words in [
        &["call", "none.tg", "entity", r#"{"typ": 1}"#][..],
        &["call", "none.tg", "entity", r#"{"type": "Projekt"}"#],
        &["rebuild", "none.tg", "--unity", "missing"],
        &["import", "none.tg", "bad.jsonl"],
        &["import", "none.tg", "missing.jsonl"],
    ] {
        let output = desk.run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", stderr(&output));
        assert_eq!(files(&desk.path("none.tg")), before, "{words:?}");
    }
    desk.json(&["import", "none.tg", "x.jsonl"]);
    desk.json(&["call", "none.tg", "entity", good]);
    let status = desk.json(&["status", "none.tg", "--scope", "local/main"]);
    assert_eq!(status["counts"]["entities"], 2);
}

/// Who has no backup must be told what can be had without one, and get it by one command.
#[test]
fn a_damaged_log_is_salvaged_on_request() {
    let desk = Desk::with_store();
    let whole = desk.json(&["salvage", "s.tg"]);
    assert_eq!((&whole["lost"], &whole["promised"]), (&json!([]), &Value::Null));
    for _ in 0..5 {
        desk.json(&["call", "s.tg", "entity", r#"{"type": "Project"}"#]);
    }
    let folder = files(&desk.path("s.tg")).into_iter().find(|path| path.is_dir()).unwrap();
    let log = folder.join("log-00000000000000000001.tgw");
    let mut bytes = std::fs::read(&log).unwrap();
    let at = bytes.len() * 2 / 3;
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    assert_eq!(desk.error(&["status", "s.tg", "--json"])["code"], "corrupt");

    let before = files(&folder);
    let output = desk.run(&["salvage", "s.tg"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("triglyph salvage s.tg --scope acme/demo --yes"), "{}", stderr(&output));
    assert_eq!(files(&folder), before);

    let copy = desk.path("copy.tg");
    std::fs::create_dir_all(copy.join(folder.file_name().unwrap())).unwrap();
    std::fs::copy(desk.path("s.tg/STORE"), copy.join("STORE")).unwrap();
    for file in &before {
        std::fs::copy(file, copy.join(folder.file_name().unwrap()).join(file.file_name().unwrap())).unwrap();
    }
    let shown = desk.shown(&["salvage", "copy.tg", "--yes"]);
    assert!(shown.contains("acme/demo ends at sequence") && shown.contains("log-0000"), "{shown}");

    let salvage = desk.json(&["salvage", "s.tg", "--yes"]);
    let kept = salvage["kept"].as_u64().unwrap();
    assert!((1..5).contains(&kept) && list(&salvage["lost"]).count() == 1, "{salvage}");
    assert_eq!(salvage["promised"], 5);
    assert_eq!(desk.json(&["status", "s.tg"])["counts"]["entities"], kept);
    desk.json(&["call", "s.tg", "entity", r#"{"type": "Project"}"#]);
    assert_eq!(desk.json(&["salvage", "s.tg", "--yes"])["kept"], kept + 1);
}

/// One scope with a damaged file must not take the others with it.
#[test]
fn a_damaged_scope_stops_no_other() {
    let desk = Desk::with_store();
    let before = files(&desk.path("s.tg"));
    desk.json(&["init", "s.tg", "--scope", "acme/second"]);
    let after = files(&desk.path("s.tg"));
    let folder = after.difference(&before).find(|path| path.is_dir()).unwrap();
    std::fs::write(folder.join("SCOPE"), "no scope").unwrap();
    desk.json(&["call", "s.tg", "entity", r#"{"type": "Project"}"#, "--scope", "acme/demo"]);
    assert_eq!(desk.json(&["status", "s.tg", "--scope", "acme/demo"])["counts"]["entities"], 1);
    desk.json(&["init", "s.tg", "--scope", "acme/third"]);
    assert_eq!(desk.error(&["status", "s.tg", "--json", "--scope", "acme/fourth"])["code"], "not_found");
    assert_ne!(desk.error(&["status", "s.tg", "--json", "--scope", "acme/second"])["code"], "not_found");
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn init_refuses_what_is_there() {
    let desk = Desk::with_store();
    assert_eq!(desk.error(&["init", "s.tg", "--json"])["code"], "conflict");
    assert_eq!(desk.error(&["init", "s.tg", "--json", "--scope", "acme/demo"])["code"], "conflict");
    desk.json(&["init", "s.tg", "--scope", "acme/second"]);
    std::fs::create_dir(desk.path("full")).unwrap();
    std::fs::write(desk.path("full/thesis.txt"), "do not lose me").unwrap();
    assert_eq!(desk.error(&["init", "full", "--json"])["code"], "conflict");
    assert_eq!(files(&desk.path("full")).len(), 1);

    std::fs::write(desk.path("types.toml"), "[[type]]\nname = 5\n").unwrap();
    let error = desk.error(&["init", "new.tg", "--json", "--ontology", "types.toml"]);
    assert!(error["message"].as_str().unwrap().contains("types.toml"), "{error}");
    assert!(!desk.path("new.tg").exists(), "a store was half made");
}

/// `triglyph.toml` is written once by `init`, read by every `rebuild`.
#[test]
fn the_file_of_the_store_lists_the_sources() {
    let desk = Desk::new();
    desk.json(&[&["init", "s.tg", "--scope", "acme/demo"], &words(&studio_sources("graph.json"))[..]].concat());
    let report = desk.json(&["rebuild", "s.tg", "--verify"]);
    assert_eq!((&report["state"], &report["verify"]["equal"]), (&json!("complete"), &json!(true)), "{report}");
    let again = desk.json(&["rebuild", "s.tg"]);
    assert_eq!(again["log_bytes"], 0);

    desk.json(&["init", "s.tg", "--scope", "acme/other"]);
    let output = desk.run(&["rebuild", "s.tg", "--scope", "acme/other"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not those of acme/other"), "{}", stderr(&output));

    std::fs::write(desk.path("s.tg/triglyph.toml"), "scope = \"acme/demo\"\n\n[[sorce]]\n").unwrap();
    let output = desk.run(&["rebuild", "s.tg"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("triglyph.toml:3: unknown key \"sorce\"; did you mean \"source\"?"));
}

#[test]
fn json_is_one_line_everywhere() {
    let desk = Desk::with_studio();
    let hero = "repo:game/Assets/Scripts/Hero/HeroHealth.cs";
    for words in [
        &["status", "s.tg"][..],
        &["digest", "s.tg"],
        &["operations"],
        &["operations", "walk"],
        &["history", "s.tg", hero],
        &["walk", "s.tg", hero, hero, "--kind", "Symbol", "--depth", "1"],
        &["op", "s.tg", "owner", hero],
        &["op", "s.tg", "change_blast_radius", hero, "--detail", "ids"],
        &["completions", "zsh"],
    ] {
        let json = desk.json(words);
        assert!(json.is_object(), "{words:?}");
        assert!(!desk.shown(words).is_empty(), "{words:?}");
    }
    let lines = desk.json(&["op", "s.tg", "asset_consumers", hero]);
    assert!(lines["lines"].is_array(), "lines are the detail of the command line");
}

#[test]
fn the_studio_answers_what_was_counted() {
    let desk = Desk::with_studio();
    let truth = truth();
    for (path, expected) in truth["consumers"].as_object().unwrap() {
        let subject = format!("unity:{}", truth["asset_guids"][path].as_str().unwrap());
        let words = ["op", "s.tg", "asset_consumers", &subject, "--fan-out", "128", "--detail", "full"];
        let answer = desk.json(&words);
        let expected: BTreeSet<&str> = list(expected)
            .map(|path| &truth["asset_guids"][path.as_str().unwrap()])
            .map(|guid| guid.as_str().unwrap())
            .collect();
        assert_eq!(assets(&answer), expected, "{path}");
    }
    let cut = desk.shown(&["op", "s.tg", "asset_consumers", "unity:8690542bd379223cb10df4e079290876"]);
    assert!(cut.ends_with("cut: fan_out at Stone.mat, 18 left out (DEPENDS_ON 18); ask for --fan-out 128\n"), "{cut}");
    let hero = "unity:5f61573fb325c2c18d39c067169d0950";
    let beyond = desk.shown(&["walk", "s.tg", hero, "--depth", "1", "--direction", "in", "--type", "DEPENDS_ON"]);
    assert!(beyond.contains("ask for --depth 2"), "{beyond}");
}

/// An example is the first thing that is typed; one that fails is the last.
#[test]
fn every_operation_answers_its_example() {
    let desk = Desk::with_studio();
    for operation in list(&desk.json(&["operations"])["operations"]) {
        let (name, example) = (operation["name"].as_str().unwrap(), operation["example"].as_str().unwrap());
        let answer = desk.json(&["call", "s.tg", name, example]);
        let empty = |field: &str| answer[field].as_array().is_some_and(Vec::is_empty);
        let found = !["edges", "lines", "states", "entities", "types"].into_iter().any(empty);
        assert!(found, "{name} {example} finds nothing: {answer}");
    }
}

#[cfg(unix)]
#[test]
fn every_example_of_the_help_works() {
    let desk = Desk::new();
    copy(&studio(), desk.0.path());
    let script = |script: &str| {
        let program = env!("CARGO_BIN_EXE_triglyph");
        let mut shell = Command::new("bash");
        shell.args(["-ec", &format!("set -o pipefail\ntriglyph() {{ '{program}' \"$@\"; }}\n{script}")]);
        let home = desk.path("home");
        std::fs::create_dir_all(home.join(".local/share/bash-completion/completions")).unwrap();
        let output = shell.env("HOME", home).current_dir(desk.0.path()).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", stderr(&output));
    };
    let examples = |words: &[&str]| {
        let help = desk.shown(&[words, &["--help"]].concat());
        let lines = help.lines().skip_while(|line| !line.starts_with("Example") && *line != "The main job:").skip(1);
        let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect();
        assert!(lines.iter().all(|line| line.starts_with("  ")), "an example was broken: {lines:?}");
        lines.join("\n")
    };
    script(&examples(&[]));
    std::fs::remove_dir_all(desk.path("studio.tg")).unwrap();
    script(&examples(&["init"]));
    script(&examples(&["rebuild"]));
    copy(&desk.path("studio.tg"), &desk.path("old.tg"));
    for command in [
        "op",
        "walk",
        "history",
        "status",
        "digest",
        "export",
        "import",
        "salvage",
        "call",
        "operations",
        "completions",
    ] {
        script(&examples(&[command]));
    }
}

#[cfg(unix)]
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for path in files(from) {
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

/// A digest is compared digit by digit.
#[test]
fn digests_are_shown_whole() {
    let desk = Desk::with_studio();
    let (json, shown) = (desk.json(&["digest", "s.tg"]), desk.shown(&["digest", "s.tg"]));
    for part in ["projected", "authored", "whole"] {
        let digest = json[part].as_str().unwrap();
        assert!(digest.len() == 64 && shown.contains(digest), "{part}: {shown}");
    }
}

/// Whoever pastes an example into a log must not fill the log.
#[test]
fn a_long_subject_is_cut_in_messages() {
    let desk = Desk::with_store();
    let request = json!({ "subject": "x".repeat(5_000_000) }).to_string();
    let mut command = desk.command(&["call", "s.tg", "history", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &parsed(&output)["error"]["code"]), (Some(1), &json!("not_found")));
    assert!(output.stdout.len() < 10_000 && output.stderr.len() < 10_000);
    assert!(stderr(&output).contains("give an id, an identity"), "{}", stderr(&output));
}

/// The guids of an answer's assets, its subject left out.
fn assets(answer: &Value) -> BTreeSet<&str> {
    let nodes = list(&answer["nodes"]).filter(|node| node["distance"] != 0 && node["kind"] == "UnityAsset");
    nodes.map(|node| node["source"]["id"].as_str().unwrap()).collect()
}

/// Trust below the best, and the moment that was asked for, are part of what people must see.
#[test]
fn people_are_told_of_trust_and_time() {
    let desk = Desk::with_studio();
    let hero = "repo:game/Assets/Scripts/Hero/HeroController.cs";
    let shown = desk.shown(&["op", "s.tg", "change_blast_radius", hero]);
    assert!(shown.lines().next().unwrap().contains("acme/demo, now, sequence"), "{shown}");
    assert!(shown.lines().any(|line| line.ends_with("Symbol  derived")), "{shown}");
    let shown = desk.shown(&["status", "s.tg", "--as-of", "2001-01-01"]);
    assert!(shown.lines().next().unwrap().contains("as of 2001-01-01T00:00:00.000000Z"), "{shown}");
}

#[test]
fn colours_are_for_terminals() {
    let desk = Desk::with_store();
    let has_colours = |words: &[&str]| desk.run(words).stdout.contains(&0x1b);
    assert!(!has_colours(&["status", "s.tg"]));
    assert!(has_colours(&["status", "s.tg", "--color", "always"]));
    assert!(!has_colours(&["status", "s.tg", "--color", "never"]));
}

/// One bad input must neither hide nor stop the others.
#[test]
fn bad_inputs_are_named_and_the_rest_is_loaded() {
    let desk = Desk::with_store();
    let graph = std::fs::read(studio().join("graph.json")).unwrap();
    std::fs::write(desk.path("cut.json"), &graph[..graph.len() / 2]).unwrap();
    let owners = studio().join(".github/CODEOWNERS");
    let owners = owners.to_str().unwrap();
    let good = studio().join("graph.json");
    let good = good.to_str().unwrap();
    let mut bad = vec![
        ("--graphify", "cut.json", "cut.json"),
        ("--unity", "missing", "missing"),
        ("--graphify", "missing.json", "missing.json"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(good, desk.path("link.json")).unwrap();
        bad.push(("--graphify", "link.json", "link.json"));
    }
    for (flag, path, named) in bad {
        let source = format!("bad={path}");
        let words = ["rebuild", "s.tg", "--graphify", good, "--ownership", owners, flag, &source];
        let output = desk.run(&words);
        assert_eq!(output.status.code(), Some(1), "{path}: {}", stderr(&output));
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(named) && shown.contains("failed"), "{path}: {shown}");
        let output = desk.run(&[&words[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(1));
        let report = parsed(&output);
        assert_eq!(report["state"], "failed");
        let mut others = list(&report["phases"]).filter(|phase| !phase["source"].as_str().unwrap().ends_with(":bad"));
        assert!(others.clone().count() >= 3 && others.all(|phase| phase["state"] != "failed"), "{report}");
    }
    let status = desk.json(&["status", "s.tg"]);
    assert_eq!(status["counts"]["entities_by_source"]["graphify:main"], 166);
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with_store();
    std::fs::create_dir_all(desk.path("game/Assets")).unwrap();
    std::fs::write(desk.path("game/Assets/a.mat"), "%YAML 1.1\n").unwrap();
    std::fs::write(
        desk.path("game/Assets/a.mat.meta"),
        "fileFormatVersion: 2\nguid: 0f54376201339ef44dc0f33c538f64b2\n",
    )
    .unwrap();
    let secret = desk.path("game/Assets/b.mat.meta");
    std::fs::write(&secret, "fileFormatVersion: 2\nguid: 1f54376201339ef44dc0f33c538f64b2\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&secret).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    let output = desk.run(&["rebuild", "s.tg", "--unity", "game", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report = parsed(&output);
    assert!(
        list(&report["phases"][0]["read"]["skipped"]).any(|skip| skip["place"].as_str().unwrap().contains("b.mat")),
        "{report}"
    );
}

/// What leaves a store as lines must come back as the same content, whichever way it goes.
#[test]
fn what_is_exported_comes_back() {
    let desk = Desk::with_studio();
    let exported = desk.json(&["export", "s.tg", "-o", "all.jsonl"]);
    let lines = std::fs::read_to_string(desk.path("all.jsonl")).unwrap();
    assert_eq!(lines, desk.shown(&["export", "s.tg"]));
    assert_eq!(exported["lines"], lines.lines().count() - 1, "the header is no line of the content");
    for line in lines.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object());
    }
    desk.json(&["init", "s.tg", "--scope", "acme/copy"]);
    desk.json(&["import", "s.tg", "all.jsonl", "--scope", "acme/copy"]);
    let again = desk.json(&["import", "s.tg", "all.jsonl", "--scope", "acme/copy"]);
    assert_eq!(again["bytes"], 0);
    let digest = |scope: &str| desk.json(&["digest", "s.tg", "--scope", scope]);
    assert_eq!(digest("acme/copy")["whole"], digest("acme/demo")["whole"]);

    let canonical = desk.json(&["export", "s.tg", "--canonical", "-o", "canonical.jsonl"]);
    let lines = std::fs::read_to_string(desk.path("canonical.jsonl")).unwrap();
    assert_eq!(canonical["lines"], lines.lines().count());
    assert_eq!(files(desk.0.path()).len(), 3, "only the store and the two exports");
}

/// A damaged line must be found by its number, and must not cost the others.
#[test]
fn damaged_lines_are_told_by_number() {
    let desk = Desk::with_store();
    let good = r#"{"entity": {"kind": "Project"}, "props": {"name": "Prism"}}"#;
    std::fs::write(desk.path("lines.jsonl"), format!("{good}\n{{\n\n[]\n")).unwrap();
    let output = desk.run(&["import", "s.tg", "lines.jsonl"]);
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}{}", stderr(&output));
    assert!(shown.contains("line 2:") && shown.contains("line 4:") && shown.contains("1 entity"), "{shown}");
    desk.json(&["history", "s.tg", "Prism"]);
    let output = desk.run(&["import", "s.tg", "lines.jsonl", "--json"]);
    assert_eq!((output.status.code(), &parsed(&output)["report"]["damaged"][0]["line"]), (Some(1), &json!(2)));
    assert_eq!(desk.error(&["import", "s.tg", "missing.jsonl", "--json"])["code"], "io");
}

/// A reader that has seen enough is no reason to complain.
#[test]
fn output_may_be_closed_early() {
    let desk = Desk::with_studio();
    for words in [
        &["operations", "--json"][..],
        &["status", "s.tg"],
        &["export", "s.tg"],
        &["call", "s.tg", "list_entities", r#"{"limit": 1000}"#],
    ] {
        let mut child = desk.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), &*said), (Some(0), ""), "{words:?}");
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_no_text_are_refused_in_words() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::with_store();
    let mut command = desk.command(&["history", "s.tg"]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"\xff\xfe")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("UTF-8"), "{}", stderr(&output));

    // A store at such a path could be made, but not be named in an answer.
    let odd = std::ffi::OsStr::from_bytes(b"b\xffd.tg");
    let before = files(desk.0.path());
    let (none, json): (&[&str], &[&str]) = (&[], &["--json"]);
    for (head, tail) in [
        (&["init"][..], none),
        (&["init"], json),
        (&["rebuild"], &["--unity", "x"]),
        (&["op"], &["owner", "x"]),
        (&["status"], json),
        (&["export", "s.tg", "-o"], json),
        (&["call"], &["status"]),
        (&["demo", "--keep"], none),
    ] {
        let output = desk.command(head).arg(odd).args(tail).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{head:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("expected a path in UTF-8"), "{head:?}: {}", stderr(&output));
    }
    assert_eq!(files(desk.0.path()), before);
}

/// Two writers must not wait for each other for ever, nor write together.
#[test]
fn a_second_writer_is_told_that_it_is_locked_out() {
    let desk = Desk::with_store();
    let mut writer = desk.command(&["write-until-killed", "s.tg"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0];
    writer.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    let error = desk.error(&["call", "s.tg", "entity", r#"{"type": "Project"}"#, "--busy-timeout", "50ms"]);
    assert_eq!(error["code"], "locked");
    desk.json(&["status", "s.tg"]);
    writer.kill().unwrap();
    writer.wait().unwrap();
    desk.json(&["call", "s.tg", "entity", r#"{"type": "Project"}"#]);
}

#[test]
fn the_demo_is_as_expected() {
    let desk = Desk::new();
    let output = desk.run(&["demo", "--json", "--keep", "kept"]);
    let demo = parsed(&output);
    let failed: Vec<&Value> = list(&demo["steps"]).filter(|step| step["ok"] != true).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(output.status.success() && list(&demo["steps"]).count() >= 30);
    assert_eq!(desk.error(&["demo", "--json", "--keep", "kept"])["code"], "conflict");
    let status = desk.json(&["status", "kept/studio.tg"]);
    // A store in a store would be taken for a part of it.
    let before = files(&desk.path("kept/studio.tg"));
    assert_eq!(desk.error(&["demo", "--json", "--keep", "kept/studio.tg"])["code"], "conflict");
    assert_eq!(files(&desk.path("kept/studio.tg")), before);
    assert_eq!(status["scope"]["workspace"], "acme");
}

#[test]
fn real_code_graphs_have_the_counts_of_their_authors() {
    let Some(data) = data() else { return };
    let truth = read_json(&data.join("graphify/TRUTH.json"));
    let truth: BTreeMap<(&str, u64), &Value> =
        list(&truth).map(|of| ((of["file"].as_str().unwrap(), of["nodes"].as_u64().unwrap()), of)).collect();
    let desk = Desk::with_store();
    for (i, (file, nodes)) in
        [("itsdangerous/2.2.0.graph.json", 380), ("nav2_csharp/graph.json", 127)].iter().enumerate()
    {
        let of = truth[&(file.rsplit('/').next().unwrap(), *nodes)];
        let path = data.join("graphify").join(file);
        let scope = format!("acme/g{i}");
        desk.json(&["init", "s.tg", "--scope", &scope]);
        let report =
            desk.json(&["rebuild", "s.tg", "--scope", &scope, "--graphify", path.to_str().unwrap(), "--verify"]);
        assert_eq!((&report["state"], &report["verify"]["equal"]), (&json!("complete"), &json!(true)));
        let counts = desk.json(&["status", "s.tg", "--scope", &scope])["counts"].clone();
        assert_eq!(counts["relations_by_source"]["graphify:main"], of["distinct_srt"], "{file}");
        assert_eq!(counts["by_relation_type"]["CALLS"], of["relations"]["calls"], "{file}");
        let entities = counts["entities_by_source"]["graphify:main"].as_u64().unwrap();
        assert!(entities >= *nodes, "{file}: {entities}");
    }
}

#[test]
fn a_real_unity_project_has_the_consumers_that_were_counted() {
    let Some(data) = data() else { return };
    let truth = read_json(&data.join("unity/nav2.TRUTH.json"));
    let desk = Desk::with_store();
    let path = data.join("unity/nav2");
    let report = desk.json(&["rebuild", "s.tg", "--unity", path.to_str().unwrap()]);
    assert_eq!(report["state"], "complete", "{report}");

    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in list(&truth["edge_list"]) {
        users.entry(edge[1].as_str().unwrap()).or_default().push(edge[0].as_str().unwrap());
    }
    for of in list(&truth["top_consumed"]) {
        let guid = of[0].as_str().unwrap();
        let mut expected: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![guid];
        while let Some(next) = open.pop() {
            open.extend(users.get(next).into_iter().flatten().filter(|user| **user != guid && expected.insert(user)));
        }
        let request = json!({ "subject": format!("unity:{guid}") }).to_string();
        let answer = desk.json(&["call", "s.tg", "asset_consumers", &request]);
        assert_eq!(assets(&answer), expected, "{}", of[1]);
    }
}

/// A source that is gone for good goes only when it is said twice, and what goes is counted before.
#[test]
fn a_source_is_forgotten_on_request() {
    let desk = Desk::with_studio();
    let entities = || desk.json(&["status", "s.tg"])["counts"]["entities"].clone();
    let before = entities();
    let tried = desk.shown(&["forget", "s.tg", "graphify:main"]);
    assert!(tried.contains("would forget graphify:main") && tried.contains("--yes"), "{tried}");
    assert_eq!(entities(), before);
    let done = desk.json(&["forget", "s.tg", "graphify:main", "--yes"]);
    let left = before.as_u64().unwrap() - done["entities"]["removed"].as_u64().unwrap();
    assert_eq!((done["dry_run"].as_bool(), entities().as_u64()), (Some(false), Some(left)));
    let output = desk.run(&["forget", "s.tg", "graphify:mian"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("did you mean \"graphify:main\"?"), "{}", stderr(&output));
}
