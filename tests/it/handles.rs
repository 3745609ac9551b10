//! The handles under load and under failure: who waits for what, what is promised, and what a failed disk leaves.

use std::io::ErrorKind;
use std::sync::Arc;

use serde_json::json;
use triglyph::operations::operation;
use triglyph::persist::Memory;
use triglyph::{Code, Durability, Error, Graph, Options, Props, Scope, Seq, Store};

fn scope() -> Scope {
    Scope::new("acme", "demo").unwrap()
}

fn commit(graph: &Graph, durability: Durability) -> Result<Seq, Error> {
    let mut batch = graph.batch()?;
    batch.entity("TODO", Props::new());
    Ok(graph.commit(batch, durability)?.seq)
}

fn count(graph: &Graph) -> u64 {
    let status = operation("status").unwrap().call(graph, json!({}), &|| false).unwrap();
    status["counts"]["entities"].as_u64().unwrap()
}

/// Eight threads, one log: no commit is lost, none gets another's number, and each is seen once it is answered.
#[test]
fn concurrent_commits_are_one_line() {
    const THREADS: u64 = 8;
    const EACH: u64 = 25;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.tg");
    let store = Store::create(&path, Options::default()).unwrap();
    let graph = store.graph(&scope()).unwrap();
    let mut seqs: Vec<u64> = std::thread::scope(|threads| {
        let run = |durability| {
            let graph = graph.clone();
            threads.spawn(move || {
                let commit = |_| {
                    let seq = commit(&graph, durability).unwrap();
                    assert!(graph.view().seq() >= seq, "an answered commit is in every later view");
                    seq.0
                };
                (0..EACH).map(commit).collect::<Vec<u64>>()
            })
        };
        let kinds = [Durability::Sync, Durability::Group, Durability::Group, Durability::Buffered];
        let writers: Vec<_> = (0..THREADS).map(|n| run(kinds[n as usize % kinds.len()])).collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=THREADS * EACH).collect::<Vec<_>>());
    graph.sync().unwrap();
    drop((graph, store));
    let store = Store::open(&path, Options::default()).unwrap();
    let graph = store.existing(&scope()).unwrap();
    assert_eq!((graph.view().seq().0, count(&graph)), (THREADS * EACH, THREADS * EACH));
}

/// Two openings of one folder are one store: else a process would wait for its own lock.
#[test]
fn one_process_has_one_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.tg");
    let one = Store::create(&path, Options::default()).unwrap();
    let other = Store::open(folder.path().join(".").join("s.tg"), Options::default()).unwrap();
    let (one, other) = (one.graph(&scope()).unwrap(), other.graph(&scope()).unwrap());
    commit(&one, Durability::Sync).unwrap();
    commit(&other, Durability::Sync).unwrap();
    assert_eq!((one.view().seq(), other.view().seq()), (Seq(2), Seq(2)));
}

/// After a failed write or sync nobody knows what is on the disk: nothing more may be promised, and reads go on.
#[test]
fn a_failed_disk_poisons_the_writer_and_no_reader() {
    let mut failures = 0;
    for kind in [ErrorKind::Other, ErrorKind::StorageFull] {
        for after in 0..6 {
            let disk = Memory::recording();
            triglyph::persist::LocalStore::create(Arc::new(disk.clone())).unwrap();
            let store = Store::on(Arc::new(disk.clone()), Options::default()).unwrap();
            let graph = store.graph(&scope()).unwrap();
            let mut promised = Seq::ZERO;
            for _ in 0..3 {
                promised = commit(&graph, Durability::Sync).unwrap();
            }
            disk.fail_at(disk.changes() + after, kind);
            let failed = (0..4).find_map(|_| match commit(&graph, Durability::Sync) {
                Ok(seq) => {
                    promised = seq;
                    None
                }
                Err(error) => Some(error),
            });
            // A failure that hit the note of who writes is no failure.
            let Some(error) = failed else { continue };
            failures += 1;
            let expected = if kind == ErrorKind::StorageFull { Code::NoSpace } else { Code::Io };
            assert_eq!(error.code(), expected, "{error}");
            // Refused from now on, with the cause; and read as before.
            let refused = commit(&graph, Durability::Sync).unwrap_err();
            assert_eq!(refused.code(), Code::Poisoned, "{refused}");
            assert!(refused.message().contains(error.message()), "{refused}");
            assert_eq!((graph.view().seq(), count(&graph)), (promised, promised.0));
            drop((graph, store));
            // The power goes, and with it all that was not synced.
            let disk = disk.crash(usize::MAX, &mut |_, _| triglyph::persist::memory::Fate::Lost);
            let store = Store::on(Arc::new(disk), Options::default()).unwrap();
            let graph = store.existing(&scope()).unwrap();
            assert!(graph.view().seq() >= promised, "{:?} of {promised:?}", graph.view());
            assert_eq!(count(&graph), graph.view().seq().0);
            commit(&graph, Durability::Sync).unwrap();
        }
    }
    assert!(failures >= 8, "{failures}");
}

/// Eight threads wait for one sync that fails: all are told, none is promised anything.
#[test]
fn a_failed_group_sync_is_everybodys() {
    let failures = (0..12).filter(|after| group_sync_fails(*after)).count();
    assert!(failures >= 4, "{failures}");
}

/// Whether anybody was refused when change number `after` from now on failed.
fn group_sync_fails(after: usize) -> bool {
    let disk = Memory::recording();
    triglyph::persist::LocalStore::create(Arc::new(disk.clone())).unwrap();
    let store = Store::on(Arc::new(disk.clone()), Options::default()).unwrap();
    let graph = store.graph(&scope()).unwrap();
    let promised = commit(&graph, Durability::Sync).unwrap();
    disk.fail_at(disk.changes() + after, ErrorKind::Other);
    let answers: Vec<Result<Seq, Error>> = std::thread::scope(|threads| {
        let writers: Vec<_> = (0..8).map(|_| threads.spawn(|| commit(&graph, Durability::Group))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let acknowledged = answers.iter().flatten().max().copied().unwrap_or(promised);
    let refused = answers.iter().any(Result::is_err);
    assert!(graph.view().seq() >= acknowledged);
    assert_eq!(commit(&graph, Durability::Group).is_err(), refused);
    drop((graph, store));
    let disk = disk.crash(usize::MAX, &mut |_, _| triglyph::persist::memory::Fate::Lost);
    let graph = Store::on(Arc::new(disk), Options::default()).unwrap().existing(&scope()).unwrap();
    assert!(graph.view().seq() >= acknowledged);
    refused
}

/// A batch that expects another state of the graph is refused, and so is one that says two things at once.
#[test]
fn conflicts_change_nothing() {
    let graph = Store::in_memory().unwrap().graph(&scope()).unwrap();
    commit(&graph, Durability::Sync).unwrap();
    let mut batch = graph.batch().unwrap();
    batch.if_seq(Seq(7)).entity("TODO", Props::new());
    assert_eq!(graph.commit(batch, Durability::Sync).unwrap_err().code(), Code::Conflict);
    let mut batch = graph.batch().unwrap();
    let todo = batch.entity("TODO", Props::new());
    let at = triglyph::Since::Told("2026-01-01".parse().unwrap());
    batch.fact(todo, "title", "one", at).fact(todo, "title", "another", at);
    let error = graph.commit(batch, Durability::Sync).unwrap_err();
    assert!(error.message().contains("edits 1 and 2"), "{error}");
    assert_eq!((graph.view().seq(), count(&graph)), (Seq(1), 1));
}
