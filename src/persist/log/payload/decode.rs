//! Bytes into a commit.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::change::{Change, Commit, GroupRow, Presence, Say};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId, Seq};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::time::{Since, Time};
use crate::value::{DEPTH_MAX, Value};

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
