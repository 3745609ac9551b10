//! How answers are spelled out: ids, lines and full say the same, and a line stays one line (O-6, O-7).

use proptest::prelude::*;

use super::random::{asked, config, graph};
use super::*;
use crate::ops::shape::{Detail, LINES_BYTES_MAX};
use crate::value::Value;

fn lines(answer: &Answer<Expansion>) -> (&[String], usize) {
    match &answer.found().body {
        Body::Lines { lines, lines_omitted, .. } => (lines, *lines_omitted),
        other => panic!("expected lines, found {other:?}"),
    }
}

proptest! {
    #![proptest_config(config(200))]

    /// A program that reads ids and a person who reads lines must not be told two things.
    #[test]
    fn every_detail_says_the_same(graph in graph(), asked in asked()) {
        let town = graph.town();
        let Some(lens) = asked.lens(&town) else { return Ok(()) };
        let Ok(whole) = asked.answer_in(Detail::Full, &graph, &lens, &never) else { return Ok(()) };
        let (nodes, edges, paths) = full(&whole);
        let as_ids = asked.answer_in(Detail::Ids, &graph, &lens, &never).unwrap();
        let Body::Ids { nodes: ids, edges: places, types, revisions } = &as_ids.found().body else { panic!("ids") };
        prop_assert_eq!(ids, &nodes.iter().map(|node| node.id).collect::<Vec<_>>());
        let spelled: Vec<_> = places.iter().map(|(source, target, kind, revision)| {
            (ids[*source], ids[*target], types[*kind].clone(), revision.map(|revision| revisions[revision].clone()))
        }).collect();
        let expected = edges.iter().map(|edge| (edge.source, edge.target, edge.kind.clone(), edge.revision.clone()));
        prop_assert_eq!(spelled, expected.collect::<Vec<_>>());
        let as_lines = asked.answer_in(Detail::Lines, &graph, &lens, &never).unwrap();
        let compact: Vec<String> = paths.iter().map(|path| path.compact.clone()).collect();
        prop_assert_eq!(lines(&as_lines), (&compact[..], 0));
        let Body::Lines { nodes: node_count, edges: edge_count, .. } = as_lines.found().body else { panic!("lines") };
        prop_assert_eq!((node_count, edge_count), (nodes.len(), edges.len()));
        for answer in [&as_ids, &as_lines] {
            prop_assert_eq!((answer.reasons(), answer.beyond()), (whole.reasons(), whole.beyond()));
        }
    }
}

/// A hub of files whose names are as given.
fn named(names: &[String]) -> Town {
    let mut town = Town::new();
    let key = |i: usize| thing(&format!("{i:03}"));
    let mut all: Vec<Observation> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        all.push(Observation::entity(key(i)).with("name", Some(name.as_str())));
        // A chain of four below the hub, so that lines name several things.
        let above = if i < 4 { 0 } else { i - 3 };
        if i > 0 {
            all.push(Observation::relation(key(above), "DEPENDS_ON", key(i), "unity"));
        }
    }
    town.observe(10, "g", None, all);
    town
}

/// An answer for an agent has to fit where it goes, whatever things are called.
#[test]
fn lines_keep_to_their_bytes() {
    let table = [
        ("short", "x".repeat(8), false),
        ("500 bytes", "x".repeat(500), true),
        ("500 bytes of three", "ゲ".repeat(166), true),
        ("all escaped", "\u{202e}".repeat(166), true),
    ];
    for (what, name, overflows) in table {
        let names: Vec<String> = (0..500).map(|i| format!("{name}{i}")).collect();
        let request = WalkRequest { depth: Some(32), detail: Detail::Lines, ..from(id("000")) };
        let answer = walk(&named(&names).lens(), &request, &never).unwrap();
        let (lines, omitted) = lines(&answer);
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        assert!(bytes <= LINES_BYTES_MAX && LINES_BYTES_MAX <= 40 * 1024, "{what}: {bytes} bytes");
        assert!(!lines.is_empty(), "{what}");
        let Body::Lines { nodes, .. } = answer.found().body else { panic!("lines") };
        assert_eq!(lines.len() + omitted, nodes - 1, "{what}: what is left out is counted");
        assert!(!overflows || omitted > 0, "{what}");
        let told: Vec<_> = answer.reasons().iter().map(|reason| (reason.limit, reason.omitted)).collect();
        let expected = if omitted > 0 { vec![(Limit::Lines, omitted as u64)] } else { vec![] };
        assert_eq!((told, answer.truncated()), (expected, omitted > 0), "{what}: a part doesn't pass for the whole");
    }
}

/// A file may be called anything; a name that breaks its line, or reorders it, could forge the next.
#[test]
fn a_name_stays_in_its_line() {
    let table = [
        ("plain", "plain"),
        ("with space", "with space"),
        ("Ünïcode ゲーム", "Ünïcode ゲーム"),
        ("a\nb", "a\\nb"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("nul \0 bell \u{7} escape \u{1b}[31m", "nul \\u{0} bell \\u{7} escape \\u{1b}[31m"),
        ("next line \u{85} and \u{2028}", "next line \\u{85} and \\u{2028}"),
        ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
        ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ("tag \u{e0041}", "tag \\u{e0041}"),
        ("x –OWNS→ y", "x –OWNS\\u{2192} y"),
    ];
    for (name, expected) in table {
        let town = named(&["hub".to_owned(), name.to_owned()]);
        let answer = walk(&town.lens(), &WalkRequest { detail: Detail::Lines, ..from(id("000")) }, &never).unwrap();
        assert_eq!(lines(&answer).0, [format!("hub –DEPENDS_ON→ {expected}")]);
        let answer = walk(&town.lens(), &from(id("000")), &never).unwrap();
        let (nodes, _, paths) = full(&answer);
        assert_eq!(paths[0].compact, format!("hub –DEPENDS_ON→ {expected}"));
        assert_eq!(nodes[1].label, name, "a field holds the name itself");
    }
    let long = "a".repeat(100) + "/" + &"z".repeat(100);
    let answer = walk(&named(&["hub".to_owned(), long]).lens(), &from(id("000")), &never).unwrap();
    assert_eq!(full(&answer).2[0].compact, format!("hub –DEPENDS_ON→ {}…{}", "a".repeat(60), "z".repeat(60)));
}

/// A relation type is a name from a source too.
#[test]
fn so_does_the_name_of_a_type() {
    let mut town = Town::new();
    let odd = Observation::relation(thing("a"), "graphify:one\ntwo", thing("b"), "graphify");
    town.observe(10, "g", None, vec![Observation::entity(thing("a")), Observation::entity(thing("b")), odd]);
    let answer = walk(&town.lens(), &from(id("a")), &never).unwrap();
    assert_eq!(full(&answer).2[0].compact, "a –graphify:one\\ntwo→ b");
}

/// Evidence that a reader can't trace is a claim: who says so, how surely, since when, at which commit.
#[test]
fn edges_carry_their_evidence() {
    let mut town = Town::new();
    let mut relation = depends("a", "b").with("field", Some("weapon"));
    relation.since = Since::Told(at(5));
    relation.trust = Trust::Derived;
    relation.confidence = Confidence::new(0.5).unwrap();
    relation.place = Some(Value::from("a.prefab:L3"));
    let entity = |name: &str| Observation { since: Since::Unbounded, ..Observation::entity(thing(name)) };
    town.observe(10, "scene", Some("r7"), vec![entity("a"), entity("b"), relation]);
    let answer = walk(&town.lens(), &from(id("a")), &never).unwrap();
    let edge = serde_json::to_value(&full(&answer).1[0]).unwrap();
    let expected = serde_json::json!({
        "source": id("a"), "target": id("b"), "type": "DEPENDS_ON", "origin": "unity", "confidence": 0.5, "weight": 1.0,
        "revision": "r7", "trust": "derived", "valid_from": "1970-01-01T00:00:00.000005Z", "valid_until": null, "seq": 1,
        "props": { "field": "weapon" }, "place": "a.prefab:L3",
    });
    assert_eq!(edge, expected);
}
