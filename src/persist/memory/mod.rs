//! A disk in memory, which can lose power and fail on purpose.
//!
//! Every change is one [`Op`]; the disk is the fold of its ops. So a crash is a fold too: of those ops that were
//! durable by then, and of any choice among the others ([`Memory::crash`]). What is kept apart is what a disk keeps
//! apart: bytes, made durable by a sync of their file, and names, made durable by a sync of their folder. A sync that
//! fails dooms what it should have saved: the bytes can still be read, and no later sync will save them (this is what
//! Linux does with pages that it couldn't write).
//!
//! 1. A disk from [`Memory::new`] remembers no ops: it takes the room of its files and nothing more.
//! 2. Dropping an op never changes the others: what depended on it (a rename of a file that was never made) does
//!    nothing.

mod tree;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::Mutex;

use self::tree::{Tree, durable, parent};
use super::folder::{system_entropy, system_time};
use super::medium::{Lock, Medium, Sink, Source};
use crate::time::Time;

pub use self::tree::{Fate, Op};

/// A disk in memory. A clone is another handle to the same disk.
#[derive(Clone, Default)]
pub struct Memory {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Default)]
struct Disk {
    tree: Tree,
    locks: BTreeSet<usize>,
    /// What the disk held when recording began, and every op since.
    record: Option<(Tree, Vec<Op>)>,
    /// How many changes were tried.
    changes: usize,
    failing: Option<(usize, ErrorKind)>,
    full_from: Option<usize>,
    stutters: bool,
    stutter: usize,
    process: Option<u32>,
    ticks: i64,
}

impl Memory {
    /// An empty disk with the system's clock and entropy; it remembers no ops.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// An empty disk that remembers its ops. Its clock ticks once a call, from 2026-01-01 on; its entropy is a count.
    pub fn recording() -> Memory {
        Memory::holding(Tree::default())
    }

    fn holding(tree: Tree) -> Memory {
        let disk = Disk { record: Some((tree.clone(), Vec::new())), tree, ..Disk::default() };
        Memory { disk: Arc::new(Mutex::new(disk)) }
    }

    /// The ops since recording began.
    pub fn ops(&self) -> Vec<Op> {
        self.disk.lock().record.as_ref().map(|(_, ops)| ops.clone()).unwrap_or_default()
    }

    /// The disk as a power cut after the first `at` ops leaves it; `fate` is asked about each op that wasn't durable.
    ///
    /// The new disk records; all that it holds is durable.
    pub fn crash(&self, at: usize, fate: &mut dyn FnMut(usize, &Op) -> Fate) -> Memory {
        let disk = self.disk.lock();
        let Some((base, ops)) = &disk.record else { return Memory::recording() };
        let ops = ops.get(..at).unwrap_or(ops);
        let durable = durable(ops);
        let mut tree = base.clone();
        for (index, (op, durable)) in ops.iter().zip(durable).enumerate() {
            match if durable { Fate::Kept } else { fate(index, op) } {
                Fate::Lost => {}
                Fate::Kept => tree.apply(op),
                cut => tree.apply(&op.cut(cut)),
            }
        }
        tree.prune();
        Memory::holding(tree)
    }

    /// The disk as the death of its process leaves it, power staying on: every op is kept. Locks are free.
    pub fn restart(&self) -> Memory {
        let disk = self.disk.lock();
        let record = disk.record.as_ref().map(|_| (disk.tree.clone(), Vec::new()));
        Memory { disk: Arc::new(Mutex::new(Disk { tree: disk.tree.clone(), record, ..Disk::default() })) }
    }

    /// Which of the first `at` ops were not durable by then.
    pub fn unsynced(&self, at: usize) -> Vec<usize> {
        let disk = self.disk.lock();
        let Some((_, ops)) = &disk.record else { return Vec::new() };
        let durable = durable(ops.get(..at).unwrap_or(ops));
        durable.iter().enumerate().filter(|(_, durable)| !**durable).map(|(index, _)| index).collect()
    }

    /// How many changes were tried so far: what [`Memory::fail_at`] counts in.
    pub fn changes(&self) -> usize {
        self.disk.lock().changes
    }

    /// Change number `at` fails, once; a write that fails has written half of its bytes.
    pub fn fail_at(&self, at: usize, kind: ErrorKind) {
        self.disk.lock().failing = Some((at, kind));
    }

    /// From change number `at` on the disk is full: whatever needs room fails. `None` frees it.
    pub fn full_from(&self, at: Option<usize>) {
        self.disk.lock().full_from = at;
    }

    /// Whether reads and writes are interrupted and short from now on.
    pub fn stutter(&self, on: bool) {
        self.disk.lock().stutters = on;
    }

    /// From now on the calls come from a process of this id, as after a fork.
    pub fn set_process(&self, id: u32) {
        self.disk.lock().process = Some(id);
    }

    /// The bytes of a file, if there is one.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let disk = self.disk.lock();
        disk.tree.file(path).ok().and_then(|file| disk.tree.files.get(file).cloned())
    }

    /// Every path, folders too, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.disk.lock().tree.names.keys().cloned().collect()
    }

    /// Puts a file there, or takes it away with `None`, as somebody with an editor would.
    pub fn put(&self, path: &str, bytes: Option<Vec<u8>>) {
        let mut disk = self.disk.lock();
        let file = disk.tree.files.len();
        disk.note(Op::Remove { path: path.to_owned() });
        if let Some(bytes) = bytes {
            disk.note(Op::Create { path: path.to_owned(), file });
            disk.note(Op::Write { file, offset: 0, bytes });
            disk.note(Op::Sync { file });
        }
        disk.note(Op::SyncFolder { path: parent(path).to_owned() });
    }
}

impl Disk {
    /// Makes a change, unless it was chosen to fail.
    fn change(&mut self, op: Op) -> io::Result<()> {
        let now = self.changes;
        self.changes += 1;
        let needs_room = matches!(op, Op::CreateFolder { .. } | Op::Create { .. } | Op::Write { .. });
        let full = needs_room && self.full_from.is_some_and(|from| now >= from);
        let failing = self.failing.take_if(|(at, _)| *at == now).map(|(_, kind)| kind);
        let Some(kind) = failing.or(full.then_some(ErrorKind::StorageFull)) else {
            self.note(op);
            return Ok(());
        };
        match op {
            Op::Write { ref bytes, .. } => self.note(op.cut(Fate::Torn(bytes.len() / 2))),
            Op::Sync { file } => self.note(Op::SyncFailed { file }),
            _ => {}
        }
        Err(kind.into())
    }

    fn note(&mut self, op: Op) {
        self.tree.apply(&op);
        if let Some((_, ops)) = &mut self.record {
            ops.push(op);
        }
    }

    /// How many of `len` bytes pass at once.
    fn passes(&mut self, len: usize) -> io::Result<usize> {
        if !self.stutters {
            return Ok(len);
        }
        self.stutter += 1;
        if self.stutter.is_multiple_of(3) { Err(ErrorKind::Interrupted.into()) } else { Ok(len.min(7)) }
    }
}

impl Medium for Memory {
    fn root(&self) -> String {
        "(memory)".to_owned()
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let disk = self.disk.lock();
        disk.tree.folder(folder)?;
        let inside = disk.tree.names.keys().filter(|path| !path.is_empty() && parent(path) == folder);
        Ok(inside.filter_map(|path| path.rsplit('/').next()).map(str::to_owned).collect())
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Source>> {
        let file = self.disk.lock().tree.file(path)?;
        Ok(Box::new(Handle { memory: self.clone(), file }))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        let mut disk = self.disk.lock();
        disk.tree.folder(parent(path))?;
        if disk.tree.names.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let file = disk.tree.files.len();
        disk.change(Op::Create { path: path.to_owned(), file })?;
        Ok(Arc::new(Handle { memory: self.clone(), file }))
    }

    fn append(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        let file = self.disk.lock().tree.file(path)?;
        Ok(Arc::new(Handle { memory: self.clone(), file }))
    }

    fn overwrite(&self, path: &str, record: &[u8]) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let file = match disk.tree.file(path) {
            Ok(file) => file,
            Err(_) => {
                let file = disk.tree.files.len();
                disk.change(Op::Create { path: path.to_owned(), file })?;
                file
            }
        };
        disk.change(Op::Write { file, offset: 0, bytes: record.to_vec() })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.tree.file(from)?;
        disk.change(Op::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.tree.file(path)?;
        disk.change(Op::Remove { path: path.to_owned() })
    }

    fn create_folder(&self, path: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        match disk.tree.folder(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                disk.change(Op::CreateFolder { path: path.to_owned() })
            }
            other => other,
        }
    }

    fn sync_folder(&self, path: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.tree.folder(path)?;
        disk.change(Op::SyncFolder { path: path.to_owned() })
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        let mut disk = self.disk.lock();
        let file = match disk.tree.file(path) {
            Ok(file) => file,
            Err(_) => {
                let file = disk.tree.files.len();
                disk.change(Op::Create { path: path.to_owned(), file })?;
                file
            }
        };
        let free = disk.locks.insert(file);
        Ok(free.then(|| Box::new(Held { memory: self.clone(), path: path.to_owned(), file }) as Box<dyn Lock>))
    }

    fn now(&self) -> Time {
        const START: i64 = 1_767_225_600_000_000; // 2026-01-01T00:00:00Z
        let mut disk = self.disk.lock();
        if disk.record.is_none() {
            return system_time();
        }
        disk.ticks += 1;
        Time::from_micros(START + disk.ticks)
    }

    fn entropy(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut disk = self.disk.lock();
        if disk.record.is_none() {
            return system_entropy(bytes);
        }
        for byte in bytes {
            disk.ticks += 1;
            *byte = disk.ticks.to_le_bytes()[0];
        }
        Ok(())
    }

    fn process(&self) -> u32 {
        self.disk.lock().process.unwrap_or_else(std::process::id)
    }
}

struct Handle {
    memory: Memory,
    file: usize,
}

impl Source for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.memory.disk.lock().tree.files[self.file].len() as u64)
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut disk = self.memory.disk.lock();
        let passes = disk.passes(into.len())?;
        let content = &disk.tree.files[self.file];
        let rest = usize::try_from(offset).ok().and_then(|offset| content.get(offset..)).unwrap_or_default();
        let n = passes.min(rest.len());
        into[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

impl Sink for Handle {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.memory.disk.lock();
        let n = disk.passes(bytes.len())?;
        let offset = disk.tree.files[self.file].len();
        disk.change(Op::Write { file: self.file, offset, bytes: bytes[..n].to_vec() })?;
        Ok(n)
    }

    fn sync(&self) -> io::Result<()> {
        self.memory.disk.lock().change(Op::Sync { file: self.file })
    }
}

struct Held {
    memory: Memory,
    path: String,
    file: usize,
}

impl Lock for Held {
    fn is_current(&self) -> io::Result<bool> {
        Ok(self.memory.disk.lock().tree.file(&self.path).is_ok_and(|file| file == self.file))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.disk.lock().locks.remove(&self.file);
    }
}
