//! Digests that tell *unchanged* without parsing or comparing.
//!
//! 1. A group's fingerprint covers all that its observations say, in any order, places included, except what never counts
//!    as a change (the clustering of a code graph).
//! 2. An input's fingerprint covers the paths, sizes and times of a tree, or the bytes of a few files. It is a hint kept
//!    in a note, no content: two machines may differ in it and agree in everything else.

use sha2::{Digest, Sha256};

use crate::engine::draft::counted_place;
use crate::key::{EntityKey, Name};
use crate::observation::{Group, Observation, Sighted};
use crate::sources::{FileEntry, FileKind, SourceFiles};
use crate::time::Since;

/// Up to so many files are read to be fingerprinted; a larger tree goes by sizes and times.
const READ_FILES_MAX: usize = 16;

/// Files above this size go by size and time.
const READ_BYTES_MAX: u64 = 1 << 30;

/// The fingerprint of what a group says.
pub(super) fn of_group(group: &Group) -> Name {
    let mut lines: Vec<String> = group.observations.iter().map(line).collect();
    lines.sort_unstable();
    let mut hasher = Sha256::new();
    for line in &lines {
        hasher.update((line.len() as u64).to_le_bytes());
        hasher.update(line);
    }
    data_encoding::HEXLOWER.encode(&hasher.finalize()[..16]).into()
}

fn line(observation: &Observation) -> String {
    let mut out = String::with_capacity(256);
    let mut field = |text: &str| crate::value::write_text(text, &mut out);
    let mut key =
        |key: &EntityKey| [&key.kind, &key.authority, &key.external_id].into_iter().for_each(|part| field(part));
    match &observation.sighted {
        Sighted::Entity(entity) => key(entity),
        Sighted::Relation { source, target, kind, origin } => {
            key(source);
            key(target);
            field(kind);
            field(origin);
        }
    }
    let since = match observation.since {
        Since::Observed => "observed".to_owned(),
        Since::Unbounded => "unbounded".to_owned(),
        Since::Told(at) => at.micros().to_string(),
    };
    let head =
        format!("|{}|{since}|{}|{}|", observation.record, observation.trust, observation.confidence.millionths());
    out.push_str(&head);
    for (name, value) in &observation.props {
        crate::value::write_text(name, &mut out);
        value.write_canonical(&mut out);
    }
    if let Some(place) = &observation.place {
        counted_place(place).write_canonical(&mut out);
    }
    out
}

/// The fingerprint of an input; `None` when something in it is refused, so that it has to be read to be told of.
pub(super) fn of_input(instance: &Name, config: &str, files: &dyn SourceFiles) -> Option<Name> {
    let entries = files.walk().ok()?;
    let mut hasher = Sha256::new();
    for part in [instance, config, env!("CARGO_PKG_VERSION")] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let count = entries.iter().filter(|entry| matches!(entry.kind, FileKind::File { .. })).count();
    for FileEntry { path, kind } in &entries {
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        match kind {
            FileKind::Folder => {}
            FileKind::Refused(_) => return None,
            FileKind::File { bytes, .. } if count <= READ_FILES_MAX && *bytes <= READ_BYTES_MAX => {
                hasher.update(Sha256::digest(files.read(path, READ_BYTES_MAX).ok()?));
            }
            FileKind::File { bytes, modified_nanos } => {
                hasher.update(bytes.to_le_bytes());
                hasher.update(modified_nanos.to_le_bytes());
            }
        }
    }
    Some(data_encoding::HEXLOWER.encode(&hasher.finalize()[..16]).into())
}
