//! One line of an import: what it says, before anything is looked up.
//!
//! Lines of two sorts. Those with a `witness` are an export's: they say who speaks, and name everything by its key. Plain
//! ones are written by people and programs: the author speaks, and things may be named as [`Reference`]s.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::fields::{Fields, describe};
use crate::change::Presence;
use crate::error::{Code, Error, did_you_mean};
use crate::evidence::{Cause, Confidence, GroupKey, Trust, Voice};
use crate::id::{ChangeId, EntityId};
use crate::key::{EntityKey, Name};
use crate::ops::proof::export::VERSION;
use crate::time::Since;
use crate::value::{Value, check_props};

/// What begins a line, by the field that says so.
const KINDS: [&str; 8] = ["triglyph", "note", "group", "entity", "relation", "fact", "end", "repudiate"];

/// A line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Line {
    /// The first line of an export, and how many follow it.
    Header { lines: Option<u64> },
    /// Additions to the ontology.
    Ontology(Value),
    /// A file group.
    Group(GroupLine),
    /// What a voice says of something, in an export's words.
    Stated(Stated),
    /// An entity, by its author.
    Entity(EntityLine),
    /// A relation, by its author.
    Relation(RelationLine),
    /// Properties of an entity.
    Fact { entity: Reference, props: Values, since: Since, cause: Option<Cause> },
    /// The end of an entity.
    End { entity: Reference, since: Since, cause: Option<Cause> },
    /// A change that never was so.
    Repudiate { change: ChangeId, reason: Name },
}

/// Properties and their values; `None` takes one away.
pub(super) type Values = BTreeMap<Name, Option<Value>>;

/// A file group, its row, and how many lines its records have.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct GroupLine {
    pub(super) key: GroupKey,
    pub(super) revision: Option<Name>,
    pub(super) fingerprint: Option<Name>,
    pub(super) stale: bool,
    pub(super) lines: Option<u64>,
}

/// A key, and the id where it doesn't follow from the key.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Keyed {
    pub(super) key: EntityKey,
    pub(super) id: Option<EntityId>,
}

/// What an export's line is about.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum About {
    Entity(Keyed),
    Relation { source: Keyed, target: Keyed, kind: Name, origin: Name },
}

/// What a voice says, in an export's words.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Stated {
    pub(super) about: About,
    pub(super) voice: Voice,
    pub(super) since: Since,
    pub(super) presence: Option<Presence>,
    pub(super) trust: Trust,
    pub(super) confidence: Confidence,
    pub(super) props: Values,
    pub(super) place: Option<Value>,
    pub(super) cause: Option<Cause>,
    pub(super) source_memory_id: Option<Name>,
}

/// An entity as its author writes it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct EntityLine {
    pub(super) kind: Name,
    pub(super) authority: Name,
    pub(super) external_id: Option<Name>,
    pub(super) id: Option<EntityId>,
    pub(super) props: Values,
    pub(super) since: Since,
    pub(super) source_memory_id: Option<Name>,
    pub(super) cause: Option<Cause>,
}

/// A relation as its author writes it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RelationLine {
    pub(super) source: Reference,
    pub(super) target: Reference,
    pub(super) kind: Name,
    pub(super) origin: Name,
    pub(super) confidence: Confidence,
    pub(super) props: Values,
    pub(super) since: Since,
    pub(super) cause: Option<Cause>,
}

/// A thing, as a plain line names it: by a text (an id, an identity or a name), or by its key.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Reference {
    Text(Name),
    Key(Keyed),
}

/// Reads a line.
pub(super) fn read(text: &str) -> Result<Line, Error> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string().replace(" at line 1 column ", " at column ");
        Error::invalid(format!("expected one JSON object, found something else: {message}"))
    })?;
    let mut line = Fields::of("the line", value)?;
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| line.has(kind)).collect();
    match kinds[..] {
        ["triglyph"] => header(line),
        ["note"] => note(line),
        ["group"] => group(line),
        ["entity"] | ["relation"] if line.has("witness") => stated(line),
        ["entity"] => entity(line),
        ["relation"] => relation(line),
        ["fact"] => {
            let mut fact = Fields::of("\"fact\"", line.need("fact")?)?;
            let entity = reference(fact.need("entity")?)?;
            let props = props(&mut fact)?;
            fact.finish()?;
            if props.is_empty() {
                return Err(Error::invalid("the fact says nothing: expected \"props\" with at least one property"));
            }
            let line = (Line::Fact { entity, props, since: valid_from(&mut line)?, cause: cause(&mut line)? }, line);
            finished(line)
        }
        ["end"] => {
            let mut end = Fields::of("\"end\"", line.need("end")?)?;
            let entity = reference(end.need("entity")?)?;
            end.finish()?;
            let since = line.time("at")?.map_or(Since::Observed, Since::Told);
            finished((Line::End { entity, since, cause: cause(&mut line)? }, line))
        }
        ["repudiate"] => {
            let mut repudiate = Fields::of("\"repudiate\"", line.need("repudiate")?)?;
            let change = repudiate.need_text("change")?.parse()?;
            repudiate.finish()?;
            let reason = line.need_text("reason")?;
            finished((Line::Repudiate { change, reason }, line))
        }
        [] => {
            let hint = line.names().find_map(|name| Some(did_you_mean(name, KINDS)).filter(|hint| !hint.is_empty()));
            let hint = hint.unwrap_or_default();
            Err(Error::invalid(format!("expected one of the fields {}, found none of them{hint}", KINDS.join(", "))))
        }
        _ => Err(Error::invalid(format!("expected one statement, found {}; give each its line", kinds.join(" and ")))),
    }
}

/// The group that a line which can't be read belongs to, where that much can be read.
pub(super) fn group_of(text: &str) -> Option<GroupKey> {
    let line: Value = serde_json::from_str(text).ok()?;
    let part = |value: &Value, name: &str| match value {
        Value::Map(map) => map.get(name).cloned(),
        _ => None,
    };
    let witness = part(&line, "witness")?;
    let name = |name: &str| part(&witness, name).and_then(|text| text.as_str().map(Name::from));
    Some(GroupKey { source: name("source")?, group: name("group")? })
}

fn finished((line, fields): (Line, Fields)) -> Result<Line, Error> {
    fields.finish()?;
    Ok(line)
}

fn header(mut line: Fields) -> Result<Line, Error> {
    let what = line.need_text("triglyph")?;
    if what != "export" {
        return Err(Error::invalid(format!("expected an export of Triglyph, found {what:?}")));
    }
    let version = line.count("version")?;
    if version != Some(VERSION.unsigned_abs()) {
        let found = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        let message =
            format!("expected an export of version {VERSION}, found {found}; read it with the Triglyph that wrote it");
        return Err(Error::new(Code::UnsupportedVersion, message));
    }
    line.take("scope");
    line.count("seq")?;
    let lines = line.count("lines")?;
    finished((Line::Header { lines }, line))
}

fn note(mut line: Fields) -> Result<Line, Error> {
    let name = line.need_text("note")?;
    if name != crate::engine::state::ONTOLOGY_NOTE {
        return Err(Error::invalid(format!("expected the note \"ontology\", found {name:?}; others are not imported")));
    }
    let body = line.need("body")?;
    finished((Line::Ontology(body), line))
}

fn group(mut line: Fields) -> Result<Line, Error> {
    let mut group = Fields::of("\"group\"", line.need("group")?)?;
    let key = group_key(&mut group)?;
    let (revision, fingerprint) = (group.text("revision")?, group.text("fingerprint")?);
    let (stale, lines) = (group.flag("stale")?.unwrap_or(false), group.count("lines")?);
    group.finish()?;
    finished((Line::Group(GroupLine { key, revision, fingerprint, stale, lines }), line))
}

/// The empty name is a group too: the source as a whole.
fn group_key(fields: &mut Fields) -> Result<GroupKey, Error> {
    let source = fields.need_text("source")?;
    match fields.need("group")? {
        Value::Text(group) => Ok(GroupKey::new(source, &*group)),
        other => Err(Error::invalid(format!("field \"group\": expected a text, found {}", describe(&other)))),
    }
}

fn stated(mut line: Fields) -> Result<Line, Error> {
    let voice = match line.need("witness")? {
        Value::Text(text) if &*text == "author" => Voice::Author,
        Value::Text(text) => {
            return Err(Error::invalid(format!("expected the witness \"author\" or an object, found {text:?}")));
        }
        object => {
            let mut witness = Fields::of("\"witness\"", object)?;
            let group = group_key(&mut witness)?;
            let record = witness.count("record")?.unwrap_or(0);
            witness.finish()?;
            let record = u32::try_from(record)
                .map_err(|_| Error::invalid(format!("expected a record below 2^32, found {record}")))?;
            Voice::Record { group, record }
        }
    };
    let entity = line.has("entity");
    let about =
        if entity { About::Entity(keyed(line.need("entity")?)?) } else { about_relation(line.need("relation")?)? };
    let since = match line.text("since")? {
        None => Since::Observed,
        Some(text) => told("since", &text)?,
    };
    let presence = line.text("presence")?.map(|text| presence(&text)).transpose()?;
    let trust = line.parsed("trust")?.unwrap_or(Trust::Authoritative);
    let confidence = confidence(&mut line)?;
    let props = props(&mut line)?;
    let cause = cause(&mut line)?;
    let place = line.take("place");
    let source_memory_id = if entity { line.text("source_memory_id")? } else { None };
    if entity {
        line.time("created_at")?;
    }
    let says = (&voice, presence, trust);
    match says {
        (Voice::Author, _, Trust::Derived | Trust::Hypothesis) => {
            return Err(Error::invalid(format!("expected an author's word to be authoritative, found {trust}")));
        }
        (Voice::Record { .. }, Some(Presence::Absent | Presence::Veto), _) => {
            let message = "a witness says that a thing is there, or says nothing: expected the presence \"present\"";
            return Err(Error::invalid(message));
        }
        _ => {}
    }
    if let Some(place) = &place {
        check_props([(&Name::from("place"), place)])?;
    }
    let stated = Stated { about, voice, since, presence, trust, confidence, props, place, cause, source_memory_id };
    finished((Line::Stated(stated), line))
}

fn about_relation(value: Value) -> Result<About, Error> {
    let mut relation = Fields::of("\"relation\"", value)?;
    let (source, target) = (keyed(relation.need("source")?)?, keyed(relation.need("target")?)?);
    let (kind, origin) = (relation.need_text("type")?, relation.need_text("origin")?);
    relation.finish()?;
    Ok(About::Relation { source, target, kind, origin })
}

fn presence(text: &str) -> Result<Presence, Error> {
    match text {
        "present" => Ok(Presence::Present),
        "absent" => Ok(Presence::Absent),
        "veto" => Ok(Presence::Veto),
        other => {
            let hint = did_you_mean(other, ["present", "absent", "veto"]);
            Err(Error::invalid(format!("expected a presence (present, absent, veto), found {other:?}{hint}")))
        }
    }
}

fn entity(mut line: Fields) -> Result<Line, Error> {
    let mut entity = Fields::of("\"entity\"", line.need("entity")?)?;
    let kind = entity.need_text("kind")?;
    let authority = entity.text("authority")?.unwrap_or_else(|| "authored".into());
    let (external_id, id) = (entity.text("external_id")?, id(&mut entity)?);
    entity.finish()?;
    let props = props(&mut line)?;
    // A row brought from elsewhere begins when it was made, unless it says otherwise.
    let (told, created_at) = (valid_from(&mut line)?, line.time("created_at")?);
    let since = match (told, created_at) {
        (Since::Observed, Some(at)) => Since::Told(at),
        (told, _) => told,
    };
    let (source_memory_id, cause) = (line.text("source_memory_id")?, cause(&mut line)?);
    let entity = EntityLine { kind, authority, external_id, id, props, since, source_memory_id, cause };
    finished((Line::Entity(entity), line))
}

fn relation(mut line: Fields) -> Result<Line, Error> {
    let mut relation = Fields::of("\"relation\"", line.need("relation")?)?;
    let (source, target) = (reference(relation.need("source")?)?, reference(relation.need("target")?)?);
    let kind = relation.need_text("type")?;
    let origin = relation.text("origin")?.unwrap_or_else(|| "authored".into());
    relation.finish()?;
    let (confidence, props) = (confidence(&mut line)?, props(&mut line)?);
    let (since, cause) = (valid_from(&mut line)?, cause(&mut line)?);
    let relation = RelationLine { source, target, kind, origin, confidence, props, since, cause };
    finished((Line::Relation(relation), line))
}

fn reference(value: Value) -> Result<Reference, Error> {
    match value {
        Value::Text(text) if !text.is_empty() => Ok(Reference::Text((*text).into())),
        Value::Map(map) => Ok(Reference::Key(keyed(Value::Map(map))?)),
        other => {
            let found = if other.as_str().is_some() { "an empty text" } else { describe(&other) };
            Err(Error::invalid(format!("expected an id, an identity, a name or a key, found {found}")))
        }
    }
}

fn keyed(value: Value) -> Result<Keyed, Error> {
    let mut key = Fields::of("the key", value)?;
    let kind = key.need_text("kind")?;
    let authority = key.text("authority")?.unwrap_or_else(|| "authored".into());
    let (external_id, id) = (key.need_text("external_id")?, id(&mut key)?);
    key.finish()?;
    Ok(Keyed { key: EntityKey { kind, authority, external_id }, id })
}

fn id(fields: &mut Fields) -> Result<Option<EntityId>, Error> {
    let Some(text) = fields.text("id")? else { return Ok(None) };
    let uuid = text.parse::<Uuid>();
    let uuid = uuid.map_err(|_| Error::invalid(format!("field \"id\": expected a UUID, found {text:?}")))?;
    Ok(Some(uuid.into()))
}

fn valid_from(line: &mut Fields) -> Result<Since, Error> {
    let text = line.text("valid_from")?;
    text.map_or(Ok(Since::Observed), |text| told("valid_from", &text))
}

fn told(field: &str, text: &str) -> Result<Since, Error> {
    if text == "unbounded" {
        return Ok(Since::Unbounded);
    }
    text.parse().map(Since::Told).map_err(|error: Error| error.at(format_args!("field {field:?}")))
}

fn confidence(line: &mut Fields) -> Result<Confidence, Error> {
    line.number("confidence")?.map_or(Ok(Confidence::ONE), Confidence::new)
}

/// `props`, where null takes a property away, and `nulls`, the properties whose value is the JSON null itself.
fn props(line: &mut Fields) -> Result<Values, Error> {
    let given = line.object("props")?;
    let mut props: Values = given.into_iter().map(|(name, value)| (name, Some(value))).collect();
    props.values_mut().for_each(|value| *value = value.take().filter(|value| *value != Value::Null));
    for name in line.texts("nulls")? {
        if props.insert(name.clone(), Some(Value::Null)).is_some() {
            return Err(Error::invalid(format!("property {name:?} stands both in \"props\" and in \"nulls\"")));
        }
    }
    check_props(props.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))?;
    Ok(props)
}

fn cause(line: &mut Fields) -> Result<Option<Cause>, Error> {
    let Some(value) = line.take("cause") else { return Ok(None) };
    let mut cause = Fields::of("\"cause\"", value)?;
    let read = Cause {
        event_type: cause.text("event_type")?,
        memory_id: cause.text("memory_id")?,
        commit: cause.text("commit")?,
        description: cause.text("description")?,
        event_seq: cause.count("event_seq")?,
    };
    cause.finish()?;
    Ok(Some(read))
}
