//! Files that are cut, spoilt, hostile or too large: what they cost, and what they must not.

use std::ops::ControlFlow;

use serde_json::{Value as Json, json};
use triglyph::Code;
use triglyph::sources::graphify::{Graphify, Limits};
use triglyph::sources::{Progress, Source};

use super::{FILE, One, count, defects, entity, graph, parse, parse_json, prop, sentences};

/// A rebuild that skips one row in a thousand is no rebuild; but one bad row must not cost the other 999 either.
#[test]
fn a_bad_row_costs_only_itself() {
    let good = json!([{ "id": "a", "file_type": "code" }, { "id": "b", "file_type": "code" }]);
    let link = json!({ "source": "a", "target": "b", "relation": "calls" });
    let with = |index: usize, row: Json| {
        let mut nodes = good.clone();
        nodes.as_array_mut().unwrap().insert(index, row);
        nodes
    };
    for (what, nodes, links, expected) in [
        ("a node that is a text", with(1, json!("x")), json!([link]), ("graph.json nodes[1]", "bad_row")),
        ("a node that is null", with(2, json!(null)), json!([link]), ("graph.json nodes[2]", "bad_row")),
        ("a node without an id", with(0, json!({"label": "x"})), json!([link]), ("graph.json nodes[0]", "no_id")),
        ("an empty id", with(0, json!({"id": ""})), json!([link]), ("graph.json nodes[0]", "no_id")),
        ("an id that is a list", with(0, json!({"id": ["a"]})), json!([link]), ("graph.json nodes[0]", "wrong_type")),
        ("a link that is a list", good.clone(), json!([["a", "b"], link]), ("graph.json links[0]", "bad_row")),
        (
            "a link without a target",
            good.clone(),
            json!([link, { "source": "a", "relation": "calls" }]),
            ("graph.json links[1]", "incomplete"),
        ),
        (
            "a link without a relation",
            good.clone(),
            json!([{ "source": "a", "target": "b" }, link]),
            ("graph.json links[0]", "incomplete"),
        ),
        (
            "a score above one",
            good.clone(),
            json!([{ "source": "a", "target": "b", "relation": "calls", "confidence_score": 7 }]),
            ("graph.json links[0]", "bad_score"),
        ),
        (
            "a class that nobody knows",
            good.clone(),
            json!([{ "source": "a", "target": "b", "relation": "calls", "confidence": "CERTAIN" }]),
            ("graph.json links[0]", "bad_confidence"),
        ),
    ] {
        let parsed = parse_json(&graph(nodes, links));
        assert_eq!(defects(&parsed)[0], expected, "{what}");
        assert!(!parsed.all_stale, "{what}");
        assert_eq!(sentences(&parsed), ["a CALLS b"], "{what}");
        entity(&parsed, "Symbol", "a");
        entity(&parsed, "Symbol", "b");
    }
    // A number that no double holds is only found when its row is read.
    let text = r#"{"nodes":[{"id":"a","x":1e999},{"id":"b"}],"links":[]}"#;
    assert_eq!(defects(&parse(text)), [("graph.json nodes[0]", "bad_row")]);
}

/// Were half a file taken for the whole, a rebuild would withdraw the other half.
#[test]
fn a_file_that_breaks_makes_all_stale() {
    for (what, text, place, reason) in [
        ("nothing", "", "graph.json:1:0", "malformed"),
        ("cut short", "{\"nodes\": [],\n \"links\": [{\"source\"", "graph.json:2:20", "malformed"),
        ("more after the end", "{\"nodes\":[],\"links\":[]} x", "graph.json:1:25", "malformed"),
        ("a list", "[]", "graph.json:1:0", "malformed"),
        ("no nodes", "{\"links\":[]}", "graph.json", "no_nodes"),
        ("nodes that are null", "{\"nodes\":null,\"links\":[]}", "graph.json", "no_nodes"),
        ("nodes by id", "{\"nodes\":{\"a\":{}},\"links\":[]}", "graph.json:1:10", "malformed"),
        ("no links", "{\"nodes\":[]}", "graph.json", "no_links"),
        ("links that are a text", "{\"nodes\":[],\"links\":\"x\"}", "graph.json:1:23", "malformed"),
    ] {
        let parsed = parse(text);
        assert!(parsed.all_stale && parsed.groups.is_empty() && parsed.revision.is_none(), "{what}");
        assert_eq!(defects(&parsed), [(place, reason)], "{what}: {:?}", parsed.report.defects);
    }
}

/// Every cut of a real file, and every byte of it spoilt: never a crash, and never a cut file taken for a whole one.
#[test]
fn no_cut_and_no_spoilt_byte_crashes() {
    let text = json!({
        "graph": { "hyperedges": [{ "label": "h", "nodes": ["a", "b"], "source_file": "x.rs" }] },
        "nodes": [
            { "id": "a", "label": "x.rs", "file_type": "code", "source_file": "src/x.rs", "source_location": "L1" },
            { "id": "b", "label": "ü\u{1F600}", "community": 3, "metadata": { "k": [1, -2.5, true] } },
        ],
        "links": [{ "_src": "b", "_tgt": "a", "source": "a", "target": "b", "relation": "calls", "weight": 1.0 }],
    })
    .to_string();
    for end in 0..text.len() {
        assert!(parse(&text.as_bytes()[..end]).all_stale, "cut at {end}");
    }
    for at in 0..text.len() {
        for byte in [0, b'"', b'{', b']', b'\\', b'9', 0xff] {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = byte;
            let parsed = parse(bytes);
            assert_eq!(parsed.all_stale, parsed.groups.is_empty(), "byte {byte} at {at}");
        }
    }
}

/// A state holds a megabyte and nests 32 deep: more than that, and the store would refuse the whole group.
#[test]
fn what_is_too_large_is_cut_and_reported() {
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let text = format!(r#"{{"nodes":[{{"id":"a","metadata":{deep},"x":1}},{{"id":"b"}}],"links":[]}}"#);
    let parsed = parse(text);
    assert_eq!(defects(&parsed), [("graph.json nodes[0]", "too_deep")]);
    assert!(entity(&parsed, "graphify:node", "a").props.contains_key("extra"));
    entity(&parsed, "graphify:node", "b");

    let long = "ü".repeat(5 << 20);
    let nodes =
        json!([{ "id": "a", "label": long, "metadata": { "k": 1 }, "version": "1" }, { "id": long }, { "id": "b" }]);
    let parsed = parse_json(&graph(nodes, json!([{ "source": "a", "target": "b", "relation": "calls" }])));
    let a = entity(&parsed, "graphify:node", "a");
    assert_eq!(prop(a, "name").map(str::len), Some(4096));
    assert_eq!((prop(a, "version"), a.props.get("metadata")), (Some("1"), None));
    let expected = ["too_long", "too_long", "too_long", "no_id"];
    assert_eq!(defects(&parsed).iter().map(|(_, reason)| *reason).collect::<Vec<_>>(), expected);
    assert_eq!(sentences(&parsed), ["a CALLS b"]);
}

#[test]
fn limits_make_all_stale() {
    let json = graph(
        json!([{ "id": "a", "file_type": "x" }, { "id": "b", "file_type": "y" }]),
        json!([{ "source": "a", "target": "b", "relation": "z" }]),
    );
    let bytes = json.to_string().into_bytes();
    let exact = Limits { bytes_max: bytes.len() as u64, rows_max: 3, names_max: 4, ..Limits::default() };
    let source = Graphify::new("main", FILE, "");
    let parse = |limits| source.clone().with_limits(limits).parse(&One(bytes.clone()), &mut ()).unwrap();
    assert!(!parse(exact).all_stale);
    for (limits, what) in [
        (Limits { bytes_max: exact.bytes_max - 1, ..exact }, "skipped:too_large"),
        (Limits { rows_max: 2, ..exact }, "defect:too_many_rows"),
        (Limits { names_max: 3, ..exact }, "defect:too_many_names"),
    ] {
        let parsed = parse(limits);
        assert!(parsed.all_stale && parsed.groups.is_empty(), "{what}");
        assert_eq!(count(&parsed, what), 1, "{what}: {:?}", parsed.report);
    }
}

/// Bytes that are no text cost what they spell, not the file.
#[test]
fn bytes_that_are_no_text_are_replaced() {
    let mut bytes = b"\xef\xbb\xbf{\"nodes\":[{\"id\":\"a\",\"label\":\"".to_vec();
    bytes.extend(b"caf\xe9\"}],\"links\":[]}");
    let parsed = parse(bytes);
    assert_eq!(prop(entity(&parsed, "graphify:node", "a"), "name"), Some("caf\u{fffd}"));
    assert_eq!(defects(&parsed), [("graph.json", "not_utf8")]);
}

#[test]
fn a_missing_file_and_a_cancelled_run_are_errors() {
    let missing = Graphify::new("main", "elsewhere.json", "").parse(&One(Vec::new()), &mut ());
    assert_eq!(missing.unwrap_err().code(), Code::NotFound);

    struct Impatient;
    impl Progress for Impatient {
        fn step(&mut self, _: u64, _: Option<u64>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let bytes = graph(json!([{ "id": "a" }]), json!([])).to_string().into_bytes();
    let cancelled = Graphify::new("main", FILE, "").parse(&One(bytes), &mut Impatient);
    assert_eq!(cancelled.unwrap_err().code(), Code::Interrupted);
}
