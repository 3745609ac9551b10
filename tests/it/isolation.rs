//! Two scopes of one store that hold the same names: neither can be told from the answers of the other.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use triglyph::operations::operation;
use triglyph::{Durability, EntityKey, Graph, Group, GroupKey, Observation, Props, Scope, Store, Value};

fn graph(store: &Store, scope: &str) -> Graph {
    store.graph(&scope.parse::<Scope>().unwrap()).unwrap()
}

/// Every read there is, about things that both scopes hold and about one that neither does.
fn reads(graph: &Graph) -> Vec<String> {
    let mut requests = vec![
        ("status", json!({})),
        ("digest", json!({})),
        ("list_types", json!({ "ptype": "studio" })),
        ("list_entities", json!({ "limit": 3 })),
        ("list_entities", json!({ "type": "Owner" })),
    ];
    for n in 0..6 {
        let name = format!("a{n}.prefab");
        requests.push(("walk", json!({ "subject": name })));
        requests.push(("asset_consumers", json!({ "subject": name, "detail": "lines" })));
        requests.push(("change_blast_radius", json!({ "subject": format!("unity:a{n}"), "detail": "ids" })));
        requests.push(("owner", json!({ "subject": name })));
        requests.push(("history", json!({ "subject": name })));
    }
    requests.push(("walk", json!({ "subject": "nowhere.png" })));
    let answer = |(name, request): (&str, Json)| match operation(name).unwrap().call(graph, request, &|| false) {
        Ok(answer) => answer.to_string(),
        Err(error) => error.to_json().to_string(),
    };
    requests.into_iter().map(answer).collect()
}

fn fill(graph: &Graph, rows: &[(u8, u8, u8)]) {
    for (round, chunk) in rows.chunks(3).enumerate() {
        let mut batch = graph.batch().unwrap();
        let asset = |n: u8| EntityKey::new("UnityAsset", "unity", format!("a{}", n % 6));
        let mut observations = Vec::new();
        for (source, target, owner) in chunk {
            for n in [source, target] {
                let name = format!("a{}.prefab", n % 6);
                observations.push(Observation::entity(asset(*n)).with("name", Some(name)));
            }
            observations.push(Observation::relation(asset(*source), "DEPENDS_ON", asset(*target), "unity"));
            let owner = EntityKey::new("Owner", "ownership", format!("@o{}", owner % 3));
            observations.push(Observation::entity(owner.clone()));
            observations.push(Observation::relation(owner, "OWNS", asset(*source), "ownership"));
        }
        observations.sort_by(|a, b| a.sighted.cmp(&b.sighted));
        observations.dedup();
        let key = GroupKey::new("unity:main", format!("g{round}"));
        batch.observe(Group { key, revision: Some("r1".into()), observations });
        graph.commit(batch, Durability::Buffered).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A studio that sees another's names, counts or ranks in its answers has lost them.
    #[test]
    fn neither_is_seen_by_the_other(
        ours in prop::collection::vec(any::<(u8, u8, u8)>(), 0..12),
        theirs in prop::collection::vec(any::<(u8, u8, u8)>(), 1..24),
    ) {
        let store = Store::in_memory().unwrap();
        let (a, b) = (graph(&store, "acme/demo"), graph(&store, "acme/other"));
        fill(&a, &ours);
        // The first round computes a digest, which `status` shows from then on.
        reads(&a);
        let before = reads(&a);
        fill(&b, &theirs);
        reads(&b);
        for (before, after) in before.iter().zip(reads(&a)) {
            prop_assert_eq!(before, &after);
        }
    }
}

/// An id of another scope must look like one that exists nowhere.
#[test]
fn a_foreign_id_is_an_unknown_id() {
    let store = Store::in_memory().unwrap();
    let (a, b) = (graph(&store, "acme/demo"), graph(&store, "acme/other"));
    let mut batch = b.batch().unwrap();
    let theirs = batch.entity("Project", Props::from([("name".into(), Value::from("Secret"))]));
    b.commit(batch, Durability::Sync).unwrap();
    let unknown = triglyph::EntityId::from(uuid::Uuid::from_u128(7));
    let refusal = |id: triglyph::EntityId| {
        let error = operation("walk").unwrap().call(&a, json!({ "subject": id }), &|| false).unwrap_err();
        error.to_json().to_string().replace(&id.to_string(), "ID")
    };
    assert_eq!(refusal(theirs), refusal(unknown));
    // Nor can one be written to, or ended.
    let mut batch = a.batch().unwrap();
    let ours = batch.entity("Project", Props::new());
    batch.relate(ours, "DEPENDS_ON", theirs);
    assert_eq!(a.commit(batch, Durability::Sync).unwrap_err().code(), triglyph::Code::NotFound);
    let mut batch = a.batch().unwrap();
    batch.end(theirs, triglyph::Since::Observed);
    assert_eq!(a.commit(batch, Durability::Sync).unwrap_err().code(), triglyph::Code::NotFound);
}

/// The same two names the other way round are another scope, in another folder.
#[test]
fn scopes_do_not_meet_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(folder.path().join("s.tg"), triglyph::Options::default()).unwrap();
    let names = ["a/b", "b/a", "A/b", "a/b/c", "../x/..", "a/\u{0}", "a/b "];
    for name in names {
        fill(&graph(&store, name), &[(1, 2, 3)]);
    }
    let folders = std::fs::read_dir(folder.path().join("s.tg")).unwrap();
    let scopes = folders.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!((scopes, store.scopes().unwrap().len()), (names.len(), names.len()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
