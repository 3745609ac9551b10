//! Readers beside a writer, in the moments that are hard to meet: a frame half visible, a log replaced, two syncs at once.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use triglyph::persist::medium::{Lock, Sink, Source};
use triglyph::persist::{LocalStore, Medium, Memory, Repository};
use triglyph::{Code, Seq, Time};

use crate::log::read;
use crate::samples::{commit, large, scope};

const NOW: Duration = Duration::ZERO;

type Mask = Arc<Mutex<Option<std::ops::Range<u64>>>>;

/// A disk on which reads of a range find zeros, once, and on which syncs take their time and are counted.
#[derive(Clone, Default)]
struct Slow {
    disk: Memory,
    masked: Mask,
    syncing: Arc<AtomicUsize>,
    syncing_most: Arc<AtomicUsize>,
}

struct MaskedSource(Box<dyn Source>, Mask);

impl Source for MaskedSource {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read_at(offset, into)?;
        let end = offset + n as u64;
        if let Some(masked) = self.1.lock().unwrap().take_if(|masked| masked.start < end && offset < masked.end) {
            let at = |place: u64| (place.clamp(offset, end) - offset) as usize;
            into[at(masked.start)..at(masked.end)].fill(0);
        }
        Ok(n)
    }
}

struct SlowSink(Arc<dyn Sink>, Slow);

impl Sink for SlowSink {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        let now = self.1.syncing.fetch_add(1, Ordering::SeqCst) + 1;
        self.1.syncing_most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        let synced = self.0.sync();
        self.1.syncing.fetch_sub(1, Ordering::SeqCst);
        synced
    }
}

impl Medium for Slow {
    fn root(&self) -> String {
        self.disk.root()
    }
    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.disk.list(folder)
    }
    fn open(&self, path: &str) -> io::Result<Box<dyn Source>> {
        let source = self.disk.open(path)?;
        Ok(if path.ends_with(".tgw") { Box::new(MaskedSource(source, self.masked.clone())) } else { source })
    }
    fn create(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        Ok(Arc::new(SlowSink(self.disk.create(path)?, self.clone())))
    }
    fn append(&self, path: &str) -> io::Result<Arc<dyn Sink>> {
        Ok(Arc::new(SlowSink(self.disk.append(path)?, self.clone())))
    }
    fn overwrite(&self, path: &str, record: &[u8]) -> io::Result<()> {
        self.disk.overwrite(path, record)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }
    fn create_folder(&self, path: &str) -> io::Result<()> {
        self.disk.create_folder(path)
    }
    fn sync_folder(&self, path: &str) -> io::Result<()> {
        self.disk.sync_folder(path)
    }
    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }
    fn now(&self) -> Time {
        self.disk.now()
    }
    fn entropy(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.entropy(bytes)
    }
    fn process(&self) -> u32 {
        self.disk.process()
    }
}

fn repository(disk: &Slow) -> Arc<dyn Repository> {
    let medium = Arc::new(disk.clone());
    let store = LocalStore::open(medium.clone()).or_else(|_| LocalStore::create(medium)).unwrap();
    store.repository(&scope(), true).unwrap()
}

/// A reader meets a frame while it is being written, and the next one when it looks for proof of damage. To call that
/// damage would be a false alarm at night, and a rare one.
#[test]
fn a_frame_that_becomes_visible_late_is_no_damage() {
    let disk = Slow::default();
    let mut writer = repository(&disk).writer(NOW).unwrap();
    let mut ends = vec![72];
    for seq in 1..=4 {
        ends.push(ends[ends.len() - 1] + writer.append(&commit(seq)).unwrap());
        writer.syncer().sync(Seq(seq)).unwrap();
    }
    for frame in 0..4 {
        for masked in [ends[frame]..ends[frame + 1], ends[frame] + 40..ends[frame + 1], ends[frame]..ends[frame] + 8] {
            *disk.masked.lock().unwrap() = Some(masked.clone());
            let (commits, recovery) =
                read(&*repository(&disk), 0).unwrap_or_else(|error| panic!("{masked:?}: {error}"));
            assert_eq!((commits.len(), recovery.torn), (4, None), "{masked:?}");
        }
    }
}

/// The system tells a failed write to one of two who sync at once; the other one would promise what is lost.
#[test]
fn one_sync_at_a_time() {
    let disk = Slow::default();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap().with_segment_bytes_max(1_000);
    let repository = store.repository(&scope(), true).unwrap();
    let writer = Mutex::new(repository.writer(NOW).unwrap());
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..6 {
                    let (seq, syncer) = {
                        let mut writer = writer.lock().unwrap();
                        let seq = writer.last().next();
                        writer.append(&commit(seq.0)).unwrap();
                        (seq, writer.syncer())
                    };
                    assert!(syncer.sync(seq).unwrap() >= seq);
                }
            });
        }
    });
    assert_eq!(disk.syncing_most.load(Ordering::SeqCst), 1);
    assert_eq!(read(&*repository, 0).unwrap().0, (1..=24).map(commit).collect::<Vec<_>>());
}

/// A reader that follows a log, and somebody restores another one in its place: it must not go on as if nothing were.
#[test]
fn a_replaced_log_is_noticed() {
    let write = |commits: &[u64], sizes: usize| {
        let disk = Slow::default();
        let mut writer = repository(&disk).writer(NOW).unwrap();
        for seq in commits {
            writer.append(&large(*seq, sizes)).unwrap();
        }
        writer.syncer().sync(Seq(commits.len() as u64)).unwrap();
        disk
    };
    let name = |disk: &Slow| disk.disk.paths().into_iter().find(|path| path.ends_with(".tgw")).unwrap();
    let note = |disk: &Slow| disk.disk.paths().into_iter().find(|path| path.ends_with("/writer")).unwrap();
    // Another log of the same store: shorter, as long, longer, and in a segment of another name.
    for (commits, size, renamed) in
        [(&[1][..], 10, false), (&[1, 2, 3], 20, false), (&[1, 2, 3, 4], 30, false), (&[1, 2, 3, 4], 30, true)]
    {
        let disk = write(&[1, 2, 3], 10);
        let follower = repository(&disk);
        assert_eq!(follower.after(Seq(0), &mut |_| Ok(())).unwrap().last, Seq(3));
        // The same store begins anew.
        let file = name(&disk);
        disk.disk.put(&file, None);
        disk.disk.put(&note(&disk), None);
        if renamed {
            // An empty file of that name makes the writer take the next one.
            disk.disk.put(&file, Some(Vec::new()));
        }
        let mut writer = repository(&disk).writer(NOW).unwrap();
        for seq in commits {
            writer.append(&large(*seq, size)).unwrap();
        }
        let told = follower.after(Seq(3), &mut |_| Ok(()));
        let code = told.err().map(|error| error.code());
        assert!(matches!(code, Some(Code::Foreign | Code::Corrupt)), "{commits:?}, {size}: {code:?}");
    }
}

/// Nothing is after the end, but that is an answer only where the end is where the caller thinks.
#[test]
fn after_the_end() {
    let disk = Slow::default();
    let mut writer = repository(&disk).writer(NOW).unwrap();
    for seq in 1..=3 {
        writer.append(&commit(seq)).unwrap();
    }
    for repository in [repository(&disk), repository(&disk)] {
        assert_eq!(read(&*repository, 3).unwrap().0, []);
        assert_eq!(read(&*repository, 4).unwrap_err().code(), Code::Corrupt);
        assert_eq!(read(&*repository, 1).unwrap().0, [2, 3].map(commit));
    }
}

/// What was read once is not read again: following a long log costs what is new.
#[test]
fn following_reads_what_is_new() {
    let disk = Slow::default();
    let repository = repository(&disk);
    let mut writer = repository.writer(NOW).unwrap();
    for seq in 1..=30 {
        writer.append(&commit(seq)).unwrap();
        let recovery = repository.after(Seq(seq - 1), &mut |_| Ok(())).unwrap();
        assert!(recovery.frames == 1 && recovery.bytes < 1_000, "{recovery:?}");
    }
    assert!(repository.after(Seq(29), &mut |_| Ok(())).unwrap().bytes > 5_000);
}
