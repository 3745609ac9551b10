//! `export`: a scope as JSON Lines that another scope can read, and the canonical lines behind the digest.
//!
//! The export holds what the digest covers, and beside it what helps: places, causes, stale groups, the additions to the
//! ontology. It doesn't hold how this store came to know it: recorded history stays behind. `docs/import-export.md`
//! describes the lines.
//!
//! 1. Imported into an empty scope, an export gives the content digest that it was taken from, part by part.
//! 2. The same content gives the same bytes, but for the header's sequence, `created_at` and places.
//! 3. A witness's line says all that the witness says from then on; an author's line says what the author changes then.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;

use super::digest::{self, ContentDigest};
use super::lines::{Lines, ends, own_id, stamp};
use super::steps::{Aspect, Counting, Said, Step, Word};
use crate::change::Presence;
use crate::engine::belief::{Moment, Spoken};
use crate::engine::lens::Lens;
use crate::engine::state::{Engine, ONTOLOGY_NOTE};
use crate::engine::witnesses::{GroupState, TopicIx};
use crate::error::Error;
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{EntityIx, RelationIx, Seq};
use crate::key::Name;
use crate::time::{Since, Time};
use crate::value::Value;

/// The version of the format, in the header of every export.
pub const VERSION: i64 = 1;

/// What an export came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct Exported {
    /// The sequence that it shows.
    pub seq: Seq,
    /// How many lines follow the header.
    pub lines: u64,
}

/// Writes the scope at the lens's sequence, one JSON object a line, the header first.
///
/// Costs one look at each change point of the scope; lines are held in memory and written in order.
///
/// # Errors
/// What writing says.
pub fn export(lens: &Lens, out: &mut dyn Write) -> Result<Exported, Error> {
    let mut writer = Writer { engine: lens.engine(), at: stamp(lens), lines: Vec::new(), groups: BTreeMap::new() };
    for ix in writer.entities() {
        writer.topic(TopicIx::Entity(ix));
    }
    for ix in writer.relations() {
        writer.topic(TopicIx::Relation(ix));
    }
    let mut head = writer.notes();
    head.extend(writer.groups());
    let lines = (head.len() + writer.lines.len()) as u64;
    let scope = lens.view().scope();
    let header = Object::default()
        .with("triglyph", "export")
        .with("version", VERSION)
        .with("scope", Object::default().with("workspace", scope.workspace()).with("game", scope.game()))
        .with("seq", count(lens.recorded().0))
        .with("lines", count(lines));
    write_lines(std::iter::once(header.line()).chain(head).chain(writer.lines), out)?;
    Ok(Exported { seq: lens.recorded(), lines })
}

/// Writes the canonical lines: the bytes whose SHA-256 is the content digest.
///
/// # Errors
/// What writing says.
pub fn canonical(lens: &Lens, out: &mut dyn Write) -> Result<ContentDigest, Error> {
    let lines = Lines::of(lens);
    write_lines(lines.whole(), out)?;
    Ok(digest::of(&lines))
}

fn write_lines<L: AsRef<str>>(lines: impl IntoIterator<Item = L>, out: &mut dyn Write) -> Result<(), Error> {
    let written = lines.into_iter().try_for_each(|line| {
        out.write_all(line.as_ref().as_bytes())?;
        out.write_all(b"\n")
    });
    written.and_then(|()| out.flush()).map_err(|error| Error::io("writing the export", &error))
}

struct Writer<'a> {
    engine: &'a Engine,
    at: Moment,
    lines: Vec<String>,
    /// How many lines each group has.
    groups: BTreeMap<GroupKey, u64>,
}

impl Writer<'_> {
    fn entities(&self) -> Vec<EntityIx> {
        let mut all: Vec<EntityIx> = (0..self.engine.entities.len()).map(EntityIx::nth).collect();
        all.sort_by_key(|ix| self.order(*ix));
        all
    }

    fn relations(&self) -> Vec<RelationIx> {
        let mut all: Vec<RelationIx> = (0..self.engine.relations.len()).map(RelationIx::nth).collect();
        all.sort_by_cached_key(|ix| {
            let (source, target) = ends(self.engine, *ix);
            let row = self.engine.relation(*ix);
            let (kind, origin) = (&self.engine.types[row.kind.at()], self.engine.names.at(row.origin));
            (self.order(source), self.order(target), kind, origin)
        });
        all
    }

    fn order(&self, ix: EntityIx) -> (&crate::EntityKey, crate::EntityId) {
        let row = self.engine.entity(ix);
        (&row.key, row.id)
    }

    fn topic(&mut self, topic: TopicIx) {
        let engine = self.engine;
        let mut voices: Vec<(Voice, &Spoken)> = Vec::new();
        for spoken in engine.history(topic).voices() {
            voices.push((engine.witnesses.voice_at(spoken.voice), spoken));
        }
        voices.sort_by(|a, b| a.0.cmp(&b.0));
        for (voice, spoken) in voices {
            let counting = Counting::of(spoken, self.at);
            let before = self.lines.len();
            match &voice {
                Voice::Author => self.author(topic, &counting),
                Voice::Record { .. } => self.record(topic, &voice, spoken, &counting),
            }
            if let Voice::Record { group, .. } = voice {
                *self.groups.entry(group).or_default() += (self.lines.len() - before) as u64;
            }
        }
    }

    /// All that a witness says, at each instant from which it says something else.
    fn record(&mut self, topic: TopicIx, voice: &Voice, spoken: &Spoken, counting: &Counting) {
        let aspects = counting.aspects();
        let steps = aspects.iter().flat_map(|aspect| counting.steps(*aspect));
        let starts: BTreeSet<(bool, Since)> = steps.map(|step| (step.since == Since::Observed, step.since)).collect();
        for (observed, since) in starts {
            let valid = since.from(self.at.valid);
            let word = |aspect: &Aspect| Some((*aspect, counting.word(*aspect, valid, !observed)?));
            let said: Vec<(Aspect, Word)> = aspects.iter().filter_map(word).collect();
            let Some(presence) = said.iter().find(|(aspect, _)| aspect.is_none()).map(|(_, word)| *word) else {
                continue;
            };
            let mut line = self.line(topic).with("witness", witness(voice)).with("since", start(since));
            line = said.iter().fold(line, |line, (aspect, word)| line.saying(self.engine, *aspect, Some(word)));
            line = line.with("trust", presence.trust.as_str()).confident(presence.confidence);
            if let Some(place) = &spoken.place {
                line = line.with("place", place.clone());
            }
            self.lines.push(line.line());
        }
    }

    /// What an author changes, start by start.
    fn author(&mut self, topic: TopicIx, counting: &Counting) {
        /// What is said at once: the observed last, by start, then by how sure and why.
        type At = (bool, Since, Confidence, String);
        let mut words: BTreeMap<At, Vec<(Aspect, Step)>> = BTreeMap::new();
        for aspect in counting.aspects() {
            for step in counting.steps(aspect) {
                let cause = step.point.cause.as_deref().map(|cause| show_cause(cause).line()).unwrap_or_default();
                let at = (step.since == Since::Observed, step.since, step.point.confidence, cause);
                words.entry(at).or_default().push((aspect, step));
            }
        }
        for ((_, since, confidence, _), steps) in words {
            let mut line = self.line(topic).with("witness", "author").with("since", start(since));
            line =
                steps.iter().fold(line, |line, (aspect, step)| line.saying(self.engine, *aspect, step.word.as_ref()));
            line = line.with("trust", Trust::Authoritative.as_str()).confident(confidence);
            if let Some(cause) = steps.first().and_then(|(_, step)| step.point.cause.as_deref()) {
                line = line.with("cause", show_cause(cause));
            }
            self.lines.push(line.line());
        }
    }

    /// The beginning of a line: what it is about.
    fn line(&self, topic: TopicIx) -> Object {
        match topic {
            TopicIx::Entity(ix) => {
                let row = self.engine.entity(ix);
                let line = Object::default()
                    .with("entity", reference(self.engine, ix))
                    .with("created_at", row.created_at.to_string());
                match &row.source_memory_id {
                    Some(memory) => line.with("source_memory_id", memory),
                    None => line,
                }
            }
            TopicIx::Relation(ix) => {
                let row = self.engine.relation(ix);
                let (source, target) = ends(self.engine, ix);
                let relation = Object::default()
                    .with("source", reference(self.engine, source))
                    .with("target", reference(self.engine, target))
                    .with("type", &self.engine.types[row.kind.at()])
                    .with("origin", self.engine.names.at(row.origin));
                Object::default().with("relation", relation)
            }
        }
    }

    /// The one note that decides what the rest means.
    fn notes(&self) -> Vec<String> {
        let ontology = self.engine.notes.get(ONTOLOGY_NOTE);
        let line = |body: &Value| Object::default().with("note", ONTOLOGY_NOTE).with("body", body.clone()).line();
        ontology.map(line).into_iter().collect()
    }

    fn groups(&self) -> Vec<String> {
        let mut rows: Vec<&GroupState> = self.engine.witnesses.groups().collect();
        rows.sort_by_key(|group| &group.key);
        let lines = rows.into_iter().filter_map(|group| {
            let row = group.row(self.at.recorded)?;
            let mut shown = Object::default()
                .with("source", &group.key.source)
                .with("group", &group.key.group)
                .with("lines", count(self.groups.get(&group.key).copied().unwrap_or(0)));
            for (name, text) in [("revision", &row.revision), ("fingerprint", &row.fingerprint)] {
                if let Some(text) = text {
                    shown = shown.with(name, text);
                }
            }
            if row.stale {
                shown = shown.with("stale", true);
            }
            Some(Object::default().with("group", shown).line())
        });
        lines.collect()
    }
}

/// A JSON object being put together.
#[derive(Default)]
struct Object(BTreeMap<Name, Value>);

impl Object {
    fn with(mut self, name: &str, value: impl Into<Value>) -> Object {
        self.0.insert(name.into(), value.into());
        self
    }

    fn confident(self, confidence: Confidence) -> Object {
        self.with("confidence", Value::Float(confidence.value()))
    }

    /// Adds what is said of an aspect; a property that has no value any more is `null`, one whose value is the JSON null
    /// is listed under `nulls`.
    fn saying(mut self, engine: &Engine, aspect: Aspect, word: Option<&Word>) -> Object {
        let Some(name) = aspect else {
            let presence = match word.map(|word| word.said) {
                Some(Said::Presence(Presence::Veto)) => "veto",
                Some(_) => "present",
                None => "absent",
            };
            return self.with("presence", presence);
        };
        let name = engine.names.at(name);
        let value = match word.map(|word| word.said) {
            Some(Said::Value(Value::Null)) => return self.listing("nulls", name),
            Some(Said::Value(value)) => value.clone(),
            _ => Value::Null,
        };
        let mut props = match self.0.remove("props") {
            Some(Value::Map(props)) => std::sync::Arc::unwrap_or_clone(props),
            _ => BTreeMap::new(),
        };
        props.insert(name.clone(), value);
        self.with("props", Object(props))
    }

    fn listing(mut self, list: &str, name: &Name) -> Object {
        let mut names = match self.0.remove(list) {
            Some(Value::List(names)) => names.to_vec(),
            _ => Vec::new(),
        };
        names.push(name.into());
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        self.with(list, names)
    }

    fn line(self) -> String {
        Value::from(self).canonical()
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Map(object.0.into())
    }
}

/// The key of an entity, and its id where that doesn't follow from the key.
fn reference(engine: &Engine, ix: EntityIx) -> Object {
    let key = &engine.entity(ix).key;
    let object = Object::default()
        .with("kind", &key.kind)
        .with("authority", &key.authority)
        .with("external_id", &key.external_id);
    match own_id(engine, ix) {
        Some(id) => object.with("id", id.to_string()),
        None => object,
    }
}

fn witness(voice: &Voice) -> Value {
    match voice {
        Voice::Author => "author".into(),
        Voice::Record { group, record } => Object::default()
            .with("source", &group.source)
            .with("group", &group.group)
            .with("record", i64::from(*record))
            .into(),
    }
}

fn start(since: Since) -> Value {
    match since {
        Since::Observed => Value::Null,
        Since::Unbounded => "unbounded".into(),
        Since::Told(at) if at == Time::UNBOUNDED => "unbounded".into(),
        Since::Told(at) => at.to_string().into(),
    }
}

fn show_cause(cause: &Cause) -> Object {
    let mut shown = Object::default();
    let texts = [
        ("event_type", &cause.event_type),
        ("memory_id", &cause.memory_id),
        ("commit", &cause.commit),
        ("description", &cause.description),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            shown = shown.with(name, text);
        }
    }
    match cause.event_seq {
        Some(seq) => shown.with("event_seq", count(seq)),
        None => shown,
    }
}

/// A count as JSON; beyond 2^63 no counter gets.
fn count(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}
