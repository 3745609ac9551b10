//! `docs/format.md` against the code, byte by byte, in both directions.
//!
//! The bytes there were made by hand and by another program than ours. Were the code to drift, stores of today could
//! not be read tomorrow.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use triglyph::change::{Change, Commit, GroupRow, Presence, Say};
use triglyph::persist::{LocalStore, Memory};
use triglyph::{
    Cause, ChangeId, Confidence, EntityId, EntityKey, GroupKey, Name, RelationKey, Seq, Since, Time, Topic, Trust,
    Value, Voice,
};

use crate::log::read;
use crate::samples::scope;

const FORMAT: &str = include_str!("../../docs/format.md");

/// The golden files of the document, by name.
fn golden() -> BTreeMap<String, Vec<u8>> {
    let blocks = FORMAT.split("```hex ").skip(1).map(|block| block.split("```").next().unwrap());
    blocks
        .map(|block| {
            let (name, lines) = block.split_once('\n').unwrap();
            let bytes = lines.lines().flat_map(|line| line.split(';').next().unwrap().split_whitespace());
            (name.to_owned(), bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect())
        })
        .collect()
}

fn keys() -> [EntityKey; 2] {
    [
        EntityKey::new("File", "repo", "src/main.rs"),
        EntityKey::new("UnityAsset", "unity", "0123456789abcdef0123456789abcdef"),
    ]
}

/// The two commits that the document describes.
fn commits() -> [Commit; 2] {
    let keys = keys();
    let [file, asset] = keys.each_ref().map(|key| EntityId::projected(&scope(), key));
    let stamp: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let told = Time::from_micros(-1);
    let place = Value::Map(Arc::new(BTreeMap::from([(Name::from("line"), Value::Int(1))])));
    let record = Voice::Record { group: GroupKey::new("graphify:main", "src/main.rs"), record: 7 };
    let seen = Say {
        topic: Topic::Entity(file),
        voice: record,
        since: Since::Observed,
        from: stamp,
        trust: Trust::Authoritative,
        confidence: Confidence::ONE,
        presence: Some(Presence::Present),
        props: vec![("lines".into(), Some(Value::Int(120))), ("old".into(), None)],
        place: Some(place),
        cause: None,
    };
    let list = vec![Value::Null, Value::Bool(false), Value::Bool(true), Value::Float(1.5), Value::from("x")];
    let relation = RelationKey { source: file, target: asset, kind: "DEPENDS_ON".into(), origin: "unity".into() };
    let vetoed = Say {
        topic: Topic::Relation(relation),
        voice: Voice::Author,
        since: Since::Told(told),
        from: told,
        trust: Trust::Derived,
        confidence: Confidence::new(0.5).unwrap(),
        presence: Some(Presence::Veto),
        props: vec![("list".into(), Some(Value::from(list)))],
        place: None,
        cause: Some(Cause { event_type: Some("rename".into()), event_seq: Some(300), ..Cause::default() }),
    };
    let row = GroupRow { revision: Some("r1".into()), fingerprint: None, stale: true };
    let [key, _] = keys;
    let changes = vec![
        Change::Name { id: file, key, source_memory_id: None },
        Change::Say(seen),
        Change::Say(vetoed),
        Change::Unsay {
            change: ChangeId { seq: Seq(1), index: 0 },
            topic: Topic::Entity(file),
            reason: Some("late".into()),
        },
        Change::Place { topic: Topic::Entity(file), voice: Voice::Author, place: None },
        Change::Group { key: GroupKey::whole("graphify:main"), row: Some(row) },
        Change::Note { name: "queue".into(), body: None },
    ];
    let later = Time::from_micros(stamp.micros() + 1);
    [Commit { seq: Seq(1), stamp, changes }, Commit { seq: Seq(2), stamp: later, changes: Vec::new() }]
}

/// The name of a file within its folder.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

#[test]
fn the_code_writes_the_golden_bytes() {
    let disk = Memory::recording();
    disk.set_process(4242);
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    let repository = store.repository(&scope(), true).unwrap();
    let mut writer = repository.writer(Duration::ZERO).unwrap();
    for commit in commits() {
        writer.append(&commit).unwrap();
        writer.syncer().sync(commit.seq).unwrap();
    }
    let golden = golden();
    assert_eq!(golden.keys().collect::<Vec<_>>(), ["SCOPE", "STORE", "log-00000000000000000001.tgw", "writer"]);
    for path in disk.paths() {
        let Some(bytes) = disk.bytes(&path) else { continue };
        match golden.get(name(&path)) {
            Some(expected) => assert_eq!(hex(&bytes), hex(expected), "{path}"),
            None => assert!(name(&path) == "lock" && bytes.is_empty(), "{path} is not in docs/format.md"),
        }
    }
}

#[test]
fn the_code_reads_the_golden_bytes() {
    let made = Memory::new();
    LocalStore::create(Arc::new(made.clone())).unwrap().repository(&scope(), true).unwrap();
    let folder = made.paths().into_iter().find_map(|path| Some(path.strip_suffix("/SCOPE")?.to_owned())).unwrap();
    assert!(FORMAT.contains(&format!("| its folder | `{folder}` |")), "{folder}");
    for (name, bytes) in golden() {
        let path = if name == "STORE" { name } else { format!("{folder}/{name}") };
        made.put(&path, Some(bytes));
    }
    let store = LocalStore::open(Arc::new(made)).unwrap();
    assert_eq!(store.id().to_string(), "01020304-0506-0708-090a-0b0c0d0e0f10");
    let (found, recovery) = read(&*store.repository(&scope(), false).unwrap(), 0).unwrap();
    assert_eq!(found, commits());
    assert_eq!((recovery.durable, recovery.torn), (Seq(2), None));
}

/// Ids are stored by hosts; they are a part of the format.
#[test]
fn the_ids_are_those_of_the_document() {
    for key in keys() {
        let id = EntityId::projected(&scope(), &key);
        let row = format!("| `{}`, `{}`, `{}` in it | `{id}` |", key.kind, key.authority, key.external_id);
        assert!(FORMAT.contains(&row), "{row}");
    }
}

/// The numbers that the document states about sizes.
#[test]
fn the_bounds_are_those_of_the_document() {
    for (what, value) in [("64 MiB", 64 << 20), ("nest at most", triglyph::value::DEPTH_MAX)] {
        assert!(FORMAT.contains(what) && FORMAT.contains(&value.to_string()), "{what}: {value}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.chunks(16).map(|row| row.iter().map(|byte| format!("{byte:02x} ")).collect::<String>() + "\n").collect()
}
