//! What a disk holds, and the changes that made it so.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

/// One change of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A folder was made.
    CreateFolder {
        /// Its path.
        path: String,
    },
    /// A file was made.
    Create {
        /// Its path.
        path: String,
        /// The number of the file, which it keeps under every name.
        file: usize,
    },
    /// Bytes were written.
    Write {
        /// The number of the file.
        file: usize,
        /// Where.
        offset: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// A file got another name.
    Rename {
        /// The old path.
        from: String,
        /// The new path.
        to: String,
    },
    /// A name was removed.
    Remove {
        /// The path.
        path: String,
    },
    /// All bytes of a file became durable.
    Sync {
        /// The number of the file.
        file: usize,
    },
    /// A sync failed: what was not durable by then never will be.
    SyncFailed {
        /// The number of the file.
        file: usize,
    },
    /// All names in a folder became durable.
    SyncFolder {
        /// The folder.
        path: String,
    },
}

/// What a crash makes of an op that wasn't durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It reached the disk all the same.
    Kept,
    /// It is gone.
    Lost,
    /// Only this many bytes of a write reached the disk.
    Torn(usize),
    /// The file has the length that the write gave it, but zeros where the bytes should be.
    Zeroed,
}

/// The files and names of a disk: the fold of its ops.
#[derive(Clone, Default)]
pub(super) struct Tree {
    pub(super) names: BTreeMap<String, Node>,
    /// By number; a file that no name leads to any more stays.
    pub(super) files: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Node {
    Folder,
    File(usize),
}

impl Tree {
    pub(super) fn apply(&mut self, op: &Op) {
        match op {
            Op::CreateFolder { path } => {
                self.names.insert(path.clone(), Node::Folder);
            }
            Op::Create { path, file } => {
                self.grow(*file);
                self.names.insert(path.clone(), Node::File(*file));
            }
            Op::Write { file, offset, bytes } => {
                self.grow(*file);
                let content = &mut self.files[*file];
                let end = offset + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*offset..end].copy_from_slice(bytes);
            }
            Op::Rename { from, to } => {
                if let Some(node) = self.names.remove(from) {
                    self.names.insert(to.clone(), node);
                }
            }
            Op::Remove { path } => {
                self.names.remove(path);
            }
            Op::Sync { .. } | Op::SyncFailed { .. } | Op::SyncFolder { .. } => {}
        }
    }

    /// Drops what no folder leads to.
    pub(super) fn prune(&mut self) {
        let names = self.names.clone();
        self.names.retain(|path, _| path.is_empty() || names.get(parent(path)) == Some(&Node::Folder));
    }

    fn grow(&mut self, file: usize) {
        self.files.resize(self.files.len().max(file + 1), Vec::new());
    }

    pub(super) fn file(&self, path: &str) -> io::Result<usize> {
        match self.names.get(path) {
            Some(Node::File(file)) => Ok(*file),
            Some(Node::Folder) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn folder(&self, path: &str) -> io::Result<()> {
        match self.names.get(path) {
            Some(Node::Folder) => Ok(()),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }
}

/// Of each op, whether a later one made it durable.
pub(super) fn durable(ops: &[Op]) -> Vec<bool> {
    let mut durable = vec![false; ops.len()];
    let mut writes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, op) in ops.iter().enumerate() {
        let saved = match op {
            Op::Write { file, .. } => {
                writes.entry(*file).or_default().push(index);
                continue;
            }
            Op::Sync { file } => writes.remove(file).unwrap_or_default(),
            Op::SyncFailed { file } => {
                writes.remove(file);
                Vec::new()
            }
            Op::SyncFolder { path } => names.remove(path.as_str()).unwrap_or_default(),
            // The root's own name lies outside of the disk.
            Op::CreateFolder { path } if path.is_empty() => Vec::new(),
            Op::CreateFolder { path } | Op::Create { path, .. } | Op::Remove { path } | Op::Rename { to: path, .. } => {
                names.entry(parent(path)).or_default().push(index);
                continue;
            }
        };
        for index in saved.into_iter().chain([index]) {
            durable[index] = true;
        }
    }
    durable
}

impl Op {
    pub(super) fn cut(&self, fate: Fate) -> Op {
        let mut op = self.clone();
        if let Op::Write { bytes, .. } = &mut op {
            match fate {
                Fate::Torn(keep) => bytes.truncate(keep),
                _ => bytes.fill(0),
            }
        }
        op
    }
}

pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
