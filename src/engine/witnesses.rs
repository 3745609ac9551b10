//! Who speaks: voices, the file groups that they belong to, and the row of each group.
//!
//! A revision belongs to the group and not to the fact, so a new revision over unchanged content is one new row here
//! and touches no fact. Rows have recorded history: as of sequence S, a fact carries the revision that its group had
//! at S.
//!
//! 1. Group rows are sorted by sequence; the last is the present one.
//! 2. A topic is a member of a group from the first word that a voice of the group said of it, for ever.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::change::GroupRow;
use crate::evidence::{GroupKey, Voice};
use crate::id::{EntityIx, GroupIx, RelationIx, Seq, VoiceIx};
use crate::index::keys::{Keys, hash};
use crate::index::paged::Paged;
use crate::key::Name;

/// A topic, as the engine counts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum TopicIx {
    /// A row of the entity table.
    Entity(EntityIx),
    /// A row of the relation table.
    Relation(RelationIx),
}

#[derive(Clone, Copy, Debug)]
struct VoiceRow {
    group: Option<GroupIx>,
    record: u32,
}

/// A file group: its key, its rows through recorded time, and what it ever spoke of.
#[derive(Clone, Debug)]
pub(crate) struct GroupState {
    /// Its key.
    pub(crate) key: GroupKey,
    whole: Option<GroupIx>,
    rows: Vec<(Seq, Option<GroupRow>)>,
    /// Every topic that a voice of the group ever spoke of.
    pub(crate) members: Paged<TopicIx>,
}

impl GroupState {
    /// The row as of a sequence.
    pub(crate) fn row(&self, recorded: Seq) -> Option<&GroupRow> {
        let until = self.rows.partition_point(|(seq, _)| *seq <= recorded);
        self.rows[..until].last()?.1.as_ref()
    }
}

/// The tables of voices and groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witnesses {
    voices: Paged<VoiceRow>,
    voice_keys: Keys,
    groups: Paged<Arc<GroupState>>,
    group_keys: Keys,
    /// The groups of each source instance, by name.
    sources: Arc<BTreeMap<Name, Vec<GroupIx>>>,
}

fn group_hash(key: &GroupKey) -> u64 {
    hash(&crate::id::length_prefixed(&[&key.source, &key.group]))
}

fn voice_hash(group: Option<GroupIx>, record: u32) -> u64 {
    let mut bytes = [0; 9];
    bytes[0] = u8::from(group.is_some());
    bytes[1..5].copy_from_slice(&group.map_or(0, |group| group.0).to_le_bytes());
    bytes[5..].copy_from_slice(&record.to_le_bytes());
    hash(&bytes)
}

impl Witnesses {
    /// The position of a group, given out now if it is new.
    pub(crate) fn group(&mut self, key: &GroupKey) -> GroupIx {
        if let Some(known) = self.find_group(key) {
            return known;
        }
        let whole = (!key.group.is_empty()).then(|| self.group(&GroupKey::whole(&key.source)));
        let ix = GroupIx::nth(self.groups.len());
        let state = GroupState { key: key.clone(), whole, rows: Vec::new(), members: Paged::default() };
        self.groups.push(Arc::new(state));
        Arc::make_mut(&mut self.sources).entry(key.source.clone()).or_default().push(ix);
        let groups = &self.groups;
        self.group_keys.insert(group_hash(key), ix.0, |row| group_hash(&groups.at(row as usize).key));
        ix
    }

    /// The position of a group, if it is known.
    pub(crate) fn find_group(&self, key: &GroupKey) -> Option<GroupIx> {
        self.group_keys.find(group_hash(key), |row| self.groups.at(row as usize).key == *key).map(GroupIx)
    }

    /// A group.
    pub(crate) fn group_at(&self, ix: GroupIx) -> &GroupState {
        self.groups.at(ix.at())
    }

    /// Every group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.iter().map(|group| &**group)
    }

    /// The groups of a source instance, the whole-source one included.
    pub(crate) fn groups_of(&self, source: &str) -> impl Iterator<Item = &GroupState> {
        self.sources.get(source).into_iter().flatten().map(|ix| self.group_at(*ix))
    }

    /// The source instances, by name.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Name> {
        self.sources.keys()
    }

    /// Gives a group a new row.
    pub(crate) fn set_row(&mut self, key: &GroupKey, seq: Seq, row: Option<GroupRow>) {
        let ix = self.group(key);
        Arc::make_mut(self.groups.at_mut(ix.at())).rows.push((seq, row));
    }

    /// The position of a voice, given out now if it is new.
    pub(crate) fn voice(&mut self, voice: &Voice) -> VoiceIx {
        let (group, record) = match voice {
            Voice::Author => (None, 0),
            Voice::Record { group, record } => (Some(self.group(group)), *record),
        };
        if let Some(known) = self.lookup(group, record) {
            return known;
        }
        let ix = VoiceIx::nth(self.voices.len());
        self.voices.push(VoiceRow { group, record });
        let voices = &self.voices;
        self.voice_keys.insert(voice_hash(group, record), ix.0, |row| {
            let row = voices.at(row as usize);
            voice_hash(row.group, row.record)
        });
        ix
    }

    /// The position of a voice, if it ever spoke.
    pub(crate) fn find_voice(&self, voice: &Voice) -> Option<VoiceIx> {
        match voice {
            Voice::Author => self.lookup(None, 0),
            Voice::Record { group, record } => self.lookup(Some(self.find_group(group)?), *record),
        }
    }

    fn lookup(&self, group: Option<GroupIx>, record: u32) -> Option<VoiceIx> {
        let found = self.voice_keys.find(voice_hash(group, record), |row| {
            let row = self.voices.at(row as usize);
            row.group == group && row.record == record
        });
        found.map(VoiceIx)
    }

    /// The voice at a position.
    pub(crate) fn voice_at(&self, ix: VoiceIx) -> Voice {
        let row = self.voices.at(ix.at());
        match row.group {
            None => Voice::Author,
            Some(group) => Voice::Record { group: self.group_at(group).key.clone(), record: row.record },
        }
    }

    /// The group that a voice belongs to; none for the author.
    pub(crate) fn group_of(&self, voice: VoiceIx) -> Option<GroupIx> {
        self.voices.at(voice.at()).group
    }

    /// A voice of the group first spoke of this topic.
    pub(crate) fn enrol(&mut self, voice: VoiceIx, topic: TopicIx) {
        if let Some(group) = self.group_of(voice) {
            Arc::make_mut(self.groups.at_mut(group.at())).members.push(topic);
        }
    }

    /// The revision of what a voice says, as of a sequence: its group's own, or that of its source.
    pub(crate) fn revision(&self, voice: VoiceIx, recorded: Seq) -> Option<&Name> {
        let group = self.group_at(self.group_of(voice)?);
        let own = group.row(recorded).and_then(|row| row.revision.as_ref());
        own.or_else(|| self.group_at(group.whole?).row(recorded)?.revision.as_ref())
    }

    /// Whether what a voice says may be out of date: its group, or its whole source, could not be read last time.
    pub(crate) fn stale(&self, voice: VoiceIx, recorded: Seq) -> bool {
        self.group_of(voice).is_some_and(|group| self.group_stale(self.group_at(group), recorded))
    }

    /// Whether a group, or its whole source, could not be read last time.
    pub(crate) fn group_stale(&self, group: &GroupState, recorded: Seq) -> bool {
        let stale = |group: &GroupState| group.row(recorded).is_some_and(|row| row.stale);
        stale(group) || group.whole.is_some_and(|whole| stale(self.group_at(whole)))
    }

    /// Order of voices by name: the author first, then (source, group, record).
    pub(crate) fn by_name(&self, a: VoiceIx, b: VoiceIx) -> Ordering {
        let name = |voice: VoiceIx| {
            let row = self.voices.at(voice.at());
            (row.group.map(|group| &self.group_at(group).key), row.record)
        };
        name(a).cmp(&name(b))
    }

    /// Whether two voices belong to one source instance.
    pub(crate) fn same_source(&self, a: VoiceIx, b: VoiceIx) -> bool {
        let source = |voice| self.group_of(voice).map(|group| &self.group_at(group).key.source);
        source(a) == source(b)
    }
}
