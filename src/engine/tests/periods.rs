//! Disjoint periods, and relations cut by their ends (T-9b).

use super::*;

/// Joined periods would show a thing that wasn't there; a period that ends another's would hide one that was.
#[test]
fn disjoint_periods_are_kept_apart() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let seen = |record, since| Observation::entity(file("hero.cs")).record(record).since(told(since));
    // Two records tell two starts; the first goes at 30, the second begins at 50 and goes at 80.
    world.observe(20, group("git:main", "log", vec![seen(0, 10)]));
    world.observe(30, group("git:main", "log", vec![]));
    world.observe(60, group("git:main", "log", vec![seen(1, 50)]));
    world.observe(80, group("git:main", "log", vec![]));
    let table = [
        (9, "absent"),
        (10, "present"),
        (29, "present"),
        (30, "absent"),
        (49, "absent"),
        (50, "present"),
        (79, "present"),
        (80, "absent"),
        (99, "absent"),
    ];
    for (instant, expected) in table {
        assert_eq!(existence(&world.lens().as_of(at(instant)), &hero), expected, "as of {instant}");
    }
}

/// A relation that dangled would send a reader to nothing; one that didn't return with its end would be lost for ever.
#[test]
fn a_relation_is_seen_while_both_its_ends_are() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    let uses = depends_key(&hero, &sword);
    let ends = |keys: &[&EntityKey]| {
        group("unity:client", "ends", keys.iter().map(|key| Observation::entity((*key).clone())).collect())
    };
    world.observe(10, group("unity:client", "hero", vec![depends(&hero, &sword)]));
    world.observe(20, ends(&[&hero]));
    world.observe(30, ends(&[&hero, &sword]));
    world.observe(40, ends(&[&hero]));
    world.observe(50, ends(&[&hero, &sword]));
    world.end(60, &sword, Since::Observed);
    world.commit(70, |batch| {
        let (key, id, since) = (sword.clone(), id_of(&sword), Since::Observed);
        batch.push(Edit::Create { key, id, props: Props::new(), since, source_memory_id: None, cause: None });
    });
    let table = [
        (10, 1, "cut", "its ends were named, nobody says that they are there"),
        (20, 2, "cut", "one end is there"),
        (30, 3, "present", "both are"),
        (40, 4, "cut", "the target was withdrawn"),
        (50, 5, "present", "and returned"),
        (60, 6, "cut", "the target was ended"),
        (70, 7, "present", "and made again: the same id, so the same relation"),
    ];
    let reopened = world.reopened();
    for world in [&world, &reopened] {
        for (stamp, seq, expected, why) in table {
            let lens = world.lens_at(stamp, 7);
            assert_eq!(existence(&lens, &uses), expected, "as of {stamp}: {why}");
            let recorded = world.lens().as_recorded(Seq(seq)).unwrap();
            assert_eq!(existence(&recorded, &uses), expected, "as recorded at {seq}: {why}");
            for lens in [lens, recorded] {
                let expected: &[&str] = if expected == "present" { &["sword.cs"] } else { &[] };
                assert_eq!(neighbours(&lens, &hero), expected, "{why}");
                assert_eq!(neighbours(&lens, &sword).len(), expected.len(), "{why}");
            }
        }
        assert_eq!(neighbours(&world.lens(), &hero), ["sword.cs"]);
    }
    let lens = world.lens_at(55, 7);
    let TopicIx::Relation(ix) = world.topic(&uses) else { panic!("a relation") };
    let seen = lens.seen_stretch(ix).unwrap();
    assert_eq!((seen.from, seen.until), (at(50), Some(at(60))), "the interval is cut by those of the ends");
}

/// A relation type with two ends in one entity must not be lost, doubled or shown twice.
#[test]
fn a_self_loop_is_one_relation() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(10, group("unity:client", "g", vec![Observation::entity(hero.clone()), depends(&hero, &hero)]));
    assert_eq!(neighbours(&world.lens(), &hero), ["hero.cs"]);
    assert_eq!(neighbours(&world.lens().as_of(at(10)), &hero), ["hero.cs"]);
    world.observe(20, group("unity:client", "g", vec![depends(&hero, &hero)]));
    assert!(neighbours(&world.lens(), &hero).is_empty());
    assert_eq!(neighbours(&world.lens_at(15, 2), &hero), ["hero.cs"]);
}

/// A start or an end that is known ahead must take effect when its instant comes, without a commit.
#[test]
fn what_is_told_for_the_future_comes_true_by_itself() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    world.observe(
        10,
        group(
            "unity:client",
            "g",
            vec![
                Observation::entity(hero.clone()),
                Observation::entity(sword.clone()),
                depends(&hero, &sword).since(told(50)),
            ],
        ),
    );
    world.end(20, &sword, told(70));
    for (now, expected) in [(20, &[][..]), (49, &[]), (50, &["sword.cs"]), (69, &["sword.cs"]), (70, &[]), (90, &[])] {
        // The present as a clock has it, and the same instant asked for.
        assert_eq!(neighbours(&world.lens().at(at(now)), &hero), expected, "now {now}");
        assert_eq!(neighbours(&world.lens().as_of(at(now)), &hero), expected, "as of {now}");
    }
}

/// The relations of a thing must know that it will come, or go, though nobody speaks of them again.
#[test]
fn what_is_told_of_an_end_reaches_its_relations() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    world.observe(10, group("unity", "hero", vec![Observation::entity(hero.clone()), depends(&hero, &sword)]));
    world.observe(20, group("unity", "sword", vec![Observation::entity(sword.clone()).since(told(50))]));
    let at_instants =
        |world: &World| [20, 49, 50, 79, 80].map(|now| neighbours(&world.lens().at(at(now)), &hero).len());
    assert_eq!(at_instants(&world), [0, 0, 1, 1, 1]);
    world.observe(50, group("unity", "other", vec![Observation::entity(sword.clone())]));
    world.end(60, &sword, told(80));
    let now = [60, 79, 80, 99].map(|now| neighbours(&world.lens().at(at(now)), &hero).len());
    assert_eq!((now, at_instants(&world)), ([1, 1, 0, 0], [0, 0, 1, 1, 0]));
}

/// An author who acts on what a clock says must not be refused because the last commit is older than the fact.
#[test]
fn authors_are_judged_at_their_own_instant() {
    let mut world = World::new();
    let (adr, spec) = (EntityId::fresh(1, [1; 10]), EntityId::fresh(1, [2; 10]));
    let create = |id, kind: &str, since| {
        let key = EntityKey::new(kind, "authored", format!("{id}"));
        Edit::Create { key, id, props: Props::new(), since, source_memory_id: None, cause: None }
    };
    world.commit(10, |batch| {
        batch.push(create(adr, "ADR", Since::Observed)).push(create(spec, "SPEC", told(50)));
    });
    let early = world
        .try_commit(20, |batch| {
            batch.relate(adr, "FORMALIZES", spec);
        })
        .unwrap_err();
    assert_eq!(early.code(), crate::Code::NotFound);
    world.commit(60, |batch| {
        batch.relate(adr, "FORMALIZES", spec);
    });
    world.end(70, &spec, told(90));
    let late = world
        .try_commit(95, |batch| {
            batch.relate(adr, "SPECIFIES", spec);
        })
        .unwrap_err();
    assert_eq!(late.code(), crate::Code::NotFound);
}
