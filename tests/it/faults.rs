//! Disks that fail, fill up and stutter: what was promised stays, what failed is said, nothing is tried twice.

use std::io::ErrorKind;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use triglyph::persist::memory::{Fate, Op};
use triglyph::persist::{LocalStore, Memory, Repository};
use triglyph::{Code, Error, Seq};

use crate::log::read;
use crate::samples::{commit, scope};

const NOW: Duration = Duration::ZERO;
const SEGMENT: u64 = 2_000;

fn repository(disk: &Memory) -> Result<Arc<dyn Repository>, Error> {
    with_segments(disk, SEGMENT)
}

fn with_segments(disk: &Memory, bytes_max: u64) -> Result<Arc<dyn Repository>, Error> {
    let medium = Arc::new(disk.clone());
    let store = match LocalStore::open(medium.clone()) {
        Err(error) if error.code() == Code::NotFound => LocalStore::create(medium)?,
        other => other?,
    };
    store.with_segment_bytes_max(bytes_max).repository(&scope(), true)
}

/// Writes 12 commits with two writers, the second one finding unsynced work of the first. Says what was promised, and
/// the first error.
fn workload(disk: &Memory) -> (u64, Option<Error>) {
    let mut promised = 0;
    let mut run = || -> Result<(), Error> {
        let repository = repository(disk)?;
        for commits in [1..=6, 7..=12] {
            let mut writer = repository.writer(NOW)?;
            for seq in commits {
                let appended = writer.append(&commit(seq));
                if let Err(error) = appended {
                    check_stopped(disk, &mut *writer, promised, seq);
                    return Err(error);
                }
                if seq == 5 || seq == 6 {
                    continue;
                }
                if let Err(error) = writer.syncer().sync(Seq(seq)) {
                    check_stopped(disk, &mut *writer, promised, seq);
                    return Err(error);
                }
                promised = seq;
            }
        }
        Ok(())
    };
    let error = run().err();
    (promised, error)
}

/// A writer that failed takes nothing more, touches the disk no more, and doesn't disturb readers.
fn check_stopped(disk: &Memory, writer: &mut dyn triglyph::persist::Writer, promised: u64, seq: u64) {
    let changes = disk.changes();
    assert_eq!(writer.append(&commit(seq + 1)).unwrap_err().code(), Code::Poisoned);
    assert_eq!(writer.append(&commit(seq)).unwrap_err().code(), Code::Poisoned);
    assert!(writer.syncer().sync(Seq(seq)).is_err());
    assert_eq!(writer.syncer().sync(Seq(seq + 1)).unwrap_err().code(), Code::Poisoned);
    // What was durable before still is, and asking is no harm.
    assert!(writer.syncer().sync(Seq(promised)).is_ok());
    assert_eq!(disk.changes(), changes, "a stopped writer wrote");
    let repository = repository(disk).unwrap();
    assert!(read(&*repository, 0).unwrap().0.len() as u64 >= promised);
}

/// Reopens after a failure: what was promised is there, and three more commits last through a power cut.
fn check_goes_on(disk: &Memory, promised: u64, what: &str) {
    let repository = repository(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut writer = repository.writer(NOW).unwrap_or_else(|error| panic!("{what}: {error}"));
    let last = writer.last().0;
    assert!(last >= promised, "{what}: {last} left, {promised} promised");
    for seq in last + 1..=last + 3 {
        writer.append(&commit(seq)).unwrap();
        writer.syncer().sync(Seq(seq)).unwrap();
    }
    drop(writer);
    let cut = disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
    let repository = self::repository(&cut).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (commits, _) = read(&*repository, 0).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(commits, (1..=last + 3).map(commit).collect::<Vec<_>>(), "{what}");
}

/// A9, A11: every change of the disk fails once. After a failed sync the bytes can be read and will never be durable:
/// whoever promised them after reopening would lose them with the next cut.
#[test]
fn each_change_fails_once() {
    for (kind, code) in [(ErrorKind::Other, Code::Io), (ErrorKind::StorageFull, Code::NoSpace)] {
        let whole = Memory::recording();
        assert!(workload(&whole).1.is_none());
        for at in 0..whole.changes() {
            let disk = Memory::recording();
            disk.fail_at(at, kind);
            let (promised, error) = workload(&disk);
            let what = format!("change {at} fails with {kind:?}");
            match error {
                Some(error) => assert_eq!(error.code(), code, "{what}: {error}"),
                // Only the note may be missed.
                None => assert_eq!(promised, 12, "{what}"),
            }
            // The power goes at once, or only after the store was opened again.
            let cut = disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
            check_goes_on(&cut, promised, &format!("{what}, then the power goes"));
            check_goes_on(&disk, promised, &what);
        }
    }
}

/// A11: the disk is full from some change on; after space was freed the store goes on, without repair.
#[test]
fn a_full_disk_is_no_damage() {
    let whole = Memory::recording();
    workload(&whole);
    for at in 0..whole.changes() {
        let disk = Memory::recording();
        disk.full_from(Some(at));
        let (promised, error) = workload(&disk);
        if let Some(error) = error {
            assert_eq!(error.code(), Code::NoSpace, "{error}");
        }
        if promised > 0 {
            let repository = repository(&disk).unwrap();
            assert!(read(&*repository, 0).unwrap().0.len() as u64 >= promised, "a full disk can't be read");
        }
        disk.full_from(None);
        check_goes_on(&disk, promised, &format!("full from change {at}"));
    }
}

/// A12: short and interrupted reads and writes change nothing.
#[test]
fn a_stuttering_disk_holds_the_same_bytes() {
    let (plain, stuttering) = (Memory::recording(), Memory::recording());
    stuttering.stutter(true);
    for disk in [&plain, &stuttering] {
        let (promised, error) = workload(disk);
        assert_eq!((promised, error.map(|error| error.to_string())), (12, None));
    }
    let logs = |disk: &Memory| -> Vec<_> {
        let paths = disk.paths().into_iter().filter(|path| path.ends_with(".tgw"));
        paths.map(|path| (path.clone(), disk.bytes(&path).unwrap())).collect()
    };
    assert!(logs(&plain).len() > 2);
    assert_eq!(logs(&plain), logs(&stuttering));
    let commits = read(&*repository(&stuttering).unwrap(), 0).unwrap().0;
    assert_eq!(commits, (1..=12).map(commit).collect::<Vec<_>>());
}

/// A commit that doesn't fit must be refused while nothing is written, or the log would hold half of it.
#[test]
fn too_large_is_refused_before_a_byte_is_written() {
    let disk = Memory::recording();
    let repository = repository(&disk).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    writer.append(&commit(1)).unwrap();
    let changes = disk.changes();
    let error = writer.append(&crate::samples::large(2, 64 << 20)).unwrap_err();
    assert_eq!((error.code(), disk.changes()), (Code::TooLarge, changes));
    let error = writer.append(&commit(3)).unwrap_err();
    assert_eq!((error.code(), disk.changes()), (Code::Conflict, changes));
    writer.append(&commit(2)).unwrap();
    writer.syncer().sync(Seq(2)).unwrap();
    assert_eq!(read(&*repository, 0).unwrap().0, [1, 2].map(commit));
}

/// Eight threads commit together. Returns what each was told, by commit.
fn together(repository: &dyn Repository, before: impl Fn()) -> Vec<(u64, Result<Seq, Error>)> {
    let writer = Mutex::new(repository.writer(NOW).unwrap());
    let syncer = writer.lock().unwrap().syncer();
    let (barrier, told) = (Barrier::new(8), Mutex::new(Vec::new()));
    before();
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| {
                let seq = {
                    let mut writer = writer.lock().unwrap();
                    let seq = writer.last().0 + 1;
                    writer.append(&commit(seq)).unwrap();
                    seq
                };
                barrier.wait();
                told.lock().unwrap().push((seq, syncer.sync(Seq(seq))));
            });
        }
    });
    told.into_inner().unwrap()
}

/// Group commit: eight waiters, one sync.
#[test]
fn waiters_share_a_sync() {
    let disk = Memory::recording();
    let repository = with_segments(&disk, 64 << 20).unwrap();
    let syncs = |disk: &Memory| disk.ops().iter().filter(|op| matches!(op, Op::Sync { .. })).count();
    drop(repository.writer(NOW).unwrap());
    let before = syncs(&disk);
    for (seq, told) in together(&*repository, || ()) {
        assert!(told.unwrap() >= Seq(seq));
    }
    assert_eq!(syncs(&disk) - before, 1);
}

/// A18: when the one sync fails, all eight hear the same, and no commit counts as durable.
#[test]
fn waiters_share_a_failure() {
    let disk = Memory::recording();
    let repository = with_segments(&disk, 64 << 20).unwrap();
    drop(repository.writer(NOW).unwrap());
    let fail = || {
        // Eight appends, then the sync.
        disk.fail_at(disk.changes() + 8, ErrorKind::Other);
    };
    let told = together(&*repository, fail);
    let errors: Vec<_> = told.into_iter().map(|(_, told)| told.unwrap_err()).collect();
    assert!(
        errors.iter().all(|error| error.code() == Code::Io && error.message() == errors[0].message()),
        "{errors:?}"
    );
    let failed = disk.ops().iter().filter(|op| matches!(op, Op::SyncFailed { .. })).count();
    assert_eq!(failed, 1, "a failed sync was tried again");
    assert_eq!(read(&*repository, 0).unwrap().1.durable, Seq(0));
    check_goes_on(&disk, 0, "after the failed sync");
}
