//! *Incremental = full*: whatever the way that a store went, its projected content is that of its last inputs.
//!
//! Were it not so, two people with the same sources would see two graphs, and nobody could say which one is right.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bench::Bench;
use crate::change::Edit;
use crate::engine::belief::{Moment, existence};
use crate::engine::now::Everyone;
use crate::engine::witnesses::TopicIx;
use crate::evidence::{Confidence, GroupKey, Trust};
use crate::id::{EntityIx, RelationIx, Seq};
use crate::key::{EntityKey, Topic};
use crate::observation::{Group, Observation, Sighted};
use crate::time::{Since, Time};
use crate::value::Value;

/// What one record says of its subject at one start.
#[derive(Clone, Debug)]
pub(super) struct Word {
    trust: Trust,
    confidence: u32,
    props: Vec<(usize, i64)>,
}

/// All that one record says of one subject: told words by start, and what holds now.
#[derive(Clone, Debug)]
pub(super) struct Record {
    subject: usize,
    record: u32,
    told: BTreeMap<i64, Word>,
    observed: Option<Word>,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Observe { group: usize, records: Vec<Record>, revision: u8 },
    Withdraw { group: usize },
    Stale { group: usize },
    Author { subject: usize, value: i64 },
}

const GROUPS: usize = 5;
const SUBJECTS: usize = 7;

/// Stamps begin here; told starts of a record that also observes lie before.
const FIRST: i64 = 1_000_000;

fn word() -> impl Strategy<Value = Word> {
    let trust = prop_oneof![Just(Trust::Hypothesis), Just(Trust::Derived), Just(Trust::Authoritative)];
    let props = prop::collection::btree_map(0..3usize, 0..3i64, 0..3);
    (trust, prop_oneof![Just(1_000_000), Just(500_000)], props).prop_map(|(trust, confidence, props)| Word {
        trust,
        confidence,
        props: props.into_iter().collect(),
    })
}

fn record() -> impl Strategy<Value = Record> {
    let past = prop::collection::btree_map((0..6i64).prop_map(|t| t * 100_000), word(), 0..4);
    let any = prop::collection::btree_map((0..24i64).prop_map(|t| t * 500_000 + 7), word(), 1..4);
    let words = prop_oneof![
        (past, word()).prop_map(|(told, observed)| (told, Some(observed))),
        any.prop_map(|told| (told, None)),
    ];
    (0..SUBJECTS, 0..2u32, words).prop_map(|(subject, record, (told, observed))| Record {
        subject,
        record,
        told,
        observed,
    })
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..GROUPS, prop::collection::vec(record(), 0..5), 0..2u8)
            .prop_map(|(group, records, revision)| Step::Observe { group, records, revision }),
        2 => (0..GROUPS).prop_map(|group| Step::Withdraw { group }),
        1 => (0..GROUPS).prop_map(|group| Step::Stale { group }),
        2 => (0..4usize, 0..3i64).prop_map(|(subject, value)| Step::Author { subject, value }),
    ]
}

fn group_key(group: usize) -> GroupKey {
    GroupKey::new(if group < 3 { "graphify:main" } else { "unity:client" }, format!("g{group}"))
}

fn entity(index: usize) -> EntityKey {
    EntityKey::new("File", "repo", format!("src/{index}.rs"))
}

/// Subjects 0 to 3 are files, then a relation, and a symmetric one seen from either end.
fn sighted(subject: usize) -> Sighted {
    let relation = |source, kind: &str, target| Sighted::Relation {
        source: entity(source),
        target: entity(target),
        kind: kind.into(),
        origin: "graphify".into(),
    };
    match subject {
        0..4 => Sighted::Entity(entity(subject)),
        4 => relation(0, "CALLS", 1),
        5 => relation(1, "SIMILAR_TO", 2),
        _ => relation(2, "SIMILAR_TO", 1),
    }
}

fn observation(record: &Record, since: Since, word: &Word) -> Observation {
    let names = ["name", "path", "anything else"];
    Observation {
        sighted: sighted(record.subject),
        record: record.record,
        since,
        trust: word.trust,
        confidence: Confidence::from_millionths(word.confidence).unwrap(),
        props: word.props.iter().map(|(name, value)| (names[*name].into(), Value::Int(*value))).collect(),
        place: None,
    }
}

/// The group as a source says it: each record speaks once of a subject (a symmetric relation is one subject).
fn group(index: usize, records: &[Record], revision: u8, backwards: bool) -> Group {
    let mut once: BTreeMap<(usize, u32), &Record> = BTreeMap::new();
    for record in records {
        once.entry((record.subject.min(5), record.record)).or_insert(record);
    }
    let words = once.into_values().flat_map(|record| {
        let told = record.told.iter().map(|(at, word)| {
            let since = if *at == 0 { Since::Unbounded } else { Since::Told(Time::from_micros(*at)) };
            observation(record, since, word)
        });
        told.chain(record.observed.iter().map(|word| observation(record, Since::Observed, word)))
    });
    let mut observations: Vec<Observation> = words.collect();
    if backwards {
        observations.reverse();
    }
    Group { key: group_key(index), revision: Some(format!("r{revision}").into()), observations }
}

/// What the sources say in the end: the groups that are there and can be read.
fn last_words(steps: &[Step]) -> BTreeMap<usize, (Vec<Record>, u8)> {
    let mut last = BTreeMap::new();
    let mut stale = Vec::new();
    for step in steps {
        match step {
            Step::Observe { group, records, revision } => {
                last.insert(*group, (records.clone(), *revision));
                stale.retain(|stale| stale != group);
            }
            Step::Withdraw { group } => {
                last.remove(group);
                stale.retain(|stale| stale != group);
            }
            Step::Stale { group } if last.contains_key(group) => stale.push(*group),
            _ => {}
        }
    }
    last.retain(|group, _| !stale.contains(group));
    last
}

fn observe(group: Group) -> Edit {
    let fingerprint = Some(format!("{} observations", group.observations.len()).into());
    Edit::Observe { group, fingerprint }
}

/// Takes the steps in batches that end where `cuts` says so, or where a group would come twice.
pub(super) fn incrementally(steps: &[Step], cuts: &[bool]) -> Bench {
    let mut bench = Bench::new();
    let mut live = [false; GROUPS];
    let mut edits: Vec<Edit> = Vec::new();
    let mut touched: Vec<usize> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let touches = match step {
            Step::Observe { group, .. } | Step::Withdraw { group } | Step::Stale { group } => *group,
            Step::Author { .. } => GROUPS,
        };
        if cuts[index % cuts.len()] || touched.contains(&touches) {
            bench.commit(std::mem::take(&mut edits)).unwrap();
            touched.clear();
        }
        touched.push(touches);
        match step {
            Step::Observe { group: index, records, revision } => {
                live[*index] = true;
                edits.push(observe(group(*index, records, *revision, false)));
            }
            Step::Withdraw { group } => {
                live[*group] = false;
                edits.push(Edit::Withdraw(group_key(*group)));
            }
            Step::Stale { group } if live[*group] => {
                let key = group_key(*group);
                edits.push(Edit::Mark { key, revision: None, fingerprint: None, stale: Some(true) });
            }
            Step::Stale { .. } => {}
            Step::Author { subject, value } => {
                let Topic::Entity(id) = topic(&bench, *subject) else { unreachable!() };
                let spoken = |ix| !bench.engine.entity(ix).history.voices().is_empty();
                if bench.engine.find_entity(id).is_some_and(spoken) {
                    let props = vec![("summary".into(), Some(Value::Int(*value)))];
                    edits.push(Edit::Fact { topic: Topic::Entity(id), props, since: Since::Observed, cause: None });
                }
            }
        }
    }
    bench.commit(edits).unwrap();
    bench
}

fn topic(bench: &Bench, subject: usize) -> Topic {
    Topic::Entity(crate::EntityId::projected(&bench.scope, &entity(subject)))
}

/// Everything at once, from nothing.
fn fully(last: &BTreeMap<usize, (Vec<Record>, u8)>, now: i64, backwards: bool) -> Bench {
    let mut bench = Bench::new();
    bench.now = now;
    let mut groups: Vec<Edit> =
        last.iter().map(|(index, (records, revision))| observe(group(*index, records, *revision, backwards))).collect();
    if backwards {
        groups.reverse();
    }
    bench.commit(groups).unwrap();
    bench
}

/// What is there at an instant after all stamps, by name.
fn present(bench: &Bench, stale: bool) -> Vec<String> {
    let engine = &bench.engine;
    let at = Moment { valid: Time::from_micros(1 << 50), recorded: Seq(u64::MAX) };
    let entities = (0..engine.entities.len()).map(|row| TopicIx::Entity(EntityIx::nth(row)));
    let relations = (0..engine.relations.len()).map(|row| TopicIx::Relation(RelationIx::nth(row)));
    let there = |topic: &TopicIx| existence(engine.history(*topic), at, &Everyone(&engine.witnesses)).held().is_some();
    let mut found: Vec<String> = if stale {
        Vec::new()
    } else {
        entities.chain(relations).filter(there).map(|ix| engine.topic(ix).to_string()).collect()
    };
    found.sort();
    found
}

fn any_stale(bench: &Bench) -> bool {
    bench.engine.witnesses.groups().any(|group| bench.engine.witnesses.group_stale(group, bench.engine.seq))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incremental_is_full(
        steps in prop::collection::vec(step(), 1..14),
        cuts in prop::collection::vec(any::<bool>(), 1..5),
        early in any::<bool>(),
        backwards in any::<bool>(),
    ) {
        let incremental = incrementally(&steps, &cuts);
        let last = last_words(&steps);
        let full = fully(&last, if early { FIRST } else { 40 * FIRST }, backwards);
        prop_assert_eq!(&incremental.lines().projected, &full.lines().projected);
        prop_assert_eq!(incremental.digest().projected, full.digest().projected);
        let stale = any_stale(&incremental);
        prop_assert_eq!(present(&incremental, stale), present(&full, stale));

        // Saying the last words again changes nothing, at whatever time.
        let mut again = incremental;
        again.now += 100 * FIRST;
        let before = again.lines();
        let words = last.iter().map(|(index, (records, revision))| observe(group(*index, records, *revision, true)));
        again.commit(words.collect()).unwrap();
        prop_assert_eq!(&again.lines(), &before);
    }
}

/// A source that sees a symmetric relation from either end, or gives two words for one start, must not be refused whole,
/// nor say another thing when its rows come in another order.
#[test]
fn one_record_one_word() {
    let see = |subject: usize, name: i64| {
        let word = Word { trust: Trust::Derived, confidence: 1_000_000, props: vec![(0, name)] };
        let record = Record { subject, record: 0, told: BTreeMap::new(), observed: None };
        observation(&record, Since::Observed, &word)
    };
    let observations = vec![see(5, 1), see(6, 2), see(6, 3), see(0, 5), see(0, 4)];
    let lines = |observations: Vec<Observation>| {
        let mut bench = Bench::new();
        let group = Group { key: group_key(0), revision: None, observations };
        let written = bench.commit(vec![observe(group.clone())]).unwrap();
        assert!(written > 0);
        assert_eq!(bench.commit(vec![observe(group)]).unwrap(), 0, "the same again");
        bench.lines().projected
    };
    let forwards = lines(observations.clone());
    assert_eq!(forwards.len(), 5, "two topics with a presence and a name each, and a group: {forwards:#?}");
    assert_eq!(forwards, lines(observations.into_iter().rev().collect()));
}

/// Of several edits of one batch to one group's row, all count: an import observes a stale group and marks it so.
#[test]
fn rows_add_up_within_a_batch() {
    let group = || group(0, &[], 1, false);
    let mark = || Edit::Mark { key: group_key(0), revision: None, fingerprint: None, stale: Some(true) };
    let mut bench = Bench::new();
    assert_eq!(bench.commit(vec![observe(group()), mark()]).unwrap(), 1);
    assert!(any_stale(&bench));
    assert_eq!(bench.commit(vec![observe(group()), mark()]).unwrap(), 0);
    assert_eq!(bench.commit(vec![observe(group())]).unwrap(), 1);
    assert!(!any_stale(&bench));
}

/// Someone who asserts a fact about a file keeps it when the file's sources stop speaking of it.
#[test]
fn authors_outlive_witnesses() {
    let word = Word { trust: Trust::Authoritative, confidence: 1_000_000, props: vec![(0, 1)] };
    let record = Record { subject: 0, record: 0, told: BTreeMap::new(), observed: Some(word) };
    let mut bench = Bench::new();
    bench.commit(vec![observe(group(0, &[record], 0, false))]).unwrap();
    let props = vec![("summary".into(), Some(Value::from("the entry point")))];
    let fact = Edit::Fact { topic: topic(&bench, 0), props, since: Since::Observed, cause: None };
    bench.commit(vec![fact]).unwrap();
    let before = bench.digest();
    bench.commit(vec![Edit::Withdraw(group_key(0))]).unwrap();
    let after = bench.digest();
    assert_eq!((after.lines.projected, after.lines.groups, after.lines.authored), (0, 0, 1));
    assert_eq!(before.authored, after.authored);
    assert_ne!(before.projected, after.projected);
    assert_eq!(after.projected, Bench::new().digest().projected);
}
