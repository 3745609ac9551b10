//! The content of a scope, line by line: what digests are made of.
//!
//! Each live assertion is one line of RFC 8785 JSON, and so is each file group: everything that two stores which heard
//! the same must agree in, and nothing else. No sequence, no stamp, no observed time, no place in a source, no position.
//! `docs/import-export.md` shows the lines.
//!
//! 1. A line depends on what is said and not on when or in what order it was heard.
//! 2. Lines of one part are distinct and sorted bytewise.
//! 3. Groups that could not be read last time, and all that their records say, are left out.

use std::fmt::Write as _;

use super::steps::{Aspect, Counting, Said, Step};
use crate::change::Presence;
use crate::engine::belief::Moment;
use crate::engine::lens::Lens;
use crate::engine::state::Engine;
use crate::engine::witnesses::{GroupState, TopicIx};
use crate::evidence::Voice;
use crate::id::{EntityId, EntityIx, RelationIx, Seq, VoiceIx};
use crate::key::Name;
use crate::time::{Since, Time};
use crate::value::{Value, write_text};

/// The lines of a scope.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lines {
    /// What sources say, and their groups.
    pub(crate) projected: Vec<String>,
    /// What authors say.
    pub(crate) authored: Vec<String>,
    /// How many of the projected lines are groups.
    pub(crate) groups: usize,
}

impl Lines {
    /// The content at the lens's sequence, at the stamp of that commit. Every trust class counts, and every revision.
    ///
    /// Costs one look at each change point of the scope, and a sort.
    pub(crate) fn of(lens: &Lens) -> Lines {
        let mut writer = Writer { engine: lens.engine(), at: stamp(lens), voices: Vec::new(), lines: Lines::default() };
        for row in 0..writer.engine.entities.len() {
            writer.topic(TopicIx::Entity(EntityIx::nth(row)));
        }
        for row in 0..writer.engine.relations.len() {
            writer.topic(TopicIx::Relation(RelationIx::nth(row)));
        }
        for group in writer.engine.witnesses.groups() {
            writer.group(group);
        }
        let mut lines = writer.lines;
        lines.projected.sort_unstable();
        lines.authored.sort_unstable();
        lines
    }

    /// Both parts as one, sorted.
    pub(crate) fn whole(&self) -> impl Iterator<Item = &str> {
        let (mut projected, mut authored) = (self.projected.iter().peekable(), self.authored.iter().peekable());
        std::iter::from_fn(move || match (projected.peek(), authored.peek()) {
            (Some(a), Some(b)) if b < a => authored.next(),
            (None, _) => authored.next(),
            _ => projected.next(),
        })
        .map(String::as_str)
    }
}

/// The moment that content is taken at: the lens's sequence, and the stamp of that commit whatever its valid time.
pub(crate) fn stamp(lens: &Lens) -> Moment {
    let recorded = lens.recorded();
    Moment { valid: lens.engine().stamp_of(recorded).unwrap_or(Time::UNBOUNDED), recorded }
}

struct Writer<'a> {
    engine: &'a Engine,
    at: Moment,
    /// How each voice is written, once asked for; none for a stale one.
    voices: Vec<Option<Written>>,
    lines: Lines,
}

#[derive(Clone)]
enum Written {
    Author,
    Record(String),
    Stale,
}

impl Writer<'_> {
    fn topic(&mut self, topic: TopicIx) {
        let engine = self.engine;
        let mut subject = None;
        for spoken in engine.history(topic).voices() {
            let written = self.voice(spoken.voice);
            let counting = Counting::of(spoken, self.at);
            for aspect in counting.aspects() {
                for step in counting.steps(aspect) {
                    let subject = subject.get_or_insert_with(|| write_subject(engine, topic));
                    match &written {
                        Written::Author => self.lines.authored.push(self.line(subject, aspect, &step, "\"author\"")),
                        Written::Record(voice) => self.lines.projected.push(self.line(subject, aspect, &step, voice)),
                        Written::Stale => {}
                    }
                }
            }
        }
    }

    fn voice(&mut self, voice: VoiceIx) -> Written {
        if self.voices.len() <= voice.at() {
            self.voices.resize(voice.at() + 1, None);
        }
        let (engine, recorded) = (self.engine, self.at.recorded);
        self.voices[voice.at()].get_or_insert_with(|| write_voice(engine, voice, recorded)).clone()
    }

    fn line(&self, subject: &str, aspect: Aspect, step: &Step, voice: &str) -> String {
        let mut out = String::with_capacity(subject.len() + voice.len() + 160);
        out.push('{');
        if let Some(word) = &step.word {
            out.push_str("\"confidence\":");
            Value::Float(word.confidence.value()).write_canonical(&mut out);
            out.push(',');
        }
        match aspect {
            None => {
                let word = match step.word.map(|word| word.said) {
                    Some(Said::Presence(Presence::Veto)) => "veto",
                    Some(_) => "present",
                    None => "absent",
                };
                write!(out, "\"presence\":\"{word}\"").expect("a string takes any text");
            }
            Some(name) => {
                out.push_str("\"property\":");
                write_text(self.engine.names.at(name), &mut out);
            }
        }
        out.push_str(",\"since\":");
        match step.since {
            Since::Observed => out.push_str("null"),
            Since::Unbounded => out.push_str("\"unbounded\""),
            Since::Told(at) => write!(out, "\"{at}\"").expect("a string takes any text"),
        }
        write!(out, ",\"subject\":{subject}").expect("a string takes any text");
        if let Some(word) = &step.word {
            write!(out, ",\"trust\":\"{}\"", word.trust).expect("a string takes any text");
            if let Said::Value(value) = word.said {
                out.push_str(",\"value\":");
                value.write_canonical(&mut out);
            }
        }
        write!(out, ",\"witness\":{voice}}}").expect("a string takes any text");
        out
    }

    fn group(&mut self, group: &GroupState) {
        let Some(row) = group.row(self.at.recorded) else { return };
        if self.engine.witnesses.group_stale(group, self.at.recorded) {
            return;
        }
        let mut out = String::from("{\"fingerprint\":");
        write_optional(row.fingerprint.as_ref(), &mut out);
        out.push_str(",\"group\":");
        write_text(&group.key.group, &mut out);
        out.push_str(",\"revision\":");
        write_optional(row.revision.as_ref(), &mut out);
        out.push_str(",\"source\":");
        write_text(&group.key.source, &mut out);
        out.push('}');
        self.lines.projected.push(out);
        self.lines.groups += 1;
    }
}

fn write_optional(text: Option<&Name>, out: &mut String) {
    match text {
        Some(text) => write_text(text, out),
        None => out.push_str("null"),
    }
}

fn write_voice(engine: &Engine, voice: VoiceIx, recorded: Seq) -> Written {
    if engine.witnesses.stale(voice, recorded) {
        return Written::Stale;
    }
    match engine.witnesses.voice_at(voice) {
        Voice::Author => Written::Author,
        Voice::Record { group, record } => {
            let mut out = String::from("{\"group\":");
            write_text(&group.group, &mut out);
            write!(out, ",\"record\":{record},\"source\":").expect("a string takes any text");
            write_text(&group.source, &mut out);
            out.push('}');
            Written::Record(out)
        }
    }
}

fn write_subject(engine: &Engine, topic: TopicIx) -> String {
    let mut out = String::new();
    match topic {
        TopicIx::Entity(ix) => write_entity(engine, ix, &mut out),
        TopicIx::Relation(ix) => {
            let row = engine.relation(ix);
            let (source, target) = ends(engine, ix);
            out.push_str("{\"origin\":");
            write_text(engine.names.at(row.origin), &mut out);
            out.push_str(",\"source\":");
            write_entity(engine, source, &mut out);
            out.push_str(",\"target\":");
            write_entity(engine, target, &mut out);
            out.push_str(",\"type\":");
            write_text(&engine.types[row.kind.at()], &mut out);
            out.push('}');
        }
    }
    out
}

/// The ends of a relation. Those of a symmetric one stand in the order of their keys: ids differ from scope to scope.
pub(crate) fn ends(engine: &Engine, ix: RelationIx) -> (EntityIx, EntityIx) {
    let row = engine.relation(ix);
    let order = |end: EntityIx| (&engine.entity(end).key, engine.entity(end).id);
    let turned = engine.ontology.symmetric(&engine.types[row.kind.at()]) && order(row.target) < order(row.source);
    if turned { (row.target, row.source) } else { (row.source, row.target) }
}

/// The id of an entity, where it doesn't follow from the key.
pub(crate) fn own_id(engine: &Engine, ix: EntityIx) -> Option<EntityId> {
    let row = engine.entity(ix);
    Some(row.id).filter(|id| *id != EntityId::within(&engine.namespace, &row.key))
}

fn write_entity(engine: &Engine, ix: EntityIx, out: &mut String) {
    let key = &engine.entity(ix).key;
    out.push_str("{\"authority\":");
    write_text(&key.authority, out);
    out.push_str(",\"external_id\":");
    write_text(&key.external_id, out);
    if let Some(id) = own_id(engine, ix) {
        write!(out, ",\"id\":\"{id}\"").expect("a string takes any text");
    }
    out.push_str(",\"kind\":");
    write_text(&key.kind, out);
    out.push('}');
}
