//! What is asked, and what happened: two closed enums.
//!
//! An [`Edit`] may be refused. `decide` (pure) turns the edits of a [`Batch`] into the [`Change`]s of a [`Commit`], or
//! refuses the batch whole. A commit is resolved and closed: no clock to ask again, no file to read again, nothing
//! that could fail. The log holds commits, and a store is the fold of its commits.
//!
//! 1. A commit applies completely or was never made.
//! 2. Everything that a change needs stands in it or in an earlier commit.

use crate::error::Error;
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId, Seq};
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::Group;
use crate::time::{Since, Time};
use crate::value::{Props, Value};

/// One thing asked of a graph.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// A group of a source as it is now: said anew, and withdrawn where it no longer says.
    Observe {
        /// The group, complete.
        group: Group,
        /// A digest of what the group says; the next observation of an equal group is then free.
        fingerprint: Option<Name>,
    },
    /// A group of a source as far as it could be read: said anew, withdrawn nowhere, and stale.
    ObserveInPart(Group),
    /// A group is gone, with all that it said.
    Withdraw(GroupKey),
    /// What is known about a group as a whole: its revision, its fingerprint, whether it is stale.
    Mark {
        /// Which group; [`GroupKey::whole`] for the source.
        key: GroupKey,
        /// The new row; a field that is `None` keeps its value.
        revision: Option<Name>,
        /// A digest of the input.
        fingerprint: Option<Name>,
        /// Whether the last attempt to read it failed, so that what is known may be out of date.
        stale: Option<bool>,
    },
    /// An entity and its first state.
    Create {
        /// Its key: kind from the ontology; authority and external id as the author names it.
        key: EntityKey,
        /// Its id.
        id: EntityId,
        /// Its first properties.
        props: Props,
        /// From when on it exists.
        since: Since,
        /// The memory (document) that it comes from.
        source_memory_id: Option<Name>,
        /// Why.
        cause: Option<Cause>,
    },
    /// A relation between two entities that exist.
    Relate {
        /// The relation; its origin is the author's word for the source, mostly `authored`.
        key: RelationKey,
        /// How sure the author is.
        confidence: Confidence,
        /// Properties of the relation.
        props: Props,
        /// From when on it holds.
        since: Since,
        /// Why.
        cause: Option<Cause>,
    },
    /// Properties take these values from `since` on; `None` takes a property away.
    Fact {
        /// About what.
        topic: Topic,
        /// The new values.
        props: Vec<(Name, Option<Value>)>,
        /// From when on; told in the past, it is a late fact, and at a told instant that has a value, a correction.
        since: Since,
        /// Why.
        cause: Option<Cause>,
    },
    /// A word of the author's, as an export has it.
    Restate(Restated),
    /// The thing is gone from `since` on, whatever its witnesses say: a tombstone.
    End {
        /// What ends.
        topic: Topic,
        /// When.
        since: Since,
        /// Why.
        cause: Option<Cause>,
    },
    /// A change that never was so.
    Repudiate {
        /// Which change.
        change: ChangeId,
        /// Why.
        reason: Name,
    },
    /// A small named record: a report, a queue, a manifest. `None` removes it.
    Note {
        /// Its name.
        name: Name,
        /// Its text.
        body: Option<Value>,
    },
}

/// A change point of the author's to be said again as it stands, even about what has gone since.
///
/// A host that writes what it means uses [`Edit::Create`], [`Edit::Relate`], [`Edit::Fact`] and [`Edit::End`] instead.
#[derive(Clone, PartialEq, Debug)]
pub struct Restated {
    /// About what.
    pub topic: Topic,
    /// The keys of the entity, or of the ends of the relation, where they may be new here.
    pub keys: Vec<(EntityId, EntityKey)>,
    /// The memory (document) that the entity comes from.
    pub source_memory_id: Option<Name>,
    /// From when on.
    pub since: Since,
    /// How sure the author is.
    pub confidence: Confidence,
    /// What is said of existence, if anything.
    pub presence: Option<Presence>,
    /// The properties it speaks of; `None` says that there is no value.
    pub props: Vec<(Name, Option<Value>)>,
    /// Why.
    pub cause: Option<Cause>,
}

/// Edits for one scope, taken or refused together.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    pub(crate) stamp: Time,
    pub(crate) random: [u8; 10],
    pub(crate) if_seq: Option<Seq>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) made: u32,
}

impl Batch {
    /// An empty batch, recorded at `stamp`; `random` seeds the ids of the entities that it creates.
    ///
    /// Hosts take batches from [`Graph::batch`](crate::Graph::batch), which reads clock and entropy once.
    pub fn new(stamp: Time, random: [u8; 10]) -> Batch {
        Batch { stamp, random, if_seq: None, edits: Vec::new(), made: 0 }
    }

    /// Refuse the batch with `conflict` unless the graph is still at this sequence.
    pub fn if_seq(&mut self, seq: Seq) -> &mut Batch {
        self.if_seq = Some(seq);
        self
    }

    /// Asks for one more thing.
    pub fn push(&mut self, edit: Edit) -> &mut Batch {
        self.edits.push(edit);
        self
    }

    /// Everything that a group of a source says now.
    pub fn observe(&mut self, group: Group) -> &mut Batch {
        self.push(Edit::Observe { group, fingerprint: None })
    }

    /// A new entity of type `kind` with its first properties; returns the id that it will have.
    pub fn entity(&mut self, kind: impl Into<Name>, props: Props) -> EntityId {
        let id = self.fresh_id();
        let key = EntityKey::new(kind, "authored", id.to_string());
        self.push(Edit::Create { key, id, props, since: Since::Observed, source_memory_id: None, cause: None });
        id
    }

    /// An id that no entity has, for [`Edit::Create`].
    pub fn fresh_id(&mut self) -> EntityId {
        let mut random = self.random;
        for (byte, made) in random.iter_mut().zip(self.made.to_le_bytes()) {
            *byte ^= made;
        }
        self.made += 1;
        EntityId::fresh(self.stamp.micros(), random)
    }

    /// `source KIND target`, said by the author.
    pub fn relate(&mut self, source: EntityId, kind: impl Into<Name>, target: EntityId) -> &mut Batch {
        let key = RelationKey { source, target, kind: kind.into(), origin: "authored".into() };
        let (confidence, props, since) = (Confidence::ONE, Props::new(), Since::Observed);
        self.push(Edit::Relate { key, confidence, props, since, cause: None })
    }

    /// One property of an entity changes.
    pub fn fact(
        &mut self,
        entity: EntityId,
        predicate: impl Into<Name>,
        value: impl Into<Value>,
        since: Since,
    ) -> &mut Batch {
        let props = vec![(predicate.into(), Some(value.into()))];
        self.push(Edit::Fact { topic: Topic::Entity(entity), props, since, cause: None })
    }

    /// An entity ends: a tombstone from `since` on.
    pub fn end(&mut self, entity: EntityId, since: Since) -> &mut Batch {
        self.push(Edit::End { topic: Topic::Entity(entity), since, cause: None })
    }

    /// A change never was so.
    pub fn repudiate(&mut self, change: ChangeId, reason: impl Into<Name>) -> &mut Batch {
        self.push(Edit::Repudiate { change, reason: reason.into() })
    }

    /// How many edits the batch holds.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }
}

/// What a change point says of its topic's existence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Presence {
    /// It is there.
    Present,
    /// This voice no longer says that it is there.
    Absent,
    /// It is gone, whatever others say.
    Veto,
}

/// A change point: from `from` on, as `voice` has it, the topic is (not) there and these properties have these values.
#[derive(Clone, PartialEq, Debug)]
pub struct Say {
    /// About what.
    pub topic: Topic,
    /// Who says it.
    pub voice: Voice,
    /// How the start is known.
    pub since: Since,
    /// The start, resolved.
    pub from: Time,
    /// How it came to be known.
    pub trust: Trust,
    /// How sure the voice is.
    pub confidence: Confidence,
    /// What it says of existence, if anything.
    pub presence: Option<Presence>,
    /// The properties it speaks of, sorted by name; `None` says that there is no value.
    pub props: Vec<(Name, Option<Value>)>,
    /// Where in the source it stands.
    pub place: Option<Value>,
    /// Why.
    pub cause: Option<Cause>,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// An id got its key. Nothing is said of existence.
    Name {
        /// The id.
        id: EntityId,
        /// The key.
        key: EntityKey,
        /// The memory (document) that it comes from.
        source_memory_id: Option<Name>,
    },
    /// A change point.
    Say(Say),
    /// A change point of an earlier commit never was so.
    Unsay {
        /// Which.
        change: ChangeId,
        /// The topic of that change, so that a fold finds it without a search.
        topic: Topic,
        /// Why; `None` when a source no longer tells it.
        reason: Option<Name>,
    },
    /// The newest place of what a voice says: no version of anything.
    Place {
        /// About what.
        topic: Topic,
        /// Whose word.
        voice: Voice,
        /// Where it stands now.
        place: Option<Value>,
    },
    /// The row of a group.
    Group {
        /// Which group.
        key: GroupKey,
        /// Its row; `None` when the group is gone.
        row: Option<GroupRow>,
    },
    /// A small named record.
    Note {
        /// Its name.
        name: Name,
        /// Its text; `None` removes it.
        body: Option<Value>,
    },
}

/// What is known of a group as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupRow {
    /// The revision of every fact of the group; `None` where the source's holds.
    pub revision: Option<Name>,
    /// A digest of what the group says.
    pub fingerprint: Option<Name>,
    /// Whether the last attempt to read it failed.
    pub stale: bool,
}

/// The changes of one batch, at one sequence, recorded at one instant.
#[derive(Clone, PartialEq, Debug)]
pub struct Commit {
    /// Its place on the number line.
    pub seq: Seq,
    /// When it was recorded; never before the commit that precedes it.
    pub stamp: Time,
    /// What happened, in order.
    pub changes: Vec<Change>,
}

/// Refused: two edits of one batch say different things of the same subject, property and instant.
pub(crate) fn same_instant(topic: &Topic, what: &str, from: Time, first: usize, second: usize) -> Error {
    Error::new(
        crate::Code::Conflict,
        format!(
            "edits {first} and {second} of the batch both change {what} of {topic} at {from}; \
             say one of them, or give them different instants"
        ),
    )
    .with_details(serde_json::json!({ "edits": [first, second], "topic": topic.to_string(), "what": what }))
}
