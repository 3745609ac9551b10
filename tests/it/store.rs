//! Stores and scopes: found, made, and told apart.

use std::sync::Arc;
use std::time::Duration;

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
