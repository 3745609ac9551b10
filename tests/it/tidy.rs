//! The rules of the house that no compiler holds, checked over the text of the sources.
//!
//! A finding reads `src/engine/state.rs:12: what it found; what to do`. All findings of a rule come at once. The rules
//! are tables; each is shown a planted offence too, so that a rule that can't fail doesn't stay unnoticed.

mod packages;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use source::Source;

/// Each layer and what it may name, bottom to top. Root files are `words`, but for `store` and `graph`, the handles,
/// and `operations`, the table of what faces offer.
const LAYERS: [(&str, &[&str]); 10] = [
    ("words", &["words"]),
    ("index", &["words", "index"]),
    ("engine", &["words", "index", "engine"]),
    ("persist", &["words", "index", "engine", "persist"]),
    ("graph", &["words", "index", "engine", "persist", "graph"]),
    ("sources", &["words", "sources"]),
    ("ops", &["words", "index", "engine", "ops"]),
    ("care", &["words", "index", "engine", "persist", "graph", "sources", "ops", "care"]),
    ("operations", &["words", "index", "engine", "persist", "graph", "sources", "ops", "care", "operations"]),
    ("ffi", &["words", "index", "engine", "persist", "graph", "sources", "ops", "care", "operations", "ffi"]),
];

/// Files that implement what a layer above them declares: the file, that layer's module, and why.
const CONTRACTS: [(&str, &str, &str); 1] = [("persist/roots", "sources", "file roots are `SourceFiles`")];

/// Words that are above what a layer knows of.
const TOO_HIGH: [(&str, &[&str]); 1] = [("index", &["evidence", "scope", "change"])];

/// Names that only some layers may use.
struct Ban {
    names: &'static [&'static str],
    only_in: &'static [&'static str],
    instead: &'static str,
}

/// `std::x` is a path, `x::` a package, `x!` a macro, `::x(` a call; anything else is an identifier.
const BANS: [Ban; 10] = [
    Ban {
        names: &["std::fs", "memmap2::", "tempfile::"],
        only_in: &["persist"],
        instead: "only persist touches files; take bytes, or a `SourceFiles`, as an argument",
    },
    Ban { names: &["std::net", "std::env"], only_in: &[], instead: "this belongs to a face, under crates/" },
    Ban { names: &["std::process"], only_in: &["persist"], instead: "only the lock knows of processes" },
    Ban {
        names: &["std::thread", "rayon::spawn"],
        only_in: &["persist"],
        instead: "the library has no thread of its own; let the caller decide when work is done (a writer may sleep while it waits for the lock)",
    },
    Ban {
        names: &["Instant", "SystemTime", "::now("],
        only_in: &["persist"],
        instead: "time comes in with the batch or the lens; the medium alone reads the clock",
    },
    Ban {
        names: &["rand::", "getrandom::", "fastrand::", "thread_rng", "OsRng", "RandomState", "now_v7", "new_v4"],
        only_in: &["persist"],
        instead: "entropy comes in with the batch; the medium alone reads it",
    },
    Ban {
        names: &["tokio::", "hyper::", "axum::", "http::", "reqwest::", "rmcp::", "async", "await"],
        only_in: &[],
        instead: "the library is synchronous and knows no network; this belongs to a face, under crates/",
    },
    Ban { names: &["clap::", "anstream::", "indicatif::"], only_in: &[], instead: "this belongs to the command line" },
    Ban {
        names: &["println!", "eprintln!", "print!", "eprint!"],
        only_in: &[],
        instead: "the library is silent; return what there is to say",
    },
    Ban {
        names: &["Mutex", "RwLock", "Condvar", "parking_lot::"],
        only_in: &["persist", "graph", "ffi"],
        instead: "the graph has the one lock; everything else is a value",
    },
];

const UNSAFE_HOMES: [&str; 2] = ["persist/map.rs", "ffi/"];

const EMPTY_NAMES: [&str; 7] = ["util", "utils", "helper", "helpers", "common", "manager", "misc"];

const LINES_MAX: usize = 600;

/// Words of a workplace: paths of one machine, and how the work was divided. In halves, since this file is read too.
const WORKPLACE: [&str; 7] = [
    concat!("/wo", "rk/"),
    concat!("/fa", "rm/"),
    concat!("/tmp/", "wt"),
    concat!("/tmp/", "h/"),
    concat!("sub", "agent"),
    concat!("work", "tree"),
    concat!("artif", "actory"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file beneath a folder of the repository, with its path below it; not what is built, stored or hidden.
fn files(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder_) = open.pop() {
        for entry in std::fs::read_dir(&folder_).unwrap_or_else(|error| panic!("{}: {error}", folder_.display())) {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let skipped =
                matches!(&*name, "target" | ".git" | "node_modules" | "graphify-out") || name.ends_with(".tg");
            match path.is_dir() {
                _ if skipped || path.is_symlink() => {}
                true => open.push(path),
                false => {
                    let below = path.strip_prefix(folder).expect("below").to_string_lossy().replace('\\', "/");
                    found.push((below, path));
                }
            }
        }
    }
    found.sort();
    found
}

fn sources() -> Vec<Source> {
    let files = files(&root().join("src")).into_iter().filter(|(below, _)| below.ends_with(".rs"));
    let sources: Vec<Source> =
        files.map(|(below, path)| Source::new(&below, &std::fs::read_to_string(path).expect("UTF-8"))).collect();
    assert!(sources.len() > 10, "the sources weren't found");
    sources
}

/// The layer of a file below `src/`, or of a module at the crate's root. `lib` names everything.
fn layer(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    match first.strip_suffix(".rs").unwrap_or(first) {
        "lib" => "lib",
        "store" | "graph" => "graph",
        top if LAYERS.iter().any(|(layer, _)| *layer == top) => top,
        _ => "words",
    }
}

/// What `lib.rs` re-exports, with the module that it comes from.
fn re_exports(lib: &Source) -> BTreeMap<&str, &str> {
    let mut names = BTreeMap::new();
    let mut from = None;
    for word in lib.words() {
        if word.before.ends_with("use ") {
            from = Some(word.text);
        } else if let Some(module) = from {
            names.insert(word.text, module);
        }
        if word.after.trim_start_matches(['}', ' ', '\n', ',']).starts_with(';') {
            from = None;
        }
    }
    names
}

fn check_arrows(source: &Source, re_exports: &BTreeMap<&str, &str>) -> Vec<String> {
    let home = layer(&source.path);
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == home) else { return Vec::new() };
    let too_high = TOO_HIGH.iter().find(|(name, _)| *name == home).map_or(&[][..], |(_, words)| words);
    let mut findings = Vec::new();
    for (line, name) in source.at_root() {
        let module = re_exports.get(name).copied().unwrap_or(name);
        let target = layer(module);
        let path = &source.path;
        let contract = CONTRACTS.iter().any(|(file, module, _)| path.starts_with(file) && module == &target);
        if contract {
            continue;
        }
        if !allowed.contains(&target) {
            let allowed = allowed.join(", ");
            findings.push(format!(
                "src/{path}:{line}: {home} names {name} of {target}; it may name {allowed}; turn the need around, or \
                 move the code up"
            ));
        } else if too_high.contains(&module) {
            findings.push(format!(
                "src/{path}:{line}: {home} names {name} of {module}; it knows ids, bytes and intervals only; let the \
                 engine translate"
            ));
        }
    }
    findings
}

fn check_bans(source: &Source) -> Vec<String> {
    let home = layer(&source.path);
    let mut findings = Vec::new();
    let std: Vec<(usize, &str)> = source.below("std");
    for ban in BANS.iter().filter(|ban| !ban.only_in.contains(&home)) {
        for name in ban.names {
            let found: Vec<usize> = if let Some(below) = name.strip_prefix("std::") {
                std.iter().filter(|(_, found)| *found == below).map(|(line, _)| *line).collect()
            } else {
                let text = name.trim_matches([':', '!', '(']);
                let (text, parent) = text.rsplit_once("::").map_or((text, None), |(parent, text)| (text, Some(parent)));
                let hits = source.words().into_iter().filter(|word| {
                    word.text == text
                        && (!name.ends_with("::") || word.after.starts_with("::") || word.before.ends_with("use "))
                        && (!name.ends_with('!') || word.after.starts_with('!'))
                        && (!name.starts_with("::") || word.before.ends_with("::") && word.after.starts_with('('))
                        && parent.is_none_or(|parent| word.before.ends_with(&format!("{parent}::")))
                });
                hits.map(|word| word.line).collect()
            };
            findings.extend(
                found.iter().map(|line| format!("src/{}:{line}: {home} uses {name}; {}", source.path, ban.instead)),
            );
        }
    }
    findings
}

fn check_unsafe(source: &Source) -> Vec<String> {
    if UNSAFE_HOMES.iter().any(|home| source.path.starts_with(home)) {
        return Vec::new();
    }
    let hits = source.words().into_iter().filter(|word| word.text == "unsafe");
    hits.map(|word| {
        format!(
            "src/{}:{}: unsafe; it lives in {} only, behind a safe type",
            source.path,
            word.line,
            UNSAFE_HOMES.join(" and ")
        )
    })
    .collect()
}

/// Where damaged input arrives: a panic there takes the host down, so each must be impossible, and say why.
fn check_unwraps(source: &Source) -> Vec<String> {
    if !matches!(layer(&source.path), "persist" | "sources") {
        return Vec::new();
    }
    let text: Vec<&str> = source.text.lines().collect();
    let explained = |line: usize| {
        // A call chain may begin some lines above the one that unwraps.
        text[..line - 1].iter().rev().take(3).any(|above| above.trim_start().starts_with("// "))
    };
    let hits = source.lines().filter(|(_, code)| code.contains(".unwrap()") || code.contains(".expect("));
    hits.filter(|(line, _)| !explained(*line))
        .map(|(line, _)| {
            format!("src/{}:{line}: may panic; return an error, or prove in a comment above that it can't", source.path)
        })
        .collect()
}

fn check_opening(source: &Source) -> Vec<String> {
    let opens = source.text.starts_with("//! ");
    (!opens)
        .then(|| format!("src/{}:1: opens with no `//!`; say what the file is before any code", source.path))
        .into_iter()
        .collect()
}

fn check_length(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let long = lines > LINES_MAX;
    (long)
        .then(|| format!("src/{}: {lines} lines, at most {LINES_MAX} expected; look for the second noun", source.path))
        .into_iter()
        .collect()
}

fn check_name(source: &Source) -> Vec<String> {
    let empty = source.module().into_iter().find(|part| EMPTY_NAMES.contains(part));
    empty
        .map(|part| {
            format!("src/{}: {part:?} says nothing; name the file after the noun that lives there", source.path)
        })
        .into_iter()
        .collect()
}

fn assert_none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

/// One arrow upward, and no layer can be read, tested or replaced alone any more.
#[test]
fn arrows_point_down() {
    let sources = sources();
    let lib = sources.iter().find(|source| source.path == "lib.rs").expect("lib.rs");
    let re_exports = re_exports(lib);
    assert_eq!(re_exports.get("Trust"), Some(&"evidence"), "the re-exports weren't read: {re_exports:?}");
    assert_none(sources.iter().flat_map(|source| check_arrows(source, &re_exports)).collect());

    let found = |path: &str, text: &str| check_arrows(&Source::new(path, text), &re_exports).len();
    assert_eq!(found("engine/state.rs", "use crate::persist::log;"), 1);
    assert_eq!(found("engine/state.rs", "use super::ops;"), 0, "that would be `engine::ops`");
    assert_eq!(found("engine/state.rs", "use super::super::ops;"), 1);
    assert_eq!(found("engine/mod.rs", "use super::ops;"), 1);
    assert_eq!(found("index/keys.rs", "use crate::{Name, Trust};"), 1);
    assert_eq!(found("sources/unity/mod.rs", "use crate::{sources::Report, error::Error, engine::View};"), 1);
    assert_eq!(found("id.rs", "use crate::index::Column;"), 1);
    assert_eq!(found("ops/walk/path.rs", "use crate::graph::Graph; use crate::engine::View;"), 1);
    assert_eq!(found("graph.rs", "use crate::persist::log; use crate::ops;"), 1);
    assert_eq!(found("persist/roots/unix.rs", "use crate::sources::SourceFiles; use crate::ops;"), 1);
    assert_eq!(found("care/rebuild/phases.rs", "use crate::{graph::Graph, ops, sources};"), 0);
}

/// A clock, a thread or a random number below the handles, and replay, recovery and the tests' model stop agreeing.
#[test]
fn layers_use_only_what_is_theirs() {
    assert_none(sources().iter().flat_map(check_bans).collect());

    let table = [
        ("engine/state.rs", "use std::{fs, io};", 1),
        ("persist/medium.rs", "use std::{fs, io};", 0),
        ("ops/time/diff.rs", "let t = std::time::Instant::now();", 2),
        ("ops/time/diff.rs", "let now = lens.now(); let then = self.now;", 0),
        ("time.rs", "Timestamp::now()", 1),
        ("id.rs", "Uuid::now_v7(); getrandom::fill(b)", 2),
        ("sources/mod.rs", "rayon::spawn(f); spawn(f); rayon::scope(f)", 1),
        ("graph.rs", "std::thread::spawn(f)", 1),
        ("graph.rs", "use parking_lot::Mutex;", 0),
        ("index/names.rs", "use std::sync::Mutex; println!()", 2),
        ("ffi/call.rs", "async fn f() { tokio::spawn(x).await }", 3),
        ("ops/registry.rs", "let http = clap; // clap::Parser", 0),
    ];
    for (path, text, expected) in table {
        let found = check_bans(&Source::new(path, text));
        assert_eq!(found.len(), expected, "{path}: {text}\n{}", found.join("\n"));
    }
}

/// Unsafe code that is spread can't be reviewed, and Miri runs only the modules that are known to have some.
#[test]
fn unsafe_code_stays_at_home() {
    assert_none(sources().iter().flat_map(check_unsafe).collect());
    assert_eq!(check_unsafe(&Source::new("index/column.rs", "// unsafe\nfn f() { unsafe { g() } }")).len(), 1);
    assert!(check_unsafe(&Source::new("persist/map.rs", "unsafe { g() }")).is_empty());
}

/// A damaged file that panics the host is a crash by post.
#[test]
fn readers_of_foreign_bytes_do_not_panic() {
    assert_none(sources().iter().flat_map(check_unwraps).collect());
    let found = |text: &str| check_unwraps(&Source::new("persist/log/reader.rs", text)).len();
    assert_eq!(found("let a = b.unwrap();"), 1);
    assert_eq!(found("// Eight bytes were just read.\nlet a = b.unwrap();"), 0);
    assert_eq!(found("let a = 1;\nlet b = c.expect(\"\");"), 1);
    assert_eq!(found("#[cfg(test)]\nmod tests { fn f() { a.unwrap() } }"), 0);
}

/// A reader who opens a file by chance must learn from it what it is, and find its noun where its name says.
#[test]
fn files_say_what_they_are() {
    let sources = sources();
    for check in [check_opening, check_name, check_length] {
        assert_none(sources.iter().flat_map(check).collect());
    }
    assert_eq!(check_opening(&Source::new("a.rs", "use std::io;\n//! Late.")).len(), 1);
    assert_eq!(check_name(&Source::new("ops/helpers.rs", "")).len(), 1);
    assert_eq!(check_name(&Source::new("engine/common/mod.rs", "")).len(), 1);
    assert_eq!(check_length(&Source::new("a.rs", &"\n".repeat(LINES_MAX + 1))).len(), 1);
}

/// A test file that nobody declares compiles nowhere and passes for ever.
#[test]
fn every_test_file_runs() {
    let folder = root().join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).expect("main.rs");
    let declared: Vec<&str> = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).collect();
    for (below, _) in files(&folder) {
        let stem = below.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        assert!(
            stem == "main" || declared.contains(&stem),
            "tests/it/{below} is never compiled; declare `mod {stem};` in tests/it/main.rs"
        );
    }
    let beside: Vec<String> = files(&root().join("tests")).into_iter().map(|(below, _)| below).collect();
    let stray: Vec<&String> = beside.iter().filter(|below| below.ends_with(".rs") && !below.contains('/')).collect();
    assert!(stray.is_empty(), "{stray:?} would link the library again; move it into tests/it/");
}

/// The repository outlives the machine that it was written on.
#[test]
fn no_word_of_a_workplace() {
    let read = [".rs", ".toml", ".md", ".h", ".hpp", ".c", ".py", ".json", ".jsonl", ".yml", ".sh", "run", "soak"];
    let mut findings = Vec::new();
    for (below, path) in files(root()) {
        if !read.iter().any(|end| below.ends_with(end)) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (i, line) in text.lines().enumerate() {
            let folded = line.to_lowercase();
            findings.extend(
                WORKPLACE
                    .iter()
                    .filter(|word| folded.contains(**word))
                    .map(|word| format!("{below}:{}: {word:?} belongs to a workplace; say it without", i + 1)),
            );
        }
    }
    assert_none(findings);
}
