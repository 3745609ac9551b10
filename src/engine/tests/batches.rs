//! What a batch may ask, and how it is refused: T-3d, M-5, M-9, M-10, M-13, M-14.

use super::*;
use crate::change::GroupRow;
use crate::error::Code;

fn create(kind: &str, name: &str, id: EntityId, given: Props) -> Edit {
    let key = EntityKey::new(kind, "authored", name);
    Edit::Create { key, id, props: given, since: Since::Observed, source_memory_id: None, cause: None }
}

fn id(n: u8) -> EntityId {
    EntityId::fresh(1_000_000, [n; 10])
}

fn relate(source: EntityId, kind: &str, target: EntityId) -> Edit {
    let key = RelationKey { source, target, kind: kind.into(), origin: "authored".into() };
    Edit::Relate { key, confidence: Confidence::ONE, props: Props::new(), since: Since::Observed, cause: None }
}

fn fact(id: EntityId, name: &str, value: Option<&str>, since: Since) -> Edit {
    let props = vec![(name.into(), value.map(Value::from))];
    Edit::Fact { topic: Topic::Entity(id), props, since, cause: None }
}

/// An ADR (1), a SPEC (2), a symbol (3) and its owner (4).
fn studio() -> World {
    let mut world = World::new();
    world.commit(10, |batch| {
        batch.push(create("ADR", "adr", id(1), [("number".into(), Value::Int(7))].into()));
        batch.push(create("SPEC", "spec", id(2), props(&[("title", "Saving")])));
        batch.push(create("Symbol", "symbol", id(3), Props::new()));
        batch.push(create("Owner", "owner", id(4), Props::new()));
    });
    world
}

/// One refusal a row: a message that names what is wrong and what to do is all that a caller at night has.
#[test]
fn refusals_say_what_is_wrong() {
    let missing = id(9);
    let table: [(&str, Vec<Edit>, Code, &[&str]); 16] = [
        (
            "two values at one instant",
            vec![fact(id(1), "status", Some("a"), told(5)), fact(id(1), "status", Some("b"), told(5))],
            Code::Conflict,
            &["edits 0 and 1", "\"status\"", "different instants"],
        ),
        (
            "a value twice in one edit",
            vec![Edit::Fact {
                topic: id(1).topic(),
                props: vec![("status".into(), Some("a".into())), ("status".into(), Some("b".into()))],
                since: told(5),
                cause: None,
            }],
            Code::Conflict,
            &["\"status\""],
        ),
        (
            "created and ended at once",
            vec![
                create("ADR", "new", id(8), Props::new()),
                Edit::End { topic: id(8).topic(), since: Since::Observed, cause: None },
            ],
            Code::Conflict,
            &["edits 0 and 1", "existence"],
        ),
        (
            "an immutable property",
            vec![fact(id(1), "number", Some("8"), Since::Observed)],
            Code::Invalid,
            &["\"number\"", "ADR", "immutable"],
        ),
        (
            "an undeclared property",
            vec![fact(id(1), "statsu", Some("x"), Since::Observed)],
            Code::Invalid,
            &["ADR", "\"statsu\"", "did you mean \"status\"?"],
        ),
        (
            "an undeclared property at creation",
            vec![create("SPEC", "other", id(8), props(&[("titel", "x")]))],
            Code::Invalid,
            &["SPEC", "\"titel\"", "did you mean \"title\"?"],
        ),
        (
            "an undeclared type",
            vec![create("Spec", "other", id(8), Props::new())],
            Code::Invalid,
            &["\"Spec\"", "did you mean \"SPEC\"?"],
        ),
        (
            "an id that is taken",
            vec![create("ADR", "another", id(2), Props::new())],
            Code::Conflict,
            &["SPEC authored:spec", "ADR authored:another"],
        ),
        (
            "a reference that is not allowed",
            vec![relate(id(3), "FORMALIZES", id(4))],
            Code::ReferenceNotAllowed,
            &["Symbol FORMALIZES Owner", "are allowed: none"],
        ),
        (
            "an undeclared relation type",
            vec![relate(id(1), "FORMALISES", id(2))],
            Code::Invalid,
            &["\"FORMALISES\"", "did you mean \"FORMALIZES\"?"],
        ),
        ("no source", vec![relate(missing, "FORMALIZES", id(2))], Code::NotFound, &["source", "is not here"]),
        ("no target", vec![relate(id(1), "FORMALIZES", missing)], Code::NotFound, &["target", "is not here"]),
        ("a fact of nothing", vec![fact(missing, "status", Some("x"), Since::Observed)], Code::NotFound, &["is here"]),
        (
            "an end of nothing",
            vec![Edit::End { topic: missing.topic(), since: Since::Observed, cause: None }],
            Code::NotFound,
            &["is here"],
        ),
        (
            "a change that never was",
            vec![Edit::Repudiate { change: "99.0".parse().unwrap(), reason: "".into() }],
            Code::NotFound,
            &["99.0"],
        ),
        (
            "one group twice",
            vec![
                Edit::Observe { group: group("unity", "g", vec![Observation::entity(file("a"))]), fingerprint: None },
                Edit::Withdraw(GroupKey::new("unity", "g")),
            ],
            Code::Conflict,
            &["edits 0 and 1", "unity", "\"g\""],
        ),
    ];
    for (what, edits, code, words) in table {
        let mut world = studio();
        let (seq, changes) = (world.engine.seq, world.commits.len());
        let error = world
            .try_commit(20, |batch| {
                edits.into_iter().for_each(|edit| {
                    batch.push(edit);
                })
            })
            .unwrap_err();
        assert_eq!(error.code(), code, "{what}: {error}");
        for word in words {
            assert!(error.message().contains(word), "{what}: {word:?} expected in: {error}");
        }
        assert_eq!((world.engine.seq, world.commits.len()), (seq, changes), "{what}: a refused batch changes nothing");
    }
}

/// The list of what is allowed spares the second try.
#[test]
fn a_refused_reference_lists_what_is_allowed() {
    let mut world = studio();
    let ticket = create("Ticket", "LF-1", id(5), Props::new());
    world.ask(20, ticket);
    let error = world
        .try_commit(30, |batch| {
            batch.push(relate(id(5), "CALLS", id(2)));
        })
        .unwrap_err();
    let allowed = ["DOCUMENTS", "IMPLEMENTS", "MENTIONS", "REFERENCES", "RESOLVES"];
    assert!(error.message().contains(&allowed.join(", ")), "{error}");
    assert_eq!(error.to_json()["error"]["details"]["allowed"], serde_json::json!(allowed));
}

/// A batch that lost the race must not be decided against what it never saw.
#[test]
fn a_batch_may_insist_on_a_sequence() {
    let mut world = studio();
    let batch = |seq| {
        move |batch: &mut Batch| {
            batch.if_seq(Seq(seq)).push(fact(id(1), "status", Some("x"), Since::Observed));
        }
    };
    let error = world.try_commit(20, batch(0)).unwrap_err();
    assert_eq!((error.code(), error.to_json()["error"]["details"]["found"].clone()), (Code::Conflict, 1.into()));
    assert_eq!(world.commit(20, batch(1)).len(), 1);
}

/// A view taken before a commit that changed under its reader would answer from two worlds.
#[test]
fn reads_see_nothing_of_a_batch_in_progress() {
    let mut world = studio();
    let before = world.lens();
    world.commit(20, |batch| {
        batch.push(fact(id(1), "status", Some("accepted"), Since::Observed));
        batch.push(relate(id(1), "FORMALIZES", id(2)));
        batch.push(create("SPEC", "new", id(6), Props::new()));
    });
    assert_eq!((prop(&before, &id(1), "status"), existence(&before, &id(6))), ("-".into(), "unknown"));
    assert!(before.edges(before.engine().find_entity(id(1)).unwrap(), &every_way(&before)).next().is_none());
    assert_eq!(
        (prop(&world.lens(), &id(1), "status"), existence(&world.lens(), &id(6))),
        ("accepted".into(), "present")
    );
}

/// Edits of one batch may build on each other's names, and on nothing else.
#[test]
fn a_batch_sees_the_names_that_it_makes() {
    let mut world = World::new();
    world.commit(10, |batch| {
        batch.push(create("ADR", "adr", id(1), Props::new()));
        batch.push(create("SPEC", "spec", id(2), Props::new()));
        batch.push(relate(id(1), "FORMALIZES", id(2)));
        batch.push(fact(id(2), "status", Some("draft"), Since::Observed));
    });
    assert_eq!(prop(&world.lens(), &id(2), "status"), "draft");
    // A relation that a source saw names its ends, and says nothing of whether they are there.
    let (adr, spec) = (EntityKey::new("ADR", "documents", "1"), EntityKey::new("SPEC", "documents", "2"));
    let seen = Observation::relation(adr.clone(), "FORMALIZES", spec.clone(), "documents");
    for refused in
        [relate(id_of(&adr), "FORMALIZES", id_of(&spec)), fact(id_of(&adr), "status", Some("x"), Since::Observed)]
    {
        let error = world.try_commit(20, |batch| {
            batch.observe(group("documents", "g", vec![seen.clone()])).push(refused);
        });
        assert_eq!(error.unwrap_err().code(), Code::NotFound);
    }
}

/// A creation that is sent twice, as after a lost answer, must not fail nor make a second thing.
#[test]
fn creating_again_is_free() {
    let mut world = studio();
    assert!(world.ask(20, create("SPEC", "spec", id(2), props(&[("title", "Saving")]))).is_empty());
    assert!(world.ask(20, create("SPEC", "spec", id(2), Props::new())).is_empty());
}

/// What is said again must cost nothing, or a rebuild every minute would fill the disk.
#[test]
fn saying_the_same_again_changes_nothing() {
    let hero = file("hero.cs");
    let everything = || Group {
        revision: Some("r1".into()),
        ..group(
            "unity",
            "g",
            vec![
                Observation::entity(file("hero.cs")).with_text("name", "Hero"),
                Observation::entity(file("hero.cs")).record(1).since(told(5)).sure(0.5),
                Observation::entity(file("sword.cs")).since(Since::Unbounded),
                depends(&file("hero.cs"), &file("sword.cs")).trusted(Trust::Derived).with_text("field", "weapon"),
            ],
        )
    };
    let mut world = studio();
    world.observe(20, everything());
    let mut reversed = everything();
    reversed.observations.reverse();
    assert!(world.observe(30, everything()).is_empty());
    assert!(world.observe(40, reversed).is_empty(), "in any order");
    let nothing = fact(id(1), "summary", None, Since::Observed);
    assert!(world.ask(45, nothing).is_empty(), "there was no summary to take away");
    let again: [Edit; 4] = [
        relate(id(1), "FORMALIZES", id(2)),
        fact(id(1), "status", Some("open"), Since::Observed),
        fact(id(1), "status", Some("late"), told(3)),
        Edit::End { topic: id(3).topic(), since: Since::Observed, cause: None },
    ];
    for (i, edit) in (0..).zip(again) {
        let first = world.ask(50 + i, edit.clone());
        let second = world.ask(60 + i, edit.clone());
        assert!(second.is_empty(), "{edit:?}: {first:?} then {second:?}");
    }
    assert_eq!(world.commits.iter().filter(|commit| commit.changes.is_empty()).count(), 0);
    assert_eq!(prop(&world.lens(), &hero, "name"), "Hero");
}

/// Counts that called a thing changed that nobody changed would wake everybody who watches them.
#[test]
fn what_was_seen_again_is_counted_as_unchanged() {
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    let mut world = World::new();
    let seen = |name: &str| {
        group(
            "unity",
            "g",
            vec![
                Observation::entity(file("hero.cs")).with_text("name", name),
                Observation::entity(file("sword.cs")),
                depends(&file("hero.cs"), &file("sword.cs")),
            ],
        )
    };
    world.observe(10, seen("Hero"));
    let mut batch = Batch::new(at(20), [0; 10]);
    batch.observe(seen("Heroine"));
    let decision = world.engine.decide(&batch, at(20)).unwrap();
    assert_eq!((decision.entities_unchanged, decision.relations_unchanged, decision.changes.len()), (1, 1, 1));
    let place = |line: &str| {
        let mut observation = depends(&hero, &sword);
        observation.place = Some(line.into());
        group("unity", "p", vec![observation])
    };
    world.observe(30, place("L1"));
    let moved = world.observe(40, place("L2"));
    assert!(matches!(moved[..], [Change::Place { .. }]), "a place is no version: {moved:?}");
}

/// Rows that a parser hands over in another order are the same file, even where they contradict each other.
#[test]
fn the_order_of_a_parser_decides_nothing() {
    let named = |since, name: &str| Observation::entity(file("hero.cs")).since(since).with_text("name", name);
    let words =
        || vec![named(told(5), "b"), named(told(5), "a"), named(Since::Observed, "d"), named(Since::Observed, "c")];
    let mut reversed = words();
    reversed.reverse();
    for observations in [words(), reversed] {
        let mut world = World::new();
        world.observe(10, group("unity", "g", observations));
        let name = |instant| prop(&world.lens().as_of(at(instant)), &file("hero.cs"), "name");
        assert_eq!((name(7), name(10)), ("b".into(), "d".into()));
        assert!(world.observe(20, group("unity", "g", words())).is_empty());
    }
}

/// What a type does not declare is lost to nobody: kept under `extra` where a source says it.
#[test]
fn undeclared_properties_of_sources_are_kept_aside() {
    let mut world = World::new();
    let (hero, odd) = (file("hero.cs"), EntityKey::new("graphify:rationale", "graphify:main", "r1"));
    world.observe(
        10,
        group(
            "graphify:main",
            "g",
            vec![
                Observation::entity(hero.clone())
                    .with_text("name", "Hero")
                    .with_text("_callable", "yes")
                    .with_text("odd", "1"),
                Observation::entity(odd.clone()).with_text("anything", "goes"),
            ],
        ),
    );
    assert_eq!(prop(&world.lens(), &hero, "name"), "Hero");
    assert_eq!(prop(&world.lens(), &hero, "extra"), r#"{"_callable":"yes","odd":"1"}"#);
    assert_eq!(prop(&world.lens(), &odd, "anything"), "goes", "a kind that nobody declares takes anything");
}

/// Two rows for one symmetric relation would count it twice, and an end of one would leave the other.
#[test]
fn a_symmetric_relation_is_one_row_from_either_end() {
    let mut world = World::new();
    world.commit(10, |batch| {
        batch.push(create("Ticket", "LF-1", id(1), Props::new()));
        batch.push(create("Ticket", "LF-2", id(2), Props::new()));
        batch.push(relate(id(2), "RELATES_TO", id(1)));
    });
    assert!(world.ask(20, relate(id(1), "RELATES_TO", id(2))).is_empty());
    assert_eq!(world.engine.relations.len(), 1);
    let [a, b] = [EntityKey::new("Ticket", "jira", "1"), EntityKey::new("Ticket", "jira", "2")];
    let linked = |x: &EntityKey, y: &EntityKey| Observation::relation(x.clone(), "DUPLICATES", y.clone(), "jira");
    world.observe(30, group("jira", "links", vec![linked(&a, &b)]));
    assert!(world.observe(40, group("jira", "links", vec![linked(&b, &a)])).is_empty());
    assert_eq!(world.engine.relations.len(), 2);
    // Named from either end, it is the one row.
    for (source, target) in [(id(1), id(2)), (id(2), id(1))] {
        let key = RelationKey { source, target, kind: "RELATES_TO".into(), origin: "authored".into() };
        let props = vec![("why".into(), Some(Value::from(source.to_string())))];
        world.commit(50, |batch| {
            batch.push(Edit::Fact { topic: key.topic(), props, since: Since::Observed, cause: None });
        });
        assert_eq!(world.engine.relations.len(), 2);
        world.end(60, &key, Since::Observed);
        let (low, high) = (id(1).min(id(2)), id(1).max(id(2)));
        let one = RelationKey { source: low, target: high, kind: "RELATES_TO".into(), origin: "authored".into() };
        assert_eq!(existence(&world.lens(), &one), "tombstoned");
    }
}

/// Parallel relations are different facts: by type, and by who says so.
#[test]
fn parallel_relations_are_kept_apart() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    let relation = |kind: &str, origin: &str| Observation::relation(file("hero.cs"), kind, file("sword.cs"), origin);
    let all = vec![
        Observation::entity(hero.clone()),
        Observation::entity(sword.clone()),
        relation("CALLS", "graphify"),
        relation("USES", "graphify"),
        relation("CALLS", "roslyn"),
    ];
    world.observe(10, group("graphify:main", "g", all.clone()));
    assert_eq!(neighbours(&world.lens(), &hero).len(), 3);
    world.observe(20, group("graphify:main", "g", all[..4].to_vec()));
    assert_eq!(neighbours(&world.lens(), &hero).len(), 2);
}

/// A relation whose end nobody has seen yet waits, and is there when its end is.
#[test]
fn a_projected_relation_waits_for_its_ends() {
    let mut world = World::new();
    let (hero, sword) = (file("hero.cs"), file("sword.cs"));
    world.observe(10, group("unity", "hero", vec![Observation::entity(hero.clone()), depends(&hero, &sword)]));
    assert!(neighbours(&world.lens(), &hero).is_empty());
    let changes = world.observe(20, group("unity", "sword", vec![Observation::entity(sword.clone())]));
    assert!(!changes.iter().any(|change| matches!(change, Change::Say(Say { topic: Topic::Relation(_), .. }))));
    assert_eq!(neighbours(&world.lens(), &hero), ["sword.cs"]);
    assert!(neighbours(&world.lens_at(15, 2), &hero).is_empty());
}

/// What is known of a group is data like any other: marked, kept where a field is not given, gone with the group.
#[test]
fn marks_change_only_what_they_name() {
    let mut world = World::new();
    let key = GroupKey::new("unity", "g");
    let mark = |revision: Option<&str>, stale| Edit::Mark {
        key: GroupKey::new("unity", "g"),
        revision: revision.map(Into::into),
        fingerprint: None,
        stale,
    };
    let row = |world: &World| {
        let group = world.engine.witnesses.find_group(&key)?;
        world.engine.witnesses.group_at(group).row(world.engine.seq).cloned()
    };
    world.ask(10, mark(Some("r1"), None));
    world.ask(20, mark(None, Some(true)));
    assert_eq!(row(&world), Some(GroupRow { revision: Some("r1".into()), fingerprint: None, stale: true }));
    assert!(world.ask(30, mark(Some("r1"), None)).is_empty());
    world.ask(40, Edit::Withdraw(key.clone()));
    assert_eq!(row(&world), None);
}

/// What is set for good would change by being ended and made anew.
#[test]
fn an_end_frees_no_immutable_property() {
    let mut world = studio();
    world.end(20, &id(1), Since::Observed);
    let number = |n: i64| create("ADR", "adr", id(1), [("number".into(), Value::Int(n))].into());
    let again = |world: &mut World, edit: Edit| {
        world.try_commit(30, |batch| {
            batch.push(edit);
        })
    };
    let error = again(&mut world, number(8)).unwrap_err();
    assert!(error.message().contains("\"number\" of a ADR is immutable"), "{error}");
    again(&mut world, number(7)).unwrap();
    assert_eq!(prop(&world.lens(), &id(1), "number"), "7");
    again(&mut world, number(8)).unwrap_err();
    again(&mut world, create("ADR", "adr", id(5), [("number".into(), Value::Int(8))].into())).unwrap();
}

/// Small changes add up: a state that grew by them must be no larger than one that was given at once.
#[test]
fn a_state_is_bounded_however_it_grows() {
    let text = |share: usize| "x".repeat(crate::value::BYTES_MAX / share);
    let mut world = studio();
    let mut say = |facts: &[(&str, usize, Since)]| {
        world
            .try_commit(20, |batch| {
                for (name, share, since) in facts {
                    batch.push(fact(id(2), name, Some(&text(*share)), *since));
                }
            })
            .map_err(|error| error.code())
    };
    let too_large = Err(Code::TooLarge);
    assert_eq!(say(&[("title", 2, told(15)), ("status", 2, told(15))]).map(|_| ()), too_large, "in one batch");
    say(&[("title", 2, told(15))]).unwrap();
    assert_eq!(say(&[("status", 2, told(16))]).map(|_| ()), too_large, "over two");
    assert_eq!(say(&[("status", 2, told(12))]).map(|_| ()), too_large, "what is told late lasts into a later state");
    say(&[("status", 3, told(16)), ("title", 3, told(17))]).unwrap();
    say(&[("status", 2, told(18))]).unwrap();
}

/// A time that no answer can spell would be shown as another one, and couldn't be asked for.
#[test]
fn times_that_cannot_be_spelt_are_refused() {
    for beyond in [i64::MAX, i64::MIN, i64::MIN + 1] {
        let mut world = studio();
        let told_then = |key: EntityKey| Observation { since: told(beyond), ..Observation::entity(key) };
        for edit in [
            fact(id(2), "title", Some("Saved"), told(beyond)),
            Edit::End { topic: id(2).topic(), since: told(beyond), cause: None },
            Edit::Observe { group: group("unity", "g", vec![told_then(file("hero.cs"))]), fingerprint: None },
        ] {
            let refused = world.try_commit(20, |batch| {
                batch.push(edit);
            });
            let error = refused.unwrap_err();
            assert!(error.message().contains("from 0001-01-01T00:00:00.000000Z to 9999-12-30"), "{error}");
        }
    }
}
