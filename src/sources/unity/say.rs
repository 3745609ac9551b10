//! What each pair says, once all pairs are known.
//!
//! 1. A fact is said once in a group, and a relation that two files with one GUID could both say is said by the first of
//!    them: so what holds of it does not depend on which file was observed last.
//! 2. A target that the project does not have is witnessed by every file that needs it, in the same words, and is gone
//!    with the last of them.
//! 3. A group depends on the others only through which GUIDs are claimed, and by whom.

use std::collections::BTreeSet;

use super::claims::Claims;
use super::classify::{Lies, Pair};
use super::guid::Guid;
use super::meta::Meta;
use super::read::Reading;
use super::scan::Use;
use super::{ASSET, AUTHORITY, ORIGIN};
use crate::evidence::{GroupKey, Trust};
use crate::key::{EntityKey, Name};
use crate::observation::{Group, Observation};
use crate::sources::{Report, below};
use crate::value::Value;

/// Turns readings into groups.
pub(super) struct Speaker<'a> {
    instance: &'a Name,
    at: &'a str,
    claims: &'a Claims<'a>,
    report: &'a mut Report,
    /// Relations of GUIDs that several files claim, as far as they are said.
    said: BTreeSet<(Guid, Guid)>,
}

/// What a target is to the project.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Resolved,
    Builtin,
    Unresolved,
}

impl<'a> Speaker<'a> {
    pub(super) fn new(instance: &'a Name, at: &'a str, claims: &'a Claims<'a>, report: &'a mut Report) -> Speaker<'a> {
        Speaker { instance, at, claims, report, said: BTreeSet::new() }
    }

    /// All that a pair says; None where that is nothing.
    pub(super) fn group(&mut self, pair: &Pair, reading: &Reading) -> Option<Group> {
        let path = below(self.at, &pair.path);
        let file = EntityKey::new("File", "repo", &*path);
        let mut said = Vec::new();
        let asset = reading.meta.as_ref().and_then(|meta| Some((meta, meta.guid?)));
        if let Some((meta, guid)) = asset {
            self.asset(pair, meta, guid, &path, &mut said);
        }
        let claims = self.claims;
        // Under a key that nobody knows, a GUID is a reference if an asset has it.
        let is_reference = |(target, used): &(&Guid, &Use)| used.sure || claims.of(**target).is_some();
        let mut uses = reading.uses.iter().filter(is_reference).peekable();
        let is_file = pair.body == Some(Lies::File);
        if is_file && (reading.meta.is_some() || uses.peek().is_some()) {
            said.push(named(Observation::entity(file.clone()), &path));
        }
        for (target, used) in uses {
            match asset {
                Some((_, guid)) => self.asset_needs(guid, *target, used, &mut said),
                None if is_file => self.file_needs(&file, *target, used, &mut said),
                None => {}
            }
        }
        let key = GroupKey::new(self.instance, path);
        (!said.is_empty()).then(|| Group { key, revision: reading.revision.clone(), observations: said })
    }

    /// The asset itself, said by the one that has its GUID.
    fn asset(&mut self, pair: &Pair, meta: &Meta, guid: Guid, path: &str, said: &mut Vec<Observation>) {
        let is_folder = match pair.body {
            Some(Lies::Folder) => true,
            Some(_) => false,
            None => meta.folder,
        };
        self.report.count("assets");
        self.report.count(if is_folder { "folder_assets" } else { "files_assets" });
        let Some(claim) = self.claims.of(guid).filter(|claim| claim.winner == pair.path) else { return };
        let losers: Vec<Value> = claim.losers.iter().map(|path| Value::from(below(self.at, path))).collect();
        let asset = named(Observation::entity(key_of(guid)), path)
            .with("folder", is_folder.then_some(true))
            .with("body", pair.body.is_none().then_some(false))
            .with("importer", meta.importer.as_deref())
            .with("duplicate_paths", (!losers.is_empty()).then_some(losers));
        said.push(asset);
    }

    fn asset_needs(&mut self, guid: Guid, target: Guid, used: &Use, said: &mut Vec<Observation>) {
        if target == guid {
            return;
        }
        let is_contested = self.claims.of(guid).is_some_and(|claim| claim.losers_count > 0);
        if is_contested && !self.said.insert((guid, target)) {
            return;
        }
        let resolved = self.needs(key_of(guid), target, used, said);
        self.report.count("edges");
        self.report.count(match resolved {
            Target::Resolved => "edges:resolved",
            Target::Builtin => "edges:builtin",
            Target::Unresolved => "edges:unresolved",
        });
    }

    fn file_needs(&mut self, file: &EntityKey, target: Guid, used: &Use, said: &mut Vec<Observation>) {
        self.needs(file.clone(), target, used, said);
        self.report.count("edges_from_non_assets");
    }

    fn needs(&self, source: EntityKey, target: Guid, used: &Use, said: &mut Vec<Observation>) -> Target {
        let key = key_of(target);
        let (resolved, seen) = match (target.builtin(), self.claims.of(target)) {
            (Some(name), _) => {
                let builtin = Observation::entity(key.clone()).with("builtin", Some(true)).with("name", Some(name));
                (Target::Builtin, Some(builtin))
            }
            (None, Some(_)) => (Target::Resolved, None),
            (None, None) => {
                let external = Observation::entity(key.clone()).with("external", Some(true));
                // The reference is read, but that nothing in the project has the GUID is concluded.
                (Target::Unresolved, Some(Observation { trust: Trust::Derived, ..external }))
            }
        };
        said.extend(seen);
        let file_ids: Vec<Value> = used.file_ids.iter().map(|id| Value::Int(*id)).collect();
        let mut needs = Observation::relation(source, "DEPENDS_ON", key, ORIGIN)
            .with("file_ids", (!file_ids.is_empty()).then_some(file_ids));
        needs.trust = if used.sure { Trust::Authoritative } else { Trust::Derived };
        needs.place = Some(Value::from(&*used.place));
        said.push(needs);
        resolved
    }
}

fn key_of(guid: Guid) -> EntityKey {
    EntityKey::new(ASSET, AUTHORITY, guid.to_string())
}

/// With its path, and its name for people.
fn named(observation: Observation, path: &str) -> Observation {
    let name = path.rsplit('/').next().unwrap_or(path);
    observation.with("path", Some(path)).with("name", Some(name))
}
