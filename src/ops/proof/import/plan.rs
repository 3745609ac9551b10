//! From lines to edits: who is meant, which lines make a group, what is left out.
//!
//! 1. Edits come in this order: authors' words of an export, new entities, groups, their marks, relations, facts, ends,
//!    repudiations. Cut anywhere, the parts may be committed one after the other.
//! 2. Every edit knows the line that it came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ImportReport;
use super::declared::Declared;
use super::line::{About, EntityLine, GroupLine, Keyed, Line, RelationLine, Stated, Values};
use crate::change::{Edit, Restated};
use crate::engine::lens::Lens;
use crate::engine::ontology::Ontology;
use crate::engine::state::{Engine, ONTOLOGY_NOTE};
use crate::error::{Code, Error};
use crate::evidence::{Confidence, GroupKey, Voice};
use crate::id::EntityId;
use crate::key::{EntityKey, Name, RelationKey, Topic};
use crate::observation::{Group, Observation, Sighted};
use crate::time::{Since, Time};
use crate::value::{Props, Value};

/// The properties that give an entity its external id, where the line gives none: the first that is there.
const NAMING: [&str; 4] = ["name", "title", "path", "key"];

/// Lines on their way to edits.
pub(super) struct Plan<'a> {
    lens: &'a Lens,
    now: Time,
    /// The graph, with the file's additions to the ontology.
    engine: Engine,
    ontology: Option<Edit>,
    declared: Declared,
    groups: BTreeMap<GroupKey, Parts>,
    /// Plain lines, to be looked at when all that is declared is known.
    plain: Vec<(u64, Line)>,
    edits: [Vec<(u64, Edit)>; 8],
    /// What lines of this file say of a new entity, or a relation, from a start on.
    entities: BTreeMap<(EntityId, Since), Values>,
    relations: BTreeMap<(RelationKey, Since), (Confidence, Props)>,
}

/// Places in [`Plan::edits`], in the order of invariant 1.
enum Place {
    Restate,
    Create,
    Observe,
    Mark,
    Relate,
    Fact,
    End,
    Repudiate,
}

/// A group as its lines come in.
#[derive(Default)]
struct Parts {
    first: u64,
    row: Option<GroupLine>,
    read: u64,
    damaged: bool,
    said: BTreeMap<(Sighted, u32, Since), (u64, Observation)>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(lens: &'a Lens, now: Time) -> Plan<'a> {
        Plan {
            lens,
            now: now.max(lens.view().stamp()),
            engine: lens.engine().clone(),
            ontology: None,
            declared: Declared::default(),
            groups: BTreeMap::new(),
            plain: Vec::new(),
            edits: Default::default(),
            entities: BTreeMap::new(),
            relations: BTreeMap::new(),
        }
    }

    /// A line that could be read.
    pub(super) fn add(&mut self, number: u64, line: Line, report: &mut ImportReport) {
        let added = match line {
            Line::Ontology(body) => self.extend(body),
            Line::Group(group) => self.group(number, group),
            Line::Stated(stated) => self.stated(number, stated, report),
            Line::Entity(mut entity) => self.identify(&mut entity).map(|(id, key)| {
                self.declared.declare(&self.engine.ontology, id, &key, &entity.props);
                self.plain.push((number, Line::Entity(entity)));
            }),
            plain => {
                self.plain.push((number, plain));
                Ok(())
            }
        };
        if let Err(error) = added {
            report.damage(number, error.message());
        }
    }

    /// A line that could not be read, and the group that it belongs to, if that much is known.
    pub(super) fn damaged(&mut self, group: Option<GroupKey>) {
        if let Some(key) = group {
            self.groups.entry(key).or_default().damaged = true;
        }
    }

    /// The additions to the ontology that are new, and all edits that would be taken.
    pub(super) fn edits(mut self, report: &mut ImportReport) -> (Option<Edit>, Vec<Edit>) {
        for (number, line) in std::mem::take(&mut self.plain) {
            if let Err(error) = self.plain(number, line, report) {
                report.damage(number, error.message());
            }
        }
        self.observe(report);
        let (numbers, mut edits): (Vec<u64>, Vec<Edit>) = std::mem::take(&mut self.edits).into_iter().flatten().unzip();
        let refused: BTreeMap<usize, Error> = self.engine.refusals(&edits, self.now).into_iter().collect();
        for (index, error) in &refused {
            report.damage(numbers[*index], explain(&edits[*index], error, &numbers));
        }
        let mut index = 0..;
        edits.retain(|_| index.next().is_some_and(|index| !refused.contains_key(&index)));
        (self.ontology, edits)
    }

    fn push(&mut self, place: Place, number: u64, edit: Edit) {
        self.edits[place as usize].push((number, edit));
    }

    fn extend(&mut self, body: Value) -> Result<(), Error> {
        let Some(text) = body.as_str() else {
            return Err(Error::invalid("expected the ontology's additions as a text in \"body\""));
        };
        match self.lens.engine().notes.get(ONTOLOGY_NOTE) {
            Some(known) if *known == body => return Ok(()),
            Some(_) => {
                let message =
                    "this scope has additions to the ontology of its own, and they differ; join the two by hand";
                return Err(Error::new(Code::Conflict, message));
            }
            None => {}
        }
        self.engine.ontology = Arc::new(Ontology::seeded().extended(text)?);
        self.ontology = Some(Edit::Note { name: ONTOLOGY_NOTE.into(), body: Some(body) });
        Ok(())
    }

    fn id(&self, keyed: &Keyed) -> EntityId {
        keyed.id.unwrap_or_else(|| EntityId::within(&self.engine.namespace, &keyed.key))
    }

    // An export's lines.

    fn group(&mut self, number: u64, group: GroupLine) -> Result<(), Error> {
        let parts = self.groups.entry(group.key.clone()).or_default();
        if parts.row.is_some() {
            return Err(Error::invalid("the group has a line already; expected one line for each group"));
        }
        parts.first = number;
        parts.row = Some(group);
        Ok(())
    }

    fn stated(&mut self, number: u64, stated: Stated, report: &mut ImportReport) -> Result<(), Error> {
        if let About::Entity(entity) = &stated.about {
            let id = self.id(entity);
            self.declared.declare(&self.engine.ontology, id, &entity.key, &stated.props);
        }
        match stated.voice.clone() {
            Voice::Author => {
                self.restate(number, stated);
                Ok(())
            }
            Voice::Record { group, record } => self.witness(number, group, record, stated, report),
        }
    }

    fn restate(&mut self, number: u64, stated: Stated) {
        let (topic, keys) = match &stated.about {
            About::Entity(entity) => (Topic::Entity(self.id(entity)), vec![entity]),
            About::Relation { source, target, kind, origin } => {
                let (kind, origin) = (kind.clone(), origin.clone());
                let key = RelationKey { source: self.id(source), target: self.id(target), kind, origin };
                (Topic::Relation(key), vec![source, target])
            }
        };
        let keys = keys.into_iter().map(|keyed| (self.id(keyed), keyed.key.clone())).collect();
        let Stated { since, presence, confidence, cause, source_memory_id, .. } = stated;
        let props = stated.props.into_iter().collect();
        let word = Restated { topic, keys, source_memory_id, since, confidence, presence, props, cause };
        self.push(Place::Restate, number, Edit::Restate(word));
    }

    fn witness(
        &mut self,
        number: u64,
        group: GroupKey,
        record: u32,
        stated: Stated,
        report: &mut ImportReport,
    ) -> Result<(), Error> {
        let key = |keyed: &Keyed| match keyed.id {
            Some(id) if id != EntityId::within(&self.engine.namespace, &keyed.key) => Err(Error::invalid(format!(
                "a witness names things by their keys alone: expected no id for {}, found {id}",
                keyed.key
            ))),
            _ => Ok(keyed.key.clone()),
        };
        let sighted = match &stated.about {
            About::Entity(entity) => key(entity).map(Sighted::Entity),
            About::Relation { source, target, kind, origin } => key(source).and_then(|source| {
                let (mut source, mut target) = (source, key(target)?);
                if self.engine.ontology.symmetric(kind) && target < source {
                    std::mem::swap(&mut source, &mut target);
                }
                Ok(Sighted::Relation { source, target, kind: kind.clone(), origin: origin.clone() })
            }),
        };
        let named = stated.source_memory_id.is_some().then_some(&stated.about);
        if let Some(About::Entity(entity)) = named {
            // An observation can't say where its entity comes from; naming it before does.
            let naming = Stated { voice: Voice::Author, presence: None, props: Values::new(), ..stated.clone() };
            let naming = Stated { about: About::Entity(entity.clone()), cause: None, place: None, ..naming };
            self.restate(number, naming);
        }
        let parts = self.groups.entry(group).or_default();
        parts.read += 1;
        if parts.first == 0 {
            parts.first = number;
        }
        let sighted = sighted.inspect_err(|_| parts.damaged = true)?;
        let props = stated.props.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let Stated { since, trust, confidence, place, .. } = stated;
        let observation = Observation { sighted: sighted.clone(), record, since, trust, confidence, props, place };
        match parts.said.entry((sighted, record, since)) {
            std::collections::btree_map::Entry::Vacant(free) => drop(free.insert((number, observation))),
            std::collections::btree_map::Entry::Occupied(taken) if taken.get().1 == observation => report.repeated += 1,
            std::collections::btree_map::Entry::Occupied(taken) => {
                parts.damaged = true;
                let message =
                    format!("line {} has this witness say something else from the same start on", taken.get().0);
                return Err(Error::new(Code::Conflict, message));
            }
        }
        Ok(())
    }

    fn observe(&mut self, report: &mut ImportReport) {
        for (key, parts) in std::mem::take(&mut self.groups) {
            let mut stale = parts.row.as_ref().is_some_and(|row| row.stale);
            let announced = parts.row.as_ref().and_then(|row| row.lines);
            let missing = announced.filter(|announced| *announced != parts.read);
            if let Some(announced) = missing {
                let found = parts.read;
                let message = format!("expected {announced} lines of the group {:?}, found {found}", key.group);
                report.damage(parts.first, message);
            }
            let row = |key: &GroupKey| {
                let group = self.engine.witnesses.find_group(key)?;
                self.engine.witnesses.group_at(group).row(self.engine.seq)
            };
            let incomplete = parts.damaged || missing.is_some();
            let known = row(&key).is_some();
            if !(incomplete && known) {
                let (revision, fingerprint) = parts.row.map_or((None, None), |row| (row.revision, row.fingerprint));
                let observations = parts.said.into_values().map(|(_, observation)| observation).collect();
                let group = Group { key: key.clone(), revision, observations };
                self.push(Place::Observe, parts.first, Edit::Observe { group, fingerprint });
            }
            stale |= incomplete;
            if stale {
                let mark = Edit::Mark { key, revision: None, fingerprint: None, stale: Some(true) };
                self.push(Place::Mark, parts.first, mark);
            }
        }
    }

    // Plain lines.

    fn plain(&mut self, number: u64, line: Line, report: &mut ImportReport) -> Result<(), Error> {
        match line {
            Line::Entity(entity) => return self.entity(number, entity, report),
            Line::Relation(relation) => return self.relation(number, relation, report),
            Line::Fact { entity, props, since, cause } => {
                let topic = Topic::Entity(self.declared.resolve(self.lens, &entity)?);
                let props = props.into_iter().collect();
                self.push(Place::Fact, number, Edit::Fact { topic, props, since, cause });
            }
            Line::End { entity, since, cause } => {
                let topic = Topic::Entity(self.declared.resolve(self.lens, &entity)?);
                self.push(Place::End, number, Edit::End { topic, since, cause });
            }
            Line::Repudiate { change, reason } => {
                self.push(Place::Repudiate, number, Edit::Repudiate { change, reason });
            }
            Line::Header { .. } | Line::Ontology(_) | Line::Group(_) | Line::Stated(_) => {}
        }
        Ok(())
    }

    /// The id and key of a plain entity. One that has neither id nor external id is known by its name, so that the line
    /// means the same entity whenever it is read.
    fn identify(&self, entity: &mut EntityLine) -> Result<(EntityId, EntityKey), Error> {
        let external_id = match (&entity.external_id, entity.id) {
            (Some(external_id), _) => external_id.clone(),
            (None, Some(id)) => id.to_string().into(),
            (None, None) => {
                let text = |name: &&str| entity.props.get(*name)?.as_ref()?.as_str().filter(|text| !text.is_empty());
                let name = NAMING.iter().find_map(text);
                name.map(Name::from).ok_or_else(|| {
                    let message =
                        format!("expected an id, an external_id or one of the properties {}", NAMING.join(", "));
                    Error::invalid(format!("the entity can't be told from others: {message}"))
                })?
            }
        };
        entity.external_id = Some(external_id.clone());
        let key = EntityKey { kind: entity.kind.clone(), authority: entity.authority.clone(), external_id };
        let id = self.id(&Keyed { key: key.clone(), id: entity.id });
        Ok((id, key))
    }

    fn entity(&mut self, number: u64, mut line: EntityLine, report: &mut ImportReport) -> Result<(), Error> {
        let (id, key) = self.identify(&mut line)?;
        let EntityLine { mut props, since, source_memory_id, cause, .. } = line;
        let ix = self.engine.find_entity(id);
        if let Some(known) = ix.map(|ix| &self.engine.entity(ix).key).filter(|known| **known != key) {
            return Err(Error::new(Code::Conflict, format!("expected {key} under the id {id}, found {known}")));
        }
        let here = ix.is_some_and(|ix| self.engine.entity(ix).now.existence.held().is_some());
        let repeated = self.entities.range((id, Since::Observed)..).next().is_some_and(|((known, _), _)| *known == id);
        if let Some(said) = self.entities.get(&(id, since)) {
            props.retain(|name, value| said.get(name) != Some(value));
        }
        self.entities.entry((id, since)).or_default().extend(props.clone());
        if here || repeated {
            if props.is_empty() {
                report.repeated += u64::from(repeated);
                return Ok(());
            }
            let props = props.into_iter().collect();
            self.push(Place::Fact, number, Edit::Fact { topic: Topic::Entity(id), props, since, cause });
        } else {
            let props = props.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
            self.push(Place::Create, number, Edit::Create { key, id, props, since, source_memory_id, cause });
        }
        Ok(())
    }

    fn relation(&mut self, number: u64, line: RelationLine, report: &mut ImportReport) -> Result<(), Error> {
        let source = self.declared.resolve(self.lens, &line.source).map_err(|error| error.at("source"))?;
        let target = self.declared.resolve(self.lens, &line.target).map_err(|error| error.at("target"))?;
        let RelationLine { kind, origin, confidence, since, cause, .. } = line;
        let key = RelationKey { source, target, kind, origin };
        let props: Props = line.props.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let said = (confidence, props.clone());
        if self.relations.get(&(key.clone(), since)) == Some(&said) {
            report.repeated += 1;
            return Ok(());
        }
        self.relations.insert((key.clone(), since), said);
        self.push(Place::Relate, number, Edit::Relate { key, confidence, props, since, cause });
        Ok(())
    }
}

/// Why an edit was refused, in the words of a file: lines, not edits.
fn explain(edit: &Edit, error: &Error, numbers: &[u64]) -> String {
    let details = error.to_json();
    let edits = &details["error"]["details"]["edits"];
    let line = |which: usize| numbers.get(usize::try_from(edits[which].as_u64()?).ok()?);
    let message = match (line(0), line(1)) {
        (Some(first), Some(second)) => {
            let said = format!("edits {} and {} of the batch", edits[0], edits[1]);
            error.message().replace(&said, &format!("lines {first} and {second}"))
        }
        _ => error.message().to_owned(),
    };
    match edit {
        Edit::Observe { group, .. } => {
            format!("the group {:?} of {} is left as it is: {message}", group.key.group, group.key.source)
        }
        _ => message,
    }
}
