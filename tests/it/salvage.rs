//! Salvage: keep what stands before the damage, list the rest, delete nothing, and go on.

use std::sync::Arc;
use std::time::Duration;

use triglyph::persist::memory::Fate;
use triglyph::persist::{LocalStore, Memory, Salvage};
use triglyph::{Code, Error, Seq};

use crate::log::read;
use crate::samples::{commit, scope};

const NOW: Duration = Duration::ZERO;

fn open(disk: &Memory) -> LocalStore {
    LocalStore::open(Arc::new(disk.clone())).unwrap().with_segment_bytes_max(1_200)
}

/// Sixteen commits in at least four segments, the last two of the first writer unsynced, so that a segment took over.
fn made() -> (Memory, Vec<String>) {
    let disk = Memory::recording();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap().with_segment_bytes_max(1_200);
    let repository = store.repository(&scope(), true).unwrap();
    for commits in [1..=7, 8..=16] {
        let mut writer = repository.writer(NOW).unwrap();
        for seq in commits {
            writer.append(&commit(seq)).unwrap();
            if ![6, 7].contains(&seq) {
                writer.syncer().sync(Seq(seq)).unwrap();
            }
        }
    }
    let segments: Vec<_> = disk.paths().into_iter().filter(|path| path.ends_with(".tgw")).collect();
    assert!(segments.len() >= 4, "{segments:?}");
    (disk, segments)
}

fn damage(disk: &Memory, file: &str, at: usize) {
    let mut bytes = disk.bytes(file).unwrap();
    bytes[at] ^= 0x10;
    disk.put(file, Some(bytes));
}

fn refused(disk: &Memory) -> Result<u64, Error> {
    read(&*open(disk).repository(&scope(), false).unwrap(), 0).map(|(_, recovery)| recovery.last.0)
}

fn check_salvaged(disk: &Memory, kept: u64) {
    let repository = open(disk).repository(&scope(), false).unwrap();
    let (commits, recovery) = read(&*repository, 0).unwrap();
    assert_eq!((commits.len() as u64, recovery.last, recovery.torn), (kept, Seq(kept), None));
    let mut writer = repository.writer(NOW).unwrap();
    for seq in kept + 1..=kept + 3 {
        writer.append(&commit(seq)).unwrap();
    }
    writer.syncer().sync(Seq(kept + 3)).unwrap();
    let cut = disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
    let (commits, _) = read(&*open(&cut).repository(&scope(), false).unwrap(), 0).unwrap();
    assert!(commits == (1..=kept + 3).map(commit).collect::<Vec<_>>());
}

/// Somebody without a backup must at least get back what stands before the damage, and be told what doesn't.
#[test]
fn keeps_what_stands_before_the_damage() {
    let (whole, files) = made();
    // Of each segment: a bit of its header, of its first frame, of its last byte but some.
    let len = |file: &str| whole.bytes(file).unwrap().len();
    let places = files.iter().flat_map(|file| [(file, 20), (file, 80), (file, len(file) - 30)]);
    for (file, at) in places {
        let disk = whole.restart();
        damage(&disk, file, at);
        let before: Vec<_> = disk.paths().iter().filter_map(|path| disk.bytes(path)).collect();
        let Err(error) = refused(&disk) else {
            assert_eq!(*file, files[1], "only the tail that was taken over is dead");
            continue;
        };
        assert_eq!(error.code(), Code::Corrupt);
        let Salvage { kept, promised, lost } = open(&disk).salvage(&scope(), NOW).unwrap();
        assert_eq!(promised, Some(Seq(16)), "{file} at {at}");
        assert!(kept < Seq(16) && !lost.is_empty(), "{file} at {at}: {kept:?}, {lost:?}");
        for part in &lost {
            let bytes = disk.bytes(&part.file).unwrap();
            assert_eq!(part.bytes, bytes.len() as u64 - part.offset);
            assert!(before.contains(&bytes), "{} was changed", part.file);
            assert!(part.commits.iter().all(|(first, last)| *first > kept && first <= last), "{part:?}");
        }
        assert_eq!(refused(&disk).unwrap(), kept.0, "{file} at {at}");
        let again = open(&disk).salvage(&scope(), NOW).unwrap();
        assert_eq!(again, Salvage { kept, promised: None, lost: Vec::new() });
        check_salvaged(&disk, kept.0);
    }
}

/// Commits that a damaged segment had taken over from the one before it are still there: they must not be given up.
#[test]
fn finds_what_was_taken_over() {
    let (disk, files) = made();
    let first = |file: &str| file[file.len() - 24..file.len() - 4].parse::<u64>().unwrap();
    let taken_over = files.iter().find(|file| first(file) == 6).unwrap();
    damage(&disk, taken_over, 30);
    let salvage = open(&disk).salvage(&scope(), NOW).unwrap();
    assert_eq!(salvage.kept, Seq(7), "{salvage:?}");
    check_salvaged(&disk, 7);
}

/// Files that are gone, or cut at a frame, leave less to list, and the same way out.
#[test]
fn missing_files() {
    let (whole, files) = made();
    for file in &files {
        let disk = whole.restart();
        disk.put(file, None);
        if refused(&disk).is_ok() {
            continue;
        }
        let salvage = open(&disk).salvage(&scope(), NOW).unwrap();
        assert!(salvage.promised == Some(Seq(16)), "{salvage:?}");
        check_salvaged(&disk, salvage.kept.0);
    }
}

/// Power goes while salvage is at work: the log is still refused, or salvaged, and a second salvage finishes.
#[test]
fn cut_anywhere_it_can_be_run_again() {
    let (whole, files) = made();
    for file in [&files[0], &files[2]] {
        let disk = whole.restart();
        damage(&disk, file, 90);
        let disk = disk.restart();
        let kept = open(&disk).salvage(&scope(), NOW).unwrap().kept.0;
        for at in 0..=disk.ops().len() {
            for fate in [Fate::Kept, Fate::Lost] {
                let cut = disk.crash(at, &mut |_, _| fate);
                if let Ok(last) = refused(&cut) {
                    assert_eq!(last, kept, "{file}, cut after op {at}");
                }
                assert_eq!(open(&cut).salvage(&scope(), NOW).unwrap().kept.0, kept, "{file}, cut after op {at}");
                check_salvaged(&cut, kept);
            }
        }
    }
}

#[test]
fn a_whole_log_is_left_alone() {
    let (disk, _) = made();
    let disk = disk.restart();
    let salvage = open(&disk).salvage(&scope(), NOW).unwrap();
    assert_eq!(salvage, Salvage { kept: Seq(16), promised: None, lost: Vec::new() });
    assert_eq!(disk.ops(), []);
    let _writer = open(&disk).repository(&scope(), false).unwrap().writer(NOW).unwrap();
    assert_eq!(open(&disk).salvage(&scope(), NOW).unwrap_err().code(), Code::Locked);
}
