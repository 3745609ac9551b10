//! What a question is about: an id, a source identity, or anything that the thing was ever called.
//!
//! 1. A form that several things have is never resolved by a guess: the error lists the candidates. A file and the asset
//!    that it is the body of are one thing by two names; their form means the file, from which every pattern crosses to
//!    the asset at no depth.
//! 2. An id or a name of another scope is *not found*, like one that exists nowhere.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::engine::lens::{Filter, Kinds, Lens, TypeSet};
use crate::engine::states::states;
use crate::engine::surface::normalised;
use crate::engine::witnesses::TopicIx;
use crate::error::{Code, Error};
use crate::evidence::Trust;
use crate::id::{EntityId, EntityIx, Seq};
use crate::key::{EntityKey, Name};
use crate::time::Time;

/// How many candidates an ambiguous name lists.
const CANDIDATES_MAX: usize = 20;

/// A subject, as a request names it: a text, or a key.
///
/// A text is a UUID, `authority:external id` (`unity:9f3c…`, `repo:src/main.rs`), `Kind authority:external id`, or any
/// surface form: a name, title or path of any state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a subject: a text (a UUID, an identity such as repo:PATH, a name, title or path) or an object \
                 with kind, authority and external_id"
)]
pub enum Subject {
    /// An id, an identity or a surface form.
    Text(String),
    /// A whole identity.
    Key(EntityKey),
}

impl Subject {
    /// The thing that is called so: an id, an identity or a surface form.
    pub fn named(text: impl Into<String>) -> Subject {
        Subject::Text(text.into())
    }

    /// The entity that is meant.
    ///
    /// # Errors
    /// `not_found`, or `ambiguous_subject` with the candidates.
    pub(crate) fn resolve(&self, lens: &Lens) -> Result<EntityIx, Error> {
        match self {
            Subject::Key(key) => {
                let id = EntityId::within(&lens.engine().namespace, key);
                let by_id = lens.engine().find_entity(id).filter(|ix| lens.engine().entity(*ix).key == *key);
                by_id.ok_or_else(|| Error::not_found(format!("no {key} is here")))
            }
            Subject::Text(text) => resolve_text(lens, text),
        }
    }

    /// The entity that is meant, which must be there under the lens.
    ///
    /// # Errors
    /// As [`Subject::resolve`], and `not_found` for what isn't there, with when it was.
    pub(crate) fn resolve_there(&self, lens: &Lens) -> Result<EntityIx, Error> {
        let ix = self.resolve(lens)?;
        if lens.entity(ix).is_some() {
            return Ok(ix);
        }
        let key = &lens.engine().entity(ix).key;
        let when = lens.asked().map_or_else(|| "now".to_owned(), |at| format!("as of {at}"));
        let hint = whereabouts(lens, ix);
        Err(Error::not_found(format!("{key} is not there {when}: {hint}"))
            .with_details(serde_json::json!({ "id": lens.engine().entity(ix).id })))
    }
}

/// Why an entity is not there under a lens, and how to see it.
fn whereabouts(lens: &Lens, ix: EntityIx) -> String {
    let all = lens.every_revision();
    if let Some(revision) = lens.only_revision()
        && all.entity(ix).is_some()
    {
        return format!("no witness of revision {revision:?} speaks of it; ask without `revision`");
    }
    let states = states(&all, TopicIx::Entity(ix));
    // The last stretch of presence, in however many states.
    let mut stretch = states.iter().rev().skip_while(|state| state.existence.held().is_none());
    let last = stretch.next();
    let first = stretch.take_while(|state| state.existence.held().is_some()).last().or(last);
    match (first.map(|state| state.from), last.and_then(|state| state.until)) {
        (Some(Time::UNBOUNDED), Some(until)) => format!("it was until {until}; ask as of then"),
        (Some(from), Some(until)) => format!("it was from {from} until {until}; ask as of then"),
        (Some(from), None) => format!("it is from {from} on; ask as of then"),
        _ if lens.floor() > Trust::Hypothesis => "it may be a hypothesis; ask with investigation".to_owned(),
        _ => "no witness that counts here speaks of it".to_owned(),
    }
}

impl From<EntityId> for Subject {
    fn from(id: EntityId) -> Subject {
        Subject::Text(id.to_string())
    }
}

fn resolve_text(lens: &Lens, text: &str) -> Result<EntityIx, Error> {
    let engine = lens.engine();
    if let Ok(uuid) = text.parse::<Uuid>() {
        let found = engine.find_entity(uuid.into()).filter(|ix| spoken_of(lens, *ix));
        return found.ok_or_else(|| Error::not_found(format!("no entity {text} is here")));
    }
    let mut found = identities(lens, text);
    if found.is_empty() {
        found = called(lens, text);
    }
    found.sort_by(|a, b| engine.entity(*a).key.cmp(&engine.entity(*b).key));
    found.dedup();
    match found[..] {
        [file, asset] if is_body(lens, file, asset) => Ok(file),
        [] => Err(Error::not_found(format!(
            "nothing here is called {text:?}; give an id, an identity such as repo:PATH or unity:GUID, or a name, title or path"
        ))),
        [one] => Ok(one),
        _ => {
            let candidates: Vec<_> = found.iter().take(CANDIDATES_MAX).map(|ix| candidate(lens, *ix)).collect();
            let message = format!("{text:?} means {} things; name one by its id or identity", found.len());
            let details = serde_json::json!({ "candidates": candidates, "total": found.len() });
            Err(Error::new(Code::AmbiguousSubject, message).with_details(details))
        }
    }
}

/// Whether a file is the body of an asset.
fn is_body(lens: &Lens, file: EntityIx, asset: EntityIx) -> bool {
    let engine = lens.engine();
    let types = TypeSet::of(engine, |kind| *kind == "IMPORTED_AS");
    let filter = Filter { out: true, into: false, types, kinds: Kinds::only(vec!["UnityAsset".into()]) };
    engine.entity(file).key.kind == "File" && lens.edges(file, &filter).any(|edge| edge.far == asset)
}

fn candidate(lens: &Lens, ix: EntityIx) -> serde_json::Value {
    let row = lens.engine().entity(ix);
    serde_json::json!({
        "id": row.id, "kind": row.key.kind, "label": lens.label(ix),
        "source": { "authority": row.key.authority, "id": row.key.external_id },
    })
}

/// Whether anything was ever said of an entity, as far as the lens's sequence goes.
fn spoken_of(lens: &Lens, ix: EntityIx) -> bool {
    let points = lens.engine().entity(ix).history.voices().iter().flat_map(|spoken| &spoken.points);
    points.into_iter().any(|point| point.said.seq <= lens.recorded())
}

/// Entities with this identity: `authority:external id`, with or without the kind before it.
fn identities(lens: &Lens, text: &str) -> Vec<EntityIx> {
    let engine = lens.engine();
    let mut keys: Vec<EntityKey> = Vec::new();
    let mut authored: Vec<EntityIx> = Vec::new();
    for (at, _) in text.match_indices(':') {
        let (head, external_id) = (&text[..at], &text[at + 1..]);
        // What an author named has the id that its name is.
        if let (true, Ok(uuid)) = (head.ends_with("authored"), external_id.parse::<Uuid>()) {
            authored
                .extend(engine.find_entity(uuid.into()).filter(|ix| engine.entity(*ix).key.authority == "authored"));
        }
        if let Some((kind, authority)) = head.split_once(' ') {
            keys.push(EntityKey::new(kind, authority, external_id));
        }
        keys.extend(engine.kinds_met().map(|kind| EntityKey::new(kind.clone(), head, external_id)));
    }
    let ids = keys.into_iter().filter_map(|key| {
        let ix = engine.find_entity(EntityId::within(&engine.namespace, &key))?;
        (engine.entity(ix).key == key).then_some(ix)
    });
    ids.chain(authored).filter(|ix| spoken_of(lens, *ix)).collect()
}

/// Entities that are called so at the lens's moment; where there are none, those that ever were.
fn called(lens: &Lens, text: &str) -> Vec<EntityIx> {
    let form = normalised(text);
    let ever: Vec<EntityIx> =
        lens.engine().surfaces.called(text).filter(|ix| was_called(lens, *ix, &form, lens.recorded())).collect();
    let now: Vec<EntityIx> = ever.iter().copied().filter(|ix| is_called(lens, *ix, &form)).collect();
    if now.is_empty() { ever } else { now }
}

fn is_called(lens: &Lens, ix: EntityIx, form: &str) -> bool {
    let props = lens.props(TopicIx::Entity(ix));
    props.iter().any(|prop| {
        lens.engine().identifying(ix, lens.engine().names.at(prop.name))
            && prop.value.as_str().is_some_and(|text| normalised(text) == form)
    })
}

fn was_called(lens: &Lens, ix: EntityIx, form: &str, recorded: Seq) -> bool {
    let points = lens.engine().entity(ix).history.voices().iter().flat_map(|spoken| &spoken.points);
    let said = points.into_iter().filter(|point| point.said.seq <= recorded && point.trust >= lens.floor());
    said.flat_map(|point| point.props.iter()).any(|(name, value)| {
        let text = value.as_ref().and_then(crate::Value::as_str);
        text.is_some_and(|text| normalised(text) == form)
            && lens.engine().identifying(ix, lens.engine().names.at(*name))
    })
}

/// The entity as a list of names would show it.
pub(crate) fn describe(lens: &Lens, ix: EntityIx) -> SubjectShown {
    let row = lens.engine().entity(ix);
    SubjectShown { id: row.id, kind: row.key.kind.clone(), label: lens.label(ix) }
}

/// The subject, as an answer names it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct SubjectShown {
    /// Its id.
    pub id: EntityId,
    /// Its kind.
    pub kind: Name,
    /// What it is called.
    pub label: String,
}
