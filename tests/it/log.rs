//! The log through the whole store: what is written is read again, and nothing else is.

use std::sync::Arc;
use std::time::Duration;

use triglyph::change::Commit;
use triglyph::persist::{LocalStore, Memory, Recovery, Repository};
use triglyph::{Error, Seq};

use crate::samples::{commit, scope};

const NOW: Duration = Duration::ZERO;

/// The commits after `seq`, and what reading them found.
pub(crate) fn read(repository: &dyn Repository, seq: u64) -> Result<(Vec<Commit>, Recovery), Error> {
    let mut commits = Vec::new();
    let recovery = repository.after(Seq(seq), &mut |commit| {
        commits.push(commit);
        Ok(())
    })?;
    Ok((commits, recovery))
}

#[test]
fn what_is_appended_is_read() {
    let disk = Memory::recording();
    let store = LocalStore::create(Arc::new(disk.clone())).unwrap();
    let repository = store.repository(&scope(), true).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    for seq in 1..=5 {
        writer.append(&commit(seq)).unwrap();
        assert_eq!(writer.syncer().sync(Seq(seq)).unwrap(), Seq(seq));
    }
    let (commits, recovery) = read(&*repository, 0).unwrap();
    assert_eq!(commits, (1..=5).map(commit).collect::<Vec<_>>());
    assert_eq!((recovery.last, recovery.durable, recovery.frames, recovery.torn), (Seq(5), Seq(5), 5, None));
    writer.append(&commit(6)).unwrap();
    let (commits, _) = read(&*repository, 5).unwrap();
    assert_eq!(commits, [commit(6)]);
    drop(writer);

    let store = LocalStore::open(Arc::new(disk)).unwrap();
    assert_eq!(store.scopes().unwrap(), [scope()]);
    let repository = store.repository(&scope(), false).unwrap();
    let mut writer = repository.writer(NOW).unwrap();
    writer.append(&commit(7)).unwrap();
    let (commits, recovery) = read(&*repository, 3).unwrap();
    assert_eq!(commits, [4, 5, 6, 7].map(commit));
    assert_eq!(recovery.segments, 2);
}
