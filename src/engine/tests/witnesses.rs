//! Several witnesses of one thing (T-9c), and what belongs to their groups (E-3).

use super::*;
use crate::change::GroupRow;

fn say(source: &str, name: &str, observation: Observation) -> Group {
    group(source, name, vec![observation])
}

/// One record's end must not end another's: a fact stands as long as anybody says it.
#[test]
fn periods_of_several_witnesses_are_a_union() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(20, say("git:main", "log", Observation::entity(hero.clone()).since(told(10))));
    world.observe(30, say("unity:client", "scan", Observation::entity(hero.clone())));
    world.observe(40, group("git:main", "log", vec![]));
    assert_eq!(existence(&world.lens(), &hero), "present", "the scan still says so");
    world.observe(50, group("unity:client", "scan", vec![]));
    let now = world.lens();
    for (instant, expected) in [(9, "absent"), (10, "present"), (35, "present"), (45, "present"), (50, "absent")] {
        assert_eq!(existence(&now.clone().as_of(at(instant)), &hero), expected, "as of {instant}");
    }
    let stretch = now.as_of(at(45)).stretch(world.topic(&hero)).unwrap();
    assert_eq!((stretch.since, stretch.from, stretch.until), (told(10), at(10), Some(at(50))));
}

/// A worse witness that hid a better one would show hearsay as fact; a floor applied after the choice would hide a thing
/// that a trusted witness vouches for.
#[test]
fn the_best_witness_decides_and_the_floor_comes_first() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let named = |trust, sure, since, name: &str| {
        Observation::entity(file("hero.cs")).trusted(trust).sure(sure).since(since).with_text("name", name)
    };
    let table: [(&str, &str, Observation, &str); 7] = [
        ("guess", "g", named(Trust::Hypothesis, 1.0, told(40), "guess"), "-"),
        ("trace", "a", named(Trust::Derived, 0.5, Since::Observed, "observed"), "observed"),
        ("trace", "b", named(Trust::Derived, 0.4, Since::Unbounded, "always"), "always"),
        ("trace", "c", named(Trust::Derived, 0.3, told(10), "told 10"), "told 10"),
        ("trace", "d", named(Trust::Derived, 0.2, told(30), "told 30"), "told 30"),
        ("trace", "e", named(Trust::Derived, 0.9, told(20), "told 20"), "told 30"),
        ("unity", "f", named(Trust::Authoritative, 0.1, Since::Observed, "parsed"), "parsed"),
    ];
    for (i, (source, name, observation, expected)) in (0..).zip(table) {
        world.observe(50 + i, say(source, name, observation));
        assert_eq!(prop(&world.lens(), &hero, "name"), expected, "after {source} {name}");
    }
    let lens = world.lens();
    let held = lens.entity(world.engine.find_entity(id_of(&hero)).unwrap()).unwrap();
    assert_eq!(
        (held.trust, held.confidence),
        (Trust::Authoritative, confidence(0.1)),
        "evidence is the best one's too"
    );
    world.observe(60, group("unity", "f", vec![]));
    for (floor, expected) in [(Trust::Hypothesis, "told 30"), (Trust::Derived, "told 30"), (Trust::Authoritative, "-")]
    {
        assert_eq!(prop(&world.lens().trust_floor(floor), &hero, "name"), expected, "floor {floor}");
    }
    for name in ["a", "b", "c", "d", "e"] {
        world.observe(70, group("trace", name, vec![]));
    }
    assert_eq!(existence(&world.lens(), &hero), "absent", "a hypothesis is below the default floor");
    assert_eq!(prop(&world.lens().trust_floor(Trust::Hypothesis), &hero, "name"), "guess");
}

/// Equally good witnesses must not be told apart by the order in which a machine met them: the newest word wins, and of
/// one commit the first by name.
#[test]
fn equal_witnesses_are_ordered_by_record_and_name() {
    let named = |name: &str| Observation::entity(file("hero.cs")).with_text("name", name);
    let hero = file("hero.cs");
    for flip in [false, true] {
        let mut world = World::new();
        let mut groups = vec![say("unity", "a", named("a")), say("unity", "b", named("b"))];
        if flip {
            groups.reverse();
        }
        world.commit(10, |batch| {
            groups.into_iter().for_each(|group| {
                batch.observe(group);
            })
        });
        assert_eq!(prop(&world.lens(), &hero, "name"), "a");
        world.observe(20, say("unity", "b", named("b2")));
        assert_eq!(prop(&world.lens(), &hero, "name"), "b2");
    }
}

/// The start of a floor's stretch must be that of the witnesses above the floor, or a guess could move a fact back in time.
#[test]
fn a_stretch_is_that_of_the_witnesses_above_the_floor() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(20, say("unity", "scan", Observation::entity(hero.clone())));
    world.observe(
        30,
        say("guess", "model", Observation::entity(hero.clone()).trusted(Trust::Hypothesis).since(told(20))),
    );
    world.observe(
        40,
        say("guess", "older", Observation::entity(hero.clone()).trusted(Trust::Hypothesis).since(told(5))),
    );
    let ix = world.topic(&hero);
    let stretch = |floor| world.lens().trust_floor(floor).stretch(ix).unwrap();
    assert_eq!((stretch(Trust::Hypothesis).since, stretch(Trust::Hypothesis).from), (told(5), at(5)));
    assert_eq!((stretch(Trust::Derived).since, stretch(Trust::Derived).from), (Since::Observed, at(20)));
}

/// "Always so, as far as we know" and "first seen now" are two answers; a store that guessed one from the other would
/// invent a date.
#[test]
fn an_unknown_start_is_not_an_observed_one() {
    let mut world = World::new();
    let (old, new) = (file("old.cs"), file("new.cs"));
    world.observe(
        10,
        group(
            "unity",
            "scan",
            vec![Observation::entity(old.clone()).since(Since::Unbounded), Observation::entity(new.clone())],
        ),
    );
    let before = world.lens().as_of(at(-1_000_000));
    assert_eq!((existence(&before, &old), existence(&before, &new)), ("present", "absent"));
    let since = |key: &EntityKey| world.lens().stretch(world.topic(key)).unwrap().since;
    assert_eq!((since(&old), since(&new)), (Since::Unbounded, Since::Observed));
}

/// A property whose trust stayed behind when its witness was promoted would vanish under the floor.
#[test]
fn better_evidence_for_a_thing_is_better_evidence_for_its_properties() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let named = |trust| Observation::entity(file("hero.cs")).trusted(trust).with_text("name", "Hero");
    world.observe(10, say("graphify", "g", named(Trust::Hypothesis)));
    assert_eq!(prop(&world.lens(), &hero, "name"), "-");
    world.observe(20, say("graphify", "g", named(Trust::Authoritative)));
    assert_eq!(prop(&world.lens().trust_floor(Trust::Authoritative), &hero, "name"), "Hero");
    world.observe(30, say("graphify", "g", named(Trust::Derived)));
    assert_eq!(prop(&world.lens().trust_floor(Trust::Authoritative), &hero, "name"), "-");
}

/// Were a revision a part of facts, every commit of a repository would rewrite the whole graph.
#[test]
fn a_revision_belongs_to_the_group() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    let scan = |revision: &str| Group {
        revision: Some(revision.into()),
        ..group(
            "graphify:main",
            "hero.cs",
            vec![Observation::entity(file("hero.cs")), Observation::entity(file("sword.cs"))],
        )
    };
    world.observe(10, scan("r1"));
    let changes = world.observe(20, scan("r2"));
    let key = GroupKey::new("graphify:main", "hero.cs");
    let row = GroupRow { revision: Some("r2".into()), fingerprint: None, stale: false };
    assert_eq!(changes, [Change::Group { key, row: Some(row) }], "one row, and not a word of any fact");
    assert!(world.observe(30, scan("r2")).is_empty());
    let table = [("r1", 1, "present"), ("r1", 2, "absent"), ("r2", 1, "absent"), ("r2", 2, "present")];
    for (revision, recorded, expected) in table {
        let lens = world.lens().as_recorded(Seq(recorded)).unwrap().revision(revision);
        for key in [&hero, &sword] {
            assert_eq!(existence(&lens, key), expected, "{revision} as recorded at {recorded}");
        }
    }
}

/// The revision of a source must hold for all of its groups but those that have their own.
#[test]
fn a_source_lends_its_revision_to_its_groups() {
    let mut world = World::new();
    let (own, lent) = (file("own.cs"), file("lent.cs"));
    let mark = |revision: &str| Edit::Mark {
        key: GroupKey::whole("unity"),
        revision: Some(revision.into()),
        fingerprint: None,
        stale: None,
    };
    world.commit(10, |batch| {
        batch.push(mark("day 1"));
        batch.observe(say("unity", "lent", Observation::entity(lent.clone())));
        batch.observe(Group { revision: Some("own".into()), ..say("unity", "own", Observation::entity(own.clone())) });
    });
    assert_eq!(world.ask(20, mark("day 2")).len(), 1);
    let seen = |revision: &str| {
        let lens = world.lens().revision(revision);
        [existence(&lens, &own), existence(&lens, &lent)]
    };
    assert_eq!(seen("own"), ["present", "absent"]);
    assert_eq!(seen("day 1"), ["absent", "absent"]);
    assert_eq!(seen("day 2"), ["absent", "present"]);
}

/// A file that holds a thing twice still holds it when one of the two places is deleted.
#[test]
fn each_record_of_a_group_is_a_witness() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let record = |record: u32| Observation::entity(file("hero.cs")).record(record).with_text("name", "Hero");
    world.observe(10, group("unity", "scene", vec![record(0), record(1)]));
    let changes = world.observe(20, group("unity", "scene", vec![record(1)]));
    assert_eq!(changes.len(), 1, "only the record that went is withdrawn");
    assert_eq!((existence(&world.lens(), &hero), prop(&world.lens(), &hero, "name")), ("present", "Hero".into()));
    world.ask(30, Edit::Withdraw(GroupKey::new("unity", "scene")));
    assert_eq!(existence(&world.lens(), &hero), "absent");
}

/// A record that tells two starts for two values tells a history; each holds in its time.
#[test]
fn one_witness_may_tell_a_history() {
    let mut world = World::new();
    let ticket = EntityKey::new("Ticket", "jira", "1");
    let status = |since, status: &str| {
        Observation::entity(EntityKey::new("Ticket", "jira", "1")).since(since).with_text("status", status)
    };
    world.observe(50, group("jira", "1", vec![status(told(30), "done"), status(told(10), "open")]));
    let read = |world: &World, instant| prop(&world.lens().as_of(at(instant)), &ticket, "status");
    assert_eq!([5, 10, 29, 30, 60].map(|instant| read(&world, instant)), ["-", "open", "open", "done", "done"]);
    // A changelog that loses an entry never told it.
    world.observe(60, group("jira", "1", vec![status(told(30), "done")]));
    assert_eq!([10, 29, 30].map(|instant| read(&world, instant)), ["-", "-", "done"]);
    assert_eq!(prop(&world.lens_at(10, 1), &ticket, "status"), "open", "as it was known then");
}
