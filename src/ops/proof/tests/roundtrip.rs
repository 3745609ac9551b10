//! Out and in again: an export read into an empty scope holds what the first one held.
//!
//! A store that could not be brought elsewhere whole would be a trap, and one that changed under a second import of the
//! same file could not be compared with anything.

use proptest::prelude::*;

use super::bench::Bench;
use super::incremental::{Step, incrementally, step};
use crate::change::{Edit, Presence};
use crate::evidence::{Cause, Confidence};
use crate::id::{ChangeId, EntityId, Seq};
use crate::key::{EntityKey, RelationKey, Topic};
use crate::ops::proof::export::export;
use crate::ops::proof::import::{Imported, import};
use crate::time::{Since, Time};
use crate::value::{Props, Value};

pub(super) fn exported(bench: &Bench) -> String {
    let mut out = Vec::new();
    let said = export(&bench.lens(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(said.lines + 1, text.lines().count() as u64);
    text
}

pub(super) fn imported(bench: &Bench, text: &str) -> Imported {
    import(&bench.lens(), &mut text.as_bytes(), Time::from_micros(bench.now)).unwrap()
}

/// Imports and commits; says how many changes it came to.
pub(super) fn take(bench: &mut Bench, text: &str) -> usize {
    let imported = imported(bench, text);
    assert_eq!(imported.report.damaged, []);
    let now = bench.now;
    let ontology = imported.ontology.map_or(0, |edit| bench.commit(vec![edit]).unwrap());
    bench.now = now;
    ontology + bench.commit(imported.edits).unwrap()
}

/// An author's act; many are refused, as they should be.
#[derive(Clone, Debug)]
enum Act {
    Create { which: usize, number: i64, since: Since },
    Relate { source: usize, target: usize, kind: usize, confidence: u32, since: Since },
    Fact { which: usize, name: usize, value: usize, since: Since },
    RelationFact { source: usize, target: usize, value: i64 },
    End { which: usize, since: Since },
    EndRelation { source: usize, target: usize, since: Since },
    Repudiate { seq: u64, index: u32 },
}

fn since() -> impl Strategy<Value = Since> {
    prop_oneof![
        3 => Just(Since::Observed),
        1 => Just(Since::Unbounded),
        3 => (1..6i64).prop_map(|t| Since::Told(Time::from_micros(t * 100_000 + 3))),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let one = || 0..7usize;
    prop_oneof![
        4 => (one(), 0..3i64, since()).prop_map(|(which, number, since)| Act::Create { which, number, since }),
        4 => (one(), one(), 0..3usize, prop_oneof![Just(1_000_000), Just(700_000)], since()).prop_map(
            |(source, target, kind, confidence, since)| Act::Relate { source, target, kind, confidence, since }
        ),
        4 => (one(), 0..2usize, 0..5usize, since())
            .prop_map(|(which, name, value, since)| Act::Fact { which, name, value, since }),
        1 => (one(), one(), 0..3i64).prop_map(|(source, target, value)| Act::RelationFact { source, target, value }),
        2 => (one(), since()).prop_map(|(which, since)| Act::End { which, since }),
        1 => (one(), one(), since()).prop_map(|(source, target, since)| Act::EndRelation { source, target, since }),
        1 => (1..12u64, 0..3u32).prop_map(|(seq, index)| Act::Repudiate { seq, index }),
    ]
}

/// Entities: three authored ones with ids of their own, two with computed ids, two files of the sources.
fn key(which: usize) -> EntityKey {
    let own = |n: usize| format!("018f0000-0000-7000-8000-00000000000{n}");
    match which {
        0 | 1 => EntityKey::new("ADR", "authored", own(which)),
        // Two things of one key, told apart by their ids alone.
        2 => EntityKey::new("ADR", "authored", own(1)),
        3 => EntityKey::new("SPEC", "documents", "7"),
        4 => EntityKey::new("Component", "authored", "Renderer"),
        _ => EntityKey::new("File", "repo", format!("src/{}.rs", which - 5)),
    }
}

fn id(bench: &Bench, which: usize) -> EntityId {
    match which {
        0..3 => format!("018f0000-0000-7000-8000-00000000000{which}").parse::<uuid::Uuid>().unwrap().into(),
        _ => EntityId::projected(&bench.scope, &key(which)),
    }
}

fn edit(bench: &Bench, act: &Act) -> Edit {
    let values =
        [Some(Value::from("draft")), Some(Value::from("done")), Some(Value::Null), None, Some(Value::Int(1 << 60))];
    let relation = |source: usize, target: usize, kind: usize| RelationKey {
        source: id(bench, source),
        target: id(bench, target),
        kind: ["REFERENCES", "RELATES_TO", "SUPERSEDES"][kind].into(),
        origin: "authored".into(),
    };
    let cause = |since: Since| {
        (since == Since::Unbounded).then(|| Cause {
            description: Some("as ever".into()),
            event_seq: Some(7),
            ..Cause::default()
        })
    };
    match *act {
        Act::Create { which, number, since } => Edit::Create {
            key: key(which),
            id: id(bench, which),
            props: if which < 4 { Props::from([("number".into(), Value::Int(number))]) } else { Props::new() },
            since,
            source_memory_id: (number == 1).then(|| "memory-1".into()),
            cause: cause(since),
        },
        Act::Relate { source, target, kind, confidence, since } => Edit::Relate {
            key: relation(source, target, kind),
            confidence: Confidence::from_millionths(confidence).unwrap(),
            props: Props::from([("note".into(), Value::Int(i64::from(confidence)))]),
            since,
            cause: cause(since),
        },
        Act::Fact { which, name, value, since } => Edit::Fact {
            topic: Topic::Entity(id(bench, which)),
            props: vec![(["status", "title"][name].into(), values[value].clone())],
            since,
            cause: cause(since),
        },
        Act::RelationFact { source, target, value } => Edit::Fact {
            topic: Topic::Relation(relation(source, target, 0)),
            props: vec![("weight".into(), Some(Value::Int(value)))],
            since: Since::Observed,
            cause: None,
        },
        Act::End { which, since } => Edit::End { topic: Topic::Entity(id(bench, which)), since, cause: cause(since) },
        Act::EndRelation { source, target, since } => {
            Edit::End { topic: Topic::Relation(relation(source, target, 0)), since, cause: None }
        }
        Act::Repudiate { seq, index } => {
            Edit::Repudiate { change: ChangeId { seq: Seq(seq), index }, reason: "never so".into() }
        }
    }
}

/// The export without what may differ: the header, and when ids were first recorded.
fn comparable(text: &str) -> Vec<String> {
    let without = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("created_at");
        line.to_string()
    };
    text.lines().skip(1).map(without).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_export_comes_back(
        steps in prop::collection::vec(step(), 0..6),
        acts in prop::collection::vec(act(), 0..14),
    ) {
        let steps: Vec<Step> = steps.into_iter().filter(|step| !matches!(step, Step::Author { .. })).collect();
        let mut bench = incrementally(&steps, &[false]);
        let sources = bench.engine.seq;
        for act in &acts {
            if matches!(act, Act::Repudiate { seq, .. } if Seq(*seq) <= sources) {
                // A witness's word of which a part was repudiated has no line of its own; the sources came first.
                continue;
            }
            // What breaks a rule is refused, and nothing is left of it.
            let _ = bench.commit(vec![edit(&bench, act)]);
        }
        let text = exported(&bench);

        let mut other = Bench::named("other");
        other.now = bench.engine.stamp.micros().max(0);
        take(&mut other, &text);
        prop_assert_eq!(&other.lines(), &bench.lines());
        prop_assert_eq!(other.digest(), bench.digest());
        prop_assert_eq!(comparable(&exported(&other)), comparable(&text));

        prop_assert_eq!(take(&mut other, &text), 0, "the same lines again ask for nothing");

        // Where they come from they may take back a start at which nothing began, and nothing else.
        let before = bench.lines();
        take(&mut bench, &text);
        prop_assert_eq!(&bench.lines(), &before);
        prop_assert_eq!(take(&mut bench, &text), 0, "nor do they where they come from");
    }
}

/// A tombstone that were lost on the way would bring back what was deleted.
#[test]
fn tombstones_travel() {
    let mut bench = Bench::new();
    let create = Act::Create { which: 0, number: 7, since: Since::Observed };
    for act in [create, Act::End { which: 0, since: Since::Observed }] {
        bench.commit(vec![edit(&bench, &act)]).unwrap();
    }
    let mut other = Bench::named("other");
    take(&mut other, &exported(&bench));
    let ix = other.engine.find_entity(id(&other, 0)).unwrap();
    assert!(other.engine.entity(ix).now.existence.held().is_none());
    let veto = other.engine.entity(ix).history.voices()[0].points.iter().any(|p| p.presence == Some(Presence::Veto));
    assert!(veto);
    assert_eq!(other.digest(), bench.digest());
}
