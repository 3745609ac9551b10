//! What a frame carries: a commit as bytes.
//!
//! Commits repeat themselves: a rebuild says the same source, kind and property name a thousand times. So every string
//! and every id stands once, in a dictionary at the front, in the order in which the changes first use it; the changes
//! name them by number. Numbers are varints (LEB128, shortest form), signed ones zigzag.
//!
//! 1. One commit has one spelling: bytes that decode are the bytes that the commit encodes to. (Shortest varints, every
//!    entry of a dictionary distinct and first used in its order, properties sorted by name.)
//! 2. Decoding takes no more memory than a fixed multiple of the bytes read so far, whatever counts they announce, and
//!    no more stack than [`DEPTH_MAX`] values.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::record::{FRAME_BYTES_MAX, too_large};
use crate::change::{Change, Commit, GroupRow, Presence, Say};
use crate::error::Error;
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId, Seq};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::{Since, Time};
use crate::value::{DEPTH_MAX, Value};

/// Change tags.
const NAME: u8 = 1;
const SAY: u8 = 2;
const UNSAY: u8 = 3;
const PLACE: u8 = 4;
const GROUP: u8 = 5;
const NOTE: u8 = 6;

/// Value tags; `NONE` where a value may be missing.
const NONE: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const INT: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const MAP: u8 = 8;

/// Topic, voice and start tags.
const ENTITY: u8 = 0;
const RELATION: u8 = 1;
const AUTHOR: u8 = 0;
const RECORD: u8 = 1;
const OBSERVED: u8 = 0;
const UNBOUNDED: u8 = 1;
const TOLD: u8 = 2;

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

/// The commit of sequence `seq` that `payload` holds.
pub(crate) fn decode(seq: Seq, payload: &[u8]) -> Result<Commit, Malformed> {
    let mut decoder = Decoder { rest: payload, strings: Vec::new(), strings_used: 0, ids: Vec::new(), ids_used: 0 };
    decoder.commit(seq).map_err(|what| Malformed { offset: payload.len().saturating_sub(decoder.rest.len()), what })
}

/// Why a payload is none, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Malformed {
    /// The offset in the payload at which reading stopped.
    pub(crate) offset: usize,
    /// What was wrong there.
    pub(crate) what: &'static str,
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

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ (value as i64 & 1).wrapping_neg()
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
            depth.checked_sub(1).ok_or_else(|| {
                Error::new(crate::Code::TooLarge, format!("expected a value nested at most {DEPTH_MAX} deep"))
            })
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

type Decoded<T> = Result<T, &'static str>;

struct Decoder<'a> {
    rest: &'a [u8],
    strings: Vec<Arc<str>>,
    strings_used: usize,
    ids: Vec<EntityId>,
    ids_used: usize,
}

impl<'a> Decoder<'a> {
    fn commit(&mut self, seq: Seq) -> Decoded<Commit> {
        let stamp = Time::from_micros(self.int()?);
        self.read_strings()?;
        self.read_ids()?;
        let mut changes = Vec::new();
        for _ in 0..self.uint()? {
            changes.push(self.change()?);
        }
        if !self.rest.is_empty() {
            return Err("the end of the payload expected, more bytes found");
        }
        if self.strings_used != self.strings.len() || self.ids_used != self.ids.len() {
            return Err("every entry of the dictionaries used expected, an unused one found");
        }
        Ok(Commit { seq, stamp, changes })
    }

    fn read_strings(&mut self) -> Decoded<()> {
        let mut seen = HashSet::new();
        for _ in 0..self.uint()? {
            let len = usize::try_from(self.uint()?).map_err(|_| "a shorter string expected")?;
            let text = std::str::from_utf8(self.take(len)?).map_err(|_| "UTF-8 expected")?;
            if !seen.insert(text) {
                return Err("distinct strings expected, one found twice");
            }
            self.strings.push(text.into());
        }
        Ok(())
    }

    fn read_ids(&mut self) -> Decoded<()> {
        let mut seen = HashSet::new();
        for _ in 0..self.uint()? {
            let id = self.take(16)?.try_into().map_err(|_| "an id expected")?;
            if !seen.insert(id) {
                return Err("distinct ids expected, one found twice");
            }
            self.ids.push(EntityId::from(Uuid::from_bytes(id)));
        }
        Ok(())
    }

    fn take(&mut self, n: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or("more bytes expected, the end found")?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Decoded<u8> {
        let (byte, rest) = self.rest.split_first().ok_or("one more byte expected, the end found")?;
        self.rest = rest;
        Ok(*byte)
    }

    fn uint(&mut self) -> Decoded<u64> {
        let mut value: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err("a number of 64 bits expected, a larger one found");
            }
            value |= bits << shift;
            if byte < 0x80 {
                return if byte == 0 && shift > 0 { Err("the shortest form of a number expected") } else { Ok(value) };
            }
        }
        Err("a number of at most 10 bytes expected")
    }

    fn u32(&mut self) -> Decoded<u32> {
        u32::try_from(self.uint()?).map_err(|_| "a number of 32 bits expected, a larger one found")
    }

    fn int(&mut self) -> Decoded<i64> {
        Ok(unzigzag(self.uint()?))
    }

    /// `N` flags; any further bit must be zero.
    fn flags<const N: usize>(&mut self) -> Decoded<[bool; N]> {
        let byte = self.byte()?;
        let mut bits = (0..8).map(|bit| byte >> bit & 1 == 1);
        let known = std::array::from_fn(|_| bits.next().unwrap_or(false));
        if bits.any(|bit| bit) { Err("known flags expected, others found") } else { Ok(known) }
    }

    fn text(&mut self) -> Decoded<Arc<str>> {
        let number = index(self.uint()?, &mut self.strings_used)?;
        self.strings.get(number).cloned().ok_or("the number of a string expected, a larger one found")
    }

    fn name(&mut self) -> Decoded<Name> {
        self.text().map(Name::from)
    }

    fn name_if(&mut self, there: bool) -> Decoded<Option<Name>> {
        there.then(|| self.name()).transpose()
    }

    fn id(&mut self) -> Decoded<EntityId> {
        let number = index(self.uint()?, &mut self.ids_used)?;
        self.ids.get(number).copied().ok_or("the number of an id expected, a larger one found")
    }

    fn change(&mut self) -> Decoded<Change> {
        Ok(match self.byte()? {
            NAME => {
                let [memory] = self.flags()?;
                let id = self.id()?;
                let key = EntityKey { kind: self.name()?, authority: self.name()?, external_id: self.name()? };
                Change::Name { id, key, source_memory_id: self.name_if(memory)? }
            }
            SAY => Change::Say(self.say()?),
            UNSAY => {
                let [reason] = self.flags()?;
                let change = ChangeId { seq: Seq(self.uint()?), index: self.u32()? };
                Change::Unsay { change, topic: self.topic()?, reason: self.name_if(reason)? }
            }
            PLACE => Change::Place { topic: self.topic()?, voice: self.voice()?, place: self.value(DEPTH_MAX)? },
            GROUP => {
                let key = self.group()?;
                let [there, revision, fingerprint, stale] = self.flags()?;
                if !there && (revision || fingerprint || stale) {
                    return Err("no flags expected on a group that is gone");
                }
                let revision = self.name_if(revision)?;
                let fingerprint = self.name_if(fingerprint)?;
                Change::Group { key, row: there.then_some(GroupRow { revision, fingerprint, stale }) }
            }
            NOTE => Change::Note { name: self.name()?, body: self.value(DEPTH_MAX)? },
            _ => return Err("the tag of a change (1 to 6) expected"),
        })
    }

    fn say(&mut self) -> Decoded<Say> {
        let [unsure, placed, caused] = self.flags()?;
        let trust = match self.byte()? {
            0 => Trust::Hypothesis,
            1 => Trust::Derived,
            2 => Trust::Authoritative,
            _ => return Err("a trust class (0 to 2) expected"),
        };
        let presence = match self.byte()? {
            0 => None,
            1 => Some(Presence::Present),
            2 => Some(Presence::Absent),
            3 => Some(Presence::Veto),
            _ => return Err("a presence (0 to 3) expected"),
        };
        let (topic, voice) = (self.topic()?, self.voice()?);
        let since = match self.byte()? {
            OBSERVED => Since::Observed,
            UNBOUNDED => Since::Unbounded,
            TOLD => Since::Told(Time::from_micros(self.int()?)),
            _ => return Err("a start (0 to 2) expected"),
        };
        let from = Time::from_micros(self.int()?);
        let mut confidence = Confidence::ONE;
        if unsure {
            let millionths = self.u32()?;
            let below_one = Confidence::from_millionths(millionths).filter(|told| *told != Confidence::ONE);
            confidence = below_one.ok_or("a confidence below a million expected")?;
        }
        let mut props: Vec<(Name, Option<Value>)> = Vec::new();
        for _ in 0..self.uint()? {
            let name = self.name()?;
            if props.last().is_some_and(|(last, _)| *last >= name) {
                return Err("properties sorted by name expected");
            }
            props.push((name, self.value(DEPTH_MAX)?));
        }
        let place = if placed { Some(self.value(DEPTH_MAX)?.ok_or("a place expected, none found")?) } else { None };
        let cause = if caused { Some(self.cause()?) } else { None };
        Ok(Say { topic, voice, since, from, trust, confidence, presence, props, place, cause })
    }

    fn cause(&mut self) -> Decoded<Cause> {
        let [event_type, memory_id, commit, description, event_seq] = self.flags()?;
        Ok(Cause {
            event_type: self.name_if(event_type)?,
            memory_id: self.name_if(memory_id)?,
            commit: self.name_if(commit)?,
            description: self.name_if(description)?,
            event_seq: event_seq.then(|| self.uint()).transpose()?,
        })
    }

    fn topic(&mut self) -> Decoded<Topic> {
        Ok(match self.byte()? {
            ENTITY => Topic::Entity(self.id()?),
            RELATION => {
                let (source, target) = (self.id()?, self.id()?);
                Topic::Relation(RelationKey { source, target, kind: self.name()?, origin: self.name()? })
            }
            _ => return Err("a topic (0 or 1) expected"),
        })
    }

    fn voice(&mut self) -> Decoded<Voice> {
        Ok(match self.byte()? {
            AUTHOR => Voice::Author,
            RECORD => Voice::Record { group: self.group()?, record: self.u32()? },
            _ => return Err("a voice (0 or 1) expected"),
        })
    }

    fn group(&mut self) -> Decoded<GroupKey> {
        Ok(GroupKey { source: self.name()?, group: self.name()? })
    }

    /// A value in which containers may nest `depth` deep.
    fn value(&mut self, depth: usize) -> Decoded<Option<Value>> {
        const TOO_DEEP: &str = "a value nested at most 32 deep expected";
        const MISSING: &str = "a value expected, none found";
        Ok(Some(match self.byte()? {
            NONE => return Ok(None),
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            INT => Value::Int(self.int()?),
            FLOAT => {
                let bits = self.take(8)?.try_into().map_err(|_| "8 bytes expected")?;
                let float = f64::from_bits(u64::from_le_bytes(bits));
                if !float.is_finite() {
                    return Err("a finite number expected");
                }
                Value::Float(float)
            }
            TEXT => Value::Text(self.text()?),
            LIST => {
                let inner = depth.checked_sub(1).ok_or(TOO_DEEP)?;
                let mut items = Vec::new();
                for _ in 0..self.uint()? {
                    items.push(self.value(inner)?.ok_or(MISSING)?);
                }
                Value::from(items)
            }
            MAP => {
                let inner = depth.checked_sub(1).ok_or(TOO_DEEP)?;
                let mut map: BTreeMap<Name, Value> = BTreeMap::new();
                for _ in 0..self.uint()? {
                    let key = self.name()?;
                    if map.last_key_value().is_some_and(|(last, _)| *last >= key) {
                        return Err("keys sorted by name expected");
                    }
                    map.insert(key, self.value(inner)?.ok_or(MISSING)?);
                }
                Value::Map(Arc::new(map))
            }
            _ => return Err("the tag of a value (0 to 8) expected"),
        }))
    }
}

/// An entry of a dictionary: one that was used before, or the next one.
fn index(number: u64, used: &mut usize) -> Decoded<usize> {
    let number = usize::try_from(number).map_err(|_| "a smaller number expected")?;
    if number > *used {
        return Err("entries of a dictionary first used in their order expected");
    }
    if number == *used {
        *used = used.saturating_add(1);
    }
    Ok(number)
}
