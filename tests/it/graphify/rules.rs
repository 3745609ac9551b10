//! What a row becomes: its key, its direction, its trust, its group.

use serde_json::{Value as Json, json};
use triglyph::sources::graphify::NO_FILE;
use triglyph::{Confidence, EntityKey, Observation, Sighted, Trust, Value};

use super::{
    HYPEREDGE, count, defects, entity, graph, observations, parse, parse_at, parse_json, pointer, prop, sentences,
};

/// Ends stored by old versions are turned around; a caller would show as the called.
#[test]
fn the_true_ends_count() {
    let node = |id: &str| json!({ "id": id, "file_type": "code" });
    let parsed = parse_json(&graph(
        json!([node("a"), node("b")]),
        json!([
            { "source": "a", "target": "b", "_src": "b", "_tgt": "a", "relation": "calls" },
            { "source": "a", "target": "b", "_src": "b", "relation": "uses" },
            { "_src": "a", "_tgt": "b", "relation": "inherits" },
            { "source": "a", "target": "a", "relation": "calls" },
        ]),
    ));
    assert_eq!(sentences(&parsed), ["a CALLS a", "a INHERITS b", "a USES b", "b CALLS a"]);
    assert_eq!((count(&parsed, "flipped"), count(&parsed, "self_loops")), (1, 1));
}

#[test]
fn trust_and_confidence_follow_class_and_relation() {
    let rows = [
        (json!({ "relation": "calls", "confidence": "EXTRACTED" }), Trust::Derived, 1.0),
        (json!({ "relation": "calls", "confidence": "INFERRED" }), Trust::Derived, 0.55),
        (json!({ "relation": "calls", "confidence": "AMBIGUOUS" }), Trust::Hypothesis, 0.2),
        (
            json!({ "relation": "calls", "confidence": "INFERRED", "confidence_score": 0.95, "weight": 0.8 }),
            Trust::Derived,
            0.95,
        ),
        (json!({ "relation": "calls" }), Trust::Derived, 0.55),
        (json!({ "relation": "cites", "confidence": "EXTRACTED" }), Trust::Hypothesis, 1.0),
        (json!({ "relation": "rationale_for", "confidence": "EXTRACTED", "confidence_score": 0 }), Trust::Derived, 0.0),
    ];
    for (mut row, trust, confidence) in rows {
        row["source"] = "a".into();
        row["target"] = "b".into();
        let parsed = parse_json(&graph(json!([{ "id": "a" }, { "id": "b" }]), json!([row])));
        let (_, link) =
            observations(&parsed).find(|(_, said)| matches!(said.sighted, Sighted::Relation { .. })).unwrap();
        assert_eq!((link.trust, link.confidence), (trust, Confidence::new(confidence).unwrap()), "{row}");
        assert_eq!(link.props.get("weight"), row.get("weight").map(|_| &Value::Float(0.8)), "{row}");
        assert_eq!(prop(link, "confidence_class"), row.get("confidence").and_then(Json::as_str), "{row}");
    }
}

#[test]
fn kinds_follow_the_type_of_the_node() {
    for (row, kind) in [
        (json!({ "file_type": "code" }), "Symbol"),
        (json!({ "file_type": "concept", "external": true, "type": "external", "source_file": "" }), "Module"),
        (json!({ "file_type": "code", "type": "package" }), "Module"),
        (json!({ "file_type": "code", "type": "namespace" }), "Module"),
        (json!({ "file_type": "concept" }), "graphify:concept"),
        (json!({ "file_type": "rationale" }), "graphify:rationale"),
        (json!({ "file_type": "entity", "external": false }), "graphify:entity"),
        (json!({ "community": 4 }), "graphify:node"),
        (json!({ "file_type": null, "label": null, "source_file": null }), "graphify:node"),
    ] {
        let mut row = row;
        row["id"] = "it".into();
        let parsed = parse_json(&graph(json!([row]), json!([])));
        let it = entity(&parsed, kind, "it");
        assert_eq!((prop(it, "name"), it.trust), (Some("it"), Trust::Derived), "{row}");
    }
}

/// The same file must be one entity, whoever speaks of it: Graphify, git, an owner's rule.
#[test]
fn a_node_that_stands_for_a_file_is_the_file() {
    let node = |id: &str, label: &str, location: &str, file: &str| json!({ "id": id, "label": label, "source_location": location, "source_file": file, "file_type": "code" });
    for (node, is_file) in [
        (node("n", "a.rs", "L1", "src/a.rs"), true),
        (node("n", "src/a.rs", "L1", "src/a.rs"), true),
        (node("n", "a.rs", "L2", "src/a.rs"), false),
        (node("n", "a.rs", "L1", "src/ba.rs"), false),
        (node("n", "", "L1", "src/a.rs"), false),
        (node("n", "game/src/a.rs", "L1", "src/a.rs"), false),
        (node("n", "a.rs", "L1", r"src\a.rs"), true),
        (node("n", "a.rs", "L1", "../src/a.rs"), false),
    ] {
        let parsed = parse_at(
            "game",
            graph(json!([node]), json!([{ "source": "n", "target": "n", "relation": "calls" }])).to_string(),
        );
        let files = observations(&parsed)
            .filter(|(_, said)| matches!(&said.sighted, Sighted::Entity(key) if *key.kind == *"File"));
        let files: Vec<_> = files.map(|(_, said)| said).collect();
        let known = |said: &&Observation| pointer(said, "node") == Some(&Value::from("n"));
        assert_eq!(files.iter().filter(|said| known(said)).count(), usize::from(is_file), "{node}");
        assert_eq!(
            files.len(),
            usize::from(!node["source_file"].as_str().unwrap().starts_with("..")),
            "one file: {node}"
        );
        if is_file {
            assert_eq!(sentences(&parsed), ["game/src/a.rs CALLS game/src/a.rs"]);
            assert_eq!((prop(files[0], "path"), prop(files[0], "name")), (Some("game/src/a.rs"), Some("a.rs")));
        }
    }
}

/// Pointers change with every line that is added above; were they properties, each would be a new state.
#[test]
fn pointers_are_in_the_place() {
    let row = json!({
        "id": "f", "label": "f()", "norm_label": "f()", "file_type": "code", "source_file": "a.py", "source_location": "L7",
        "community": 4, "community_name": "core", "local_community": 2, "_origin": "ast", "_callable": true,
        "_py_return_type": "int", "metadata": { "arity": 1 }, "author": null, "path": "not ours",
    });
    let parsed = parse_json(&graph(json!([row]), json!([])));
    let f = entity(&parsed, "Symbol", "f");
    let as_json = |value: &Value| serde_json::to_value(value).unwrap();
    let props: Json = f
        .props
        .iter()
        .map(|(name, value)| (name.to_string(), as_json(value)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let expected = json!({
        "name": "f()", "file": "a.py", "_origin": "ast", "_callable": true, "metadata": { "arity": 1 },
        "extra": { "_py_return_type": "int", "path": "not ours" },
    });
    assert_eq!(props, expected);
    let place =
        json!({ "file": "a.py", "location": "L7", "community": 4, "community_name": "core", "local_community": 2 });
    assert_eq!(as_json(f.place.as_ref().unwrap()), place);
}

/// Ids are folded paths and can meet. Were the second node dropped in silence, its file would seem to lack it.
#[test]
fn two_nodes_with_one_id_are_reported() {
    let node = |file: &str| json!({ "id": "h", "label": "h", "file_type": "code", "source_file": file });
    for nodes in [json!([node("a_b.rs"), node("a/b.rs")]), json!([node("a/b.rs"), node("a_b.rs")])] {
        let parsed = parse_json(&graph(nodes, json!([])));
        assert_eq!(defects(&parsed), [("graph.json", "duplicate_id")]);
        let detail = &parsed.report.defects[0].detail;
        assert!(detail.contains("a/b.rs") && detail.contains("a_b.rs"), "{detail}");
        assert_eq!(prop(entity(&parsed, "Symbol", "h"), "file"), Some("a/b.rs"));
        // Both files are there.
        entity(&parsed, "File", "a/b.rs");
        entity(&parsed, "File", "a_b.rs");
    }
    // The same row twice says nothing new.
    let parsed = parse_json(&graph(json!([node("a.rs"), node("a.rs")]), json!([])));
    assert_eq!((defects(&parsed), count(&parsed, "repeated")), (vec![], 1));
}

/// A link to a node that is not there yet is kept, so that it appears when the node does.
#[test]
fn a_dangling_end_is_a_symbol_in_waiting() {
    let parsed =
        parse_json(&graph(json!([{ "id": "a" }]), json!([{ "source": "a", "target": "gone", "relation": "uses" }])));
    assert_eq!(sentences(&parsed), ["a USES gone"]);
    let (_, link) = observations(&parsed).find(|(_, said)| matches!(said.sighted, Sighted::Relation { .. })).unwrap();
    let Sighted::Relation { target, .. } = &link.sighted else { unreachable!() };
    assert_eq!(*target, EntityKey::new("Symbol", "graphify:main", "gone"));
    assert_eq!(defects(&parsed), [("graph.json", "dangling_end")]);
    assert_eq!(count(&parsed, "dangling_ends"), 1);
}

/// Two calls from one function to another are one relation with two witnesses; the same row twice is one.
#[test]
fn parallel_links_are_numbered_by_what_they_say() {
    let link = |line: &str, file: &str| json!({ "source": "a", "target": "b", "relation": "calls", "source_location": line, "source_file": file });
    let mut links = vec![link("L2", "x"), link("L1", "x"), link("L2", "x"), link("L2", "y")];
    for _ in 0..links.len() {
        links.rotate_left(1);
        let parsed = parse_json(&graph(json!([{ "id": "a" }, { "id": "b" }]), json!(links)));
        let said: Vec<_> = observations(&parsed)
            .filter(|(_, said)| matches!(said.sighted, Sighted::Relation { .. }))
            .map(|(group, said)| (&*group.key.group, said.record, pointer(said, "location").unwrap().as_str().unwrap()))
            .collect();
        assert_eq!(said, [("x", 0, "L1"), ("x", 1, "L2"), ("y", 0, "L2")]);
        assert_eq!(count(&parsed, "repeated"), 1);
    }
}

#[test]
fn hyperedges_contain_their_members() {
    let hyperedge = json!({
        "label": "pipeline", "nodes": ["a", "b", "gone"], "relation": "participate_in",
        "confidence": "AMBIGUOUS", "confidence_score": 0.3, "source_file": "doc.md",
    });
    let mut json = graph(json!([{ "id": "a" }, { "id": "b" }]), json!([]));
    json["hyperedges"] = json!([hyperedge]);
    json["graph"] = json!({ "hyperedges": [hyperedge] });
    let parsed = parse_json(&json);
    let (group, it) = observations(&parsed).find(|(_, said)| prop(said, "name") == Some("pipeline")).unwrap();
    let Sighted::Entity(key) = &it.sighted else { panic!("{it:?}") };
    assert_eq!((&*group.key.group, &*key.kind), ("doc.md", HYPEREDGE));
    assert_eq!((it.trust, it.confidence), (Trust::Hypothesis, Confidence::new(0.3).unwrap()));
    assert_eq!(prop(it, "relation"), Some("participate_in"));
    let id = &key.external_id;
    assert!(id.starts_with("hyperedge:"), "{id}");
    let mut members = sentences(&parsed);
    members.sort();
    assert_eq!(members, ["a", "b", "gone"].map(|member| format!("{id} CONTAINS {member}")));
    assert_eq!((count(&parsed, "hyperedges"), count(&parsed, "dangling_members")), (1, 1));

    // The made id is that of label and members, in any order.
    json["hyperedges"] = json!([{ "label": "pipeline", "nodes": ["gone", "b", "a"], "description": "more" }]);
    json["graph"] = json!(null);
    let again = parse_json(&json);
    let (_, it) = observations(&again).find(|(_, said)| prop(said, "name") == Some("pipeline")).unwrap();
    assert_eq!(it.sighted, Sighted::Entity(key.clone()));

    for (bad, reason) in
        [(json!({}), "no_id"), (json!({ "id": "h", "nodes": "a" }), "wrong_type"), (json!(7), "bad_row")]
    {
        json["hyperedges"] = json!([bad]);
        assert_eq!(defects(&parse_json(&json)), [("graph.json hyperedges[0]", reason)]);
    }
}

/// Old versions wrote the paths of whoever ran them; the store must not take them for other files of the project.
#[test]
fn odd_paths_are_reported_once() {
    let node = |id: &str, file: &str| json!({ "id": id, "source_file": file });
    let nodes = json!([
        node("a", "/home/x/a.py"),
        node("b", "/home/x/a.py"),
        node("c", r"src\c.cs"),
        node("d", "../d.py"),
        node("e", "e.py"),
    ]);
    let parsed = parse_json(&graph(nodes, json!([])));
    assert_eq!(
        defects(&parsed),
        [("graph.json", "absolute_path"), ("graph.json", "backslash_path"), ("graph.json", "path_escapes")]
    );
    let files: Vec<_> = parsed.groups.iter().map(|group| &*group.key.group).collect();
    assert_eq!(files, [NO_FILE, "e.py", "home/x/a.py", "src/c.cs"]);
    let d = entity(&parsed, "graphify:node", "d");
    assert_eq!((prop(d, "file"), pointer(d, "file")), (None, Some(&Value::from("../d.py"))));
}

/// Two files that differ must not bear one revision, and whoever has the file must be able to tell that it is the one.
#[test]
fn the_revision_is_the_commit_or_the_digest_of_the_file() {
    let digest = "sha256:d0c3706befa57baf";
    for (text, revision) in
        [(r#"{"nodes":[],"links":[]}"#, digest), (r#"{"nodes":[],"links":[],"built_at_commit":"096c8d4"}"#, "096c8d4")]
    {
        assert_eq!(parse(text).revision.as_deref(), Some(revision), "{text}");
    }
    for odd in [r#""""#, "null", "7", "{}"] {
        let revision = parse(format!(r#"{{"nodes":[],"links":[],"built_at_commit":{odd}}}"#)).revision.unwrap();
        assert!(revision.starts_with("sha256:") && revision.len() == digest.len(), "{odd}: {revision}");
    }
}
