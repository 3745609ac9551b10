//! Random histories: the engine against the naive model, over both clocks, every floor and revision.
//!
//! A script is a list of batches in small numbers: things, sources, instants. The engine decides and folds each batch;
//! what it takes, the model takes. Then both are asked the same.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm};

use super::naive::{Look, Naive, Seen};
use super::*;
use crate::engine::belief;
use crate::engine::states::states;
use crate::evidence::Voice;
use crate::key::Name;

/// One batch: how much later than the one before, and what it asks.
#[derive(Clone, Debug)]
struct Step {
    later: i64,
    edits: Vec<Asked>,
}

#[derive(Clone, Debug)]
enum Asked {
    Observe { group: usize, revision: Option<u8>, sighted: Vec<Sight> },
    ObserveInPart { group: usize, sighted: Vec<Sight> },
    Withdraw { group: usize },
    Mark { group: usize, revision: u8 },
    Create { entity: usize, status: u8, since: Since },
    Relate { relation: usize, sure: u8, since: Since },
    Fact { topic: usize, name: u8, value: Option<u8>, since: Since },
    End { topic: usize, since: Since },
    Repudiate { nth: prop::sample::Index },
}

#[derive(Clone, Debug)]
struct Sight {
    topic: usize,
    record: u32,
    since: Since,
    trust: Trust,
    sure: u8,
    props: [Option<u8>; 2],
}

/// What may be asked of, in small numbers.
struct Things {
    entities: Vec<EntityKey>,
    authored: Vec<(EntityId, EntityKey)>,
    projected: Vec<(usize, &'static str, usize)>,
    references: Vec<RelationKey>,
    groups: Vec<GroupKey>,
}

const NAMES: [&str; 2] = ["name", "status"];

impl Things {
    fn new() -> Things {
        let entities = vec![
            file("a.cs"),
            file("b.cs"),
            file("c.cs"),
            EntityKey::new("Ticket", "jira", "1"),
            EntityKey::new("thing", "graphify:main", "t"),
        ];
        let authored: Vec<(EntityId, EntityKey)> =
            (1..3).map(|n| (EntityId::fresh(1, [n; 10]), EntityKey::new("ADR", "authored", format!("{n}")))).collect();
        let projected = vec![
            (0, "DEPENDS_ON", 1),
            (0, "CALLS", 1),
            (1, "DEPENDS_ON", 0),
            (0, "DEPENDS_ON", 2),
            (0, "DEPENDS_ON", 0),
            (3, "RELATES_TO", 0),
            (0, "RELATES_TO", 3),
            (4, "graphify:cites", 0),
        ];
        let reference = |source: EntityId, kind: &str, target: EntityId| RelationKey {
            source,
            target,
            kind: kind.into(),
            origin: "authored".into(),
        };
        let (one, two) = (authored[0].0, authored[1].0);
        let references = vec![
            reference(one, "AMENDS", two),
            reference(two, "RELATES_TO", one),
            reference(one, "MENTIONS", id_of(&entities[0])),
        ];
        let groups = [("unity", "a"), ("unity", "b"), ("git", "log"), ("unity", ""), ("git", "")];
        let groups = groups.map(|(source, group)| GroupKey::new(source, group)).into();
        Things { entities, authored, projected, references, groups }
    }

    /// Any topic, whether it is there or not.
    fn topic(&self, n: usize) -> Topic {
        let entities = self.entities.iter().map(About::topic).chain(self.authored.iter().map(|(id, _)| id.topic()));
        let projected = self.projected.iter().map(|(source, kind, target)| {
            let [source, target] = [source, target].map(|end| id_of(&self.entities[*end]));
            Topic::Relation(RelationKey { source, target, kind: (*kind).into(), origin: "unity".into() })
        });
        let mut topics = entities.chain(projected).chain(self.references.iter().map(About::topic)).cycle();
        topics.nth(n).unwrap()
    }

    fn sighted(&self, sight: &Sight) -> Observation {
        let Sight { topic, record, since, trust, sure, props } = sight;
        let observation = match self.entities.get(*topic) {
            Some(key) => Observation::entity(key.clone()),
            None => {
                let (source, kind, target) = self.projected[(topic - self.entities.len()) % self.projected.len()];
                Observation::relation(self.entities[source].clone(), kind, self.entities[target].clone(), "unity")
            }
        };
        let props = NAMES.iter().zip(props).filter_map(|(name, value)| Some(((*name).into(), value_of((*value)?))));
        let mut observation = observation.record(*record).since(*since).trusted(*trust).sure(sureness(*sure));
        observation.props = props.collect();
        observation
    }

    fn edit(&self, asked: &Asked, commits: &[Commit]) -> Option<Edit> {
        let (cause, source_memory_id, fingerprint) = (None, None, None);
        Some(match asked {
            Asked::Observe { group, revision, sighted } => {
                let (key, revision) = (self.groups[*group].clone(), revision.map(revision_of));
                let observations = sighted.iter().map(|sight| self.sighted(sight)).collect();
                Edit::Observe { group: Group { key, revision, observations }, fingerprint }
            }
            Asked::ObserveInPart { group, sighted } => {
                let observations = sighted.iter().map(|sight| self.sighted(sight)).collect();
                Edit::ObserveInPart(Group { key: self.groups[*group].clone(), revision: None, observations })
            }
            Asked::Withdraw { group } => Edit::Withdraw(self.groups[*group].clone()),
            Asked::Mark { group, revision } => {
                let (key, revision) = (self.groups[*group].clone(), Some(revision_of(*revision)));
                Edit::Mark { key, revision, fingerprint, stale: None }
            }
            Asked::Create { entity, status, since } => {
                let (id, key) = self.authored[*entity].clone();
                let props = [("status".into(), value_of(*status))].into();
                Edit::Create { key, id, props, since: *since, source_memory_id, cause }
            }
            Asked::Relate { relation, sure, since } => {
                let (key, confidence) = (self.references[*relation].clone(), confidence(sureness(*sure)));
                Edit::Relate { key, confidence, props: Props::new(), since: *since, cause }
            }
            Asked::Fact { topic, name, value, since } => {
                let props = vec![(NAMES[usize::from(*name)].into(), value.map(value_of))];
                Edit::Fact { topic: self.topic(*topic), props, since: *since, cause }
            }
            Asked::End { topic, since } => Edit::End { topic: self.topic(*topic), since: *since, cause },
            Asked::Repudiate { nth } => {
                let said: Vec<ChangeId> = commits
                    .iter()
                    .flat_map(|commit| (0..).zip(&commit.changes).map(|(index, change)| (commit.seq, index, change)))
                    .filter(|(_, _, change)| matches!(change, Change::Say(_)))
                    .map(|(seq, index, _)| ChangeId { seq, index })
                    .collect();
                let change = *said.get(nth.index(said.len().max(1)))?;
                Edit::Repudiate { change, reason: "a slip".into() }
            }
        })
    }
}

fn value_of(n: u8) -> Value {
    Value::from(["x", "y", "z"][usize::from(n)])
}

fn revision_of(n: u8) -> Name {
    ["r1", "r2"][usize::from(n)].into()
}

fn sureness(n: u8) -> f64 {
    [0.25, 0.5, 1.0][usize::from(n)]
}

fn since() -> impl Strategy<Value = Since> {
    // Mostly of the past: what has a known future is tested by every read, and rests in no run.
    prop_oneof![10 => Just(Since::Observed), 2 => Just(Since::Unbounded), 5 => (0..25i64).prop_map(told), 1 => (0..80i64).prop_map(told)]
}

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![1 => Just(Trust::Hypothesis), 2 => Just(Trust::Derived), 3 => Just(Trust::Authoritative)]
}

fn sight() -> impl Strategy<Value = Sight> {
    let props = [prop::option::of(0..3u8), prop::option::weighted(0.3, 0..3u8)];
    (prop_oneof![0..5usize, 0..13usize], 0..2u32, since(), trust(), 0..3u8, props)
        .prop_map(|(topic, record, since, trust, sure, props)| Sight { topic, record, since, trust, sure, props })
}

fn asked() -> impl Strategy<Value = Asked> {
    let observe = (0..4usize, prop::option::of(0..2u8), prop::collection::vec(sight(), 0..8))
        .prop_map(|(group, revision, sighted)| Asked::Observe { group, revision, sighted });
    prop_oneof![
        10 => observe,
        1 => (0..4usize, prop::collection::vec(sight(), 0..4))
            .prop_map(|(group, sighted)| Asked::ObserveInPart { group, sighted }),
        1 => (0..4usize).prop_map(|group| Asked::Withdraw { group }),
        1 => (0..5usize, 0..2u8).prop_map(|(group, revision)| Asked::Mark { group, revision }),
        2 => (0..2usize, 0..3u8, since()).prop_map(|(entity, status, since)| Asked::Create { entity, status, since }),
        2 => (0..3usize, 0..3u8, since()).prop_map(|(relation, sure, since)| Asked::Relate { relation, sure, since }),
        3 => (0..18usize, 0..2u8, prop::option::weighted(0.8, 0..3u8), since())
            .prop_map(|(topic, name, value, since)| Asked::Fact { topic, name, value, since }),
        1 => (0..18usize, since()).prop_map(|(topic, since)| Asked::End { topic, since }),
        2 => any::<prop::sample::Index>().prop_map(|nth| Asked::Repudiate { nth }),
    ]
}

fn steps(len: usize) -> impl Strategy<Value = Vec<Step>> {
    let later = prop_oneof![1 => Just(0i64), 4 => 1..3i64];
    let step = (later, prop::collection::vec(asked(), 1..3)).prop_map(|(later, edits)| Step { later, edits });
    prop::collection::vec(step, len)
}

/// Where to look: shares of both clocks, a floor, a revision.
type Gaze = (u8, u8, Trust, Option<u8>);

fn gazes(len: usize) -> impl Strategy<Value = Vec<Gaze>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), trust(), prop::option::weighted(0.2, 0..2u8)), len)
}

/// Plays a script; says after each batch what changed.
fn play(script: &[Step], mut after: impl FnMut(&World, &Naive, &[Change])) -> (World, Naive) {
    let (things, mut world, mut naive) = (Things::new(), World::new(), Naive::default());
    let mut stamp = 10;
    let create = |entity| Step { later: 0, edits: vec![Asked::Create { entity, status: 0, since: told(12) }] };
    for step in [create(0), create(1)].iter().chain(script) {
        stamp += step.later;
        let edits: Vec<Edit> = step.edits.iter().filter_map(|asked| things.edit(asked, &world.commits)).collect();
        let mut batch = Batch::new(at(stamp), [0; 10]);
        for edit in &edits {
            batch.push(edit.clone());
        }
        // What is refused changes nothing, for either; when it is refused, tables of their own say.
        let Ok(decision) = world.engine.decide(&batch, at(stamp)) else { continue };
        naive.take(&scope(), &edits, world.engine.seq.0 + 1, at(stamp), &world.commits);
        if !decision.changes.is_empty() {
            let commit = Commit { seq: world.engine.seq.next(), stamp: at(stamp), changes: decision.changes };
            world.engine.apply(&commit);
            world.commits.push(commit);
        }
        let changes = world.commits.last().map_or(&[][..], |commit| &commit.changes);
        after(&world, &naive, changes);
    }
    (world, naive)
}

/// The same look, for both.
fn look(world: &World, (valid, recorded, floor, revision): Gaze) -> (Lens, Look) {
    let recorded = world.engine.seq.0 * u64::from(recorded) / 255;
    // From before the first told start to after the last.
    let valid = i64::from(valid) * 110 / 255 - 10;
    let revision = revision.map(revision_of);
    let lens = world.lens_at(valid, recorded).trust_floor(floor);
    let lens = revision.iter().fold(lens, |lens, revision| lens.revision(revision));
    let by_then = world.commits.iter().filter(|commit| commit.stamp <= at(valid)).map(|commit| commit.seq.0).max();
    // What is told of a time before the first commit has the revision that told it.
    let revised = by_then.map_or(recorded, |seq| seq.min(recorded));
    (lens, Look { valid: at(valid), recorded, floor, revision, revised })
}

fn present(world: &World, floor: Trust) -> (Lens, Look) {
    let lens = world.lens().trust_floor(floor);
    let recorded = lens.recorded().0;
    let look = Look { valid: lens.valid(), recorded, floor, revision: None, revised: recorded };
    (lens, look)
}

/// Compares all that can be read of a topic.
fn compare(topic: &Topic, naive: &Naive, (lens, look): &(Lens, Look)) {
    let context = || format!("{topic} under {look:?}");
    let Some(ix) = lens.engine().find_topic(topic) else { panic!("{} is unknown", context()) };
    let voice = |held: belief::Held| lens.engine().witnesses.voice_at(held.voice);
    let found = match lens.existence(ix) {
        Existence::Absent => Seen::Absent,
        Existence::Tombstoned(_) => Seen::Tombstoned,
        Existence::Present(held) => {
            Seen::Present { voice: voice(held), trust: held.trust, confidence: held.confidence }
        }
    };
    assert_eq!(found, naive.existence(topic, look), "{}", context());
    let name = |prop: &belief::Prop| (lens.engine().names.at(prop.name).clone(), prop.value.clone());
    let props: std::collections::BTreeMap<Name, Value> = lens.props(ix).iter().map(name).collect();
    assert_eq!(props, naive.props(topic, look), "{}", context());
    for name in NAMES {
        assert_eq!(lens.prop(ix, name).as_ref(), props.get(name), "{name} of {}", context());
    }
    let stretch = lens.stretch(ix).map(|stretch| (stretch.since, stretch.from, stretch.until));
    assert_eq!(stretch, naive.stretch(topic, look), "{}", context());
    match topic {
        Topic::Relation(key) => {
            let TopicIx::Relation(ix) = ix else { panic!("a relation") };
            assert_eq!(lens.relation(ix).is_some(), naive.seen(key, look), "{}", context());
        }
        Topic::Entity(id) => {
            let ix = lens.engine().find_entity(*id).unwrap();
            let filter = every_way(lens);
            let edges: Vec<RelationKey> =
                lens.edges(ix, &filter).map(|edge| lens.engine().relation_key(edge.relation)).collect();
            assert_eq!(edges, naive.edges(*id, look), "edges of {}", context());
            let mut counted = Vec::new();
            let all = lens.each_match(ix, &filter, |found| counted.push(lens.engine().relation_key(found.relation)));
            counted.sort();
            let mut listed = edges;
            listed.sort();
            assert_eq!((counted, all), (listed, true), "the count of edges of {}", context());
        }
    }
}

/// The topic of a change, where it is about one.
fn topic_of(change: &Change) -> Option<&Topic> {
    match change {
        Change::Say(Say { topic, .. }) | Change::Unsay { topic, .. } => Some(topic),
        _ => None,
    }
}

/// States of a history neither overlap nor leave gaps; the last alone is open; each says what is believed throughout it.
fn check_states(topic: &Topic, naive: &Naive, (lens, look): &(Lens, Look)) {
    let ix = lens.engine().find_topic(topic).unwrap();
    let states = states(lens, ix);
    let first = states.first().map(|state| state.from);
    let instants = naive.instants(topic, look);
    let begins = instants.iter().copied().find(|instant| naive.there(topic, &Look { valid: *instant, ..look.clone() }));
    assert_eq!(first, begins, "the first state of {topic} begins when it is first there");
    for (i, state) in states.iter().enumerate() {
        assert_eq!(state.until, states.get(i + 1).map(|next| next.from), "no gap, no overlap, one open end");
        assert!(state.until.is_none_or(|until| state.from < until));
        let during = instants.iter().filter(|at| **at >= state.from && state.until.is_none_or(|until| **at < until));
        for instant in during {
            let there = Look { valid: *instant, ..look.clone() };
            let found = match &state.existence {
                Existence::Present(held) => (Some(lens.engine().witnesses.voice_at(held.voice)), false),
                existence => (None, matches!(existence, Existence::Tombstoned(_))),
            };
            let expected: (Option<Voice>, bool) = match naive.existence(topic, &there) {
                Seen::Present { voice, .. } => (Some(voice), false),
                seen => (None, seen == Seen::Tombstoned),
            };
            assert_eq!(found, expected, "{topic} at {instant}");
            let values = state.props.iter().map(|p| (lens.engine().names.at(p.name).clone(), p.value.clone()));
            assert_eq!(values.collect::<std::collections::BTreeMap<_, _>>(), naive.props(topic, &there));
        }
    }
    // The current state is the one without an end, unless something is known of the future.
    if let Some(last) = states.last().filter(|last| last.from <= lens.valid()) {
        assert_eq!(last.existence.held().is_some(), lens.existence(ix).held().is_some(), "{topic}: the current state");
    }
}

proptest! {
    #![proptest_config(Config { cases: 500, rng_algorithm: RngAlgorithm::XorShift, ..Config::default() })]

    /// Every answer of the product comes down to these; one that is wrong for one history is wrong for somebody.
    #[test]
    fn the_engine_is_the_model(script in steps(40), gazes in gazes(3)) {
        let mut turn = 0;
        let (world, naive) = play(&script, |world, naive, changes| {
            turn += 1;
            let now = present(world, Trust::ALL[turn % 3]);
            for topic in changes.iter().filter_map(topic_of).take(2) {
                compare(topic, naive, &now);
            }
        });
        for floor in Trust::ALL {
            let now = present(&world, floor);
            naive.topics().for_each(|topic| compare(topic, &naive, &now));
        }
        let reopened = world.reopened();
        for (i, gaze) in gazes.into_iter().enumerate() {
            let looks = look(if i % 2 == 0 { &world } else { &reopened }, gaze);
            for topic in naive.topics() {
                // A commit that came to nothing, or a topic merely asked about, has no row.
                if looks.0.engine().find_topic(topic).is_some() {
                    compare(topic, &naive, &looks);
                    check_states(topic, &naive, &looks);
                }
            }
        }
    }
}
