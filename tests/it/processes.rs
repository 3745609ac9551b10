//! A real folder, and several processes on it.
//!
//! The other process is this test binary itself, started again with a role for [`other_process`].

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use triglyph::persist::{Folder, LocalStore, Repository};
use triglyph::{Code, Error, Seq};

use crate::log::read;
use crate::samples::{commit, scope};

const NOW: Duration = Duration::ZERO;
const ROLE: &str = "TRIGLYPH_TEST_ROLE";
const STORE: &str = "TRIGLYPH_TEST_STORE";

fn repository(root: &Path) -> Result<Arc<dyn Repository>, Error> {
    let medium = Arc::new(Folder::new(root));
    let store = match LocalStore::open(medium.clone()) {
        Err(error) if error.code() == Code::NotFound => LocalStore::create(medium)?,
        other => other?,
    };
    store.with_segment_bytes_max(4_000).repository(&scope(), true)
}

/// Another process at work on a store. It dies with this handle.
struct Other {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn start(role: &str, root: &Path) -> Other {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::other_process", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(STORE, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Other { child, lines }
    }

    /// The next thing that it says, if it says anything more.
    fn says(&mut self) -> Option<String> {
        self.lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.strip_prefix("other: ")?.to_owned()))
    }

    fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.says()).collect()
    }
}

fn say(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nother: {what}").and_then(|()| out.flush()).unwrap();
}

/// Not a test of its own: what the other process does.
#[test]
fn other_process() {
    let (Ok(role), Some(root)) = (std::env::var(ROLE), std::env::var_os(STORE)) else { return };
    let repository = repository(Path::new(&root)).unwrap();
    let mut writer = repository.writer(Duration::from_secs(5)).unwrap();
    say("writing");
    match role.as_str() {
        "hold" => {
            // Until the other side closes our input.
            let _ = std::io::stdin().read(&mut [0]);
        }
        "append" => loop {
            let seq = writer.last().next();
            writer.append(&commit(seq.0)).unwrap();
            writer.syncer().sync(seq).unwrap();
            say(seq);
        },
        other => panic!("{other}"),
    }
}

/// Without the lock two processes would write one log; without its name nobody would know whom to wait for.
#[test]
fn a_second_process_is_told_who_writes() {
    let root = tempfile::tempdir().unwrap();
    let repository = repository(root.path()).unwrap();
    let mut other = Other::start("hold", root.path());
    assert_eq!(other.says().as_deref(), Some("writing"));

    let error = repository.writer(NOW).err().unwrap();
    assert_eq!(error.code(), Code::Locked);
    assert!(error.message().contains(&format!("process {}", other.child.id())), "{error}");
    assert_eq!(error.to_json()["error"]["details"]["pid"], other.child.id());
    let asked = Instant::now();
    assert!(repository.writer(Duration::from_millis(200)).is_err());
    assert!(asked.elapsed() >= Duration::from_millis(200));
    // Readers don't notice.
    read(&*repository, 0).unwrap();

    // Whoever waits long enough gets it; whether the other one ends or is killed.
    let waiting = std::thread::scope(|threads| {
        let waiting = threads.spawn(|| repository.writer(Duration::from_secs(30)).map(|writer| writer.last()));
        std::thread::sleep(Duration::from_millis(50));
        drop(other.child.stdin.take());
        waiting.join().unwrap()
    });
    assert_eq!(waiting.unwrap(), Seq(0));
    other.child.wait().unwrap();
    let mut other = Other::start("hold", root.path());
    assert_eq!(other.says().as_deref(), Some("writing"));
    assert!(repository.writer(NOW).is_err());
    other.kill();
    repository.writer(NOW).unwrap();
}

/// One process, two writers: they would not see each other if the lock belonged to the process.
#[test]
fn one_process_has_one_writer_too() {
    let root = tempfile::tempdir().unwrap();
    let one = repository(root.path()).unwrap();
    let two = repository(root.path()).unwrap();
    let writer = one.writer(NOW).unwrap();
    assert_eq!(two.writer(NOW).err().unwrap().code(), Code::Locked);
    // Opening and closing the lock file elsewhere in the process must not free it.
    let lock =
        fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path().join("lock")).find(|lock| lock.exists());
    drop(fs::File::open(lock.unwrap()).unwrap());
    assert_eq!(two.writer(NOW).err().unwrap().code(), Code::Locked);
    // A syncer keeps the lock as well: it can still write the note.
    let syncer = writer.syncer();
    drop(writer);
    assert_eq!(two.writer(NOW).err().unwrap().code(), Code::Locked);
    drop(syncer);
    two.writer(NOW).unwrap();
}

/// Somebody tidies up and removes the lock file: the next writer can lock a new one, so the old writer must stop.
#[test]
#[cfg(unix)]
fn a_replaced_lock_stops_the_writer() {
    let root = tempfile::tempdir().unwrap();
    let repository = repository(root.path()).unwrap();
    let mut old = repository.writer(NOW).unwrap();
    old.append(&commit(1)).unwrap();
    old.syncer().sync(Seq(1)).unwrap();
    let folder = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    fs::remove_file(folder.unwrap().join("lock")).unwrap();
    let mut new = repository.writer(NOW).unwrap();
    assert_eq!(old.append(&commit(2)).unwrap_err().code(), Code::Locked);
    assert_eq!(old.append(&commit(2)).unwrap_err().code(), Code::Poisoned);
    new.append(&commit(2)).unwrap();
    new.syncer().sync(Seq(2)).unwrap();
    assert_eq!(read(&*repository, 0).unwrap().0, [1, 2].map(commit));
}

/// A14: killed at any moment, over and over, each time by surprise.
#[test]
fn killed_again_and_again() {
    let root = tempfile::tempdir().unwrap();
    let repository = repository(root.path()).unwrap();
    let mut promised = 0;
    for round in 0..25u64 {
        let mut other = Other::start("append", root.path());
        assert_eq!(other.says().as_deref(), Some("writing"));
        std::thread::sleep(Duration::from_micros(round * 997 % 9_000));
        if let Some(last) = other.kill().iter().filter_map(|said| said.parse().ok()).next_back() {
            promised = last;
        }
        let (commits, recovery) = read(&*repository, 0).unwrap();
        assert!(recovery.last.0 >= promised, "round {round}: {recovery:?}, {promised} promised");
        assert!(commits.iter().zip(1..).all(|(found, seq)| *found == commit(seq)), "round {round}");
    }
    assert!(promised > 25, "{promised}");
}

/// A reader beside a writer that appends and begins segments: it sees every commit once, in order, and never an error.
#[test]
fn a_reader_follows_a_writer() {
    let root = tempfile::tempdir().unwrap();
    let repository = repository(root.path()).unwrap();
    let mut other = Other::start("append", root.path());
    assert_eq!(other.says().as_deref(), Some("writing"));
    let (mut last, mut reads) = (Seq::ZERO, 0);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(600) {
        let fresh = self::repository(root.path()).unwrap();
        let whole = read(&*fresh, 0).unwrap().1;
        let followed = repository
            .after(last, &mut |found| {
                assert_eq!(found.seq, last.next());
                last = found.seq;
                Ok(())
            })
            .unwrap();
        assert!(followed.last >= whole.last && followed.last == last, "{whole:?}, then {followed:?}");
        reads += 1;
    }
    let said: Vec<String> = other.kill();
    assert!(reads > 5 && said.len() > 20, "{reads} reads, {} commits", said.len());
    let promised: u64 = said.iter().filter_map(|said| said.parse().ok()).next_back().unwrap();
    assert!(read(&*repository, last.0).unwrap().1.last >= Seq(promised));
}

/// A9 with the real system calls: after a sync that failed, the process touches its log no more, and what it promised is
/// there. Needs `strace`, and the right to use it.
#[test]
#[cfg(target_os = "linux")]
fn no_system_call_after_a_failed_sync() {
    for failing in 1..=8 {
        let root = tempfile::tempdir().unwrap();
        let trace = root.path().join("trace");
        let store = root.path().join("store");
        let traced = Command::new("strace")
            .args(["-f", "-y", "-e", "trace=write,fdatasync,fsync", "-o"])
            .arg(&trace)
            .args(["-e", &format!("inject=fdatasync:error=EIO:when={failing}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "processes::other_process", "--nocapture", "--test-threads=1"])
            .env(ROLE, "append")
            .env(STORE, &store)
            .output();
        let calls = fs::read_to_string(&trace).unwrap_or_default();
        let (Ok(traced), Some((_, after))) = (traced, calls.split_once("(INJECTED)")) else {
            println!("skipped: strace can't be used here");
            return;
        };
        let promised = String::from_utf8_lossy(&traced.stdout);
        let promised =
            promised.lines().filter_map(|line| line.strip_prefix("other: ")?.parse::<u64>().ok()).next_back();
        let touched = after.lines().filter(|call| call.contains(store.to_str().unwrap()));
        assert_eq!(touched.collect::<Vec<_>>(), Vec::<&str>::new(), "after sync {failing} failed");
        let (commits, _) = read(&*repository(&store).unwrap(), 0).unwrap();
        assert!(commits.len() as u64 >= promised.unwrap_or(0), "{promised:?} promised");
    }
}

fn tree(folder: &Path, into: &mut BTreeMap<String, (u64, SystemTime)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        into.insert(entry.path().display().to_string(), (metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            tree(&entry.path(), into);
        }
    }
}

fn set_read_only(folder: &Path, on: bool) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for path in paths.iter().filter(|path| path.is_dir()) {
        set_read_only(path, on);
    }
    paths.push(folder.to_owned());
    #[cfg(unix)]
    for path in paths {
        use std::os::unix::fs::PermissionsExt;
        let mode = if on { 0o555 } else { 0o755 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// An archive on a read-only mount must open, and a look at a store must not change a byte or a time of it.
#[test]
fn reading_writes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = repository(root.path()).unwrap().writer(NOW).unwrap();
    for seq in 1..=20 {
        writer.append(&commit(seq)).unwrap();
    }
    drop(writer);
    // A torn tail too: it must be left as it is.
    let mut before = BTreeMap::new();
    tree(root.path(), &mut before);
    let newest = before.keys().rfind(|path| path.ends_with(".tgw")).unwrap();
    fs::OpenOptions::new().append(true).open(newest).unwrap().write_all(b"TGf1 torn").unwrap();
    set_read_only(root.path(), true);
    let mut before = BTreeMap::new();
    tree(root.path(), &mut before);

    let store = LocalStore::open(Arc::new(Folder::new(root.path()))).unwrap();
    assert_eq!(store.scopes().unwrap(), [scope()]);
    let repository = store.repository(&scope(), false).unwrap();
    let (commits, recovery) = read(&*repository, 0).unwrap();
    assert_eq!((commits.len(), recovery.torn.unwrap().bytes), (20, 9));
    assert!(repository.bytes().unwrap() > 4_000);
    let mut after = BTreeMap::new();
    tree(root.path(), &mut after);
    assert_eq!(before, after);
    set_read_only(root.path(), false);
}

/// Four threads make one store and one scope: one makes each, the others find it.
#[test]
fn made_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("new").join("store");
    let made: Vec<_> = std::thread::scope(|threads| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                threads.spawn(|| {
                    let made = LocalStore::create(Arc::new(Folder::new(&root)));
                    let made = made.map_err(|error| error.code());
                    let store = LocalStore::open(Arc::new(Folder::new(&root))).unwrap();
                    store.repository(&scope(), true).unwrap();
                    (made.map(|store| store.id()), store.id())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|(made, _)| made.is_ok()).count(), 1);
    assert!(made.iter().all(|(_, id)| *id == made[0].1));
    assert!(made.iter().all(|(made, id)| made.as_ref().map_or_else(|code| *code == Code::Conflict, |made| made == id)));
}
