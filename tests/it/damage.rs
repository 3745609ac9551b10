//! Bytes that rot, files that vanish, files of somebody else: refused or torn, never believed.
//!
//! A store that opened with one commit changed or one left out in the middle would look healthy and be wrong for ever.

use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use triglyph::persist::{Folder, LocalStore, Memory, Repository};
use triglyph::{Code, Error, Scope, Seq};

use crate::log::read;
use crate::samples::{commit, large, scope};

const NOW: Duration = Duration::ZERO;

/// The bytes before the first frame, and before the payload of a frame.
const HEADER: usize = 72;
const HEAD: usize = 36;

fn made(segment_bytes_max: u64) -> (Memory, Arc<dyn Repository>) {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap().with_segment_bytes_max(segment_bytes_max);
    (disk, store.repository(&scope(), true).unwrap())
}

fn append(repository: &dyn Repository, commits: impl IntoIterator<Item = triglyph::change::Commit>) {
    let mut writer = repository.writer(NOW).unwrap();
    for commit in commits {
        writer.append(&commit).unwrap();
        writer.syncer().sync(commit.seq).unwrap();
    }
}

fn open(disk: &Memory) -> Result<Arc<dyn Repository>, Error> {
    LocalStore::open(Arc::new(disk.clone()))?.repository(&scope(), false)
}

fn path(disk: &Memory, name: &str) -> String {
    disk.paths().into_iter().find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("no {name}"))
}

fn segments(disk: &Memory) -> Vec<String> {
    disk.paths().into_iter().filter(|path| path.ends_with(".tgw")).collect()
}

/// Takes the note away, so that the log has to speak for itself.
fn forget(disk: &Memory) {
    disk.put(&path(disk, "/writer"), None);
}

/// Where each frame begins, and where the last one ends.
fn bounds(log: &[u8]) -> Vec<usize> {
    let mut bounds = vec![HEADER];
    while let Some(length) = log.get(bounds[bounds.len() - 1] + 4..).and_then(|rest| rest.first_chunk::<4>()) {
        let total = HEAD + u32::from_le_bytes(*length) as usize;
        bounds.push(bounds[bounds.len() - 1] + total.next_multiple_of(8));
    }
    bounds
}

/// A4: a log of 64 KiB, cut everywhere: the longest valid prefix is there, and the cut is reported to the byte. With
/// the note beside it, a cut below what was durable is damage.
#[test]
fn cut_everywhere() {
    let (disk, repository) = made(64 << 20);
    let sizes = [1, 2_048, 20_000, 40_000];
    append(&*repository, sizes.iter().zip(1..).map(|(bytes, seq)| large(seq, *bytes)));
    append(&*repository, (5..=8).map(commit));
    let file = segments(&disk).remove(0);
    let log = disk.bytes(&file).unwrap();
    let bounds = bounds(&log);
    assert!(log.len() > 60_000 && bounds.len() == 9, "{bounds:?}");
    let noted = disk.restart();
    forget(&disk);
    // Every byte of heads, tails and small frames; inside of large payloads every sixteenth.
    let near = |cut: usize| bounds.iter().any(|bound| bound.abs_diff(cut) < 100);
    for cut in (0..log.len()).filter(|cut| near(*cut) || cut % 16 == 5) {
        disk.put(&file, Some(log[..cut].to_vec()));
        let whole = bounds.iter().filter(|bound| **bound <= cut).count().saturating_sub(1);
        let (commits, recovery) =
            read(&*open(&disk).unwrap(), 0).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!((commits.len(), recovery.last), (whole, Seq(whole as u64)), "cut at {cut}");
        let offset = if cut < HEADER { 0 } else { bounds[whole] };
        let torn = recovery.torn.map(|torn| (torn.file, torn.offset as usize, torn.bytes as usize));
        let is_torn = cut < HEADER || cut > offset;
        assert_eq!(torn, is_torn.then(|| (file.clone(), offset, cut - offset)), "cut at {cut}");
    }
    for cut in [0, 50, HEADER, bounds[3], bounds[7], log.len() - 1] {
        noted.put(&file, Some(log[..cut].to_vec()));
        let error = read(&*open(&noted).unwrap(), 0).unwrap_err();
        assert_eq!(error.code(), Code::Corrupt, "cut at {cut}: {error}");
    }
}

/// Seven small commits, each synced, in one segment without a note.
fn small() -> (Memory, String, Vec<u8>) {
    let (disk, repository) = made(64 << 20);
    append(&*repository, (1..=7).map(commit));
    forget(&disk);
    let file = segments(&disk).remove(0);
    let log = disk.bytes(&file).unwrap();
    (disk, file, log)
}

/// A5: every bit of a log, flipped. In the header, or before a frame that proves it was durable: damage, found where
/// it is. In the last frame: torn. Nothing changed is ever handed out.
#[test]
fn every_bit_flipped() {
    let (disk, file, log) = small();
    let bounds = bounds(&log);
    let wanted: Vec<_> = (1..=7).map(commit).collect();
    for bit in 0..log.len() * 8 {
        let mut bytes = log.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        disk.put(&file, Some(bytes));
        let mut commits = Vec::new();
        let told = open(&disk).unwrap().after(Seq(0), &mut |commit| {
            commits.push(commit);
            Ok(())
        });
        let place = format!("byte {}, bit {}", bit / 8, bit % 8);
        let frame = bounds.iter().filter(|bound| **bound <= bit / 8).count();
        assert!(commits == wanted[..frame.saturating_sub(1)], "{place}");
        match (frame, told) {
            (0, Err(error)) => assert_eq!(error.code(), Code::Corrupt, "{place}: {error}"),
            (7, Ok(recovery)) => assert_eq!(recovery.torn.unwrap().offset as usize, bounds[6], "{place}"),
            (1..=6, Err(error)) => {
                let offset = format!("byte {}", bounds[frame - 1]);
                assert!(error.code() == Code::Corrupt && error.message().contains(&offset), "{place}: {error}");
            }
            (_, told) => panic!("{place}: {told:?}"),
        }
    }
}

/// The note knows what the log can't: that the last commit was promised, too.
#[test]
fn the_note_tells_damage_from_a_torn_tail() {
    let (disk, repository) = made(64 << 20);
    append(&*repository, (1..=3).map(commit));
    let file = segments(&disk).remove(0);
    let mut log = disk.bytes(&file).unwrap();
    let last = log.len() - 9;
    log[last] ^= 1;
    disk.put(&file, Some(log));
    let error = read(&*open(&disk).unwrap(), 0).unwrap_err();
    assert_eq!(error.code(), Code::Corrupt);
    for part in [file.as_str(), "commit 3", "checksum", "expected", "found", "intact", "backup", "salvage"] {
        assert!(error.message().contains(part), "{part:?} in {error}");
    }
    assert!(open(&disk).unwrap().writer(NOW).is_err(), "a writer must not go on behind damage");
    // A damaged note says nothing; it is no damage to the log.
    let note = path(&disk, "/writer");
    for bit in 0..disk.bytes(&note).unwrap().len() * 8 {
        let whole = disk.bytes(&note).unwrap();
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        disk.put(&note, Some(bytes));
        assert_eq!(read(&*open(&disk).unwrap(), 0).unwrap().1.last, Seq(2), "bit {bit}");
        disk.put(&note, Some(whole));
    }
}

/// A6: blocks of 64 bytes copied over other ones: stale frames have the wrong place in the chain.
#[test]
fn stale_blocks() {
    let (noted, repository) = made(64 << 20);
    let wanted: Vec<_> = (1..=7).map(commit).collect();
    append(&*repository, wanted.clone());
    let file = segments(&noted).remove(0);
    let (disk, log) = (noted.restart(), noted.bytes(&file).unwrap());
    forget(&disk);
    let blocks = log.len() / 64;
    for (from, to) in (0..blocks).flat_map(|from| (0..blocks).map(move |to| (from, to))) {
        let mut bytes = log.clone();
        bytes.copy_within(from * 64..from * 64 + 64, to * 64);
        if bytes == log {
            continue;
        }
        disk.put(&file, Some(bytes.clone()));
        match read(&*open(&disk).unwrap(), 0) {
            // Without the note, the last frames may have been cut off by a crash, as far as anyone can tell.
            Ok((commits, _)) => assert!(commits.len() >= 5 && wanted.starts_with(&commits), "{from} over {to}"),
            Err(error) => assert_eq!(error.code(), Code::Corrupt, "{from} over {to}: {error}"),
        }
        noted.put(&file, Some(bytes));
        assert_eq!(read(&*open(&noted).unwrap(), 0).unwrap_err().code(), Code::Corrupt, "{from} over {to}");
    }
    // A whole frame in the place of another, and behind the end.
    let bounds = bounds(&log);
    let frame = |n: usize| &log[bounds[n - 1]..bounds[n]];
    for order in [&[1, 2, 2, 3][..], &[1, 3, 2], &[1, 2, 3, 4, 5, 6, 7, 1], &[2, 1, 3, 4]] {
        let bytes = [&log[..HEADER], &order.iter().flat_map(|n| frame(*n)).copied().collect::<Vec<_>>()].concat();
        disk.put(&file, Some(bytes));
        let kept = order.iter().zip(1..).take_while(|(n, at)| **n == *at).count();
        match read(&*open(&disk).unwrap(), 0) {
            Ok((commits, recovery)) => {
                assert!(commits == wanted[..kept], "{order:?}");
                assert!(recovery.torn.is_some(), "{order:?}");
            }
            Err(error) => assert_eq!(error.code(), Code::Corrupt, "{order:?}: {error}"),
        }
    }
}

/// A length of 4 GiB, its complement right beside it: refused before anything of that size is asked for.
#[test]
fn a_frame_of_four_gigabytes() {
    let (disk, file, log) = small();
    for length in [u32::MAX, 1 << 31, 64 << 20, (64 << 20) - HEAD as u32 + 1] {
        let mut bytes = log.clone();
        bytes[HEADER + 4..HEADER + 8].copy_from_slice(&length.to_le_bytes());
        bytes[HEADER + 8..HEADER + 12].copy_from_slice(&(!length).to_le_bytes());
        disk.put(&file, Some(bytes));
        let error = read(&*open(&disk).unwrap(), 0).unwrap_err();
        assert!(error.message().contains("a length of at most 67108864"), "{error}");
    }
}

/// Several segments, each with some commits, all synced.
fn several() -> (Memory, Vec<String>) {
    let (disk, repository) = made(1_200);
    append(&*repository, (1..=16).map(commit));
    let segments = segments(&disk);
    assert!(segments.len() >= 4, "{segments:?}");
    (disk, segments)
}

fn refused(disk: &Memory, code: Code, parts: &[&str]) {
    let before = disk.changes();
    let error = read(&*open(disk).unwrap(), 0).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} in {error}");
    }
    assert_eq!(disk.changes(), before, "refusing wrote something");
}

/// A7, A8: segments that are missing, cut at a frame, empty, of another store, of another scope, under another name.
#[test]
fn missing_and_foreign_segments() {
    let (disk, files) = several();
    let whole = disk.restart();
    let log = |n: usize| whole.bytes(&files[n]).unwrap();
    let name = |n: usize| files[n].rsplit('/').next().unwrap();

    disk.put(&files[1], None);
    refused(&disk, Code::Corrupt, &[name(0), name(2), "ends", "missing", "backup"]);

    let disk = whole.restart();
    disk.put(&files[0], None);
    refused(&disk, Code::Corrupt, &["begins with commit 1", name(1)]);

    // Without its newest segment a log is shorter than the note says; without the note nobody can tell.
    let disk = whole.restart();
    disk.put(files.last().unwrap(), None);
    refused(&disk, Code::Corrupt, &["reaches commit 16"]);
    forget(&disk);
    assert!(read(&*open(&disk).unwrap(), 0).unwrap().1.last < Seq(16));

    let disk = whole.restart();
    let bounds = bounds(&log(1));
    disk.put(&files[1], Some(log(1)[..bounds[bounds.len() - 2]].to_vec()));
    refused(&disk, Code::Corrupt, &[name(1), "ends"]);

    let disk = whole.restart();
    disk.put(&files[1], Some(Vec::new()));
    refused(&disk, Code::Corrupt, &[name(1)]);

    // A segment under the name of another one.
    let disk = whole.restart();
    disk.put(&files[1], Some(log(2)));
    refused(&disk, Code::Foreign, &[name(1), name(2)]);

    // The same names and scope, another store; then the same store, another scope.
    let (other, repository) = made(1_200);
    append(&*repository, (1..=16).map(commit));
    let disk = whole.restart();
    disk.put(&files[0], other.bytes(&files[0]));
    refused(&disk, Code::Foreign, &[name(0), "store id"]);

    let disk = whole.restart();
    let store = LocalStore::open(Arc::new(disk.clone())).unwrap().with_segment_bytes_max(1_200);
    append(&*store.repository(&Scope::new("acme", "other").unwrap(), true).unwrap(), (1..=16).map(commit));
    let theirs = segments(&disk).into_iter().find(|path| path.ends_with(name(0)) && *path != files[0]).unwrap();
    disk.put(&files[0], disk.bytes(&theirs));
    refused(&disk, Code::Foreign, &[name(0), "scope id"]);
}

/// A restored backup of one segment beside the others: its commits are valid, and not those that the next one follows.
#[test]
fn a_segment_of_another_history() {
    let (disk, files) = several();
    let other = disk.restart();
    for file in &files {
        other.put(file, None);
    }
    forget(&other);
    let store = LocalStore::open(Arc::new(other.clone())).unwrap().with_segment_bytes_max(1_200);
    append(&*store.repository(&scope(), false).unwrap(), (1..=16).map(|seq| commit(seq).later()));
    assert_eq!(segments(&other), files);
    disk.put(&files[1], other.bytes(&files[1]));
    refused(&disk, Code::Foreign, &["follows checksum"]);
}

trait Later {
    fn later(self) -> Self;
}

impl Later for triglyph::change::Commit {
    /// The same commit, recorded an hour later.
    fn later(mut self) -> Self {
        self.stamp = triglyph::Time::from_micros(self.stamp.micros() + 3_600_000_000);
        self
    }
}

/// A header with no frame behind it is what a full disk or an idle writer leaves.
#[test]
fn an_empty_newest_segment() {
    let (disk, repository) = made(64 << 20);
    drop(repository.writer(NOW).unwrap());
    let (commits, recovery) = read(&*repository, 0).unwrap();
    assert_eq!((commits.len(), recovery.segments, recovery.torn), (0, 1, None));
    append(&*open(&disk).unwrap(), [commit(1)]);
    assert_eq!(read(&*repository, 0).unwrap().0, [commit(1)]);
}

/// `STORE` and `SCOPE` are as well guarded as the log.
#[test]
fn every_bit_of_store_and_scope() {
    let (disk, _) = made(64 << 20);
    for file in ["STORE".to_owned(), path(&disk, "/SCOPE")] {
        let whole = disk.bytes(&file).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            disk.put(&file, Some(bytes));
            let error = open(&disk).err().unwrap_or_else(|| panic!("{file}, bit {bit} was not noticed"));
            assert_eq!(error.code(), Code::Corrupt, "{file}, bit {bit}: {error}");
        }
        for cut in 0..whole.len() {
            disk.put(&file, Some(whole[..cut].to_vec()));
            assert_eq!(open(&disk).err().unwrap().code(), Code::Corrupt, "{file} cut at {cut}");
        }
        disk.put(&file, Some([whole.as_slice(), b"x"].concat()));
        assert_eq!(open(&disk).err().unwrap().code(), Code::Corrupt, "{file} with a byte more");
        disk.put(&file, Some(whole));
    }
    open(&disk).unwrap();
}

/// A store of a later version is not damaged, and must not be called so.
#[test]
fn a_newer_version_is_told_apart_from_damage() {
    let (disk, repository) = made(64 << 20);
    append(&*repository, [commit(1)]);
    for (file, len) in [("STORE".to_owned(), 36), (path(&disk, "/SCOPE"), 64), (segments(&disk).remove(0), HEADER)] {
        let whole = disk.bytes(&file).unwrap();
        let len = if file.ends_with("SCOPE") { whole.len() } else { len };
        let mut bytes = whole.clone();
        bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..len - 4]);
        bytes[len - 4..len].copy_from_slice(&checksum.to_le_bytes());
        disk.put(&file, Some(bytes));
        let error = open(&disk).and_then(|repository| read(&*repository, 0)).unwrap_err();
        assert_eq!(error.code(), Code::UnsupportedVersion, "{file}: {error}");
        assert_eq!(error.to_json()["error"]["details"], serde_json::json!({ "found": 2, "min": 1, "max": 1 }));
        disk.put(&file, Some(whole));
    }
}

/// A checksum that is right over a payload that is wrong: written by a broken machine, or by somebody who tries.
#[test]
fn a_sealed_payload_that_is_none() {
    let (disk, file, log) = small();
    let bounds = bounds(&log);
    let mut bytes = log[..bounds[1]].to_vec();
    bytes[HEADER + HEAD] ^= 0xff;
    let frame = &bytes[HEADER..];
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&frame[..32]), &frame[36..]);
    bytes[HEADER + 32..HEADER + 36].copy_from_slice(&checksum.to_le_bytes());
    disk.put(&file, Some(bytes));
    refused(&disk, Code::Corrupt, &["commit 1", "byte 72", "payload"]);
}

/// What a later segment has taken over or left behind is dead: no damage there may stop a store that is whole.
#[test]
fn dead_bytes_are_dead() {
    let (disk, repository) = made(64 << 20);
    append(&*repository, [commit(1), commit(2)]);
    let mut writer = repository.writer(NOW).unwrap();
    writer.append(&commit(3)).unwrap();
    drop(writer);
    // Commit 3 was not synced, and a torn frame stands behind it; then a take of its segment is torn at once.
    let first = segments(&disk).remove(0);
    let mut bytes = disk.bytes(&first).unwrap();
    let live = bounds(&bytes)[2];
    bytes.extend_from_slice(b"TGf1 torn");
    disk.put(&first, Some(bytes));
    drop(repository.writer(NOW).unwrap());
    let second = path(&disk, "/log-00000000000000000003.tgw");
    forget(&disk);
    append(&*repository, [commit(4)]);
    path(&disk, "/log-00000000000000000003-1.tgw");
    let whole = |what: &str| {
        let (commits, recovery) = read(&*open(&disk).unwrap(), 0).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(commits == [1, 2, 3, 4].map(commit) && recovery.torn.is_none(), "{what}: {recovery:?}");
    };
    whole("whole");
    for (file, from) in [(&first, live), (&second, 0)] {
        let kept = disk.bytes(file).unwrap();
        for at in from..kept.len() {
            let mut bytes = kept.clone();
            bytes[at] ^= 0x40;
            disk.put(file, Some(bytes));
            whole(&format!("{file}, byte {at}"));
        }
        disk.put(file, Some(kept[..from].to_vec()));
        whole(file);
    }
}

/// A frame of another history of the same store, whole and of the right sequence: only the chain tells.
#[test]
fn a_frame_of_another_history() {
    let (disk, file, log) = small();
    let other = disk.restart();
    other.put(&file, None);
    append(&*open(&other).unwrap(), (1..=7).map(|seq| commit(seq).later()));
    let theirs = other.bytes(&file).unwrap();
    let bounds = bounds(&log);
    assert_eq!(theirs.len(), log.len());
    for frame in 1..=7 {
        let range = bounds[frame - 1]..bounds[frame];
        let mut bytes = log.clone();
        bytes[range.clone()].copy_from_slice(&theirs[range]);
        disk.put(&file, Some(bytes));
        // The first frame follows the same header in both histories; then the second one is the strange one.
        let strange = frame.max(2);
        match read(&*open(&disk).unwrap(), 0) {
            Ok((commits, recovery)) => {
                assert!(frame == 7 && commits.len() == 6 && recovery.torn.is_some(), "frame {frame}: {recovery:?}");
            }
            Err(error) => {
                let place = format!("where commit {strange} should stand");
                assert!(error.code() == Code::Corrupt && error.message().contains(&place), "frame {frame}: {error}");
            }
        }
    }
}

/// Somebody lengthens the log by 8 GiB of nothing: opening it must not take the time of reading it. A frame that proves
/// damage is still found as far behind as a writer can have put it.
#[cfg(unix)]
#[test]
fn a_tail_that_is_endless() {
    let folder = tempfile::tempdir().unwrap();
    let store = LocalStore::create(Arc::new(Folder::new(folder.path()))).unwrap();
    let repository = store.repository(&scope(), true).unwrap();
    append(&*repository, (1..=3).map(commit));
    let scoped = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let scoped = scoped.into_iter().find(|path| path.is_dir()).unwrap();
    std::fs::remove_file(scoped.join("writer")).unwrap();
    let path = scoped.join("log-00000000000000000001.tgw");
    let log = std::fs::read(&path).unwrap();
    let bounds = bounds(&log);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(8 << 30).unwrap();
    let (commits, recovery) = read(&*repository, 0).unwrap();
    assert_eq!((commits.len(), recovery.torn.unwrap().offset as usize), (3, bounds[3]));
    // Commit 2 is gone, and the frame that says it was durable stands as far away as can be.
    let reach = 256 << 20;
    for (at, refused) in [(bounds[1] + reach, true), (bounds[1] + 2 * reach, false)] {
        let mut moved = log[..bounds[1]].to_vec();
        moved.resize(bounds[2], 0);
        std::fs::write(&path, moved).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &log[bounds[2]..], at as u64).unwrap();
        match read(&*repository, 0) {
            Err(error) => assert!(refused && error.code() == Code::Corrupt, "{at}: {error}"),
            Ok((commits, recovery)) => assert!(!refused && commits.len() == 1 && recovery.torn.is_some(), "{at}"),
        }
    }
}

/// A FIFO in the place of a file: whoever opens it waits for somebody who writes to it, for ever.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let medium = || Arc::new(Folder::new(folder.path()));
    let repository = LocalStore::create(medium()).unwrap().repository(&scope(), true).unwrap();
    append(&*repository, [commit(1)]);
    let scoped = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let scoped = scoped.into_iter().find(|path| path.is_dir()).unwrap();
    let log = scoped.join("log-00000000000000000001.tgw");
    for path in [folder.path().join("STORE"), scoped.join("SCOPE"), log, scoped.join("lock")] {
        let (aside, name) = (folder.path().join("aside"), path.file_name().unwrap().to_str().unwrap().to_owned());
        std::fs::rename(&path, &aside).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let opened = LocalStore::open(medium()).and_then(|store| store.repository(&scope(), false));
        let error = opened.and_then(|repository| repository.writer(NOW).map(|_| ())).unwrap_err();
        assert_eq!(error.code(), Code::Io, "{name}: {error}");
        for part in [name.as_str(), "regular file", "FIFO", "move it away"] {
            assert!(error.message().contains(part), "{part:?} in {error}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let opened = LocalStore::open(medium()).and_then(|store| store.repository(&scope(), false));
        let error = opened.and_then(|repository| repository.writer(NOW).map(|_| ())).unwrap_err();
        assert!(error.code() == Code::Io && error.message().contains("a folder"), "{name}: {error}");
        std::fs::remove_dir(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
    }
    // The note costs nothing when it is lost, so it stops nobody either.
    std::fs::remove_file(scoped.join("writer")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(scoped.join("writer")).status().unwrap().success());
    append(&*repository, [commit(2)]);
    assert_eq!(read(&*repository, 0).unwrap().0.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Bytes cut out, put in and written over, in any place of any file: what is handed out is what was written, from
    /// the first commit on, and nothing panics.
    #[test]
    fn any_damage(
        edits in vec((any::<Index>(), any::<Index>(), 0..40usize, vec(any::<u8>(), 0..40)), 1..4),
        noted in any::<bool>(),
    ) {
        let (disk, files) = several();
        let paths: Vec<_> = disk.paths().into_iter().filter(|path| disk.bytes(path).is_some()).collect();
        prop_assert!(files.len() > 3);
        for (path, at, cut, put) in edits {
            let path = path.get(&paths);
            let mut bytes = disk.bytes(path).unwrap();
            let at = at.index(bytes.len() + 1);
            let end = bytes.len().min(at + cut);
            bytes.splice(at..end, put);
            disk.put(path, Some(bytes));
        }
        if !noted {
            forget(&disk);
        }
        let mut commits = Vec::new();
        let _ = open(&disk).and_then(|repository| repository.after(Seq(0), &mut |commit| {
            commits.push(commit);
            Ok(())
        }));
        prop_assert!((1..=16).map(commit).collect::<Vec<_>>().starts_with(&commits));
        let store = LocalStore::open(Arc::new(disk.clone()));
        if let Ok(salvage) = store.and_then(|store| store.salvage(&scope(), NOW)) {
            prop_assert!(salvage.kept.0 >= commits.len() as u64);
            prop_assert_eq!(read(&*open(&disk).unwrap(), 0).unwrap().1.last, salvage.kept);
        }
    }
}
