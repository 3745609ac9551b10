//! Power cuts, at every place where power can go, with every outcome that a disk may leave.
//!
//! Without these tests a host would find out on its own disk, at night, which commits it had been promised.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use triglyph::persist::memory::{Fate, Op};
use triglyph::persist::{LocalStore, Memory, Repository};
use triglyph::{Code, Error, Seq};

use crate::log::read;
use crate::samples::{commit, large, scope};

const NOW: Duration = Duration::ZERO;

/// Small enough that 55 commits need several segments.
const SEGMENT: u64 = 2_000;

/// What was promised when: after so many ops, this commit was durable.
type Promises = Vec<(usize, u64)>;

fn opened(disk: &Memory) -> Result<Arc<dyn Repository>, Error> {
    LocalStore::open(Arc::new(disk.clone()))?.with_segment_bytes_max(SEGMENT).repository(&scope(), false)
}

/// Opens the scope, and makes what is missing of it.
fn opened_or_made(disk: &Memory) -> Result<Arc<dyn Repository>, Error> {
    let medium = Arc::new(disk.clone());
    let store = match LocalStore::open(medium.clone()) {
        Err(error) if error.code() == Code::NotFound => LocalStore::create(medium)?,
        other => other?,
    };
    store.with_segment_bytes_max(SEGMENT).repository(&scope(), true)
}

/// Makes a store and writes 55 commits: single syncs, syncs for several, a writer that goes without one.
fn workload(disk: &Memory, promises: &mut Promises) -> Result<(), Error> {
    let repository = opened_or_made(disk)?;
    for commits in [1..=9, 10..=16, 17..=32, 33..=55] {
        let mut writer = repository.writer(NOW)?;
        for seq in commits {
            writer.append(&wanted(seq))?;
            if seq < 5 || seq % if seq < 33 { 3 } else { 6 } == 0 {
                writer.syncer().sync(Seq(seq))?;
                promises.push((disk.ops().len(), seq));
            }
        }
    }
    Ok(())
}

/// Commit `seq` of the workload: every eighth one is larger.
fn wanted(seq: u64) -> triglyph::change::Commit {
    if seq.is_multiple_of(8) { large(seq, 700) } else { commit(seq) }
}

fn promised(promises: &Promises, at: usize) -> u64 {
    promises.iter().take_while(|(ops, _)| *ops <= at).last().map_or(0, |(_, seq)| *seq)
}

/// Every image that a power cut after `at` ops may leave, by the fate of what wasn't durable.
fn images(disk: &Memory, ops: &[Op], at: usize) -> Vec<Memory> {
    let unsynced = disk.unsynced(at);
    let mut images = vec![disk.crash(at, &mut |_, _| Fate::Kept), disk.crash(at, &mut |_, _| Fate::Lost)];
    for chosen in &unsynced {
        images.push(disk.crash(at, &mut |op, _| if op == *chosen { Fate::Lost } else { Fate::Kept }));
        images.push(disk.crash(at, &mut |op, _| if op == *chosen { Fate::Kept } else { Fate::Lost }));
        images.push(disk.crash(at, &mut |op, _| if op == *chosen { Fate::Zeroed } else { Fate::Kept }));
    }
    let last = unsynced.iter().rev().find_map(|op| match &ops[*op] {
        Op::Write { bytes, .. } => Some((*op, bytes.len())),
        _ => None,
    });
    if let Some((torn, len)) = last {
        for cut in [1, 4, 35, 36, 37, len / 2, len.saturating_sub(1), 64, 512] {
            images.push(disk.crash(at, &mut |op, _| if op == torn { Fate::Torn(cut) } else { Fate::Kept }));
        }
    }
    // Any subset: a hash of place, round and op decides.
    for round in 0..12u64 {
        images.push(disk.crash(at, &mut |op, _| {
            let mixed = (at as u64 ^ (round << 20) ^ ((op as u64) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if mixed >> 63 == 0 { Fate::Kept } else { Fate::Lost }
        }));
    }
    images
}

fn content(disk: &Memory) -> Vec<(String, Option<Vec<u8>>)> {
    disk.paths().into_iter().map(|path| (path.clone(), disk.bytes(&path))).collect()
}

/// Reads an image: a prefix of whole commits that holds all that were promised. Returns how long it is.
fn check_prefix(disk: &Memory, promised: u64, what: &str) -> u64 {
    let before = disk.changes();
    let commits = match opened(disk).and_then(|repository| read(&*repository, 0)) {
        Ok((commits, recovery)) => {
            assert_eq!(recovery.last.0, commits.len() as u64, "{what}");
            assert!(recovery.durable <= recovery.last, "{what}");
            commits
        }
        // The store or the scope was not made yet.
        Err(error) if error.code() == Code::NotFound && promised == 0 => Vec::new(),
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(disk.changes(), before, "{what}: reading wrote something");
    assert!(commits.len() as u64 >= promised, "{what}: {} commits left, {promised} promised", commits.len());
    for (seq, commit) in (1..).zip(&commits) {
        let same = *commit == wanted(seq) || *commit == self::commit(seq);
        assert!(same, "{what}: commit {seq} is another one");
    }
    commits.len() as u64
}

/// Opens an image for writing and adds three commits; they must survive a power cut that loses all else.
fn check_write_after(disk: &Memory, what: &str) -> Memory {
    let repository = opened_or_made(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut writer = repository.writer(NOW).unwrap_or_else(|error| panic!("{what}: {error}"));
    let last = writer.last().0;
    for seq in last + 1..=last + 3 {
        writer.append(&commit(seq)).unwrap();
        writer.syncer().sync(Seq(seq)).unwrap();
    }
    let cut = disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
    assert_eq!(check_prefix(&cut, last + 3, what), last + 3, "{what}");
    cut
}

/// A1, A3: a cut after every op, every image of it; then three commits more, and a cut again.
#[test]
fn every_cut_leaves_what_was_promised() {
    let disk = Memory::recording();
    let mut promises = Promises::new();
    workload(&disk, &mut promises).unwrap();
    let ops = disk.ops();
    let (mut seen, mut made) = (HashSet::new(), 0);
    for at in 0..=ops.len() {
        for image in images(&disk, &ops, at) {
            made += 1;
            if !seen.insert((promised(&promises, at), content(&image))) {
                continue;
            }
            let what = format!("cut after op {at} of {}, {:?}", ops.len(), at.checked_sub(1).map(|at| &ops[at]));
            check_prefix(&image, promised(&promises, at), &what);
            check_write_after(&image, &what);
        }
    }
    println!("{} ops, {made} images, {} distinct", ops.len(), seen.len());
    assert!(made > 10_000, "{made}");
}

/// A2: power goes again while the first recovery is at work, at every op of it.
#[test]
fn every_cut_during_recovery_leaves_what_was_promised() {
    let disk = Memory::recording();
    let mut promises = Promises::new();
    workload(&disk, &mut promises).unwrap();
    let ops = disk.ops();
    let mut seen = HashSet::new();
    for at in (0..=ops.len()).step_by(3) {
        let promised = promised(&promises, at);
        for image in images(&disk, &ops, at) {
            if !seen.insert((promised, content(&image))) {
                continue;
            }
            drop(opened_or_made(&image).unwrap().writer(NOW).unwrap());
            let recovery = image.ops();
            for again in 0..=recovery.len() {
                for fate in [Fate::Kept, Fate::Lost] {
                    let what = format!("cut after op {at}, and after op {again} of recovery ({fate:?})");
                    let twice = image.crash(again, &mut |_, _| fate);
                    if seen.insert((promised, content(&twice))) {
                        check_prefix(&twice, promised, &what);
                        check_write_after(&twice, &what);
                    }
                }
            }
        }
    }
    println!("{} distinct images", seen.len());
}

/// What a reader is told to be durable must survive a cut at that very moment.
#[test]
fn what_is_said_to_be_durable_is() {
    let disk = Memory::recording();
    let repository = opened_or_made(&disk).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    for seq in 1..=20 {
        writer.append(&commit(seq)).unwrap();
        if seq % 4 == 0 {
            writer.syncer().sync(Seq(seq - 2)).unwrap();
        }
        let (_, recovery) = read(&*repository, 0).unwrap();
        assert_eq!(recovery.last, Seq(seq));
        let cut = disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
        assert!(check_prefix(&cut, recovery.durable.0, "now") >= recovery.durable.0);
    }
}

/// A8 of the other kind: a process that dies without a power cut loses nothing that it appended.
#[test]
fn a_dead_process_loses_nothing() {
    let disk = Memory::recording();
    let repository = opened_or_made(&disk).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    for seq in 1..=12 {
        writer.append(&commit(seq)).unwrap();
    }
    let left = disk.restart();
    assert_eq!(check_prefix(&left, 12, "restart"), 12);
    // Nobody knew that they were durable, so the next writer writes them again, and then they are.
    check_write_after(&left, "restart");
}
