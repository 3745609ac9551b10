//! The four corrections over both clocks (T-3c).

use super::*;

/// Were two of the four verbs one, either a mistake would rewrite what was true once, or a change would be taken for a
/// mistake: each must answer differently, now and then.
///
/// At sequence 1 a ticket was told to be open from 10 on and closed from 30 on. Sequence 2 brings the correction. A column
/// is an instant T; the rows of one correction are the knowledge before it (S = 1) and after it (S = 2).
#[test]
fn each_correction_answers_differently_now_and_then() {
    #[rustfmt::skip]
    let table: [(&str, Correct, &str, &str); 4] = [
        //                                                  T =   5      10     20      30      40
        ("late fact: in review from 20 on", late_fact, "S = 1:    -      open   open    closed  closed",
                                                       "S = 2:    -      open   review  closed  closed"),
        ("correction: it was rejected",    correction, "S = 1:    -      open   open    closed  closed",
                                                       "S = 2:    -      open   open    reject  reject"),
        ("cessation: gone from 35 on",      cessation, "S = 1:    -      open   open    closed  closed",
                                                       "S = 2:    -      open   open    closed  gone"),
        ("repudiation: never closed",     repudiation, "S = 1:    -      open   open    closed  closed",
                                                       "S = 2:    -      open   open    open    open"),
    ];
    for (what, correct, before, after) in table {
        let (mut world, ticket, closed) = ticket();
        world.commit(60, |batch| correct(batch, ticket, closed));
        for (recorded, row) in [(1, before), (2, after)] {
            let expected: Vec<&str> = row.split_whitespace().skip(3).collect();
            let reopened = world.reopened();
            for world in [&world, &reopened] {
                let found: Vec<String> = [5, 10, 20, 30, 40]
                    .map(|instant| {
                        let lens = world.lens_at(instant, recorded);
                        match existence(&lens, &ticket) {
                            "present" => prop(&lens, &ticket, "status"),
                            "absent" => "-".into(),
                            _ => "gone".into(),
                        }
                    })
                    .into();
                assert_eq!(found, expected, "{what}, {row}");
            }
        }
    }
}

type Correct = fn(&mut Batch, EntityId, ChangeId);

fn ticket() -> (World, EntityId, ChangeId) {
    let mut world = World::new();
    let mut ticket = None;
    world.commit(50, |batch| {
        let id = batch.fresh_id();
        let key = EntityKey::new("Ticket", "authored", "LF-1");
        let props = props(&[("status", "open")]);
        batch.push(Edit::Create { key, id, props, since: told(10), source_memory_id: None, cause: None });
        batch.fact(id, "status", "closed", told(30));
        ticket = Some(id);
    });
    let closed = world.change(|say| say.from == at(30));
    (world, ticket.unwrap(), closed)
}

fn late_fact(batch: &mut Batch, ticket: EntityId, _: ChangeId) {
    batch.fact(ticket, "status", "review", told(20));
}

fn correction(batch: &mut Batch, ticket: EntityId, _: ChangeId) {
    batch.fact(ticket, "status", "reject", told(30));
}

fn cessation(batch: &mut Batch, ticket: EntityId, _: ChangeId) {
    batch.end(ticket, told(35));
}

fn repudiation(batch: &mut Batch, _: EntityId, closed: ChangeId) {
    batch.repudiate(closed, "the wrong ticket was closed");
}

/// Without the rule that a repudiated word falls through, a correction that was itself wrong would leave a hole.
#[test]
fn a_repudiated_correction_falls_through_to_what_it_corrected() {
    let (mut world, ticket, _) = ticket();
    world.commit(60, |batch| correction(batch, ticket, ChangeId { seq: Seq(1), index: 0 }));
    let corrected = world.change(|say| say.from == at(30));
    world.commit(70, |batch| {
        batch.repudiate(corrected, "it was closed after all");
    });
    let status = |recorded| prop(&world.lens_at(40, recorded), &ticket, "status");
    assert_eq!([1, 2, 3].map(status), ["closed", "reject", "closed"]);
    // Taking back what is taken back says nothing new.
    assert!(
        world
            .commit(80, |batch| {
                batch.repudiate(corrected, "again");
            })
            .is_empty()
    );
}

/// A late value must not overwrite what a later state set itself, nor be lost to the states that follow it.
#[test]
fn a_later_state_inherits_a_late_value_unless_it_set_it() {
    let (mut world, ticket, _) = ticket();
    world.commit(60, |batch| {
        batch.fact(ticket, "assignee", "ada", told(20));
    });
    let lens = world.lens_at(40, 2);
    assert_eq!((prop(&lens, &ticket, "assignee"), prop(&lens, &ticket, "status")), ("ada".into(), "closed".into()));
}

/// A read as recorded that looked at today's instant would mix what was known then with what had not yet happened.
#[test]
fn as_recorded_alone_looks_at_the_instant_of_that_sequence() {
    let (mut world, ticket, _) = ticket();
    world.commit(60, |batch| {
        batch.fact(ticket, "status", "reopened", told(55));
    });
    let lens = world.lens().as_recorded(Seq(1)).unwrap();
    assert_eq!((lens.valid(), prop(&lens, &ticket, "status")), (at(50), "closed".into()));
    let empty = world.lens().as_recorded(Seq::ZERO).unwrap();
    assert_eq!(existence(&empty, &ticket), "absent");
    assert!(world.lens().as_recorded(Seq(3)).unwrap_err().message().contains("the newest is 2"));
}
