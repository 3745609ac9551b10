//! The table of operations, and the page and the faces that are made of it.

use serde_json::{Value as Json, json};
use triglyph::operations::{Effect, operation, operations, to_markdown};
use triglyph::persist::Durability;
use triglyph::{Batch, Code, Edit, EntityKey, Graph, Scope, Since, Store};

fn graph() -> Graph {
    Store::in_memory().unwrap().graph(&Scope::new("acme", "demo").unwrap()).unwrap()
}

/// A page that says what the code no longer does is worse than none.
#[test]
fn the_page_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md");
    let page = to_markdown();
    if std::env::var_os("TRIGLYPH_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/operations.md is out of date; TRIGLYPH_BLESS=1 cargo test operations writes it anew");
}

/// Programs are written from the examples and the schemas.
#[test]
fn every_example_is_a_request() {
    let graph = graph();
    for operation in operations() {
        let request = serde_json::from_str(operation.example).unwrap();
        match operation.call(&graph, request, &|| false) {
            Ok(answer) if operation.effect == Effect::Read => assert_eq!(answer["operation"], operation.name),
            Ok(answer) => assert!(answer["commit"]["written"].as_bool().unwrap(), "{answer}"),
            Err(error) => assert_eq!(error.code(), Code::NotFound, "{}: {error}", operation.name),
        }
        assert!(operation.request_schema()["properties"].is_object() || operation.example == "{}", "{operation:?}");
        assert!(operation.answer_schema().is_object());
    }
}

#[test]
fn a_wrong_request_says_what_was_meant() {
    let graph = graph();
    let cases = [
        ("walk", json!({ "subjekt": "x" }), "no field \"subjekt\"; did you mean \"subject\"?"),
        ("walk", json!({ "subject": "x", "depth": -1 }), "depth"),
        ("walk", json!({ "subject": "x", "budgets": { "nodes": "many" } }), "nodes"),
        ("walk", json!({ "subject": "x", "budgets": { "knodes": 3 } }), "knodes"),
        ("walk", json!({ "subject": "x", "depth": 33 }), "depth 33 is above the ceiling of 32"),
        ("walk", json!({ "subject": "x", "budgets": { "nodes": 10_001 } }), "above the ceiling of 10000"),
        ("walk", json!({ "subject": "x", "as_of": "2026-03-01T09:30:00" }), "has no offset; add one"),
        ("walk", json!({ "subject": "x", "as_recorded": 99 }), "sequence 99 is yet to come"),
        ("walk", json!({ "subject": "x", "trust_floor": "hypothesis" }), "\"investigation\": true"),
        ("walk", json!([]), "takes a JSON object"),
        ("history", json!({ "subject": "x", "cursor": "!" }), "nothing here is called"),
        ("list_entities", json!({ "type": "Fil" }), "no kind \"Fil\" is known; did you mean \"File\"?"),
        ("list_entities", json!({ "cursor": "AAAA" }), "expected a cursor that list_entities gave"),
        ("entity", json!({ "type": "Projct" }), "no type \"Projct\" is declared; did you mean \"Project\"?"),
        ("entity", json!({ "type": "Project", "initial_props": { "nam": 1 } }), "did you mean \"name\"?"),
    ];
    for (name, request, expected) in cases {
        let error = operation(name).unwrap().call(&graph, request.clone(), &|| false).unwrap_err();
        assert!(error.message().contains(expected), "{name} {request}: {error}");
    }
    let error = operation("wlak").unwrap_err();
    assert!(error.message().contains("did you mean \"walk\"?"), "{error}");
}

/// A scope of one ptype must neither offer nor take types of the other.
#[test]
fn a_scope_has_its_ptypes() {
    let graph = graph();
    graph.set_ptypes(&["application"]).unwrap();
    let call = |name: &str, request| operation(name).unwrap().call(&graph, request, &|| false);
    let types = call("list_types", json!({})).unwrap()["types"].as_array().unwrap().len();
    assert_eq!(types, 14);
    let error = call("entity", json!({ "type": "Build" })).unwrap_err();
    assert!(error.message().contains("of ptype studio, which this scope doesn't have"), "{error}");
    assert!(call("entity", json!({ "type": "Project" })).is_ok());
    let error = graph.set_ptypes(&["studios"]).unwrap_err();
    assert!(error.message().contains("did you mean \"studio\"?"), "{error}");
}

/// A studio's own types are data of its store: they are there after reopening, and only in that scope.
#[test]
fn a_scope_declares_types_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.tg");
    let level = "[[type]]\nname = \"Level\"\nzone = \"project\"\nptype = \"studio\"\nmutable = [\"par_time\"]\n\
        [[reference]]\nsources = [\"Level\"]\nrelations = [\"DEPENDS_ON\"]\ntargets = [\"Level\"]\n";
    let scope = Scope::new("acme", "demo").unwrap();
    {
        let store = Store::create(&path, triglyph::Options::default()).unwrap();
        let graph = store.graph(&scope).unwrap();
        assert!(graph.extend_ontology("[[typ]]").unwrap_err().message().contains("typ"));
        graph.extend_ontology(level).unwrap();
        assert!(!graph.extend_ontology(level).unwrap().written);
    }
    let store = Store::open(&path, triglyph::Options::default()).unwrap();
    let request = json!({ "type": "Level", "initial_props": { "par_time": 90 } });
    let entity = operation("entity").unwrap();
    assert!(entity.call(&store.existing(&scope).unwrap(), request.clone(), &|| false).is_ok());
    let other = store.graph(&Scope::new("acme", "other").unwrap()).unwrap();
    assert_eq!(entity.call(&other, request, &|| false).unwrap_err().code(), Code::Invalid);
}

/// Every page of a list, one row a page, with whatever `between` commits after the first.
fn pages(graph: &Graph, name: &str, rows: &str, mut request: Json, between: impl FnOnce()) -> Vec<Json> {
    let (mut found, mut between, mut seqs) = (Vec::new(), Some(between), Vec::new());
    request["limit"] = json!(1);
    loop {
        let answer = operation(name).unwrap().call(graph, request.clone(), &|| false).unwrap();
        found.extend(answer[rows].as_array().unwrap().iter().cloned());
        seqs.push(answer["seq"].clone());
        assert!(seqs.iter().all(|seq| *seq == seqs[0]), "{name}: one list, one sequence");
        if let Some(commit) = between.take() {
            commit();
        }
        match answer["cursor"].as_str() {
            Some(cursor) => request["cursor"] = json!(cursor),
            None => return found,
        }
    }
}

/// A list of which every page is read from another graph shows things twice, or never.
#[test]
fn a_list_is_one_list() {
    let graph = graph();
    let commit = |fill: &dyn Fn(&mut Batch)| {
        let mut batch = graph.batch().unwrap();
        fill(&mut batch);
        graph.commit(batch, Durability::Sync).unwrap();
    };
    let create = |batch: &mut Batch, name: &str| {
        let (key, props) = (EntityKey::new("Project", "authored", name), Default::default());
        let id = batch.fresh_id();
        let (since, source_memory_id, cause) = (Since::Observed, None, None);
        batch.push(Edit::Create { key, id, props, since, source_memory_id, cause });
        id
    };
    let mut first = None;
    let mut batch = graph.batch().unwrap();
    for name in ["a", "same", "same", "z"] {
        first.get_or_insert(create(&mut batch, name));
    }
    graph.commit(batch, Durability::Sync).unwrap();
    let first = first.unwrap();
    let later = || {
        commit(&|batch| {
            create(batch, "b");
            batch.end(first, Since::Observed);
        });
    };
    let found = pages(&graph, "list_entities", "entities", json!({ "type": "Project" }), later);
    let names: Vec<&str> = found.iter().map(|row| row["source"]["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "same", "same", "z"], "two of one name are two, and what came later is not among them");

    commit(&|batch| {
        batch.end(first, Since::Told("2300-01-01".parse().unwrap()));
    });
    let whole = operation("history").unwrap().call(&graph, json!({ "subject": first }), &|| false).unwrap();
    let more = || {
        commit(&|batch| {
            batch.fact(first, "name", "renamed", Since::Told("2200-01-01".parse().unwrap()));
        });
    };
    let found = pages(&graph, "history", "states", json!({ "subject": first }), more);
    assert_eq!(json!(found), whole["states"]);

    let call = |name: &str, request: Json| operation(name).unwrap().call(&graph, request, &|| false);
    let cursor = call("list_entities", json!({ "type": "Project", "limit": 1 })).unwrap()["cursor"].clone();
    for other in [
        json!({ "cursor": cursor }),
        json!({ "type": "Project", "cursor": cursor, "trust_floor": "authoritative" }),
        json!({ "type": "Project", "cursor": cursor, "as_of": "2026-01-01" }),
    ] {
        let error = call("list_entities", other).unwrap_err();
        assert!(error.message().contains("continues another list"), "{error}");
    }
}
