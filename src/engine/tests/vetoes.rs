//! Ends that hold whatever others say, and what lifts them (T-16).

use super::*;
use crate::change::Presence;
use crate::evidence::Voice;

/// A deletion that a stale index can undo is none; one that nothing can undo loses what comes back.
#[test]
fn a_veto_hides_at_once_and_is_lifted_by_few() {
    let hero = file("hero.cs");
    let seen = |since| Observation::entity(file("hero.cs")).since(since);
    type Then = fn(&mut World, &EntityKey, &dyn Fn(Since) -> Observation);
    let table: [(&str, Then, &str); 7] = [
        ("nothing further", |_, _, _| (), "tombstoned"),
        (
            "observed again by the same witness",
            |world, _, seen| {
                world.observe(60, group("unity", "scan", vec![seen(Since::Observed)]));
            },
            "tombstoned",
        ),
        (
            "observed by a new witness",
            |world, _, seen| {
                world.observe(60, group("p4", "depot", vec![seen(Since::Observed)]));
            },
            "tombstoned",
        ),
        (
            "told for an earlier time",
            |world, _, seen| {
                world.observe(60, group("p4", "depot", vec![seen(told(49))]));
            },
            "tombstoned",
        ),
        (
            "told to have been so always",
            |world, _, seen| {
                world.observe(60, group("p4", "depot", vec![seen(Since::Unbounded)]));
            },
            "tombstoned",
        ),
        (
            "told for a later time",
            |world, _, seen| {
                world.observe(60, group("p4", "depot", vec![seen(told(55))]));
            },
            "present",
        ),
        (
            "made again by the author, who had ended it",
            |world, hero, _| {
                world.commit(60, |batch| {
                    let (key, id, since) = (hero.clone(), id_of(hero), Since::Observed);
                    batch.push(Edit::Create {
                        key,
                        id,
                        props: Props::new(),
                        since,
                        source_memory_id: None,
                        cause: None,
                    });
                });
            },
            "present",
        ),
    ];
    for (what, then, expected) in table {
        let mut world = World::new();
        world.observe(10, group("unity", "scan", vec![seen(Since::Observed)]));
        world.observe(20, group("git", "log", vec![seen(told(5)).with_text("name", "Hero")]));
        let before = world.topic(&hero);
        world.end(50, &hero, Since::Observed);
        assert_eq!(existence(&world.lens(), &hero), "tombstoned", "at once, whatever others say");
        then(&mut world, &hero, &seen);
        assert_eq!(existence(&world.lens().at(at(99)), &hero), expected, "{what}");
        assert_eq!(existence(&world.lens().as_of(at(52)), &hero), "tombstoned", "{what}: the gap stays");
        assert_eq!(existence(&world.lens().as_of(at(49)), &hero), "present", "{what}: so does what was before");
        assert_eq!(world.topic(&hero), before, "{what}: the identity is the same");
        if expected == "present" {
            assert_eq!(prop(&world.lens().at(at(99)), &hero, "name"), "Hero", "{what}: so do others' words");
        }
    }
}

/// A veto is somebody's word: it can be wrong, and taking it back must bring back what it hid.
#[test]
fn a_repudiated_veto_never_was() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(10, group("unity", "scan", vec![Observation::entity(hero.clone())]));
    world.end(20, &hero, Since::Observed);
    let ended = world.change(|_| true);
    world.commit(30, |batch| {
        batch.repudiate(ended, "the wrong file");
    });
    let read = |instant, recorded| existence(&world.lens_at(instant, recorded), &hero);
    assert_eq!((read(25, 2), read(25, 3), read(35, 3)), ("tombstoned", "present", "present"));
    assert_eq!(existence(&world.lens(), &hero), "present");
}

/// A deleted thing that a walk still passes through would show what lies behind it.
#[test]
fn what_is_ended_bridges_nothing() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    let seen = [&hero, &sword].map(|key| Observation::entity(key.clone()));
    world.observe(10, group("unity", "scan", [&seen[..], &[depends(&hero, &sword)]].concat()));
    let uses = depends_key(&hero, &sword);
    world.end(20, &uses, Since::Observed);
    assert_eq!(existence(&world.lens(), &uses), "tombstoned");
    assert!(neighbours(&world.lens(), &hero).is_empty());
    assert_eq!(neighbours(&world.lens_at(15, 2), &hero), ["sword.cs"]);
    world.observe(30, group("unity", "scan", [&seen[..], &[depends(&hero, &sword).since(told(25))]].concat()));
    assert_eq!(neighbours(&world.lens(), &hero), ["sword.cs"], "told for a later time");
}

/// A second observation of a changed thing lifts nothing either: rebuilds differ in how often they look.
#[test]
fn a_changed_observation_lifts_nothing() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let named = |name: &str| group("unity", "scan", vec![Observation::entity(file("hero.cs")).with_text("name", name)]);
    world.observe(10, named("Hero"));
    world.end(20, &hero, Since::Observed);
    world.observe(30, named("Heroine"));
    world.observe(40, group("unity", "scan", vec![]));
    world.observe(50, named("Heroine"));
    assert_eq!(existence(&world.lens(), &hero), "tombstoned");
}

/// A source that deletes and restores must be believed about both, whichever of its records speaks.
#[test]
fn a_source_lifts_its_own_veto() {
    let hero = file("hero.cs");
    let voice = |source: &str, name: &str| Voice::Record { group: GroupKey::new(source, name), record: 0 };
    let say = |voice, from, presence| {
        Change::Say(Say {
            topic: hero.topic(),
            voice,
            since: Since::Observed,
            from: at(from),
            trust: Trust::Authoritative,
            confidence: Confidence::ONE,
            presence: Some(presence),
            props: Vec::new(),
            place: None,
            cause: None,
        })
    };
    for (restored_by, expected) in [("p4", "present"), ("unity", "tombstoned")] {
        let mut world = World::new();
        world.observe(10, group("git", "log", vec![Observation::entity(hero.clone())]));
        let history = [
            (20, say(voice("p4", "delete"), 20, Presence::Veto)),
            (30, say(voice(restored_by, "restore"), 30, Presence::Present)),
        ];
        for (stamp, change) in history {
            let commit = Commit { seq: world.engine.seq.next(), stamp: at(stamp), changes: vec![change] };
            world.engine.apply(&commit);
            world.commits.push(commit);
        }
        assert_eq!(existence(&world.lens().as_of(at(25)), &hero), "tombstoned");
        assert_eq!(existence(&world.lens(), &hero), expected, "restored by {restored_by}");
    }
}
