//! What would go wrong without these: a symlink in a checkout hands `/etc/shadow` to a graph that agents read, a FIFO
//! stops a rebuild for ever, and a folder that can't be listed looks like a folder that was emptied.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A folder with a root in it and a secret beside that root.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.root().join("sub/deep")).unwrap();
        fs::create_dir_all(place.folder.path().join("root-evil")).unwrap();
        place.write("root/plain.txt", "inside");
        place.write("root/sub/deep/leaf.txt", "inside");
        place.write("root-evil/secret.txt", "outside");
        place.write("secret.txt", "outside");
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.folder.path().join(path), text).unwrap();
    }
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.unwrap_err().code()
}

fn entry<'a>(entries: &'a [FileEntry], path: &str) -> &'a FileKind {
    &entries.iter().find(|entry| entry.path == path).unwrap_or_else(|| panic!("{path} in {entries:?}")).kind
}

#[test]
fn what_is_beneath_is_listed_and_read() {
    let place = Place::new();
    let roots = Roots::open(&place.root()).unwrap();
    let entries = roots.walk().unwrap();
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["plain.txt", "sub", "sub/deep", "sub/deep/leaf.txt"]);
    assert!(
        matches!(entry(&entries, "plain.txt"), FileKind::File { bytes: 6, modified_nanos } if *modified_nanos > 1 << 60)
    );
    assert_eq!(roots.read("sub/deep/leaf.txt", 6).unwrap(), b"inside");
}

/// `a-b` sorts before `a/b` bytewise; an order by component would differ, and with it the groups of a source.
#[test]
fn a_walk_is_sorted_by_bytes() {
    let place = Place::new();
    for name in ["é", "Z", "a", "a-b", "sub-", "sub0"] {
        place.write(&format!("root/{name}"), "");
    }
    let entries = Roots::open(&place.root()).unwrap().walk().unwrap();
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["Z", "a", "a-b", "plain.txt", "sub", "sub-", "sub/deep", "sub/deep/leaf.txt", "sub0", "é"]);
}

#[test]
fn a_path_is_plain_or_refused() {
    let place = Place::new();
    let secret = place.folder.path().join("secret.txt").display().to_string();
    let roots = Roots::open(&place.root()).unwrap();
    for bad in [
        "",
        "/",
        ".",
        "..",
        "../secret.txt",
        "../root-evil/secret.txt",
        "sub/../plain.txt",
        "sub/../../secret.txt",
        "./plain.txt",
        "sub//deep/leaf.txt",
        "sub/",
        "//?/etc/passwd",
        "plain.txt\0",
        "plain.txt\0/../../secret.txt",
        &secret,
        "/etc/passwd",
    ] {
        assert_eq!(code(roots.read(bad, 100)), Code::Invalid, "{bad:?}");
    }
    assert_eq!(code(roots.read("-evil/secret.txt", 100)), Code::NotFound);
    assert_eq!(code(roots.read("plain.txt/below", 100)), Code::Invalid);
    assert_eq!(code(roots.read("sub", 100)), Code::Invalid);
    assert_eq!(code(roots.read(&vec!["d"; DEPTH_MAX + 1].join("/"), 100)), Code::TooLarge);
}

#[test]
fn a_missing_root_is_named() {
    let place = Place::new();
    let missing = place.root().join("nowhere");
    let error = Roots::open(&missing).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.to_string().contains(&missing.display().to_string()), "{error}");
    let error = Roots::open(&place.root().join("plain.txt")).unwrap_err();
    assert_eq!(error.code(), Code::Invalid);
    assert!(error.to_string().contains("expected a folder"), "{error}");
}

#[test]
fn a_file_too_large_says_both_sizes() {
    let place = Place::new();
    let roots = Roots::open(&place.root()).unwrap();
    let error = roots.read("plain.txt", 5).unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
    assert!(error.to_string().contains("at most 5 bytes") && error.to_string().contains("found 6"), "{error}");
}

/// The files of /proc claim to be empty, so the size that is announced proves nothing.
#[test]
fn a_file_that_lies_about_its_size_is_bounded() {
    let Ok(roots) = Roots::open(Path::new("/proc/self")) else {
        println!("skipped: there is no /proc here");
        return;
    };
    assert_eq!(code(roots.read("status", 10)), Code::TooLarge);
    assert!(!roots.read("status", 1 << 20).unwrap().is_empty());
}

/// A source that is one file must not open its whole folder to the parser.
#[test]
fn one_file_is_a_root_of_its_own() {
    let place = Place::new();
    let roots = Roots::file(&place.root().join("plain.txt")).unwrap();
    assert_eq!(roots.only(), Some("plain.txt"));
    assert_eq!(roots.walk().unwrap().len(), 1);
    assert_eq!(roots.read("plain.txt", 100).unwrap(), b"inside");
    assert_eq!(code(roots.read("sub/deep/leaf.txt", 100)), Code::Invalid);
    assert_eq!(code(Roots::file(&place.root().join("none.txt"))), Code::NotFound);
    assert_eq!(code(Roots::file(&place.root().join("sub"))), Code::Invalid);
    assert_eq!(code(Roots::file(Path::new("/"))), Code::Invalid);
}

/// A walk that left entries out would have a source withdraw what it knows of them.
#[test]
fn too_many_entries_fail_the_walk() {
    let place = Place::new();
    let mut roots = Roots::open(&place.root()).unwrap();
    roots.entries_max = 4;
    assert_eq!(roots.walk().unwrap().len(), 4);
    roots.entries_max = 3;
    assert_eq!(code(roots.walk()), Code::TooLarge);
}

#[cfg(unix)]
mod on_unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, Mode, OFlags, RenameFlags};

    use super::*;

    /// The root opened in both ways that the system may offer.
    fn both(place: &Place) -> [Roots; 2] {
        let one_call = Roots::open(&place.root()).unwrap();
        let mut step_by_step = Roots::open(&place.root()).unwrap();
        step_by_step.beneath.one_call = false;
        [one_call, step_by_step]
    }

    /// Ends the swapping, also when an assertion fails.
    struct Stop<'a>(&'a AtomicBool);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn symlinks_are_refused_wherever_they_stand() {
        let place = Place::new();
        let root = place.root();
        symlink("../secret.txt", root.join("out")).unwrap();
        symlink("plain.txt", root.join("in")).unwrap();
        symlink("../root-evil", root.join("evil")).unwrap();
        symlink("deep", root.join("sub/again")).unwrap();
        symlink(".", root.join("loop")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        let links = ["out", "in", "evil", "sub/again", "loop", "dangling", "magic"];
        let paths = [
            "out",
            "in",
            "evil",
            "evil/secret.txt",
            "sub/again/leaf.txt",
            "loop/plain.txt",
            "loop/loop/plain.txt",
            "dangling",
            "magic/etc/passwd",
        ];
        for roots in both(&place) {
            for path in paths {
                let error = roots.read(path, 100).unwrap_err();
                assert_eq!(error.code(), Code::Invalid, "{path}");
                assert!(error.to_string().contains("symlink"), "{error}");
            }
            let entries = roots.walk().unwrap();
            assert_eq!(entries.len(), 4 + links.len(), "{entries:?}");
            for link in links {
                assert_eq!(entry(&entries, link), &FileKind::Refused(SYMLINK.into()), "{link}");
            }
        }
        let plain = plain::Beneath::open(&root).unwrap();
        for path in paths {
            assert!(matches!(plain.file(path), Err(Refusal::Unfit(SYMLINK))), "{path}");
        }
        assert_eq!(code(Roots::file(&root.join("in"))), Code::Invalid);
    }

    /// Whoever configures a root may name it through a symlink; only what lies beneath is confined.
    #[test]
    fn the_root_itself_may_be_a_symlink() {
        let place = Place::new();
        symlink("root", place.folder.path().join("current")).unwrap();
        let roots = Roots::open(&place.folder.path().join("current")).unwrap();
        fs::remove_file(place.folder.path().join("current")).unwrap();
        symlink("root-evil", place.folder.path().join("current")).unwrap();
        assert_eq!(roots.read("plain.txt", 100).unwrap(), b"inside");
        assert_eq!(code(roots.read("secret.txt", 100)), Code::NotFound);
    }

    /// Opening a FIFO waits for a writer who never comes; opening a device may do something to it.
    #[test]
    fn only_regular_files_are_opened() {
        let place = Place::new();
        let root = place.root();
        rustix::fs::mkfifoat(CWD, root.join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        let dev = Roots::open(Path::new("/dev")).unwrap();
        for roots in both(&place) {
            for (name, found) in [("fifo", "a FIFO"), ("socket", "a socket"), ("sub", "a folder")] {
                let error = roots.read(name, 100).unwrap_err();
                assert_eq!(error.code(), Code::Invalid);
                assert!(error.to_string().contains(found), "{error}");
            }
            let entries = roots.walk().unwrap();
            assert_eq!(entry(&entries, "fifo"), &FileKind::Refused("a FIFO".into()));
            assert_eq!(entry(&entries, "socket"), &FileKind::Refused("a socket".into()));
        }
        assert!(dev.read("zero", 100).unwrap_err().to_string().contains("a device"));
        assert_eq!(code(Roots::file(&root.join("fifo"))), Code::Invalid);
        let plain = plain::Beneath::open(&root).unwrap();
        assert!(matches!(plain.file("fifo"), Err(Refusal::Unfit(_))));
    }

    /// An attacker who may write beneath the root swaps a folder and a file for symlinks while they are read.
    #[test]
    fn a_swap_during_the_scan_leads_nowhere() {
        let place = Place::new();
        let root = place.root();
        fs::create_dir(root.join("folder")).unwrap();
        place.write("root/folder/secret.txt", "inside");
        place.write("root/file", "inside");
        place.write("root/pipe", "inside");
        symlink("../root-evil", root.join("swap-folder")).unwrap();
        symlink("../secret.txt", root.join("swap-file")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("swap-pipe"), Mode::from_raw_mode(0o600)).unwrap();
        place.write("root-evil/outside-only", "outside");
        let exchange = |one: &str, other: &str| {
            rustix::fs::renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE)
        };
        if exchange("file", "file").is_err() {
            println!("skipped: this file system can't exchange two names");
            return;
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = Stop(&done);
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    exchange("folder", "swap-folder").unwrap();
                    exchange("file", "swap-file").unwrap();
                    exchange("pipe", "swap-pipe").unwrap();
                }
            });
            for roots in both(&place) {
                let (mut read, mut refused) = (0, 0);
                for round in 0..3_000 {
                    for path in ["folder/secret.txt", "file", "pipe"] {
                        match roots.read(path, 100) {
                            Ok(content) => {
                                assert_eq!(content, b"inside", "{path}");
                                read += 1;
                            }
                            Err(_) => refused += 1,
                        }
                    }
                    if round % 10 == 0 {
                        let entries = roots.walk().unwrap();
                        assert!(entries.iter().all(|entry| !entry.path.ends_with("outside-only")), "{entries:?}");
                    }
                }
                println!("{read} reads, {refused} refusals");
            }
        });
    }

    #[test]
    fn a_name_that_is_not_utf8_is_refused_not_lost() {
        let place = Place::new();
        let name = OsStr::from_bytes(b"caf\xe9");
        if let Err(error) = fs::create_dir(place.root().join(name)) {
            println!("skipped: this file system takes UTF-8 names only ({error})");
            return;
        }
        fs::write(place.root().join(name).join("below"), "").unwrap();
        let entries = Roots::open(&place.root()).unwrap().walk().unwrap();
        assert_eq!(entry(&entries, "caf\u{fffd}"), &FileKind::Refused("a name that is not UTF-8".into()));
        assert_eq!(entries.len(), 5, "nothing is listed beneath it: {entries:?}");
        assert_eq!(code(Roots::file(&place.root().join(name))), Code::Invalid);
    }

    #[test]
    fn no_permission_is_a_reason() {
        let place = Place::new();
        let root = place.root();
        fs::set_permissions(root.join("plain.txt"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(root.join("sub"), fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(root.join("plain.txt")).is_ok() {
            println!("skipped: this user (root) may read what nobody may");
        } else {
            let roots = Roots::open(&root).unwrap();
            assert_eq!(code(roots.read("plain.txt", 100)), Code::Io);
            assert!(matches!(entry(&roots.walk().unwrap(), "sub"), FileKind::Refused(_)));
        }
        fs::set_permissions(root.join("sub"), fs::Permissions::from_mode(0o700)).unwrap();
    }

    /// A tree as deep as this overflows a recursive walk and outgrows the longest path that the system takes at once.
    #[test]
    fn depth_is_bounded() {
        let place = Place::new();
        let name = "n".repeat(40);
        let mut folder = rustix::fs::open(place.root(), OFlags::RDONLY, Mode::empty()).unwrap();
        for _ in 0..300 {
            rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(0o700)).unwrap();
            folder = rustix::fs::openat(&folder, &name, OFlags::RDONLY, Mode::empty()).unwrap();
        }
        for roots in both(&place) {
            let entries = roots.walk().unwrap();
            let deepest = vec![name.as_str(); DEPTH_MAX].join("/");
            assert_eq!(entry(&entries, &deepest), &FileKind::Refused(format!("deeper than {DEPTH_MAX} components")));
            assert_eq!(entries.len(), 4 + DEPTH_MAX);
            let missing = format!("{}/file", vec![name.as_str(); DEPTH_MAX - 1].join("/"));
            assert_eq!(code(roots.read(&missing, 100)), Code::NotFound);
        }
    }

    /// The way of other systems finds the same tree.
    #[test]
    fn the_plain_way_agrees() {
        let place = Place::new();
        let plain = plain::Beneath::open(&place.root()).unwrap();
        let roots = Roots::open(&place.root()).unwrap();
        for folder in ["", "sub", "sub/deep"] {
            let mut found = Vec::new();
            let listed = plain.list(folder, &mut |name, kind| {
                found.push((crate::sources::below(folder, name.to_str().unwrap()), kind));
                ControlFlow::Continue(())
            });
            assert!(listed.unwrap().is_continue());
            for (path, kind) in found {
                assert_eq!(&kind, entry(&roots.walk().unwrap(), &path));
                assert_eq!(kind, plain.kind(&path).unwrap());
            }
        }
        assert_eq!(plain.file("sub/deep/leaf.txt").unwrap().1, 6);
        assert!(matches!(plain.file("none/leaf.txt"), Err(Refusal::Missing)));
        assert!(matches!(plain::Beneath::open(&place.root().join("plain.txt")), Err(Refusal::Unfit(_))));
    }
}
