//! The states of an entity, and the events between them (T-5, T-6, T-7).

use super::super::states::{State, states};
use super::*;
use crate::evidence::Cause;

fn shown(states: &[State]) -> Vec<String> {
    let show = |state: &State| {
        let existence = match state.existence {
            Existence::Absent => "absent".to_owned(),
            Existence::Tombstoned(_) => "tombstoned".to_owned(),
            Existence::Present(_) => {
                let values = state.props.iter().map(|prop| prop.value.as_str().unwrap_or("?").to_owned());
                format!("present {}", values.collect::<Vec<_>>().join(" "))
            }
        };
        let until = state.until.map_or_else(String::new, |until| until.micros().to_string());
        format!("{}..{until} {existence} ({})", state.from.micros(), state.event.event_type).replace("  ", " ")
    };
    states.iter().map(show).collect()
}

/// A history with a gap could not say what was so in between; one with an overlap would say two things.
#[test]
fn a_life_in_states() {
    let mut world = World::new();
    let (ticket, other) = (EntityId::fresh(1, [1; 10]), EntityKey::new("Ticket", "jira", "1"));
    let create = |since| {
        let key = EntityKey::new("Ticket", "jira", "1");
        Edit::Create {
            key,
            id: id_of(&other),
            props: props(&[("status", "open")]),
            since,
            source_memory_id: None,
            cause: None,
        }
    };
    assert_ne!(ticket, id_of(&other));
    let id = id_of(&other);
    world.ask(10, create(told(10)));
    world.commit(20, |batch| {
        let cause = Cause { event_type: Some("status_transition".into()), ..Cause::default() };
        let props = vec![("status".into(), Some("started".into()))];
        batch.push(Edit::Fact { topic: id.topic(), props, since: Since::Observed, cause: Some(cause) });
    });
    world.commit(30, |batch| {
        batch.fact(id, "assignee", "ada", Since::Observed);
    });
    world.end(40, &id, Since::Observed);
    world.ask(50, create(Since::Observed));
    world.commit(60, |batch| {
        batch.fact(id, "status", "begun", told(20));
    });
    let all = states(&world.lens(), world.topic(&id));
    assert_eq!(
        shown(&all),
        [
            "10..20 present open (observed)",
            "20..30 present begun (corrected)",
            "30..40 present begun ada (changed)",
            "40..50 tombstoned (tombstoned)",
            "50.. present open ada (reactivated)",
        ]
    );
    let before = states(&world.lens().as_recorded(Seq(5)).unwrap(), world.topic(&id));
    assert_eq!(shown(&before)[1], "20..30 present started (status_transition)", "as it was known then");
    assert_eq!(before[1].said, ChangeId { seq: Seq(2), index: 0 });
}

/// A repudiated beginning of a state must still be citable in what was known before it was repudiated.
#[test]
fn a_state_names_the_change_that_began_it_as_known_then() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let named = |name: &str| {
        let named = |path: &str| Observation::entity(file(path)).with_text("name", name);
        group("unity", "g", vec![named("a first change.cs"), named("hero.cs")])
    };
    world.observe(10, named("Hero"));
    world.observe(20, named("Villain"));
    let villain = world.change(|say| say.topic == hero.topic());
    assert_eq!(villain.index, 1);
    world.commit(30, |batch| {
        batch.repudiate(villain, "a slip");
    });
    let then = states(&world.lens().as_recorded(Seq(2)).unwrap(), world.topic(&hero));
    assert_eq!((then.len(), then[1].said), (2, villain));
    assert_eq!(shown(&states(&world.lens(), world.topic(&hero))), ["10.. present Hero (observed)"]);
}

/// Two witnesses that tell the same start agree; neither corrects the other.
#[test]
fn a_second_witness_is_no_correction() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(10, group("git", "log", vec![Observation::entity(hero.clone()).since(told(5))]));
    world.observe(20, group("p4", "depot", vec![Observation::entity(hero.clone()).since(told(5))]));
    assert_eq!(shown(&states(&world.lens(), world.topic(&hero))), ["5.. present (observed)"]);
}

/// Whoever reads that a ticket was never closed wants to know who took that back, and why.
#[test]
fn what_was_taken_back_says_so() {
    let mut world = World::new();
    let hero = file("hero.cs");
    world.observe(
        10,
        group("unity", "g", vec![Observation::entity(hero.clone()).since(told(5)).with_text("name", "Hero")]),
    );
    let status = |world: &mut World, stamp, value: &str| {
        world.commit(stamp, |batch| {
            batch.fact(id_of(&hero), "status", value, told(20));
        });
    };
    status(&mut world, 30, "begun");
    status(&mut world, 40, "done");
    let done = world.change(|say| say.topic == hero.topic());
    world.commit(50, |batch| {
        batch.repudiate(done, "it never was");
    });
    let all = states(&world.lens(), world.topic(&hero));
    assert_eq!(shown(&all), ["5..20 present Hero (observed)", "20.. present Hero begun (repudiated)"]);
    assert_eq!(all[1].event.cause.as_ref().unwrap().description.as_deref(), Some("it never was"));
    assert_eq!(all[1].said.seq, Seq(2), "and the change that holds again can be cited");
    let before = states(&world.lens().as_recorded(Seq(3)).unwrap(), world.topic(&hero));
    assert_eq!(shown(&before)[1], "20.. present Hero done (corrected)");
    // Said again after it was taken back, it corrects what stands.
    status(&mut world, 60, "done");
    assert_eq!(shown(&states(&world.lens(), world.topic(&hero)))[1], "20.. present Hero done (corrected)");
    // Saying the same of other evidence is no correction of it.
    world.commit(70, |batch| {
        batch.fact(id_of(&hero), "name", "Villain", told(20));
    });
    assert_eq!(shown(&states(&world.lens(), world.topic(&hero)))[1], "20.. present Villain done (changed)");
}

/// A tombstone that cites another change can't be lifted by repudiating what it cites.
#[test]
fn a_tombstone_names_its_veto() {
    let mut world = World::new();
    let hero = file("hero.cs");
    let unity = group("unity", "g", vec![Observation::entity(hero.clone()).since(told(5))]);
    world.observe(10, Group { revision: Some("r1".into()), ..unity });
    world.end(20, &hero, told(15));
    let veto = world.change(|say| say.topic == hero.topic());
    world.observe(30, group("git", "log", vec![Observation::entity(hero.clone()).since(told(15))]));
    for lens in [world.lens(), world.lens().revision("r1")] {
        let all = states(&lens, world.topic(&hero));
        let last = all.last().unwrap();
        assert_eq!((last.said, &*last.event.event_type), (veto, "tombstoned"), "{:?}", shown(&all));
    }
}
