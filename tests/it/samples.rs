//! Commits to write.

use triglyph::change::{Change, Commit, GroupRow, Presence, Say};
use triglyph::{
    Cause, ChangeId, Confidence, EntityId, EntityKey, GroupKey, Name, RelationKey, Scope, Seq, Since, Time, Topic,
    Trust, Value, Voice,
};

/// The scope that the tests write to.
pub(crate) fn scope() -> Scope {
    Scope::new("acme", "demo").unwrap()
}

/// A small commit that says a little of everything, different for each sequence.
pub(crate) fn commit(seq: u64) -> Commit {
    let key = EntityKey::new("File", "repo", format!("src/{seq}.rs"));
    let id = EntityId::projected(&scope(), &key);
    let stamp = Time::from_micros(1_767_225_600_000_000 + seq as i64);
    let voice = Voice::Record { group: GroupKey::new("graphify:main", format!("src/{seq}.rs")), record: seq as u32 };
    let props = vec![
        (Name::from("lines"), Some(Value::Int(seq as i64 * 7 - 20))),
        (Name::from("path"), Some(Value::from(format!("src/{seq}.rs")))),
        (Name::from("weight"), Some(Value::Float(0.5 * seq as f64))),
    ];
    let said = Say {
        topic: Topic::Entity(id),
        voice: voice.clone(),
        since: Since::Observed,
        from: stamp,
        trust: Trust::Authoritative,
        confidence: Confidence::ONE,
        presence: Some(Presence::Present),
        props,
        place: Some(Value::Int(12)),
        cause: None,
    };
    let relation = RelationKey { source: id, target: id, kind: "DEPENDS_ON".into(), origin: "graphify".into() };
    let related = Say {
        topic: Topic::Relation(relation),
        voice: Voice::Author,
        since: Since::Told(Time::from_micros(-5)),
        from: Time::from_micros(-5),
        confidence: Confidence::new(0.25).unwrap(),
        presence: None,
        props: vec![(Name::from("gone"), None)],
        place: None,
        cause: Some(Cause { event_type: Some("rename".into()), event_seq: Some(seq), ..Cause::default() }),
        ..said.clone()
    };
    let row = GroupRow { revision: Some(format!("r{seq}").into()), fingerprint: None, stale: seq.is_multiple_of(2) };
    let changes = vec![
        Change::Name { id, key, source_memory_id: None },
        Change::Say(said),
        Change::Say(related),
        Change::Unsay { change: ChangeId { seq: Seq(1), index: 0 }, topic: Topic::Entity(id), reason: None },
        Change::Place { topic: Topic::Entity(id), voice, place: None },
        Change::Group { key: GroupKey::whole("graphify:main"), row: Some(row) },
        Change::Note { name: "queue".into(), body: Some(Value::from(vec![Value::Null, Value::Bool(true)])) },
    ];
    Commit { seq: Seq(seq), stamp, changes }
}

/// A commit of about this many bytes.
pub(crate) fn large(seq: u64, bytes: usize) -> Commit {
    let body = Value::from("x".repeat(bytes));
    Commit { changes: vec![Change::Note { name: "large".into(), body: Some(body) }], ..commit(seq) }
}
