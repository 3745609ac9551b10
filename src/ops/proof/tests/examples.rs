//! The examples of `docs/import-export.md`, and every way in which a line may be bad.

use super::bench::Bench;
use super::roundtrip::{exported, imported, take};
use crate::change::Edit;
use crate::engine::witnesses::TopicIx;
use crate::error::Code;
use crate::evidence::GroupKey;
use crate::ops::proof::export::canonical;
use crate::ops::proof::import::{LINE_BYTES_MAX, import};
use crate::time::Time;
use crate::value::Value;

const PAGE: &str = include_str!("../../../../docs/import-export.md");

/// The block of the page that begins with this fence.
fn block(fence: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{fence}\n")).expect(fence);
    rest.split_once("```").expect("an end").0
}

/// Time after all that the page tells of the past.
fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.now = "2026-03-05T12:00:00Z".parse::<Time>().unwrap().micros();
    bench
}

fn canonical_text(bench: &Bench) -> String {
    let mut out = Vec::new();
    canonical(&bench.lens(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Whoever compares two stores by `export --canonical | sha256sum` relies on these very bytes.
#[test]
fn the_page_shows_real_bytes() {
    let mut bench = bench();
    take(&mut bench, block("jsonl export"));
    assert_eq!(exported(&bench), block("jsonl export"));
    assert_eq!(canonical_text(&bench), block("jsonl canonical"));
    let digest = bench.digest();
    assert!(PAGE.contains(&format!("\n    {}\n", digest.whole)), "{digest:?}");
    assert_eq!((digest.lines.projected, digest.lines.authored, digest.lines.groups), (5, 4, 1));
    for line in canonical_text(&bench).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value.canonical(), line, "a line is its own RFC 8785 spelling");
    }
}

/// The digest of nothing is that of no bytes, as `sha256sum </dev/null` has it.
#[test]
fn nothing_has_a_digest() {
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let digest = Bench::new().digest();
    assert_eq!([&digest.projected, &digest.authored, &digest.whole], [nothing; 3]);
}

/// A format that people write by hand must mean what its page says, twice.
#[test]
fn hand_written_lines_do_what_the_page_says() {
    let mut bench = bench();
    bench.now = "2026-06-01".parse::<Time>().unwrap().micros();
    let text = block("jsonl");
    let imported = imported(&bench, text);
    assert_eq!(imported.report.damaged, []);
    assert_eq!((imported.report.lines, imported.report.entities, imported.report.relations), (6, 3, 1));
    assert_eq!((imported.report.facts, imported.report.ends), (1, 1));
    bench.commit(imported.edits).unwrap();
    assert_eq!(take(&mut bench, text), 0, "the same file again");

    let engine = &bench.engine;
    let lens = bench.lens();
    let adr = crate::ops::subject::Subject::named("ADR authored:19").resolve(&lens).unwrap();
    let status = |at: &str| lens.clone().as_of(at.parse().unwrap()).prop(TopicIx::Entity(adr), "status");
    assert_eq!(status("2026-03-01"), Some("accepted".into()));
    assert_eq!(status("2026-04-02"), Some("superseded".into()));
    let spec = "018f4e2c-0000-7000-8000-000000000001".parse::<uuid::Uuid>().unwrap();
    let spec = engine.find_entity(spec.into()).unwrap();
    assert_eq!(engine.entity(spec).source_memory_id.as_deref(), Some("memory-812"));
    let there = |at: &str| lens.clone().as_of(at.parse().unwrap()).entity(spec).is_some();
    assert_eq!(["2025-11-02", "2025-11-04", "2026-05-02"].map(there), [false, true, false]);
    let relation = lens.clone().as_of("2026-03-01".parse().unwrap()).relation(crate::id::RelationIx(0)).unwrap();
    assert_eq!(relation.confidence.millionths(), 900_000);
}

/// Line by line: what a person would get wrong, and what they are told.
#[test]
fn bad_lines_are_told_by_number() {
    let table = [
        ("nonsense", "expected one JSON object"),
        (r#"{"entity":{"kind":"ADR"},"props":{"name":"a"}"#, "EOF while parsing"),
        ("[1]", "expected the line to be an object, found a list"),
        (r#"{"entity":{"kind":"ADR"},"entity":{}}"#, "stands twice"),
        (r#"{"entityy":{"kind":"ADR"}}"#, "did you mean \"entity\"?"),
        (r#"{"entity":{"kind":"ADR"},"fact":{}}"#, "found entity and fact; give each its line"),
        (r#"{"entity":{"kind":"ADR"},"prosp":{}}"#, "has no field \"prosp\"; did you mean \"props\"?"),
        (r#"{"entity":{"knd":"ADR"}}"#, "\"entity\" lacks the field \"kind\""),
        (r#"{"entity":{"kind":"ADR"}}"#, "can't be told from others: expected an id, an external_id or one of"),
        (r#"{"entity":{"kind":"ADR","id":"7"},"props":{"name":"x"}}"#, "expected a UUID, found \"7\""),
        (r#"{"entity":{"kind":"ADRR"},"props":{"name":"x"}}"#, "no type \"ADRR\" is declared; did you mean \"ADR\"?"),
        (
            r#"{"entity":{"kind":"ADR"},"props":{"name":"y","staus":1}}"#,
            "no property \"staus\"; did you mean \"status\"?",
        ),
        (r#"{"entity":{"kind":"ADR"},"props":{"name":"z"},"valid_from":"2026-03-01T09:30:00"}"#, "has no offset"),
        (
            r#"{"relation":{"source":"Nobody","type":"REFERENCES","target":"Known"}}"#,
            "source: nothing is called \"Nobody\"",
        ),
        (r#"{"relation":{"source":"Known","type":"REFERS","target":"Known"}}"#, "did you mean \"REFERENCES\"?"),
        (
            r#"{"relation":{"source":"Known","type":"CALLS","target":"Known"}}"#,
            "not allowed; from ADR to ADR are allowed",
        ),
        (
            r#"{"relation":{"source":"Known","type":"REFERENCES","target":"Known"},"confidence":2}"#,
            "from 0 to 1, found 2",
        ),
        (
            r#"{"relation":{"source":"Twice","type":"REFERENCES","target":"Known"}}"#,
            "means 2 things (ADR authored:1, ADR authored:2)",
        ),
        (r#"{"relation":{"source":7,"type":"REFERENCES","target":"Known"}}"#, "found a number"),
        (
            r#"{"relation":{"source":{"kind":"ADR","external_id":"404"},"type":"REFERENCES","target":"Known"}}"#,
            "no ADR authored:404 is here",
        ),
        (r#"{"fact":{"entity":"Known","props":{}}}"#, "the fact says nothing"),
        (r#"{"fact":{"entity":"Known","props":{"status":"a"}}}"#, "lines 4 and 5 both change property \"status\""),
        (r#"{"end":{"entity":"repo:nowhere.rs"}}"#, "nothing is called \"repo:nowhere.rs\""),
        (r#"{"end":{"entity":"Known"},"at":"soon"}"#, "expected a time such as"),
        (r#"{"repudiate":{"change":"812"},"reason":"no"}"#, "expected a change id such as \"812.3\""),
        (r#"{"repudiate":{"change":"812.3"},"reason":"no"}"#, "no change 812.3"),
        (r#"{"repudiate":{"change":"812.3"}}"#, "lacks the field \"reason\""),
        (r#"{"group":{"source":"unity:main"}}"#, "lacks the field \"group\""),
        (r#"{"note":"report","body":"x"}"#, "expected the note \"ontology\""),
        (r#"{"note":"ontology","body":"[[typ]]"}"#, "ontology line 1"),
        (r#"{"triglyph":"export","version":1}"#, "in the first line only"),
        (r#"{"entity":{"kind":"File","external_id":"x"},"witness":"somebody"}"#, "found \"somebody\""),
        (r#"{"entity":{"kind":"File","external_id":"x"},"witness":"author","trust":"derived"}"#, "to be authoritative"),
        (r#"{"entity":{"kind":"File","external_id":"x"},"witness":"author","trust":"sure"}"#, "expected a trust class"),
        (r#"{"entity":{"kind":"File","external_id":"x"},"witness":"author","presence":"her"}"#, "expected a presence"),
        (
            r#"{"entity":{"kind":"File","external_id":"x"},"witness":{"source":"s","group":"g"},"presence":"veto"}"#,
            "expected the presence \"present\"",
        ),
        (
            r#"{"entity":{"kind":"File","external_id":"x","id":"018f4e2c-0000-7000-8000-000000000001"},"witness":{"source":"s","group":"g"}}"#,
            "a witness names things by their keys alone",
        ),
    ];
    for (line, reason) in table {
        let known = r#"{"entity":{"kind":"ADR","external_id":"0"},"props":{"title":"Known"}}"#;
        let twice =
            |id: u8| format!(r#"{{"entity":{{"kind":"ADR","external_id":"{id}"}},"props":{{"title":"Twice"}}}}"#);
        let last = r#"{"fact":{"entity":"Known","props":{"status":"b"}}}"#;
        let text = format!("{known}\n{}\n\n{last}\n{line}\n{}\n", twice(1), twice(2));
        let imported = imported(&bench(), &text);
        let damaged = &imported.report.damaged;
        assert_eq!(damaged.len(), 1, "{line}: {damaged:#?}");
        assert_eq!(damaged[0].line, 5, "{line}");
        assert!(damaged[0].reason.contains(reason), "{line}: {}", damaged[0].reason);
        assert_eq!(imported.report.lines, 5);
        assert!(bench().commit(imported.edits).unwrap() >= 4, "{line}: the rest is taken");
    }
}

/// Bytes that aren't text, lines without end, a byte-order mark and carriage returns come from real editors and disks.
#[test]
fn odd_bytes_are_survived() {
    let known = r#"{"entity":{"kind":"ADR","external_id":"0"},"props":{"title":"Known"}}"#;
    let mut bytes = format!("\u{feff}{known}\r\n").into_bytes();
    bytes.extend(b"{\"entity\":\"\xff\"}\n");
    bytes.resize(bytes.len() + LINE_BYTES_MAX + 1, b' ');
    bytes.extend(b"\n");
    bytes.extend(["[".repeat(100_000).as_str(), "\n"].concat().bytes());
    bytes.extend(known.replace("Known", "Last").replace("\"0\"", "\"1\"").bytes());
    let imported = import(&bench().lens(), &mut bytes.as_slice(), Time::from_micros(0)).unwrap();
    let damaged: Vec<u64> = imported.report.damaged.iter().map(|damaged| damaged.line).collect();
    assert_eq!((damaged, imported.report.entities), (vec![2, 3, 4], 2));

    let newer = r#"{"triglyph":"export","version":2,"lines":0}"#;
    let error = import(&bench().lens(), &mut newer.as_bytes(), Time::from_micros(0)).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedVersion);
}

/// A file that was cut short must not pass for a group that says less: that would delete what the rest of it said.
#[test]
fn what_a_damaged_group_lacks_is_kept() {
    let whole = block("jsonl export");
    let lines: Vec<&str> = whole.lines().collect();
    let cut = lines[..5].join("\n");
    let torn = whole.replace("\"path\":\"src/page.rs\"", "\"path\":");
    let odd = whole.replace("\"trust\":\"derived\",\"witness\"", "\"trust\":\"quite\",\"witness\"");
    for (damage, expected) in [(cut, vec![2, 6]), (torn, vec![2, 5]), (odd, vec![2, 5, 8])] {
        let mut bench = bench();
        take(&mut bench, whole);
        let seen = bench.lines().projected.len();
        let again = imported(&bench, &damage);
        let numbers: Vec<u64> = again.report.damaged.iter().map(|damaged| damaged.line).collect();
        assert_eq!(numbers, expected, "{:#?}", again.report.damaged);
        bench.commit(again.edits).unwrap();
        let group = bench.engine.witnesses.find_group(&GroupKey::new("graphify:main", "src/main.rs")).unwrap();
        assert!(bench.engine.witnesses.group_at(group).row(bench.engine.seq).unwrap().stale);
        assert!(bench.lines().projected.is_empty(), "a stale group is no content");
        take(&mut bench, whole);
        assert_eq!(bench.lines().projected.len(), seen, "and all of it is here still");
    }
}

/// A stale group travels, and stays out of the digest on both sides.
#[test]
fn stale_groups_travel() {
    let mut bench = bench();
    take(&mut bench, block("jsonl export"));
    let fresh = bench.digest();
    let key = GroupKey::new("graphify:main", "src/main.rs");
    bench.commit(vec![Edit::Mark { key, revision: None, fingerprint: None, stale: Some(true) }]).unwrap();
    let stale = bench.digest();
    assert_ne!(stale.projected, fresh.projected);
    let mut other = Bench::named("other");
    take(&mut other, &exported(&bench));
    assert_eq!(other.digest(), stale);
    take(&mut other, block("jsonl export"));
    assert_eq!(other.digest(), fresh);
}

/// Types of one's own come with the file that uses them; two sets of them are never mixed by a program.
#[test]
fn the_ontology_travels() {
    let types = "[[type]]\nname = 'Level'\nzone = 'project'\nptype = 'studio'\nmutable = ['par_time']";
    let note = |text: &str| Edit::Note { name: "ontology".into(), body: Some(text.into()) };
    let mut bench = bench();
    bench.commit(vec![note(types)]).unwrap();
    let level = r#"{"entity":{"kind":"Level"},"props":{"name":"Harbour","par_time":90}}"#;
    take(&mut bench, level);
    let text = exported(&bench);
    let mut other = Bench::named("other");
    assert_eq!(imported(&other, level).report.damaged.len(), 1);
    take(&mut other, &text);
    assert_eq!(other.digest(), bench.digest());
    assert_eq!(take(&mut other, &text), 0);

    let mut third = Bench::named("third");
    third.commit(vec![note(&types.replace("par_time", "goal"))]).unwrap();
    let imported = imported(&third, &text);
    assert!(imported.ontology.is_none());
    assert!(imported.report.damaged[0].reason.contains("join the two by hand"), "{:?}", imported.report.damaged);
}

/// A file is often the joining of several; its lines stand in any order and repeat each other.
#[test]
fn order_and_repetition_do_not_matter() {
    let text = r#"
        {"relation":{"source":"Beta","type":"DEPENDS_ON","target":"Alpha"}}
        {"fact":{"entity":"Alpha","props":{"status":"done"}}}
        {"entity":{"kind":"Component"},"props":{"name":"Alpha"}}
        {"entity":{"kind":"Component"},"props":{"name":"Beta"}}
        {"entity":{"kind":"Component"},"props":{"name":"Alpha"}}
        {"entity":{"kind":"Component"},"props":{"name":"Alpha","summary":"first"}}
        {"relation":{"source":"Beta","type":"DEPENDS_ON","target":"Component authored:Alpha"}}"#;
    let mut forwards = bench();
    let imported = imported(&forwards, text);
    assert_eq!(imported.report.damaged, []);
    assert_eq!((imported.report.entities, imported.report.relations, imported.report.repeated), (2, 1, 2));
    // Several batches do as well as one.
    for edit in imported.edits {
        forwards.commit(vec![edit]).unwrap();
    }
    let mut backwards = bench();
    let turned: Vec<&str> = text.lines().rev().collect();
    take(&mut backwards, &turned.join("\n"));
    assert_eq!(forwards.lines(), backwards.lines());
    assert_eq!(take(&mut backwards, text), 0);
    assert!(!forwards.lines().authored.is_empty());
}
