//! A commit into bytes.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::HashMap;

use uuid::Uuid;

use super::*;
use crate::change::{Change, Commit, GroupRow, Presence, Say};
use crate::error::{Code, Error};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::EntityId;
use crate::key::{Name, Topic};
use crate::persist::log::record::{FRAME_BYTES_MAX, too_large};
use crate::time::Since;
use crate::value::{DEPTH_MAX, Value};

/// Appends the payload of a commit.
///
/// # Errors
/// `too_large` when it wouldn't fit a frame or nests too deep; `invalid` when properties are not sorted or a number is
/// not finite. What is encoded can always be decoded.
pub(crate) fn encode(commit: &Commit, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut encoder = Encoder { out: Vec::new(), strings: Dictionary::default(), ids: Dictionary::default(), bytes: 0 };
    encoder.uint(commit.changes.len() as u64);
    for change in &commit.changes {
        encoder.change(change)?;
        let so_far = encoder.out.len().saturating_add(encoder.bytes);
        if so_far > FRAME_BYTES_MAX {
            return Err(too_large(so_far));
        }
    }
    let Encoder { out: changes, strings, ids, .. } = encoder;
    put_uint(out, zigzag(commit.stamp.micros()));
    put_uint(out, strings.order.len() as u64);
    for text in strings.order {
        put_uint(out, text.len() as u64);
        out.extend_from_slice(text.as_bytes());
    }
    put_uint(out, ids.order.len() as u64);
    for id in ids.order {
        out.extend_from_slice(id.as_bytes());
    }
    out.extend_from_slice(&changes);
    Ok(())
}

#[derive(Default)]
struct Dictionary<K> {
    numbers: HashMap<K, u64>,
    order: Vec<K>,
}

impl<K: Copy + Eq + std::hash::Hash> Dictionary<K> {
    /// The number of `key`, and whether it is new.
    fn number(&mut self, key: K) -> (u64, bool) {
        let next = self.order.len() as u64;
        let number = *self.numbers.entry(key).or_insert(next);
        let new = number == next;
        if new {
            self.order.push(key);
        }
        (number, new)
    }
}

struct Encoder<'a> {
    out: Vec<u8>,
    strings: Dictionary<&'a str>,
    ids: Dictionary<Uuid>,
    /// The bytes that the dictionaries will take, about.
    bytes: usize,
}

fn put_uint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

impl<'a> Encoder<'a> {
    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    fn uint(&mut self, value: u64) {
        put_uint(&mut self.out, value);
    }

    fn int(&mut self, value: i64) {
        self.uint(zigzag(value));
    }

    fn text(&mut self, text: &'a str) {
        let (number, new) = self.strings.number(text);
        if new {
            self.bytes = self.bytes.saturating_add(text.len()).saturating_add(1);
        }
        self.uint(number);
    }

    fn id(&mut self, id: EntityId) {
        let (number, new) = self.ids.number(id.uuid());
        if new {
            self.bytes = self.bytes.saturating_add(16);
        }
        self.uint(number);
    }

    fn change(&mut self, change: &'a Change) -> Result<(), Error> {
        match change {
            Change::Name { id, key, source_memory_id } => {
                self.byte(NAME);
                self.byte(flags(&[source_memory_id.is_some()]));
                self.id(*id);
                self.text(&key.kind);
                self.text(&key.authority);
                self.text(&key.external_id);
                self.texts(&[source_memory_id]);
            }
            Change::Say(say) => {
                self.byte(SAY);
                self.say(say)?;
            }
            Change::Unsay { change, topic, reason } => {
                self.byte(UNSAY);
                self.byte(flags(&[reason.is_some()]));
                self.uint(change.seq.0);
                self.uint(u64::from(change.index));
                self.topic(topic);
                self.texts(&[reason]);
            }
            Change::Place { topic, voice, place } => {
                self.byte(PLACE);
                self.topic(topic);
                self.voice(voice);
                self.value(place.as_ref(), DEPTH_MAX)?;
            }
            Change::Group { key, row } => {
                self.byte(GROUP);
                self.group(key);
                let missing = GroupRow::default();
                let GroupRow { revision, fingerprint, stale } = row.as_ref().unwrap_or(&missing);
                self.byte(flags(&[row.is_some(), revision.is_some(), fingerprint.is_some(), *stale]));
                if let Some(row) = row {
                    self.texts(&[&row.revision, &row.fingerprint]);
                }
            }
            Change::Note { name, body } => {
                self.byte(NOTE);
                self.text(name);
                self.value(body.as_ref(), DEPTH_MAX)?;
            }
        }
        Ok(())
    }

    fn say(&mut self, say: &'a Say) -> Result<(), Error> {
        self.byte(flags(&[say.confidence != Confidence::ONE, say.place.is_some(), say.cause.is_some()]));
        self.byte(match say.trust {
            Trust::Hypothesis => 0,
            Trust::Derived => 1,
            Trust::Authoritative => 2,
        });
        self.byte(match say.presence {
            None => 0,
            Some(Presence::Present) => 1,
            Some(Presence::Absent) => 2,
            Some(Presence::Veto) => 3,
        });
        self.topic(&say.topic);
        self.voice(&say.voice);
        match say.since {
            Since::Observed => self.byte(OBSERVED),
            Since::Unbounded => self.byte(UNBOUNDED),
            Since::Told(at) => {
                self.byte(TOLD);
                self.int(at.micros());
            }
        }
        self.int(say.from.micros());
        if say.confidence != Confidence::ONE {
            self.uint(u64::from(say.confidence.millionths()));
        }
        self.uint(say.props.len() as u64);
        let mut last: Option<&Name> = None;
        for (name, value) in &say.props {
            if last.is_some_and(|last| last >= name) {
                return Err(Error::invalid(format!(
                    "expected properties sorted by name, each once, found {name:?} out of order"
                )));
            }
            last = Some(name);
            self.text(name);
            self.value(value.as_ref(), DEPTH_MAX)?;
        }
        if say.place.is_some() {
            self.value(say.place.as_ref(), DEPTH_MAX)?;
        }
        if let Some(cause) = &say.cause {
            let Cause { event_type, memory_id, commit, description, event_seq } = cause;
            let texts = [event_type, memory_id, commit, description];
            let [a, b, c, d] = texts.map(Option::is_some);
            self.byte(flags(&[a, b, c, d, event_seq.is_some()]));
            self.texts(&texts);
            if let Some(seq) = event_seq {
                self.uint(*seq);
            }
        }
        Ok(())
    }

    /// Those of the texts that are there.
    fn texts(&mut self, texts: &[&'a Option<Name>]) {
        for text in texts.iter().copied().flatten() {
            self.text(text);
        }
    }

    fn topic(&mut self, topic: &'a Topic) {
        match topic {
            Topic::Entity(id) => {
                self.byte(ENTITY);
                self.id(*id);
            }
            Topic::Relation(key) => {
                self.byte(RELATION);
                self.id(key.source);
                self.id(key.target);
                self.text(&key.kind);
                self.text(&key.origin);
            }
        }
    }

    fn voice(&mut self, voice: &'a Voice) {
        match voice {
            Voice::Author => self.byte(AUTHOR),
            Voice::Record { group, record } => {
                self.byte(RECORD);
                self.group(group);
                self.uint(u64::from(*record));
            }
        }
    }

    fn group(&mut self, key: &'a GroupKey) {
        self.text(&key.source);
        self.text(&key.group);
    }

    /// A value in which containers may nest `depth` deep.
    fn value(&mut self, value: Option<&'a Value>, depth: usize) -> Result<(), Error> {
        let inner = || {
            depth
                .checked_sub(1)
                .ok_or_else(|| Error::new(Code::TooLarge, format!("expected a value nested at most {DEPTH_MAX} deep")))
        };
        match value {
            None => self.byte(NONE),
            Some(Value::Null) => self.byte(NULL),
            Some(Value::Bool(false)) => self.byte(FALSE),
            Some(Value::Bool(true)) => self.byte(TRUE),
            Some(Value::Int(int)) => {
                self.byte(INT);
                self.int(*int);
            }
            Some(Value::Float(float)) => {
                if !float.is_finite() {
                    return Err(Error::invalid(format!("expected a finite number, found {float}")));
                }
                self.byte(FLOAT);
                self.out.extend_from_slice(&float.to_bits().to_le_bytes());
            }
            Some(Value::Text(text)) => {
                self.byte(TEXT);
                self.text(text);
            }
            Some(Value::List(items)) => {
                let inner = inner()?;
                self.byte(LIST);
                self.uint(items.len() as u64);
                for item in items.iter() {
                    self.value(Some(item), inner)?;
                }
            }
            Some(Value::Map(map)) => {
                let inner = inner()?;
                self.byte(MAP);
                self.uint(map.len() as u64);
                for (key, item) in map.iter() {
                    self.text(key);
                    self.value(Some(item), inner)?;
                }
            }
        }
        Ok(())
    }
}

/// One byte of yes and no, the first in the lowest bit.
fn flags(bits: &[bool]) -> u8 {
    bits.iter().rev().fold(0, |byte, bit| (byte << 1) | u8::from(*bit))
}
