//! The packages that the library brings along: who links it takes all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Versions below which a package has an advisory that matters here; deny.toml says the same.
const MINIMA: [(&str, [u64; 3], &str); 4] = [
    ("rkyv", [0, 8, 17], "RUSTSEC-2026-0001, -0122, -0233, -0234 and -0235: archives insufficiently validated"),
    ("memmap2", [0, 9, 11], "RUSTSEC-2026-0186"),
    ("crossbeam-epoch", [0, 9, 20], "an advisory against what came before"),
    ("arc-swap", [1, 1, 0], "an advisory against what came before"),
];

/// Packages that belong to the faces: an argument parser, a terminal, a runtime, a socket, a C library.
const FACES_ONLY: [&str; 19] = [
    "anstream",
    "anstyle",
    "axum",
    "clap",
    "clap_complete",
    "comfy-table",
    "http",
    "hyper",
    "indicatif",
    "mio",
    "native-tls",
    "openssl-sys",
    "reqwest",
    "ring",
    "rmcp",
    "rusqlite",
    "rustls",
    "socket2",
    "tokio",
];

/// A package of the lock file: its version, and the names that it depends on.
struct Locked {
    version: String,
    needs: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn table(file: &str) -> toml::Table {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn locked() -> BTreeMap<String, Vec<Locked>> {
    let mut packages: BTreeMap<String, Vec<Locked>> = BTreeMap::new();
    for package in table("Cargo.lock")["package"].as_array().expect("a list of packages") {
        let text = |key: &str| package[key].as_str().expect("a string").to_owned();
        let needs = package.get("dependencies").and_then(|needs| needs.as_array()).into_iter().flatten();
        // `name`, or `name version` where the lock holds several.
        let needs = needs.filter_map(|need| need.as_str()?.split(' ').next().map(str::to_owned)).collect();
        packages.entry(text("name")).or_default().push(Locked { version: text("version"), needs });
    }
    packages
}

/// The library's own dependencies: those of the manifest that aren't for tests.
fn direct() -> BTreeSet<String> {
    table("Cargo.toml")["dependencies"].as_table().expect("a table").keys().cloned().collect()
}

/// Each package that the library brings along, with the one that asks for it.
fn brought() -> BTreeMap<String, String> {
    let locked = locked();
    let mut asked_by: BTreeMap<String, String> = BTreeMap::new();
    let mut open: Vec<(String, String)> = direct().into_iter().map(|name| (name, "Cargo.toml".to_owned())).collect();
    while let Some((name, asker)) = open.pop() {
        if asked_by.contains_key(&name) {
            continue;
        }
        for package in locked.get(&name).into_iter().flatten() {
            open.extend(package.needs.iter().map(|need| (need.clone(), name.clone())));
        }
        asked_by.insert(name, asker);
    }
    asked_by
}

fn numbers(version: &str) -> [u64; 3] {
    let mut parts = version.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// A host that links the library would get an argument parser or a runtime with it, and learn of it from a bill of
/// materials.
#[test]
fn what_the_faces_need_stays_with_the_faces() {
    let brought = brought();
    assert!(brought.len() > 15 && brought.contains_key("serde_core"), "the closure wasn't walked: {brought:?}");
    let leaks: Vec<String> =
        FACES_ONLY.iter().filter_map(|name| Some(format!("{name} (asked for by {})", brought.get(*name)?))).collect();
    assert!(
        leaks.is_empty(),
        "the library brings along {}; move the need into a crate under crates/",
        leaks.join(", ")
    );
}

/// Unchecked bytes of a file reach these packages; an old one would turn damage into undefined behaviour.
#[test]
fn packages_are_not_below_their_minima() {
    assert!(numbers("0.8.9") < [0, 8, 17] && numbers("0.8.17+x") == [0, 8, 17] && numbers("1.0.0-rc.1") > [0, 8, 17]);
    let (locked, deny) = (locked(), std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml"));
    for (name, minimum, why) in MINIMA {
        let spec = format!("\"{name}:<{}\"", minimum.map(|part| part.to_string()).join("."));
        assert!(deny.contains(&spec), "deny.toml should ban {spec}, as this test does");
        for package in locked.get(name).into_iter().flatten() {
            let [major, minor, patch] = minimum;
            assert!(
                numbers(&package.version) >= minimum,
                "Cargo.lock has {name} {} ({why}); run `cargo update -p {name} --precise {major}.{minor}.{patch}`",
                package.version
            );
        }
    }
}

/// A dependency that nobody can give a reason for stays for ever.
#[test]
fn every_guest_has_a_reason() {
    let Ok(text) = std::fs::read_to_string(root().join("ARCHITECTURE.md")) else {
        println!("skipped: there is no ARCHITECTURE.md yet");
        return;
    };
    let missing: Vec<String> = direct().into_iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert!(
        missing.is_empty(),
        "ARCHITECTURE.md gives no reason for {}; name each with why it is here",
        missing.join(", ")
    );
}
