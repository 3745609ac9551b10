//! Stores and scopes: found, made, and told apart.

use std::sync::Arc;
use std::time::Duration;

use triglyph::persist::memory::Fate;
use triglyph::persist::{Folder, LocalStore, Memory};
use triglyph::{Code, Scope, Seq};

use crate::log::read;
use crate::samples::{commit, scope};

const NOW: Duration = Duration::ZERO;

fn open(path: &std::path::Path) -> triglyph::Error {
    LocalStore::open(Arc::new(Folder::new(path))).err().unwrap()
}

fn create(path: &std::path::Path) -> Result<LocalStore, triglyph::Error> {
    LocalStore::create(Arc::new(Folder::new(path)))
}

/// The first thing that goes wrong for anybody is the wrong path: the message must say so, and what to do.
#[test]
fn wrong_paths() {
    let root = tempfile::tempdir().unwrap();
    let (missing, file, folder) = (root.path().join("missing"), root.path().join("file"), root.path().join("folder"));
    std::fs::write(&file, "text").unwrap();
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("notes.txt"), "text").unwrap();
    for (path, said) in [(&missing, "triglyph init"), (&file, "is a file"), (&folder, "not a store")] {
        let error = open(path);
        assert_eq!(error.code(), Code::NotFound, "{error}");
        assert!(error.message().contains(said) && error.message().contains(path.to_str().unwrap()), "{error}");
    }
    assert!(!missing.exists(), "looking for a store made one");
    let error = create(&folder).err().unwrap();
    assert!(error.code() == Code::Conflict && error.message().contains("notes.txt"), "{error}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "refusing left something behind");
    create(&missing).unwrap();
    assert_eq!(create(&missing).err().unwrap().code(), Code::Conflict);
}

/// M-3: whatever a name holds, no path shows it, and no two scopes share a folder.
#[test]
fn names_never_become_paths() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    let hostile =
        [("../..", "x"), ("/etc", "passwd"), ("con", "nul\0"), ("Acme", "demo"), ("acme", "demo"), ("a/b", "c")];
    let mut scopes = hostile.map(|(workspace, game)| Scope::new(workspace, game).unwrap());
    for (n, scope) in scopes.iter().enumerate() {
        let repository = store.repository(scope, true).unwrap();
        let mut writer = repository.writer(NOW).unwrap();
        for seq in 1..=n as u64 {
            writer.append(&commit(seq)).unwrap();
        }
    }
    for path in disk.paths() {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-".contains(&byte);
        assert!(path.bytes().all(plain) && !path.contains(".."), "{path:?}");
    }
    for (n, scope) in scopes.iter().enumerate() {
        let repository = LocalStore::open(Arc::new(disk.clone())).unwrap().repository(scope, false).unwrap();
        assert_eq!(read(&*repository, 0).unwrap().1.last, Seq(n as u64), "{scope}");
    }
    scopes.sort();
    assert_eq!(store.scopes().unwrap(), scopes);
}

/// G-1 in small: the answer for a scope that isn't there must not tell which ones are.
#[test]
fn a_missing_scope_is_only_missing() {
    let store = LocalStore::create(Arc::new(Memory::new())).unwrap();
    store.repository(&Scope::new("secret", "plans").unwrap(), true).unwrap();
    let error = store.repository(&scope(), false).err().unwrap();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("acme/demo") && !error.message().contains("secret"), "{error}");
}

/// Somebody renames a folder: the commits of one scope would be served as those of another.
#[test]
fn a_renamed_scope_folder() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    store.repository(&scope(), true).unwrap();
    let other = Scope::new("acme", "other").unwrap();
    let path = |disk: &Memory, not: &[String]| {
        disk.paths().into_iter().find(|path| path.ends_with("/SCOPE") && !not.contains(path)).unwrap()
    };
    let ours = path(&disk, &[]);
    store.repository(&other, true).unwrap();
    let theirs = path(&disk, std::slice::from_ref(&ours));
    disk.put(&theirs, disk.bytes(&ours));
    let error = store.repository(&other, false).err().unwrap();
    assert_eq!(error.code(), Code::Foreign, "{error}");
}

/// Two processes would each believe that they hold the lock.
#[test]
fn a_fork_can_not_write() {
    let disk = Memory::recording();
    disk.set_process(100);
    let repository = LocalStore::create(Arc::new(disk.clone())).unwrap().repository(&scope(), true).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    writer.append(&commit(1)).unwrap();
    disk.set_process(101);
    let changes = disk.changes();
    let error = writer.append(&commit(2)).unwrap_err();
    assert!(error.code() == Code::Locked && error.message().contains("fork"), "{error}");
    assert!(writer.syncer().sync(Seq(1)).is_err());
    assert_eq!(disk.changes(), changes);
}

/// Somebody else's commits came between the last read and the lock.
#[test]
fn a_writer_says_where_the_log_ends() {
    let store = LocalStore::create(Arc::new(Memory::new())).unwrap();
    let (ours, theirs) = (store.repository(&scope(), true).unwrap(), store.repository(&scope(), false).unwrap());
    let last = read(&*ours, 0).unwrap().1.last;
    theirs.writer(NOW).unwrap().append(&commit(1)).unwrap();
    let mut writer = ours.writer(NOW).unwrap();
    assert_eq!((last, writer.last()), (Seq(0), Seq(1)));
    assert_eq!(writer.append(&commit(1)).unwrap_err().code(), Code::Conflict);
    assert_eq!(read(&*ours, 0).unwrap().0, [commit(1)]);
    writer.append(&commit(2)).unwrap();
    assert_eq!(read(&*ours, 1).unwrap().0, [commit(2)]);
}

/// A scope's folder copied from another store, as somebody would who wants to move a scope.
#[test]
fn a_scope_of_another_store() {
    let [one, two] = [(); 2].map(|()| {
        let disk = Memory::new();
        LocalStore::create(Arc::new(disk.clone())).unwrap().repository(&scope(), true).unwrap();
        disk
    });
    let path = one.paths().into_iter().find(|path| path.ends_with("/SCOPE")).unwrap();
    one.put(&path, two.bytes(&path));
    let error = LocalStore::open(Arc::new(one)).unwrap().repository(&scope(), false).err().unwrap();
    assert!(error.code() == Code::Foreign && error.message().contains("store id"), "{error}");
}

/// What was made and answered is there after a power cut, even if nothing was written to it.
#[test]
fn what_was_made_stays_made() {
    let disk = Memory::recording();
    let cut = |disk: &Memory| disk.crash(usize::MAX, &mut |_, _| Fate::Lost);
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    assert_eq!(LocalStore::open(Arc::new(cut(&disk))).unwrap().id(), store.id());
    store.repository(&scope(), true).unwrap();
    assert_eq!(LocalStore::open(Arc::new(cut(&disk))).unwrap().scopes().unwrap(), [scope()]);
}

/// The store's folders that begin with a scope's `SCOPE`, in order.
fn folders(disk: &Memory) -> Vec<String> {
    disk.paths().into_iter().filter_map(|path| path.strip_suffix("/SCOPE").map(str::to_owned)).collect()
}

fn says(error: &triglyph::Error, code: Code, parts: &[&str]) {
    assert_eq!(error.code(), code, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} in {error}");
    }
}

/// A `SCOPE` is deleted and the log stays: taken for a scope that isn't there, its commits would be served again, or
/// hidden, as chance has it. A salvage, which is told the names, makes the file again and gives up nothing.
#[test]
fn a_log_without_scope() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    store.repository(&scope(), true).unwrap().writer(NOW).unwrap().append(&commit(1)).unwrap();
    let folder = folders(&disk).remove(0);
    let path = format!("{folder}/SCOPE");
    let whole = disk.bytes(&path);
    disk.put(&path, None);
    let before = disk.changes();
    for create in [false, true] {
        let error = store.repository(&scope(), create).err().unwrap();
        says(&error, Code::Corrupt, &[&folder, "SCOPE", "(memory)", "backup", "salvage"]);
    }
    says(&store.scopes().unwrap_err(), Code::Corrupt, &[&folder]);
    assert_eq!(disk.changes(), before, "refusing wrote something");
    let salvage = store.salvage(&scope(), NOW).unwrap();
    assert_eq!((salvage.kept, salvage.lost.len()), (Seq(1), 0));
    assert_eq!(disk.bytes(&path), whole);
    assert_eq!(read(&*store.repository(&scope(), false).unwrap(), 0).unwrap().0, [commit(1)]);

    // The log of another store is not made ours.
    let other = Memory::new();
    let theirs = LocalStore::create(Arc::new(other.clone())).unwrap();
    theirs.repository(&scope(), true).unwrap().writer(NOW).unwrap().append(&commit(1)).unwrap();
    let log = format!("{folder}/log-00000000000000000001.tgw");
    disk.put(&log, other.bytes(&log));
    disk.put(&path, None);
    says(&store.salvage(&scope(), NOW).unwrap_err(), Code::Foreign, &[&log, "store id"]);
    assert_eq!(disk.bytes(&path), None);
}

/// A folder that was copied over another one, a `SCOPE` that rotted: the scopes beside them go on, none is listed twice,
/// and none is lost from sight.
#[test]
fn damaged_scopes_hide_no_other() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    let scopes = ["a", "b", "c"].map(|game| Scope::new("acme", game).unwrap());
    let mut made: Vec<String> = Vec::new();
    for scope in &scopes {
        store.repository(scope, true).unwrap();
        made.extend(folders(&disk).into_iter().find(|folder| !made.contains(folder)));
    }
    let path = |n: usize| format!("{}/SCOPE", made[n]);
    disk.put(&path(1), disk.bytes(&path(0)));
    disk.put(&path(2), Some(b"rotten".to_vec()));
    assert_eq!(store.scopes().unwrap(), [scopes[0].clone()]);
    let mut damaged = store.damaged_scopes().unwrap();
    damaged.sort_by_key(|(folder, _)| *folder != made[1]);
    assert_eq!(damaged.len(), 2);
    says(&damaged[0].1, Code::Foreign, &[&made[0], &made[1], "acme/a", "copied", "its own name"]);
    says(&damaged[1].1, Code::Corrupt, &[&path(2)]);
    store.repository(&scopes[0], false).unwrap();
    // A store that holds nothing but damage must not look empty.
    disk.put(&path(0), Some(Vec::new()));
    assert!(store.scopes().is_err());
    assert_eq!(store.damaged_scopes().unwrap().len(), 3);
}

/// P-5, for whoever stands before a damaged file at night: which file, where in it, what was expected, what is there,
/// and what to do.
#[test]
fn damage_to_store_and_scope_is_told() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    store.repository(&scope(), true).unwrap();
    let scope_file = format!("{}/SCOPE", folders(&disk).remove(0));
    for (file, remedy) in [("STORE", "docs/format.md"), (scope_file.as_str(), "salvage the scope by its name")] {
        let whole = disk.bytes(file).unwrap();
        let len = whole.len();
        let edit = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        };
        let cases: [(Vec<u8>, &[&str]); 5] = [
            (Vec::new(), &["20 bytes or more", "found one of 0 bytes"]),
            (whole[..24].to_vec(), &["between 20 and 24", "at byte 12", &format!("found {len}"), "cut"]),
            (edit(0), &["at byte 0", "found"]),
            (edit(20), &["expected the checksum", &format!("at byte {}", len - 4), "found"]),
            ([&whole[..], b"more"].concat(), &[&format!("a file of {len} bytes"), &format!("found {}", len + 4)]),
        ];
        for (bytes, parts) in cases {
            disk.put(file, Some(bytes));
            let opened = LocalStore::open(Arc::new(disk.clone())).and_then(|store| store.repository(&scope(), false));
            let error = opened.err().unwrap();
            says(&error, Code::Corrupt, &[parts, &[file, "(memory)", "expected", "backup", remedy]].concat());
        }
        disk.put(file, Some(whole));
    }
}

/// An empty file that looks like a segment of a far future is somebody's mistake, and must be named: "commit 98 was
/// durable" sends them after commits that never were.
#[test]
fn a_stray_segment_is_named() {
    let disk = Memory::new();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    let repository = store.repository(&scope(), true).unwrap();
    repository.writer(NOW).unwrap().append(&commit(1)).unwrap();
    let stray = "log-00000000000000000099.tgw";
    let path = format!("{}/{stray}", folders(&disk).remove(0));
    disk.put(&path, Some(Vec::new()));
    let error = read(&*repository, 0).unwrap_err();
    says(&error, Code::Corrupt, &[stray, "reaches commit 98", "at commit 1", "move it away", "(memory)"]);
    disk.put(&path, None);
    assert_eq!(read(&*repository, 0).unwrap().0.len(), 1);
}

/// What the system refuses is told with the store that it is about, and what to do.
#[test]
fn refusals_name_the_store() {
    use std::io::ErrorKind;
    for (kind, code, remedy) in [
        (ErrorKind::StorageFull, Code::NoSpace, "free space"),
        (ErrorKind::PermissionDenied, Code::Io, "give this user the right"),
        (ErrorKind::ReadOnlyFilesystem, Code::Io, "can be read"),
    ] {
        // Making a store and a scope, opening a writer, appending, syncing: every step that changes the disk.
        for at in 0.. {
            let disk = Memory::new();
            disk.fail_at(at, kind);
            let run = || {
                let store = LocalStore::create(Arc::new(disk.clone()))?;
                let mut writer = store.repository(&scope(), true)?.writer(NOW)?;
                writer.append(&commit(1))?;
                writer.syncer().sync(Seq(1))
            };
            let told = run();
            if disk.changes() <= at {
                assert!(at > 15, "{at} changes");
                break;
            }
            // A note that can't be written is only missed.
            if let Err(error) = told {
                says(&error, code, &["in the store at (memory)", remedy]);
            }
        }
    }
}
