//! Incremental is full (E-4): a group that was read many times comes to what it comes to when read once.
//!
//! Compared is content: what each witness says now, and every start that it tells. Observed starts, and what a witness no
//! longer says, are no content.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;
use crate::change::Presence;
use crate::engine::belief::{Moment, Point, Spoken};
use crate::key::Name;

/// What one witness says: since when, how surely, and with which values.
type Said = Vec<(Since, Trust, u8, [Option<u8>; 2])>;

/// What a group says: by topic and record.
type Content = BTreeMap<(usize, u32), Said>;

const GROUPS: [&str; 2] = ["a", "b"];
const NAMES: [&str; 2] = ["name", "status"];

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![Just(Trust::Derived), Just(Trust::Authoritative)]
}

/// A witness observes, or tells one or several starts (of the past, or of times yet to come), or tells what was so
/// before anything was observed and observes what is so now.
fn said() -> impl Strategy<Value = Said> {
    let what = || (trust(), 0..3u8, [prop::option::of(0..2u8), prop::option::of(0..2u8)]);
    let observed = || what().prop_map(|(trust, sure, props)| vec![(Since::Observed, trust, sure, props)]);
    let told = |until: i64| {
        let start = prop_oneof![1 => Just(Since::Unbounded), 4 => (0..until).prop_map(|tens| told(tens * 10))];
        let starts = prop::collection::btree_map(start, what(), 1..4);
        starts.prop_map(|starts| starts.into_iter().map(|(since, (t, s, p))| (since, t, s, p)).collect::<Said>())
    };
    let both = (told(3), observed()).prop_map(|(told, observed)| [told, observed].concat());
    prop_oneof![3 => observed(), 2 => told(9), 1 => both]
}

fn content() -> impl Strategy<Value = Option<Content>> {
    let content = prop::collection::btree_map((0..5usize, 0..2u32), said(), 0..5);
    prop_oneof![5 => content.prop_map(Some), 1 => Just(None)]
}

fn group_of(name: &str, content: &Content) -> Group {
    let (a, b) = (file("a.cs"), file("b.cs"));
    let observation = |topic| match topic {
        0 => Observation::entity(a.clone()),
        1 => Observation::entity(b.clone()),
        2 => Observation::entity(EntityKey::new("Ticket", "jira", "1")),
        3 => depends(&a, &b),
        _ => depends(&b, &a),
    };
    let observations = content.iter().flat_map(|((topic, record), said)| {
        said.iter().map(move |(since, trust, sure, props)| {
            let observation = observation(*topic).record(*record).since(*since).trusted(*trust);
            let mut observation = observation.sure(f64::from(*sure) / 2.0);
            let values = NAMES.iter().zip(props).filter_map(|(name, value)| Some((*name, (*value)?)));
            observation.props = values.map(|(name, value)| (name.into(), Value::Int(i64::from(value)))).collect();
            observation
        })
    });
    group("unity", name, observations.collect())
}

fn edit_of(name: &str, content: Option<&Content>) -> Edit {
    match content {
        Some(content) => Edit::Observe { group: group_of(name, content), fingerprint: None },
        None => Edit::Withdraw(GroupKey::new("unity", name)),
    }
}

/// The content of an engine, a line for each word.
fn lines(world: &World, now: i64) -> BTreeSet<String> {
    let engine = &world.engine;
    let entities = (0..engine.entities.len()).map(|row| TopicIx::Entity(crate::id::EntityIx::nth(row)));
    let relations = (0..engine.relations.len()).map(|row| TopicIx::Relation(crate::id::RelationIx::nth(row)));
    let mut lines = BTreeSet::new();
    for topic in entities.chain(relations) {
        for spoken in engine.history(topic).voices() {
            let head = format!("{} {}", engine.topic(topic), engine.witnesses.voice_at(spoken.voice));
            voice_lines(world, spoken, now, &head, &mut lines);
        }
    }
    lines
}

fn voice_lines(world: &World, spoken: &Spoken, now: i64, head: &str, lines: &mut BTreeSet<String>) {
    let moment = |valid| Moment { valid, recorded: world.engine.seq };
    let evidence = |point: &Point| {
        let since = match point.since {
            Since::Told(instant) => instant.micros().to_string(),
            since => format!("{since:?}"),
        };
        format!("{} {} {since}", point.trust, point.confidence)
    };
    // Now, and wherever a start is told that was not taken back.
    let told = spoken.points.iter().filter(|point| point.since != Since::Observed && point.unsaid.is_none());
    let there = |at| spoken.presence(moment(at)).filter(|point| point.presence == Some(Presence::Present));
    let live = there(at(now)).is_some();
    // Told starts of a witness that no longer speaks are leftovers; ones yet to come would speak again.
    let starts: BTreeSet<Time> = told.map(|point| point.from).filter(|from| live || *from > at(now)).collect();
    for instant in starts.into_iter().chain([at(now)]) {
        let Some(point) = there(instant) else { continue };
        lines.insert(format!("{instant} {head} is there, {}", evidence(point)));
        for name in spoken.prop_names() {
            let Some(point) = spoken.prop(name, moment(instant)) else { continue };
            if let Some(value) = point.prop(name).flatten() {
                let name: &Name = world.engine.names.at(name);
                lines.insert(format!("{instant} {head} {name} = {}, {}", value.canonical(), evidence(point)));
            }
        }
    }
}

fn check(histories: &[[Option<Content>; 2]]) {
    let mut world = World::new();
    let mut stamp = 25;
    for contents in histories {
        stamp += 7;
        for (name, content) in GROUPS.iter().zip(contents) {
            world.ask(stamp, edit_of(name, content.as_ref()));
        }
    }
    let mut fresh = World::new();
    let last = histories.last().unwrap();
    for (name, content) in GROUPS.iter().zip(last).rev() {
        fresh.ask(stamp, edit_of(name, content.as_ref()));
    }
    assert_eq!(lines(&world, stamp), lines(&fresh, stamp));
    for (name, content) in GROUPS.iter().zip(last) {
        let again = world.ask(stamp + 1, edit_of(name, content.as_ref()));
        assert!(again.is_empty(), "and read once more, it says nothing new: {again:?}");
    }
}

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    /// Where incremental and full part, two machines disagree about the same files, and nobody knows which to believe.
    #[test]
    fn incremental_is_full(histories in prop::collection::vec([content(), content()], 1..8)) {
        check(&histories);
    }
}

/// The common way there: a branch is switched away and back, and what tells its start must have it again.
#[test]
fn what_returns_with_its_start_has_it_again() {
    let told_20: Content = [((0, 0), vec![(told(20), Trust::Authoritative, 2, [Some(1), None])])].into();
    let observed: Content = [((0, 0), vec![(Since::Observed, Trust::Authoritative, 2, [Some(0), Some(1)])])].into();
    let to_come: Content = [((0, 0), vec![(told(90), Trust::Authoritative, 2, [None, None])])].into();
    let empty = Content::new;
    check(&[[Some(told_20.clone()), None], [Some(empty()), None], [Some(told_20.clone()), None]]);
    check(&[[Some(observed.clone()), None], [Some(told_20.clone()), None]]);
    check(&[[Some(told_20.clone()), None], [Some(observed.clone()), None], [Some(told_20), None]]);
    // What is only to come is not there yet, whatever was observed; and nobody tells it any more once its group is gone.
    check(&[[Some(observed.clone()), None], [Some(to_come.clone()), None]]);
    check(&[[Some(to_come.clone()), None], [Some(empty()), None]]);
    check(&[[Some(observed), None], [Some(to_come), None], [None, None]]);
}
