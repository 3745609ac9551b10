//! Payloads: every change goes through bytes and back, and no bytes break the decoder.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::change::{Change, Commit, GroupRow, Presence, Say};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId, Seq};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::{Since, Time};
use crate::value::{DEPTH_MAX, Value};

/// A few names that come again, and any others.
fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        prop::sample::select(vec!["", "kind", "graphify:main", "ゲーム"]).prop_map(Name::from),
        ".{0,12}".prop_map(Name::from)
    ]
}

fn id() -> impl Strategy<Value = EntityId> {
    prop_oneof![(0..4u128).boxed(), any::<u128>().boxed()].prop_map(|id| EntityId::from(Uuid::from_u128(id)))
}

fn time() -> impl Strategy<Value = Time> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>(), -1000..1000i64].prop_map(Time::from_micros)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::Float),
        name().prop_map(|name| Value::from(&name)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(name(), inner, 0..5).prop_map(|map| Value::Map(Arc::new(map))),
        ]
    })
}

fn topic() -> impl Strategy<Value = Topic> {
    prop_oneof![
        id().prop_map(Topic::Entity),
        (id(), id(), name(), name()).prop_map(|(source, target, kind, origin)| Topic::Relation(RelationKey {
            source,
            target,
            kind,
            origin
        })),
    ]
}

fn voice() -> impl Strategy<Value = Voice> {
    let record = (name(), name(), any::<u32>());
    prop_oneof![
        Just(Voice::Author),
        record.prop_map(|(source, group, record)| Voice::Record { group: GroupKey { source, group }, record }),
    ]
}

fn cause() -> impl Strategy<Value = Cause> {
    (option::of(name()), option::of(name()), option::of(name()), option::of(name()), option::of(any::<u64>())).prop_map(
        |(event_type, memory_id, commit, description, event_seq)| Cause {
            event_type,
            memory_id,
            commit,
            description,
            event_seq,
        },
    )
}

fn say() -> impl Strategy<Value = Change> {
    let since = prop_oneof![Just(Since::Observed), Just(Since::Unbounded), time().prop_map(Since::Told)];
    let presence = prop::sample::select(vec![Presence::Present, Presence::Absent, Presence::Veto]);
    let belief =
        (prop::sample::select(Trust::ALL.to_vec()), 0..=1_000_000u32, option::of(presence), option::of(cause()));
    let props = btree_map(name(), option::of(value()), 0..5);
    (topic(), voice(), since, time(), belief, props, option::of(value())).prop_map(
        |(topic, voice, since, from, (trust, millionths, presence, cause), props, place)| {
            let confidence = Confidence::from_millionths(millionths).unwrap();
            let props = props.into_iter().collect();
            Change::Say(Say { topic, voice, since, from, trust, confidence, presence, props, place, cause })
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let key =
        (name(), name(), name()).prop_map(|(kind, authority, external_id)| EntityKey { kind, authority, external_id });
    let change_id = (any::<u64>(), any::<u32>()).prop_map(|(seq, index)| ChangeId { seq: Seq(seq), index });
    let row = (option::of(name()), option::of(name()), any::<bool>())
        .prop_map(|(revision, fingerprint, stale)| GroupRow { revision, fingerprint, stale });
    prop_oneof![
        (id(), key, option::of(name())).prop_map(|(id, key, source_memory_id)| Change::Name {
            id,
            key,
            source_memory_id
        }),
        say(),
        (change_id, topic(), option::of(name())).prop_map(|(change, topic, reason)| Change::Unsay {
            change,
            topic,
            reason
        }),
        (topic(), voice(), option::of(value())).prop_map(|(topic, voice, place)| Change::Place { topic, voice, place }),
        (name(), name(), option::of(row))
            .prop_map(|(source, group, row)| Change::Group { key: GroupKey { source, group }, row }),
        (name(), option::of(value())).prop_map(|(name, body)| Change::Note { name, body }),
    ]
}

fn commit() -> impl Strategy<Value = Commit> {
    (1..u64::MAX, time(), vec(change(), 0..6)).prop_map(|(seq, stamp, changes)| Commit {
        seq: Seq(seq),
        stamp,
        changes,
    })
}

fn encoded(commit: &Commit) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(commit, &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    /// A commit that came back different would be another history after every restart.
    #[test]
    fn a_commit_comes_back_as_it_was(commit in commit()) {
        let bytes = encoded(&commit);
        prop_assert_eq!(&decode(commit.seq, &bytes).unwrap(), &commit);
        // No prefix of it is a commit, too.
        for cut in 0..bytes.len() {
            prop_assert!(decode(commit.seq, &bytes[..cut]).is_err());
        }
    }

    /// Bytes that got past the checksum must at worst be refused; and one commit with two spellings would break chains
    /// and digests.
    #[test]
    fn other_bytes_are_refused_or_plain(commit in commit(), edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = encoded(&commit);
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(commit) = decode(commit.seq, &bytes) {
            prop_assert_eq!(encoded(&commit), bytes);
        }
    }

    #[test]
    fn noise_is_refused_or_plain(bytes in vec(prop_oneof![0..9u8, any::<u8>()], 0..64)) {
        if let Ok(commit) = decode(Seq(1), &bytes) {
            prop_assert_eq!(encoded(&commit), bytes);
        }
    }
}

/// Each row is one way to say a thing twice, to say too much, or to announce what isn't there.
#[test]
fn malformed_payloads_say_what_was_expected() {
    for (bytes, expected) in [
        (&[][..], "one more byte expected"),
        (&[0x80, 0x00], "the shortest form of a number expected"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], "a number of 64 bits expected"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x00], "a number of at most 10 bytes"),
        (&[0, 0, 0, 0, 0], "the end of the payload expected"),
        (&[0, 1, 1, b'a', 0, 0], "every entry of the dictionaries used expected"),
        (&[0, 2, 1, b'a', 1, b'a', 0, 0], "distinct strings expected"),
        (&[0, 1, 1, 0xff, 0, 0], "UTF-8 expected"),
        (&[0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f], "more bytes expected"),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0x0f], "one more byte expected"),
        (&[0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f], "one more byte expected"),
        (&[0, 0, 0, 1, 7], "the tag of a change"),
        (&[0, 1, 1, b'a', 0, 1, NOTE, 1, NONE], "first used in their order expected"),
        (&[0, 0, 0, 1, NOTE, 0, NONE], "the number of a string expected"),
        (&[0, 1, 1, b'a', 0, 1, NOTE, 0, 9], "the tag of a value"),
        (&[0, 1, 1, b'a', 0, 1, NOTE, 0, LIST, 1, NONE], "a value expected, none found"),
        (&[0, 1, 1, b'a', 0, 1, NOTE, 0, MAP, 2, 0, NULL, 0, NULL], "keys sorted by name expected"),
        (&[0, 1, 1, b'a', 0, 1, NOTE, 0, FLOAT, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f], "a finite number expected"),
        (&[0, 1, 1, b'a', 0, 1, GROUP, 0, 0, 8], "no flags expected on a group that is gone"),
        (&[0, 1, 1, b'a', 0, 1, GROUP, 0, 0, 0x11], "known flags expected"),
        (&[0, 0, 0, 1, SAY, 0, 3], "a trust class"),
        (&[0, 0, 0, 1, SAY, 0, 0, 4], "a presence"),
        (&[0, 0, 0, 1, SAY, 0, 0, 0, 2], "a topic"),
    ] {
        let malformed = decode(Seq(1), bytes).unwrap_err();
        assert!(malformed.what.contains(expected), "{bytes:?}: {malformed:?}, expected {expected:?}");
        assert!(malformed.offset <= bytes.len());
    }
}

fn nested(depth: usize) -> Commit {
    let body = (0..depth).fold(Value::Null, |value, _| Value::from(vec![value]));
    Commit {
        seq: Seq(1),
        stamp: Time::from_micros(0),
        changes: vec![Change::Note { name: "n".into(), body: Some(body) }],
    }
}

/// A frame that can be written and not read would end a store for good; one that nests without end, the stack.
#[test]
fn nesting_has_an_end_on_both_sides() {
    let deepest = nested(DEPTH_MAX);
    assert_eq!(decode(Seq(1), &encoded(&deepest)).unwrap(), deepest);
    assert_eq!(encode(&nested(DEPTH_MAX + 1), &mut Vec::new()).unwrap_err().code(), crate::Code::TooLarge);
    let mut bytes = vec![0, 1, 1, b'n', 0, 1, NOTE, 0];
    bytes.extend([LIST, 1].repeat(1 << 20));
    assert!(decode(Seq(1), &bytes).unwrap_err().what.contains("nested at most"));
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let say = |props: Vec<(Name, Option<Value>)>| Commit {
        changes: vec![Change::Say(Say {
            topic: Topic::Entity(EntityId::from(Uuid::nil())),
            voice: Voice::Author,
            since: Since::Observed,
            from: Time::from_micros(0),
            trust: Trust::Derived,
            confidence: Confidence::ONE,
            presence: None,
            props,
            place: None,
            cause: None,
        })],
        ..nested(0)
    };
    for props in [
        vec![("b".into(), None), ("a".into(), None)],
        vec![("a".into(), None), ("a".into(), None)],
        vec![("a".into(), Some(Value::Float(f64::NAN)))],
        vec![("a".into(), Some(Value::Map(Arc::new(BTreeMap::from([("x".into(), Value::Float(f64::INFINITY))])))))],
    ] {
        assert_eq!(encode(&say(props), &mut Vec::new()).unwrap_err().code(), crate::Code::Invalid);
    }
}
